"""How pieces lie: in a row as they fell from the knife, side by side, in a heap, or strewn through a mixture."""

from __future__ import annotations

import cmath
import math
import random
from dataclasses import dataclass, replace

from recipeflow.kitchen.camera.bodies import FLUIDS, Body, body_of
from recipeflow.kitchen.camera.cuts import across
from recipeflow.kitchen.camera.drawing import Sprite, sheet
from recipeflow.kitchen.camera.look import RGB, Look, derive
from recipeflow.kitchen.camera.pieces import Cut, cut_of, reach_of
from recipeflow.kitchen.camera.surfaces import Place
from recipeflow.kitchen.world import Portion

GOLDEN = math.pi * (3 - 5**0.5)
TIGHT = {
    "strands": 0.34,
    "flakes": 0.34,
    "leaves": 0.3,
    "powder": 0.5,
    "grains": 0.7,
    "julienned": 0.4,
    "strips": 0.56,
    "sticks": 0.54,
    "shaved": 0.4,
    "flaked": 0.42,
    "diced": 0.76,
    "minced": 0.54,
    "quarter-moons": 0.72,
    "half-moons": 0.72,
    "rounds": 0.8,
    "sliced": 0.72,
    "diagonal": 0.6,
    "halved": 1.0,
    "quartered": 0.8,
    "torn": 0.44,
    "bite-sized": 0.56,
    "grated": 0.5,
    "mashed": 0.5,
}
"""How closely pieces lie, where that is not the usual distance."""

SEVERAL = ("grains", "pods", "eggs", "curls", "mushroom", "stalk")
ACROSS = ("rounds", "half-moons", "sliced", "wedges")


@dataclass(frozen=True)
class Heap:
    """One portion ready to be laid out.

    Args:
        portion: What it is.
        body: How it looks.
        cut: What it is cut into.
        sprites: Drawings of its pieces.
        count: How many pieces there are.
        footprint: The room a piece takes, as a radius in pixels.
        axis: The direction along which the whole thing lay.
        in_line: Whether the pieces lie in order rather than in a heap.
    """

    portion: Portion
    body: Body
    cut: Cut
    sprites: list[Sprite]
    count: int
    footprint: float
    axis: float
    in_line: bool

    @property
    def radius(self) -> float:
        """How wide a heap of it is."""
        return self.footprint * math.sqrt(self.count) * 0.72 * self.body.limp


def make_heap(look: Look, portion: Portion, sauce: RGB | None, scale: float, tidy: bool) -> Heap:
    """Draw the pieces of a portion.

    Args:
        look: The recipe's look.
        portion: What is to be drawn.
        sauce: The colour of the dressing it lies in.
        scale: The share of its usual size at which it is drawn.
        tidy: Whether slices still lie as they fell from the knife, as they do on a board.
    """
    body = body_of(look, portion, sauce, scale)
    cut = cut_of(body)
    rng = random.Random(derive("pieces", look.seed, portion.ingredient, portion.form))
    axis = random.Random(derive("axis", look.seed, portion.ingredient)).uniform(-0.6, 0.6)
    count = _count(body, cut)
    reach = reach_of(body, cut)
    turn = math.pi / 2 if body.form in ACROSS else 0.0
    in_line = _in_line(body, cut, count, tidy)
    angles = [
        axis + turn + rng.uniform(-0.12, 0.12) if in_line else rng.uniform(0, 2 * math.pi)
        for _ in range(min(count, _variants(reach)))
    ]
    finish = replace(body.finish, height=cut.height * scale)
    if cut.soft:
        finish = replace(finish, relief=0.3, shadow=0.16)
    sprites = sheet(lambda pen, r: cut.draw(pen, body, r), reach, angles, body.skin, look.light, finish, rng)
    return Heap(
        portion,
        body,
        cut,
        sprites,
        count,
        reach * TIGHT.get(body.shape if body.form == "whole" else body.form, 0.62),
        axis,
        in_line,
    )


def _variants(reach: float) -> int:
    """How many different drawings of a piece there are; large ones cost more and come in small numbers."""
    return 7 if reach < 26 else 5 if reach < 40 else 3


def _in_line(body: Body, cut: Cut, count: int, tidy: bool) -> bool:
    """Whether the pieces lie in order: a few whole things, or what one large thing was sliced into."""
    if body.form == "whole":
        return count < 9
    return tidy and cut.step > 0 and across(body) > body.unit * 0.16 and body.shape not in SEVERAL


def _count(body: Body, cut: Cut) -> int:
    units = body.trait.units if body.shape in SEVERAL else 1
    if body.form in ("halved", "quartered"):
        return cut.count * min(units, 5)
    if body.form == "whole" or body.shape in FLUIDS or body.form == "beaten":
        return cut.count
    small = 1.0
    if cut.step:
        small = 2.0 if across(body) < body.unit * 0.25 else 0.55 if across(body) > body.unit * 0.6 else 1.0
    return max(2, round(small * cut.count * min(1.7, max(0.6, body.length / body.unit)) ** 0.8))


def centre_of(heap: Heap, place: Place, number: int, total: int, look: Look) -> complex:
    """Where an unmixed portion lies: in the middle when it is alone, else around it."""
    rng = random.Random(derive("centre", look.seed, heap.portion.ingredient))
    centre = place.centre + cmath.rect(place.radius * 0.1 * rng.random(), rng.uniform(0, 2 * math.pi))
    if total == 1:
        return centre
    ring = cmath.rect(place.radius * 0.5, GOLDEN * number + derive("ring", look.seed) % 7)
    return centre + (ring if place.round else complex(ring.real * 1.15, ring.imag * 0.75))


def spots(heap: Heap, place: Place, number: int, total: int, look: Look) -> list[complex]:
    """Where the pieces of an unmixed portion lie: around its own spot, the same in every take of the recipe.

    Args:
        heap: The portion.
        place: Where there is room.
        number: Which of the portions in the container it is.
        total: How many there are.
        look: The recipe's look.
    """
    centre = centre_of(heap, place, number, total, look)
    room = place.radius * (0.55 if total > 1 else 0.86)
    rng = random.Random(derive("spots", look.seed, heap.portion.ingredient))
    if heap.count == 1:
        return [centre]
    if heap.in_line:
        return _row(heap, centre, room)
    return [centre + spot for spot in scatter(heap.count, min(room, heap.radius), rng)]


def _row(heap: Heap, centre: complex, room: float) -> list[complex]:
    """Pieces one behind the other along the body, or whole things side by side across it."""
    along = cmath.rect(1, heap.axis)
    step = heap.cut.step * across(heap.body)
    if heap.body.form == "whole":
        along, step = along * 1j, max(heap.body.width * 1.12, heap.body.length * 0.24)
    rows = 1 if heap.count * step < 2 * room else 2
    per_row = math.ceil(heap.count / rows)
    step = min(step, 2 * room / per_row) * heap.body.limp
    found = []
    for k in range(heap.count):
        row, column = divmod(k, per_row)
        shift = (row - (rows - 1) / 2) * across(heap.body) * 1.9
        found.append(centre + along * (step * (column - (per_row - 1) / 2) + 1j * shift))
    return found


def scatter(count: int, radius: float, rng: random.Random) -> list[complex]:
    """Spots that cover a circle evenly, from its edge to its middle, so that the middle lies on top."""
    phase, wild = rng.uniform(0, 2 * math.pi), radius * 0.5 / math.sqrt(max(1, count))
    return [
        cmath.rect(radius * math.sqrt((k + 0.5) / count), GOLDEN * k + phase)
        + complex(rng.uniform(-wild, wild), rng.uniform(-wild, wild))
        for k in reversed(range(count))
    ]
