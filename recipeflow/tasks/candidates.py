"""Candidates of which any could be the answer.

If the answer came first and distractors were made to fit it, the answer would be the one that most others resemble,
and a model could find it without the question. So a *set* of alike candidates comes first, and then one of them is
drawn to be asked about: given the candidates, each is the answer equally often, whatever they show.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Protocol, TypeVar

from recipeflow.tasks.material import Material, Moment

SIZE = 5
LETTERS = "ABCDEFGHIJ"
TRIES = 12
"""Random picks per place before the next kind of candidate is tried: the work per question stays bounded."""

NEAR = 2
"""Steps that two image pairs of a recipe may be apart to count as neighbours in time."""

KINDS = {
    "answer": "the right one",
    "other_state": "the same object in another state",
    "other_object": "the same action on another object",
    "neighbour": "a neighbour in time: the same recipe, at most two steps away",
    "same_recipe": "the same recipe, further away",
    "other_recipe": "another recipe",
}
"""The kinds of candidates, by what they share with the answer; of several, the first one counts."""

Item = TypeVar("Item")


class Pool(Protocol[Item]):
    """What sets are drawn from: the items of one split, found by what they share."""

    def related(self, kind: str, members: Sequence[Item]) -> Sequence[Item]: ...


def draw_set(
    first: Item,
    pool: Pool[Item],
    kinds: Iterable[str],
    fits: Callable[[Item, Sequence[Item]], bool],
    rng: Random,
) -> list[Item] | None:
    """Five candidates around a first one, in random order; ``None`` if there are not enough that fit together.

    Args:
        first: Any item; it is no more likely to be the answer than the others.
        pool: Where the others are from.
        kinds: What to look for; places that stay free are filled from the whole split.
        fits: Whether an item may join a set. It must not matter which of them is asked about.
        rng: Draws.
    """
    members = [first]
    wanted = [*kinds]
    rng.shuffle(wanted)
    # Alike ones twice before any other: in a small split, most picks do not fit.
    for kind in (*wanted, *wanted, *["other_recipe"] * SIZE):
        if len(members) == SIZE:
            break
        found = pool.related(kind, members)
        picks = (found[rng.randrange(len(found))] for _ in range(TRIES if found else 0))
        chosen = next((item for item in picks if fits(item, members)), None)
        if chosen is not None:
            members.append(chosen)
    rng.shuffle(members)
    return members if len(members) == SIZE else None


class MomentPool:
    """The image pairs of one split with both pictures."""

    def __init__(self, materials: Iterable[Material]) -> None:
        self.all: list[Moment] = []
        self.by_recipe: defaultdict[str, list[Moment]] = defaultdict(list)
        self.by_foods: defaultdict[frozenset[str], list[Moment]] = defaultdict(list)
        self.by_change: defaultdict[str, list[Moment]] = defaultdict(list)
        for moment in (moment for material in materials for moment in material.moments if moment.is_complete):
            self.all.append(moment)
            self.by_recipe[moment.recipe].append(moment)
            self.by_foods[moment.foods].append(moment)
            self.by_change[moment.state.change].append(moment)

    def related(self, kind: str, members: Sequence[Moment]) -> Sequence[Moment]:
        """Moments that share something with those that are already in a set."""
        first = members[0]
        if kind == "other_state":
            return self.by_foods[first.foods]
        if kind == "other_object":
            return self.by_change[first.state.change]
        if kind == "neighbour":
            return [other for other in self.by_recipe[first.recipe] if abs(other.step - first.step) <= NEAR]
        return self.by_recipe[first.recipe] if kind == "same_recipe" else self.all


def relation(answer: Moment, other: Moment) -> str:
    """The kind of a candidate, a key of `KINDS`."""
    if other is answer:
        return "answer"
    if other.foods == answer.foods:
        return "other_state"
    if other.state.change == answer.state.change:
        return "other_object"
    if other.recipe == answer.recipe:
        return "neighbour" if abs(other.step - answer.step) <= NEAR else "same_recipe"
    return "other_recipe"


def looks_fit(moment: Moment, members: Sequence[Moment]) -> bool:
    """Whether pictures differ: no two candidates alike, and none that would be the picture before of another."""
    return all(
        moment.shows.isdisjoint(other.shows)
        and moment.after not in (other.before, other.after)
        and moment.before != other.after
        for other in members
    )


def changes_fit(moment: Moment, members: Sequence[Moment]) -> bool:
    """Whether actions differ, by what they do and as words: 切 is not offered next to 薄く切."""
    return all(
        moment.state.change != other.state.change
        and moment.action not in other.action
        and other.action not in moment.action
        for other in members
    )
