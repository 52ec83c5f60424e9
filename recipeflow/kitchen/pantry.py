"""What is in the kitchen: foods and seasonings, how they are named, measured, cut, heated and what they look like.

The tables are ``pantry.csv`` and ``dressings.csv``, one line each; planner, writer and camera read everything they
need from them, so a new food is a new line. Names and amounts are segmented with ``|``, because Japanese text has no
spaces.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

from recipeflow.errors import UsageError
from recipeflow.language.japanese import widen

Words = tuple[str, ...]
SHELVES = ("all", "first", "second")
"""The ingredients of a kitchen: all of them, or one of two halves that share no word of any name."""


@dataclass(frozen=True, slots=True)
class Ingredient:
    """One entry for an ingredient list.

    Args:
        group: ``food``, ``seasoning``, ``topping`` or ``water``.
        half: The half of the pantry it is in, ``first`` or ``second``; water is in ``both``.
        words: The Japanese name, segmented.
        english: The name for the glossary.
        shape: How the camera draws the whole thing.
        skin: Its outer colour, ``#rrggbb``.
        flesh: Its inner colour, seen once it is peeled or cut.
        size: The length of the whole thing relative to a tomato.
        common: How often it is chosen, relative to the others.
        cuts: The forms it can be cut into.
        parts: What is removed from it before it is cut.
        heats: The ways it can be cooked.
        amounts: Quantities, each segmented.
    """

    group: str
    half: str
    words: Words
    english: str
    shape: str
    skin: str
    flesh: str
    size: float
    common: float
    cuts: tuple[str, ...]
    parts: tuple[str, ...]
    heats: tuple[str, ...]
    amounts: tuple[Words, ...]

    @property
    def name(self) -> str:
        """The Japanese name in one piece, used as the id of this ingredient."""
        return "".join(self.words)


@dataclass(frozen=True, slots=True)
class Dressing:
    """A family of dressings: its name in titles and its seasonings, of which the first is always used."""

    name: str
    english: str
    seasonings: tuple[str, ...]


def _segments(text: str) -> Words:
    return tuple(widen(word) for word in text.split("|"))


def _many(text: str) -> tuple[str, ...]:
    return tuple(text.split(";")) if text else ()


def _read_table(name: str) -> Iterator[dict[str, str]]:
    yield from csv.DictReader(files("recipeflow.kitchen").joinpath(name).read_text(encoding="utf-8").splitlines())


def _read_pantry() -> dict[str, Ingredient]:
    items = [
        Ingredient(
            group=row["group"],
            half=row["half"],
            words=_segments(row["name"]),
            english=row["english"],
            shape=row["shape"],
            skin=row["skin"],
            flesh=row["flesh"],
            size=float(row["size"]),
            common=float(row["common"]),
            cuts=_many(row["cuts"]),
            parts=_many(row["parts"]),
            heats=_many(row["heats"]),
            amounts=tuple(_segments(amount) for amount in _many(row["amounts"])),
        )
        for row in _read_table("pantry.csv")
    ]
    return {item.name: item for item in items}


PANTRY = _read_pantry()
"""Every ingredient by its Japanese name."""

DRESSINGS = tuple(
    Dressing(row["name"], row["english"], _many(row["seasonings"])) for row in _read_table("dressings.csv")
)
"""Every family of dressings."""


def in_group(group: str) -> tuple[Ingredient, ...]:
    """All ingredients of one group, in the order of the table."""
    return tuple(item for item in PANTRY.values() if item.group == group)


@dataclass(frozen=True)
class Shelf:
    """The ingredients that a kitchen cooks with.

    Args:
        foods: What salads are made of.
        toppings: What is sprinkled on them.
        dressings: Families of dressings, with the available seasonings.
        names: The names of all available ingredients.
    """

    foods: tuple[Ingredient, ...]
    toppings: tuple[Ingredient, ...]
    dressings: tuple[Dressing, ...]
    names: frozenset[str]

    def among(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The available ones of these names, in their order."""
        return tuple(name for name in names if name in self.names)


@cache
def open_shelf(name: str) -> Shelf:
    """A shelf by its name in `SHELVES`; it includes a family of dressings if it has the first seasoning."""
    if name not in SHELVES:
        raise UsageError(f"expected a pantry among {', '.join(SHELVES)}, found {name!r}; choose one of them")
    names = frozenset(item.name for item in PANTRY.values() if name == "all" or item.half in (name, "both"))
    foods, toppings = (tuple(item for item in in_group(group) if item.name in names) for group in ("food", "topping"))
    dressings = tuple(
        replace(dressing, seasonings=tuple(one for one in dressing.seasonings if one in names))
        for dressing in DRESSINGS
        if dressing.seasonings[0] in names
    )
    return Shelf(foods, toppings, dressings, names)
