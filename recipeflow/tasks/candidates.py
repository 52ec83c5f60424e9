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

import numpy as np

from recipeflow.errors import BrokenImageError
from recipeflow.tasks.frames import FrameStore
from recipeflow.tasks.looks import look_of
from recipeflow.tasks.material import Material, Moment

SIZE = 5
LETTERS = "ABCDEFGHIJ"
TRIES = 12
"""Random picks per place before the next kind of candidate is tried: the work per question stays bounded."""

SAME_FOODS, SAME_CHANGE = 24, 12
"""Random image pairs with the same foods, and with the same action, whose pictures are compared."""

TOO_ALIKE = 0.03
"""Pictures that differ less cannot be told apart, as two frames of a film that stands still (kitchens: over 0.05)."""

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
    wanted = [*kinds]
    rng.shuffle(wanted)
    # Alike ones twice before any other: in a small split, most picks do not fit.
    return _fill([first], pool, (*wanted, *wanted), fits, rng)


def draw_lookalikes(first: Moment, pool: MomentPool, rng: Random) -> list[Moment] | None:
    """Five candidates around a first one whose pictures look alike, as far as they can be told apart.

    The picture before an action shows which food it is, and in which kitchen. Among candidates of other foods or from
    other kitchens, that alone would find the answer.
    """
    members = [first]
    for moment in pool.lookalikes(first, rng):
        is_distinct = all(pool.difference(moment, other) > TOO_ALIKE for other in members)
        if len(members) < SIZE and is_distinct and looks_fit(moment, members):
            members.append(moment)
    return _fill(members, pool, ("same_recipe",) * SIZE, looks_fit, rng)


def _fill(
    members: list[Item],
    pool: Pool[Item],
    kinds: Iterable[str],
    fits: Callable[[Item, Sequence[Item]], bool],
    rng: Random,
) -> list[Item] | None:
    """Add random items until there are five, of these kinds first, and bring them into random order."""
    for kind in (*kinds, *["other_recipe"] * SIZE):
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
    """The image pairs of one split with both pictures.

    Args:
        materials: The recipes of the split.
        store: Where their pictures are.
    """

    def __init__(self, materials: Iterable[Material], store: FrameStore) -> None:
        self.store = store
        self._looks: dict[str, np.ndarray] = {}
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

    def lookalikes(self, first: Moment, rng: Random) -> list[Moment]:
        """Moments of the same recipe, and some of the same foods or with the same action, the most alike first."""
        alike = ((self.by_foods[first.foods], SAME_FOODS), (self.by_change[first.state.change], SAME_CHANGE))
        elsewhere = (found[rng.randrange(len(found))] for found, count in alike for _ in range(count))
        related = dict.fromkeys((*self.by_recipe[first.recipe], *elsewhere))
        return sorted(related, key=lambda other: self.difference(first, other))

    def difference(self, one: Moment, other: Moment) -> float:
        """How much two pictures after an action differ: 0 is not at all."""
        return float(np.sqrt(((self._look(one) - self._look(other)) ** 2).mean()))

    def _look(self, moment: Moment) -> np.ndarray:
        picture = moment.after or ""
        if picture not in self._looks:
            try:
                self._looks[picture] = look_of(self.store.image(picture)["bytes"])
            except Exception as error:  # a damaged header can make Pillow's plugins raise nearly anything
                message = f"expected a picture after {moment.action}, found one that does not decode ({error})"
                hint = "check the release and build the dataset again"
                raise BrokenImageError(message, recipe=moment.recipe, hint=hint) from error
        return self._looks[picture]


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
