"""Judge one answer to one question; a missing or malformed one is wrong, and says so."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import factorial
from typing import Any

from recipeflow.tasks.candidates import LETTERS, SIZE
from recipeflow.tasks.schema import CHOICE, JOINT, ORDER, PATH, SET, WRITING

Row = dict[str, Any]
MISSING, MALFORMED, RIGHT, WRONG = "missing", "malformed", "right", "wrong"


@dataclass(frozen=True)
class Judgement:
    """The outcome of a question: ``right``, ``missing``, ``malformed``, the kind of the wrong candidate, or ``wrong``.

    ``values`` are numbers from 0 to 1 by the name of the metric; the first metric is the main one.
    """

    outcome: str
    values: Mapping[str, float]


METRICS: dict[str, tuple[str, ...]] = {
    CHOICE: ("accuracy",),
    JOINT: ("accuracy",),
    ORDER: ("exact", "pairs in order"),
    PATH: ("accuracy", "with path"),
    SET: ("ingredients", "exact"),
    WRITING: ("written",),
}
"""What is measured, by the form of the answer."""


def chance(kind: str, row: Row) -> float:
    """What blind guessing reaches on a question, in the main metric."""
    if kind == ORDER:
        return 1 / factorial(len(row["answer"]))
    return {CHOICE: 1 / SIZE, JOINT: 1 / SIZE, PATH: 0.5, SET: 0.5, WRITING: 0.0}[kind]


def judge(kind: str, row: Row, answer: Any, is_there: bool) -> Judgement:
    """Compare an answer with the right one.

    Args:
        kind: The form of the answer.
        row: The question.
        answer: What the model answered.
        is_there: Whether it answered at all.
    """
    wrong = dict.fromkeys(METRICS[kind], 0.0)
    if not is_there:
        return Judgement(MISSING, wrong)
    read = READERS[kind](row, answer)
    if read is None:
        return Judgement(MALFORMED, wrong)
    return JUDGES[kind](row, read)


def read_letter(row: Row, answer: Any) -> str | None:
    """A letter of the offered ones: ``B``, ``b``, ``(B)`` or ``B.``."""
    found = re.fullmatch(rf"\s*\(?([{LETTERS[:SIZE]}])[).:]?\s*", answer, re.IGNORECASE) if _is_text(answer) else None
    return found[1].upper() if found else None


def read_order(row: Row, answer: Any) -> list[str] | None:
    """All letters, each once: ``BACD``, ``B, A, C, D`` or a list."""
    letters = re.findall(r"[A-Za-z]", answer) if _is_text(answer) else answer
    if not isinstance(letters, list) or not all(map(_is_text, letters)):
        return None
    found = [letter.strip().upper() for letter in letters]
    return found if sorted(found) == sorted(row["answer"]) else None


def read_path(row: Row, answer: Any) -> tuple[str, list[int]] | None:
    """``{"answer": "yes", "path": [1, 4]}``; without a path it may be just ``"no"``."""
    found = {"answer": answer} if _is_text(answer) else answer
    if not isinstance(found, dict) or not _is_text(found.get("answer")):
        return None
    said, path = found["answer"].strip().lower(), found.get("path") or []
    is_list = isinstance(path, list) and all(isinstance(number, int) for number in path)
    return (said, path) if said in ("yes", "no") and is_list else None


def read_set(row: Row, answer: Any) -> set[str] | None:
    """A list of offered names."""
    is_list = isinstance(answer, list) and all(map(_is_text, answer))
    return set(answer) if is_list and set(answer) <= set(row["choices"]) else None


def read_text(row: Row, answer: Any) -> str | None:
    return answer if _is_text(answer) and answer.strip() else None


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _judge_choice(row: Row, letter: str) -> Judgement:
    is_right = letter == row["answer"]
    return Judgement(RIGHT if is_right else row["kinds"][LETTERS.index(letter)], {"accuracy": float(is_right)})


def _judge_order(row: Row, letters: list[str]) -> Judgement:
    places = {letter: place for place, letter in enumerate(letters)}
    pairs = [places[first] < places[second] for first, second in combinations(row["answer"], 2)]
    is_right = letters == row["answer"]
    values = {"exact": float(is_right), "pairs in order": sum(pairs) / len(pairs)}
    return Judgement(RIGHT if is_right else WRONG, values)


def _judge_path(row: Row, read: tuple[str, list[int]]) -> Judgement:
    said, path = read
    is_right = said == row["answer"]
    leads = is_path(row, path) if said == "yes" else not path
    outcome = RIGHT if is_right and leads else "wrong path" if is_right else f"said {said}"
    return Judgement(outcome, {"accuracy": float(is_right), "with path": float(is_right and leads)})


def is_path(row: Row, path: list[int]) -> bool:
    """Whether a chain leads from the first step to the second, each needing the one before; any such is right."""
    edges = {(edge["start"], edge["end"]) for edge in row["needs"]}
    ends = len(path) > 1 and (path[0], path[-1]) == (row["first"], row["second"])
    return ends and all(pair in edges for pair in pairwise(path))


def _judge_set(row: Row, names: set[str]) -> Judgement:
    judged = [(name in names) == (name in row["answer"]) for name in row["choices"]]
    values = {"ingredients": sum(judged) / len(judged), "exact": float(all(judged))}
    return Judgement(RIGHT if all(judged) else WRONG, values)


def _judge_text(row: Row, text: str) -> Judgement:
    return Judgement("written", {"written": 1.0})


READERS: dict[str, Callable[[Row, Any], Any]] = {
    CHOICE: read_letter,
    JOINT: read_letter,
    ORDER: read_order,
    PATH: read_path,
    SET: read_set,
    WRITING: read_text,
}
"""What an answer means, by its form; ``None`` if it has another form."""

JUDGES: dict[str, Callable[[Row, Any], Judgement]] = {
    CHOICE: _judge_choice,
    JOINT: _judge_choice,
    ORDER: _judge_order,
    PATH: _judge_path,
    SET: _judge_set,
    WRITING: _judge_text,
}
