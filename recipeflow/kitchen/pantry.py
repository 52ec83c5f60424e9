"""What is in the kitchen: foods and seasonings, how they are named, measured, cut, heated and what they look like.

The tables are ``pantry.csv`` and ``dressings.csv``, one line each; planner, writer and camera read everything they
need from them, so a new food is a new line. Names and amounts are segmented with ``|``, because Japanese text has no
spaces.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

from recipeflow.characters import widen

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ingredient:
    """One thing that can stand in an ingredient list.

    Args:
        group: ``food``, ``seasoning``, ``topping`` or ``water``.
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
        """The Japanese name in one piece, by which everything refers to this ingredient."""
        return "".join(self.words)


@dataclass(frozen=True, slots=True)
class Dressing:
    """A family of dressings: its name in titles and the seasonings to draw from, the first always there."""

    name: str
    english: str
    seasonings: tuple[str, ...]


def _segments(text: str) -> Words:
    return tuple(widen(word) for word in text.split("|"))


def _many(text: str) -> tuple[str, ...]:
    return tuple(text.split(";")) if text else ()


def _read_table(name: str) -> Iterator[dict[str, str]]:
    yield from csv.DictReader(files(__package__).joinpath(name).read_text(encoding="utf-8").splitlines())


def _read_pantry() -> dict[str, Ingredient]:
    items = [
        Ingredient(
            group=row["group"],
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
