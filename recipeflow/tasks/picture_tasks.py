"""Questions about pictures: `state_choice`, `action_choice`, `same_change` and `state_order`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from recipeflow.tasks import questions
from recipeflow.tasks.candidates import (
    LETTERS,
    MomentPool,
    changes_fit,
    draw_lookalikes,
    draw_set,
    looks_fit,
    relation,
)
from recipeflow.tasks.frames import FrameStore
from recipeflow.tasks.material import Material, Moment
from recipeflow.tasks.split import Split, common

Row = dict[str, Any]
FEWEST, MOST = 4, 6
"""Pictures to bring into order."""

ANOTHER_CHANGE = ("other_state", "other_state", "neighbour", "same_recipe", "other_state")
"""What to look for: as far as possible, actions that are done to the same object."""

WAYS = ("state", "picture", "change")


def _moments(split: Split) -> Iterator[Moment]:
    return (moment for material in split.materials for moment in material.moments if moment.is_complete)


def _labels(answer: Moment, members: Sequence[Moment]) -> Row:
    return {"kinds": [relation(answer, other) for other in members], "answer": LETTERS[members.index(answer)]}


def state_choice(split: Split, store: FrameStore) -> Iterator[Row]:
    """One question per image pair, around which the candidates are drawn."""
    pool = MomentPool(split.materials, store)
    for first in _moments(split):
        rng = split.rng("state_choice", first.recipe, first.number)
        members = draw_lookalikes(first, pool, rng)
        if members is None:
            continue
        answer = rng.choice(members)
        yield {
            **common(split, "state_choice", answer.recipe, answer.depth, first.recipe, first.number),
            "question": questions.state_choice(split.by_id[answer.recipe], answer, len(members)),
            "action": answer.action,
            "object": answer.object,
            "before": store.image(answer.before or ""),
            "choices": [store.image(other.after or "") for other in members],
            **_labels(answer, members),
        }


def action_choice(split: Split, store: FrameStore) -> Iterator[Row]:
    """The same with actions as candidates: as far as possible, those that are done to the same object."""
    pool = MomentPool(split.materials, store)
    for first in _moments(split):
        rng = split.rng("action_choice", first.recipe, first.number)
        members = draw_set(first, pool, ANOTHER_CHANGE, changes_fit, rng)
        if members is None:
            continue
        answer = rng.choice(members)
        choices = [other.action for other in members]
        yield {
            **common(split, "action_choice", answer.recipe, answer.depth, first.recipe, first.number),
            "question": questions.action_choice(answer, choices),
            "object": answer.object,
            "before": store.image(answer.before or ""),
            "after": store.image(answer.after or ""),
            "choices": choices,
            **_labels(answer, members),
        }


def same_change(split: Split, store: FrameStore) -> Iterator[Row]:
    """Three rows per action that has an image pair; they have one set of candidates, and share ``group``."""
    pool = MomentPool(split.materials, store)
    asked: set[tuple[str, int]] = set()
    for first in _moments(split):
        if (first.recipe, first.step) in asked:
            continue
        asked.add((first.recipe, first.step))
        rng = split.rng("same_change", first.recipe, first.number)
        members = draw_set(first, pool, ANOTHER_CHANGE, _all_fit, rng)
        if members is not None:
            answer = rng.choice(members)
            for way in WAYS:
                yield _way(split, store, way, first, answer, rng.sample(members, len(members)))


def _all_fit(moment: Moment, members: Sequence[Moment]) -> bool:
    different = all(_describe(moment) != _describe(other) for other in members)
    return different and looks_fit(moment, members) and changes_fit(moment, members)


def _describe(moment: Moment) -> str:
    return f"{moment.object}: {', '.join(moment.history)}"


def _way(split: Split, store: FrameStore, way: str, first: Moment, answer: Moment, members: Sequence[Moment]) -> Row:
    texts = {
        "state": [_describe(other) for other in members],
        "picture": questions.images(len(members), 2),
        "change": [other.action for other in members],
    }[way]
    row = common(split, f"same_change/{way}", answer.recipe, answer.depth, first.recipe, first.number)
    return {
        **row,
        "question": questions.same_change(way, answer, texts),
        "group": common(split, "same_change", answer.recipe, answer.depth, first.recipe, first.number)["id"],
        "way": way,
        "before": None if way == "state" else store.image(answer.before or ""),
        "after": None if way == "picture" else store.image(answer.after or ""),
        "pictures": [store.image(other.after or "") for other in members] if way == "picture" else [],
        "choices": [] if way == "picture" else texts,
        **_labels(answer, members),
    }


def state_order(split: Split, store: FrameStore) -> Iterator[Row]:
    """One question per ingredient with enough different pictures; those with the same pictures are asked once."""
    for material in split.materials:
        seen: set[frozenset[str]] = set()
        for number, (ingredient, positions) in enumerate(material.trails.items()):
            rng = split.rng("state_order", material.recipe_id, number)
            pictures = _trail([material.moments[position] for position in positions])
            if len(pictures) < FEWEST or frozenset(pictures) in seen:
                continue
            seen.add(frozenset(pictures))
            if len(pictures) > MOST:
                pictures = [pictures[position] for position in sorted(rng.sample(range(len(pictures)), MOST))]
            yield _order(split, store, material, ingredient, number, pictures, rng)


def _trail(moments: Sequence[Moment]) -> list[str]:
    """The pictures of a trail, each with a state that none before it had."""
    found: dict[str, str] = {}
    for moment in moments:
        if not found and moment.before is not None:
            found[moment.state.before] = moment.before
        if moment.after is not None and moment.after not in found.values():
            found.setdefault(moment.state.after, moment.after)
    return list(found.values())


def _order(
    split: Split,
    store: FrameStore,
    material: Material,
    ingredient: str,
    number: int,
    pictures: list[str],
    rng: Random,
) -> Row:
    shown = rng.sample(pictures, len(pictures))
    return {
        **common(split, "state_order", material.recipe_id, len(pictures), material.recipe_id, number),
        "question": questions.state_order(material, ingredient, len(shown)),
        "ingredient": ingredient,
        "pictures": [store.image(picture) for picture in shown],
        "answer": [LETTERS[shown.index(picture)] for picture in pictures],
    }
