"""The state of the kitchen, and what actions do to it.

``Portion`` is one ingredient in one state; ``Stuff`` is what is together in one container; ``perform`` is the whole
physics: a pure function from the objects of an action to what they become. Planner, camera and the execution
of cooking programs all use it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

BOARD, BOWL, SMALL_BOWL, POT, PAN, PLATE, SIEVE = "board", "bowl", "small bowl", "pot", "pan", "plate", "sieve"
CONTAINERS = (BOARD, BOWL, SMALL_BOWL, POT, PAN, PLATE, SIEVE)

WATERS = frozenset({"お湯", "冷水"})
"""What runs off when something is drained."""

FORMS = (
    "whole",
    "halved",
    "quartered",
    "wedges",
    "rounds",
    "half-moons",
    "quarter-moons",
    "sliced",
    "diagonal",
    "julienned",
    "strips",
    "sticks",
    "diced",
    "chunks",
    "bite-sized",
    "roughly cut",
    "florets",
    "torn",
    "shaved",
    "flaked",
    "minced",
    "grated",
    "mashed",
    "beaten",
)
"""What a portion is cut or broken into."""

HEATS = ("raw", "boiled", "fried", "microwaved")
"""How a portion was cooked last."""

MARKS = ("trimmed", "washed", "soaked", "salted", "squeezed", "drained", "dressed", "chilled")
"""What else was done to it; ``trimmed`` means that peel, stem, seeds or core were removed."""


@dataclass(frozen=True, slots=True)
class Portion:
    """One ingredient (by its pantry name) in its present state."""

    ingredient: str
    form: str = "whole"
    heat: str = "raw"
    marks: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Stuff:
    """What is together in one container: the first ``mixed`` portions mixed through, the others on top of them."""

    portions: tuple[Portion, ...]
    container: str = BOARD
    mixed: int = 0


@dataclass(frozen=True, slots=True)
class Scene:
    """What the camera sees: a container with its contents, and what waits in a dish next to it (``aside``)."""

    container: str
    portions: tuple[Portion, ...] = ()
    mixed: int = 0
    aside: tuple[Portion, ...] = ()


@dataclass(frozen=True, slots=True)
class Effect:
    """What an action does to its objects.

    Args:
        form: The form it gives them.
        heat: The heat it gives them.
        mark: The mark it adds.
        join: Whether the objects are joined, with the content of the destination.
        mix: Whether the result is mixed through.
        drain: Whether water runs off and is gone.
    """

    form: str | None = None
    heat: str | None = None
    mark: str | None = None
    join: bool = False
    mix: bool = False
    drain: bool = False


def perform(
    effect: Effect, objects: Sequence[Stuff], container: str | None = None, destination: Stuff | None = None
) -> tuple[Stuff, ...]:
    """What the objects become: one result each, or a single one when the action joins them.

    Args:
        effect: What the action does.
        objects: The objects, in order.
        container: Where the results are afterwards; where they were by default.
        destination: What the objects are added to, for an action that joins.
    """
    changed = [_change_stuff(effect, stuff) for stuff in objects]
    if not effect.join:
        return tuple(replace(stuff, container=container or stuff.container) for stuff in changed)
    base, *others = changed if destination is None else (destination, *changed)
    portions = (*base.portions, *(portion for stuff in others for portion in stuff.portions))
    return (Stuff(portions, container or base.container, len(portions) if effect.mix else base.mixed),)


def _change_stuff(effect: Effect, stuff: Stuff) -> Stuff:
    kept = [not (effect.drain and portion.ingredient in WATERS) for portion in stuff.portions]
    portions = tuple(_change(effect, portion) for portion, stays in zip(stuff.portions, kept, strict=True) if stays)
    return replace(stuff, portions=portions, mixed=len(portions) if effect.mix else sum(kept[: stuff.mixed]))


def _change(effect: Effect, portion: Portion) -> Portion:
    if portion.ingredient in WATERS:
        return portion
    marks = portion.marks | {effect.mark} if effect.mark else portion.marks
    return replace(portion, form=effect.form or portion.form, heat=effect.heat or portion.heat, marks=marks)
