"""Pieces that no longer show the body they came from, and the table of all forms."""

from __future__ import annotations

import cmath
import random
from dataclasses import dataclass

import numpy as np

from recipeflow.kitchen.camera import cuts
from recipeflow.kitchen.camera.bodies import FLUIDS, Body
from recipeflow.kitchen.camera.cuts import LEAFY, across, shred
from recipeflow.kitchen.camera.drawing import WHITE, Pen, blob, mix, rough_polygon, tone
from recipeflow.kitchen.camera.produce import Draw, capsule, curl, leaf_outline, stripes
from recipeflow.kitchen.camera.smalls import WHOLE, crown, cube, flake, pool, single_cap


@dataclass(frozen=True)
class Cut:
    """A form: what draws a piece, how many there are, and how they lie.

    Args:
        draw: Draws one piece, or a small clump of very small ones.
        count: How many there are of an ingredient of size 1.
        reach: The radius around a piece in tomatoes; None where it follows from the body.
        step: How far apart pieces lie in a row along the body, as they fall from the knife, in radii of the cut;
            0 where they fall into a heap.
        height: How high a piece stands in pixels, which decides on its relief and shadow.
        soft: Whether the pieces flow into each other, with hardly an edge between them.
    """

    draw: Draw
    count: int
    reach: float | None = None
    step: float = 0.0
    height: float = 3.0
    soft: bool = False


def julienne(pen: Pen, body: Body, rng: random.Random) -> None:
    """Needles, a few at a time."""
    shred(pen, body, rng, 0.46, 0.036, 6)


def strip(pen: Pen, body: Body, rng: random.Random) -> None:
    """Short flat strips: peppers bend and show their skin, bacon and pork show fat."""
    length, width = body.unit * 0.42, body.unit * 0.12
    _slat(pen, body, length * rng.uniform(0.85, 1.1), width, rng)


def stick(pen: Pen, body: Body, rng: random.Random) -> None:
    """Long square sticks."""
    _slat(pen, body, body.unit * rng.uniform(0.56, 0.66), body.unit * 0.13, rng)


def _slat(pen: Pen, body: Body, length: float, width: float, rng: random.Random) -> None:
    t = np.linspace(-0.5, 0.5, 7)
    bend = rng.uniform(0.1, 0.24) if body.trait.section == "hollow" else 0.0
    spine = length * (t + 1j * bend * (1 - 4 * t * t))
    outline = np.concatenate([spine + 0.5j * width, (spine - 0.5j * width)[::-1]])
    pen.polygon(outline, tone(body.flesh, 0.8))
    pen.polygon(outline * 0.97 + pen.light * width * 0.12, body.flesh)
    if body.trait.section == "stripes":
        stripes(pen, body, length * 0.9, width, rng)
        pen.line(spine, body.skin, width * 0.4)
    elif rng.random() < (1.0 if body.trait.section == "hollow" else 0.5):
        pen.line(spine + 0.32j * width, body.skin, width * (0.6 if body.trait.section == "hollow" else 0.25))


def die(pen: Pen, body: Body, rng: random.Random) -> None:
    """Small cubes."""
    cube(pen, body.unit * rng.uniform(0.17, 0.21), body.skin, body.flesh, rng)


def chunk(pen: Pen, body: Body, rng: random.Random) -> None:
    """Irregular chunks: two or three cut faces and a patch of skin."""
    _lump(pen, body, body.unit * rng.uniform(0.2, 0.26), 5, rng)


def bite(pen: Pen, body: Body, rng: random.Random) -> None:
    """Pieces for one bite; what is thin anyway is just cut to length."""
    if body.shape in LEAFY:
        leaf_patch(pen, body, body.unit * rng.uniform(0.24, 0.32), 0.12, rng)
    elif body.shape == "curls":
        curl(pen, body, rng)
        pen.erase(cuts.half_disc(body.length * 0.46))
    elif across(body) < body.unit * 0.16 or body.shape == "mushroom":
        length_of(pen, body, rng)
    else:
        _lump(pen, body, body.unit * rng.uniform(0.23, 0.29), 4, rng)


def _lump(pen: Pen, body: Body, radius: float, corners: int, rng: random.Random) -> None:
    outline = rough_polygon(rng, radius, corners)
    pen.polygon(outline - pen.light * radius * 0.1, tone(body.flesh, 0.72))
    pen.polygon(outline * 0.95, tone(body.flesh, 0.9))
    ridge = outline[0] * 0.25
    pen.polygon(np.array([outline[0], outline[1], ridge]) * 0.93, mix(body.flesh, WHITE, 0.16))
    pen.polygon(np.array([outline[1], outline[2], ridge]) * 0.93, body.flesh)
    if rng.random() < 0.6 and body.trait.feature != "block":
        pen.polygon(np.array([outline[-1], outline[0], outline[0] * 0.72, outline[-1] * 0.72]), body.skin)
    if body.trait.section in ("stripes", "lines"):
        stripes(pen, body, radius * 1.2, radius, rng)


def length_of(pen: Pen, body: Body, rng: random.Random) -> None:
    """A short length of a stalk, a pod or a bundle of thin mushrooms."""
    long, wide = body.unit * rng.uniform(0.34, 0.46), max(body.unit * 0.05, 2 * across(body))
    if body.shape == "mushroom":
        for k in range(-2, 3):
            start = complex(-long / 2, k * long * 0.07)
            pen.line([start, start + long], tone(body.flesh, rng.uniform(0.88, 1.0)), body.unit * 0.035)
            single_cap(pen, start + long, body.unit * 0.035, body.skin)
        return
    cuts.tube(pen, capsule(long, min(wide, body.unit * 0.26)), body)


def leaf_patch(pen: Pen, body: Body, radius: float, ragged: float, rng: random.Random) -> None:
    """A piece of leaf: darker towards the tip, a pale rib through it."""
    outline = blob(rng, radius, ragged, rng.uniform(0.65, 0.95), 22)
    inner = rng.uniform(0.0, 0.75) if body.shape == "head" else rng.uniform(0.0, 0.35)
    colour = tone(mix(body.skin, body.flesh, inner), rng.uniform(0.9, 1.08))
    pen.polygon(outline, tone(colour, 0.84))
    pen.polygon(outline * 0.92 + pen.light * radius * 0.05, colour)
    pen.polygon(outline * 0.6 + pen.light * radius * 0.12, tone(colour, 1.08))
    rib = mix(colour, (244, 248, 222), 0.5)
    pen.line(
        [complex(-radius * 0.85, 0), complex(radius * 0.5, radius * 0.1)],
        rib,
        radius * (0.16 if inner > 0.3 else 0.07),
    )
    for share in (-0.4, 0.0):
        for side in (0.45j, -0.4j):
            pen.line([radius * share + 0j, radius * (share + 0.4) + side * radius], rib, radius * 0.05)


def rough(pen: Pen, body: Body, rng: random.Random) -> None:
    """Squares of leaf, or coarse pieces of anything else."""
    if body.shape not in LEAFY:
        _lump(pen, body, body.unit * rng.uniform(0.16, 0.24), 4, rng)
        return
    side = body.unit * rng.uniform(0.36, 0.46)
    inner = rng.uniform(0.0, 0.8)
    colour = tone(mix(body.skin, body.flesh, inner), rng.uniform(0.92, 1.06))
    square = rough_polygon(rng, side * 0.66, 4, 0.1)
    pen.polygon(square, tone(colour, 0.82))
    pen.polygon(square * 0.93 + pen.light * side * 0.03, colour)
    pen.line([-side * 0.5 + 0j, side * 0.5 + 0j], mix(colour, (244, 248, 222), 0.5), side * (0.04 + 0.1 * inner))
    pen.line([-side * 0.1 + 0j, side * 0.3 + 0.35j * side], mix(colour, (244, 248, 222), 0.4), side * 0.04)


def torn(pen: Pen, body: Body, rng: random.Random) -> None:
    """Ragged pieces, larger than a bite."""
    if body.shape in LEAFY:
        leaf_patch(pen, body, body.unit * rng.uniform(0.28, 0.42), 0.22, rng)
        return
    outline = blob(rng, body.unit * rng.uniform(0.18, 0.26), 0.2, 0.8, 18)
    pen.dome(outline, body.flesh, 0.25, 4)


def shaving(pen: Pen, body: Body, rng: random.Random) -> None:
    """Pointed slivers, as from sharpening a pencil."""
    for _ in range(3):
        turn, shift = (
            cmath.rect(1, rng.uniform(-0.5, 0.5)),
            body.unit * 0.12 * complex(rng.uniform(-1, 1), rng.uniform(-1, 1)),
        )
        sliver = (leaf_outline(body.unit * 0.5, body.unit * 0.1) - body.unit * 0.25) * turn + shift
        pen.polygon(sliver, mix(body.skin, body.flesh, 0.3))
        pen.polygon(sliver * 0.88 + shift * 0.12, body.flesh)


def flaked(pen: Pen, body: Body, rng: random.Random) -> None:
    """Pulled apart along its own seams: single mushrooms, fibres of crab stick and meat."""
    if body.shape == "mushroom":
        end = body.unit * rng.uniform(0.26, 0.36)
        thin = body.trait.feature == "needles"
        pen.line([-end + 0j, end * 0.6 + 0j], body.flesh, body.unit * (0.035 if thin else 0.075))
        single_cap(pen, end * 0.6 + 0j, body.unit * (0.035 if thin else 0.11), body.skin)
        return
    if body.shape not in ("stalk", "slab"):
        flake(pen, body, rng)
        return
    for _ in range(4):
        start = body.unit * 0.1 * complex(rng.uniform(-1, 1), rng.uniform(-1, 1))
        way = cmath.rect(body.unit * rng.uniform(0.2, 0.32), rng.uniform(-0.3, 0.3))
        pen.line(
            [start - way, start, start + way * cmath.rect(1, 0.2)],
            rng.choice((body.skin, body.flesh, body.flesh)),
            body.unit * 0.045,
        )


def mince(pen: Pen, body: Body, rng: random.Random) -> None:
    """Tiny bits, a dozen at a time."""
    crumbs(pen, body, rng, 0.036, 12)


def crumbs(pen: Pen, body: Body, rng: random.Random, size: float, count: int) -> None:
    """Bits of this size (in tomatoes), strewn over a small round."""
    for _ in range(count):
        spot = cmath.rect(body.unit * 0.19 * rng.random() ** 0.6, rng.uniform(0, 6.283))
        bit = rough_polygon(rng, body.unit * size * rng.uniform(0.7, 1.2), 4) + spot
        leafy = body.shape in LEAFY
        colour = mix(body.flesh, body.skin, rng.choice((0.0, 0.0, 0.15, 0.6)) if not leafy else rng.uniform(0.4, 1.0))
        pen.polygon(bit - pen.light * 0.6, tone(colour, 0.76))
        pen.polygon(bit, tone(colour, rng.uniform(0.96, 1.08)))


def grating(pen: Pen, body: Body, rng: random.Random) -> None:
    """Wet fluff: a soft patch of juice with short fibres in it."""
    radius = body.unit * 0.22
    pen.polygon(blob(rng, radius, 0.08), mix(body.flesh, body.skin, 0.12))
    for _ in range(26):
        spot = cmath.rect(radius * 0.92 * rng.random() ** 0.5, rng.uniform(0, 6.283))
        way = cmath.rect(body.unit * 0.03, rng.uniform(0, 3.14))
        pen.line([spot - way, spot + way], tone(body.flesh, rng.choice((0.82, 0.94, 1.08, 1.16))), 0.9)


def mash(pen: Pen, body: Body, rng: random.Random) -> None:
    """A soft mass with lumps and the furrows of a fork."""
    radius = body.unit * 0.3
    colour = mix(body.flesh, body.skin, 0.06)
    pen.dome(blob(rng, radius, 0.09), colour, 0.2, 4)
    for k in range(-2, 3):
        t = np.linspace(-0.7, 0.7, 6)
        furrow = radius * (t + 1j * (0.24 * k + 0.06 * np.sin(t * 5 + k)))
        pen.line(furrow, tone(colour, 0.88), 1.2)
        pen.line(furrow + pen.light * 1.2, mix(colour, WHITE, 0.3), 1.0)
    for _ in range(4):
        spot = cmath.rect(radius * 0.7 * rng.random(), rng.uniform(0, 6.283))
        pen.disc(spot, radius * 0.1, mix(colour, body.skin, 0.25))


def beaten(pen: Pen, body: Body, rng: random.Random) -> None:
    """A pool with foam on it."""
    pool(pen, body, rng)
    for _ in range(22):
        spot = cmath.rect(body.unit * 0.34 * rng.random() ** 0.5, rng.uniform(0, 6.283))
        pen.disc(spot, rng.uniform(0.8, 2.4), mix(body.skin, WHITE, rng.uniform(0.25, 0.55)))


def sprig(pen: Pen, body: Body, rng: random.Random) -> None:
    """One floret."""
    crown(pen, body, body.unit * rng.uniform(0.24, 0.3), rng, 11)


CUTS = {
    "halved": Cut(cuts.half, 2, step=2.1, height=4),
    "quartered": Cut(cuts.quarter, 4, step=1.25, height=4),
    "wedges": Cut(cuts.wedge, 7, step=0.62, height=4),
    "rounds": Cut(cuts.rounds, 12, step=0.72, height=2.4),
    "half-moons": Cut(cuts.half_moon, 18, step=0.5, height=2.4),
    "quarter-moons": Cut(cuts.quarter_moon, 26, height=2.4),
    "sliced": Cut(cuts.slice_, 15, step=0.55, height=2),
    "diagonal": Cut(cuts.oblique, 13, step=0.75, height=2.4),
    "julienned": Cut(julienne, 26, 0.42, height=1.6),
    "strips": Cut(strip, 28, 0.28, height=2.2),
    "sticks": Cut(stick, 15, 0.36, height=2.6),
    "diced": Cut(die, 42, 0.16, height=2.2),
    "chunks": Cut(chunk, 14, 0.32),
    "bite-sized": Cut(bite, 12, 0.4),
    "roughly cut": Cut(rough, 17, 0.4, height=2),
    "florets": Cut(sprig, 9, 0.36, height=4),
    "torn": Cut(torn, 13, 0.6, height=2),
    "shaved": Cut(shaving, 22, 0.42, height=1.4),
    "flaked": Cut(flaked, 20, 0.46, height=1.8),
    "minced": Cut(mince, 30, 0.24, height=1.2),
    "grated": Cut(grating, 22, 0.26, height=1.2, soft=True),
    "mashed": Cut(mash, 14, 0.34, height=2.2, soft=True),
    "beaten": Cut(beaten, 1, 0.5, height=1.5),
}
"""Every form but ``whole``."""


def cut_of(body: Body) -> Cut:
    """How the portion lies there; a whole one is a cut into as many pieces as there are units of it."""
    if body.form in CUTS and body.shape not in FLUIDS:
        return CUTS[body.form]
    return Cut(
        WHOLE[body.shape], body.trait.units, _WHOLE_REACH.get(body.shape), height=_WHOLE_HEIGHT.get(body.shape, 3.0)
    )


def reach_of(body: Body, cut: Cut) -> float:
    """How far a piece reaches around its middle, in pixels."""
    if cut.reach is not None:
        return cut.reach * body.unit * 1.1
    if body.form == "whole":
        return body.length * (0.8 if body.shape == "grains" else 0.62)
    if cut.draw in (cuts.half, cuts.wedge, cuts.slice_):
        return max(across(body) * 1.1, body.length * 0.5, body.unit * 0.4 * (body.shape in LEAFY))
    return across(body) * (1.8 if cut.draw is cuts.oblique else 1.12) + 1


_WHOLE_REACH = {"strands": 0.5, "powder": 0.22, "paste": 0.42, "liquid": 0.5}
_WHOLE_HEIGHT = {
    "ball": 7.0,
    "head": 9.0,
    "long": 5.0,
    "floret": 7.0,
    "eggs": 6.0,
    "slab": 4.0,
    "strands": 1.4,
    "powder": 0.8,
    "liquid": 1.0,
    "grains": 2.4,
    "flakes": 1.6,
    "leaves": 2.6,
    "pods": 3.0,
}
