"""Shortcut baselines: what a model reaches that sees only a part of the question.

``random`` sees nothing, ``most_frequent`` only the answers of the training split, ``answer_only`` the candidates
without the question, ``question_only`` the question without candidates, ``text_only`` all text and no picture,
``picture_only`` all pictures and no text but the candidates. They are fitted on ``train``; to be scored on ``train``
itself, on one half of its questions for the other.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np

from recipeflow.tasks.baselines import views
from recipeflow.tasks.baselines.logit import choose, fit
from recipeflow.tasks.candidates import LETTERS, SIZE
from recipeflow.tasks.folder import pictures_of
from recipeflow.tasks.looks import LOOK, Looks
from recipeflow.tasks.schema import CHOICE, JOINT, ORDER, PATH, SET, TASKS

Row = dict[str, Any]
Answers = dict[str, Any]
SHORTCUTS = ("random", "most_frequent", "answer_only", "question_only", "text_only", "picture_only")
FEW = 8
"""Columns of a vector that is multiplied with another."""


def answer_rows(task: str, name: str, train: Sequence[Row], rows: Sequence[Row], looks: Looks) -> Answers:
    """The answers of a shortcut to these rows, after fitting on the others.

    Args:
        task: The task.
        name: The shortcut.
        train: Questions with answers to fit on.
        rows: Questions to answer.
        looks: Pictures as vectors.
    """
    kind = TASKS[task].answered_by
    if name == "random":
        return {row["id"]: _guess(kind, row) for row in rows}
    if name == "most_frequent":
        return _most_frequent(kind, train, rows)
    return {
        CHOICE: _choices,
        JOINT: _choices,
        ORDER: _orders,
        PATH: _paths,
        SET: _sets,
    }[kind](task, name, train, rows, looks)


def _rng(row: Row) -> Random:
    return Random(row["id"])


def _guess(kind: str, row: Row) -> Any:
    rng = _rng(row)
    if kind == ORDER:
        return rng.sample(row["answer"], len(row["answer"]))
    if kind == SET:
        return [name for name in row["choices"] if rng.random() < 0.5]
    if kind == PATH:
        return _path(row, rng.random() < 0.5)
    return rng.choice(LETTERS[:SIZE])


def _path(row: Row, is_yes: bool) -> Answers:
    return {"answer": "yes", "path": [row["first"], row["second"]]} if is_yes else {"answer": "no", "path": []}


def _most_frequent(kind: str, train: Sequence[Row], rows: Sequence[Row]) -> Answers:
    """The place, yes or no, order or ingredient that is most often right in training."""
    if kind == SET:
        inside = Counter(name for row in train for name in row["answer"])
        offered = Counter(name for row in train for name in row["choices"])
        return {row["id"]: [n for n in row["choices"] if 2 * inside[n] > offered[n]] for row in rows}
    if kind == ORDER:
        orders = Counter((len(row["answer"]), "".join(row["answer"])) for row in train)
        best = {size: max((c, o) for (n, o), c in orders.items() if n == size)[1] for size, _ in orders}
        return {row["id"]: list(best.get(len(row["answer"]), "".join(sorted(row["answer"])))) for row in rows}
    answer = Counter(row["answer"] for row in train).most_common(1)[0][0]
    return {row["id"]: _path(row, answer == "yes") if kind == PATH else answer for row in rows}


# Choices: five candidates, one right.

Features = Callable[[str, Row, Looks], np.ndarray]


def _answer_only(task: str, row: Row, looks: Looks) -> np.ndarray:
    candidates = views.candidate_vectors(task, row, looks)
    texts = row.get("choices") if not views.offers_pictures(task, row) else None
    return np.concatenate([candidates, views.resemblance(candidates), views.lengths(texts or [""] * SIZE)], 1)


def _question_only(task: str, row: Row, looks: Looks) -> np.ndarray:
    """Without the candidates only a place can be chosen."""
    text = views.text_vector(views.asked_text(row))
    return np.stack([views.crossed(np.eye(SIZE, dtype=np.float32)[place], text) for place in range(SIZE)])


def _text_only(task: str, row: Row, looks: Looks) -> np.ndarray:
    if views.offers_pictures(task, row):
        return _question_only(task, row, looks)
    text = views.text_vector(views.asked_text(row))
    candidates = np.stack([views.text_vector(choice) for choice in row["choices"]])
    shared = (candidates > 0) & (text > 0)
    share = shared.sum(1, keepdims=True) / np.maximum((candidates > 0).sum(1, keepdims=True), 1)
    return np.concatenate([candidates, candidates * text, share, candidates @ text[:, None]], 1)


def _picture_only(task: str, row: Row, looks: Looks) -> np.ndarray:
    shown = views.shown_vectors(task, row, looks)
    candidates = views.candidate_vectors(task, row, looks)
    if views.offers_pictures(task, row):
        change = candidates[:, :LOOK] - shown[0]
        return np.concatenate([change, np.abs(change), np.linalg.norm(change, axis=1, keepdims=True)], 1)
    seen = views.folded(shown[-1] - shown[0] if len(shown) > 1 else shown[0], 4 * FEW)
    return np.stack([views.crossed(seen, views.folded(candidate, 8 * FEW)) for candidate in candidates])


FEATURES: dict[str, Features] = {
    "answer_only": _answer_only,
    "question_only": _question_only,
    "text_only": _text_only,
    "picture_only": _picture_only,
}


def _choices(task: str, name: str, train: Sequence[Row], rows: Sequence[Row], looks: Looks) -> Answers:
    """One logit for each way in which candidates are offered."""
    if name == "picture_only" and not TASKS[task].picture_columns:
        return {row["id"]: _guess(CHOICE, row) for row in rows}
    found: Answers = {}
    for way in dict.fromkeys(row.get("way") for row in rows):
        own = [row for row in train if row.get("way") == way]
        asked = [row for row in rows if row.get("way") == way]
        weights = fit(
            views.stacked([FEATURES[name](task, row, looks) for row in own]),
            np.array([LETTERS.index(row["answer"]) for row in own]),
        )
        places = choose(views.stacked([FEATURES[name](task, row, looks) for row in asked]), weights)
        found |= {row["id"]: LETTERS[place] for row, place in zip(asked, places, strict=True)}
    return found


# Yes or no.


def _paths(task: str, name: str, train: Sequence[Row], rows: Sequence[Row], looks: Looks) -> Answers:
    if name in ("answer_only", "picture_only"):  # there is nothing to see
        return _most_frequent(PATH, train, rows)
    weights = fit(
        views.stacked([_yes_or_no(name, row) for row in train]),
        np.array([int(row["answer"] == "yes") for row in train]),
    )
    said = choose(views.stacked([_yes_or_no(name, row) for row in rows]), weights)
    return {row["id"]: _path(row, bool(yes)) for row, yes in zip(rows, said, strict=True)}


def _yes_or_no(name: str, row: Row) -> np.ndarray:
    """The two steps alone, or also where they are in the recipe; as features of *no* and of *yes*."""
    first, second = (row["steps"][row[side] - 1] for side in ("first", "second"))
    one, other = views.text_vector(first), views.text_vector(second)
    parts = [one, other, one * other]
    if name == "text_only":
        apart = row["second"] - row["first"]
        between = views.text_vector(" ".join(row["steps"][row["first"] : row["second"] - 1]))
        parts += [np.array([1.0, apart / 10, apart == 1, row["second"] == len(row["steps"])]), between]
    yes = np.concatenate(parts)
    return np.stack([np.zeros_like(yes), yes])


# Sets: each ingredient is in or out.


def _sets(task: str, name: str, train: Sequence[Row], rows: Sequence[Row], looks: Looks) -> Answers:
    if name == "question_only":  # without the names of the ingredients, all are alike
        return {row["id"]: _guess(SET, row) for row in rows}
    pairs = [(row, choice) for row in train for choice in row["choices"]]
    weights = fit(
        views.stacked([_in_or_out(name, row, choice, looks) for row, choice in pairs]),
        np.array([int(choice in row["answer"]) for row, choice in pairs]),
    )
    return {
        row["id"]: [
            choice for choice in row["choices"] if choose(_in_or_out(name, row, choice, looks)[None], weights)[0]
        ]
        for row in rows
    }


def _in_or_out(name: str, row: Row, choice: str, looks: Looks) -> np.ndarray:
    word = views.text_vector(choice)
    if name == "answer_only":
        place = np.array([row["choices"].index(choice) / 5, len(choice) / 5, 1.0])
        inside = np.concatenate([word, place])
    elif name == "picture_only":
        pictures = pictures_of("ingredient_trace", row)
        seen = views.folded(looks.vector(pictures[0]), 2 * FEW) if pictures else np.zeros(2 * FEW, np.float32)
        inside = views.crossed(seen, views.folded(word, 4 * FEW))
    else:
        inside = np.concatenate([word, _mentions(row, choice)])
    return np.stack([np.zeros_like(inside), inside])


def _mentions(row: Row, choice: str) -> np.ndarray:
    """Whether an ingredient is named near the step that is asked about."""
    instructions, _, rest = row["question"].partition("Their actions:\n")
    steps = rest.splitlines()
    own = steps[row["step"] - 1] if row["step"] <= len(steps) else ""
    earlier = "\n".join(steps[: row["step"]])
    place = instructions.find(choice) / max(len(instructions), 1)
    along = row["step"] / max(len(steps), 1)
    return np.array([1.0, choice in own, choice in earlier, place, place < along, along - place], np.float32)


# Orders.


def _orders(task: str, name: str, train: Sequence[Row], rows: Sequence[Row], looks: Looks) -> Answers:
    """Pictures by how late they look; without pictures there is nothing to see."""
    if name != "picture_only":
        return {row["id"]: _guess(ORDER, row) for row in rows}
    pairs = [
        np.stack([later, earlier])
        for row in train
        for earlier, later in _neighbours([_look_of(row, letter, looks) for letter in row["answer"]])
    ]
    weights = fit(views.stacked(pairs), np.zeros(len(pairs), int))
    found = {}
    for row in rows:
        late = {letter: float(_look_of(row, letter, looks) @ weights) for letter in row["answer"]}
        found[row["id"]] = sorted(late, key=lambda letter: late[letter])
    return found


def _look_of(row: Row, letter: str, looks: Looks) -> np.ndarray:
    return looks.vector(row["pictures"][LETTERS.index(letter)]["bytes"])


def _neighbours(items: Sequence[np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
    return list(pairwise(items))


def half_of(row: Row) -> int:
    """The half of the training questions that one belongs to, writing by recipe.

    Not by the recipe of the answer: candidates of the other half would then never be right in fitting.
    """
    key = row["recipe_id"] if "with_graph" in row else row["id"]
    return hashlib.sha256(key.encode()).digest()[0] % 2
