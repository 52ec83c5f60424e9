"""Leaves, mushrooms, florets, grains, strands, flakes and fluids as the pen draws them."""

from __future__ import annotations

import cmath
import random

import numpy as np

from recipeflow.kitchen.camera.bodies import Body
from recipeflow.kitchen.camera.drawing import WHITE, Pen, blob, box, mix, tone
from recipeflow.kitchen.camera.look import RGB
from recipeflow.kitchen.camera.produce import (
    Draw,
    ball,
    capsule,
    curl,
    egg,
    head,
    leaf,
    long,
    pod,
    sheet_slice,
    slab,
    stalk,
)


def leaves(pen: Pen, body: Body, rng: random.Random) -> None:
    """Leafy greens: a bunch with its stems together, or single leaves."""
    feature, length = body.trait.feature, body.length
    if feature in ("loose", "serrated", "crumbs"):
        _single_leaf(pen, body, rng)
        return
    base = complex(-length * 0.48, 0)
    for _ in range(body.trait.parts):
        turn = cmath.rect(1, rng.uniform(-0.42, 0.42))
        reach = length * rng.uniform(0.78, 1.0)
        green = tone(body.skin, rng.uniform(0.85, 1.12))
        stem_end = base + turn * reach * (0.12 if feature == "frills" else 0.45)
        pen.line([base, stem_end], mix(body.flesh, WHITE, 0.25), length * 0.035)
        if feature == "feathers":
            _feather(pen, stem_end, turn, reach * 0.55, green)
        elif feature == "frills":
            leaf(pen, stem_end, turn, reach * 0.86, length * 0.42, green, 0.2)
        else:
            leaf(pen, stem_end, turn, reach * 0.56, length * 0.27, green, 0.3 if feature == "lobes" else 0.08)
    if not body.trimmed:
        pen.disc(base, length * 0.05, mix(body.flesh, (206, 150, 130), 0.5))


def _single_leaf(pen: Pen, body: Body, rng: random.Random) -> None:
    feature = body.trait.feature
    if feature == "serrated":
        leaf(pen, complex(-body.length * 0.45, 0), 1 + 0j, body.length * 0.95, body.length * 0.7, body.skin, 0.14)
        if not body.trimmed:
            pen.line([-body.length * 0.6 + 0j, -body.length * 0.44 + 0j], body.flesh, 1.6)
        return
    small = body.length * (0.32 if feature == "loose" else 0.3)
    red = feature == "loose" and rng.random() < 0.25
    colour = (122, 52, 62) if red else tone(body.skin, rng.uniform(0.85, 1.25))
    leaf(pen, complex(-small * 0.5, 0), 1 + 0j, small, small * rng.uniform(0.4, 0.6), colour, 0.06)


def _feather(pen: Pen, base: complex, turn: complex, length: float, colour: RGB) -> None:
    """The comb-like leaf of mizuna."""
    pen.line([base, base + turn * length], mix(colour, WHITE, 0.3), 1.3)
    for k in range(6):
        start = base + turn * length * (0.2 + 0.13 * k)
        for side in (0.7, -0.7):
            pen.line([start, start + turn * cmath.rect(length * (0.34 - 0.03 * k), side)], colour, 2.2)


def mushroom(pen: Pen, body: Body, rng: random.Random) -> None:
    """A cluster of shimeji, a bundle of enoki, or single button mushrooms."""
    feature, length = body.trait.feature, body.length
    if feature == "button":
        pen.polygon(capsule(length * 0.5, length * 0.3) - length * 0.25, body.flesh)
        pen.dome(blob(rng, length * 0.4, 0.03) + length * 0.08, body.skin, 0.5, 6)
        return
    needles = feature == "needles"
    count, cap = body.trait.parts, 0.03 if needles else 0.085
    for k in range(count):
        spread = (k / (count - 1) - 0.5) * (0.5 if needles else 0.8) + rng.uniform(-0.05, 0.05)
        end = -length * 0.5 + cmath.rect(length * rng.uniform(0.74, 0.98), spread)
        pen.line(
            [complex(-length * 0.5, length * spread * 0.25), end],
            tone(body.flesh, rng.uniform(0.9, 1.0)),
            length * cap * 0.8,
        )
        single_cap(pen, end, length * cap * rng.uniform(0.85, 1.2), body.skin)
    if not body.trimmed:
        pen.polygon(blob(rng, length * 0.13, 0.1) - length * 0.48, tone(body.flesh, 0.76))


def single_cap(pen: Pen, centre: complex, radius: float, colour: RGB) -> None:
    """The round cap of a small mushroom."""
    pen.disc(centre, radius, tone(colour, 0.86))
    pen.disc(centre + pen.light * radius * 0.18, radius * 0.72, colour)
    pen.disc(centre + pen.light * radius * 0.35, radius * 0.34, mix(colour, WHITE, 0.3))


def floret(pen: Pen, body: Body, rng: random.Random) -> None:
    """Broccoli and cauliflower: a thick stem and a crown of buds."""
    crown(pen, body, body.length / 2, rng, 26)


def crown(pen: Pen, body: Body, radius: float, rng: random.Random, buds: int) -> None:
    """A stem with a bumpy head of this many buds."""
    pen.polygon(capsule(radius * 1.1, radius * (0.3 if body.trimmed else 0.5)) - radius * 0.5, body.flesh)
    for k in range(buds):
        spot = cmath.rect(radius * 0.66 * (1 - k / buds) ** 0.5, 2.4 * k) + radius * 0.26
        size = radius * rng.uniform(0.2, 0.3)
        colour = tone(body.skin, rng.uniform(0.86, 1.04) + 0.12 * k / buds)
        pen.disc(spot, size, tone(colour, 0.8))
        pen.disc(spot + pen.light * size * 0.25, size * 0.74, colour)
        for _ in range(4):
            pen.disc(spot + cmath.rect(size * 0.55, rng.uniform(0, 6.3)), size * 0.16, mix(colour, WHITE, 0.2))


def grain(pen: Pen, body: Body, rng: random.Random) -> None:
    """Beans, corn, macaroni, croutons; cherry tomatoes and radishes are small balls."""
    feature, length, width = body.trait.feature, body.length, body.width
    if feature in ("calyx", "leafstalk"):
        ball(pen, body, rng)
    elif feature == "beans":
        colour = rng.choice((body.skin, body.flesh, (226, 200, 150), (120, 48, 44)))
        bean = capsule(length, width)
        pen.dome(bean + 1j * width * 0.16 * np.cos(bean.real / length * 3.1), colour, 0.4, 4)
    elif feature == "tubes":
        tube = capsule(length, width)
        bend = 1j * width * 0.5 * np.cos(tube.real / length * 3.1)
        pen.polygon(tube + bend, tone(body.skin, 0.84))
        pen.polygon(tube.real * 0.9 + 1j * tube.imag * 0.6 + bend, body.skin)
        pen.disc(complex(length * 0.4, width * 0.15), width * 0.26, tone(body.skin, 0.6))
    elif feature == "cubes":
        cube(pen, length * 0.9, body.skin, body.flesh, rng)
    else:
        pen.dome(blob(rng, length / 2, 0.05, body.trait.slim), body.skin, 0.45, 4)


def cube(pen: Pen, side: float, skin: RGB, flesh: RGB, rng: random.Random) -> None:
    """A die: its top, and darker flanks on the side away from the light."""
    shift = pen.light * side * 0.1
    pen.polygon(box(side, side * rng.uniform(0.85, 1.05)) - shift, tone(mix(flesh, skin, 0.5), 0.76))
    pen.polygon(box(side * 0.86, side * 0.8) + shift, flesh)
    if rng.random() < 0.45:
        pen.polygon(box(side * 0.86, side * 0.16) + shift + 0.38j * side, skin)


def strand(pen: Pen, body: Body, rng: random.Random) -> None:
    """Sprouts, noodles, shreds of nori, rings of chives: a few at a time."""
    feature, unit = body.trait.feature, body.unit
    if feature == "rings":
        for _ in range(4):
            spot = complex(rng.uniform(-0.14, 0.14), rng.uniform(-0.14, 0.14)) * unit
            pen.disc(spot, unit * 0.035, body.skin)
            pen.disc(spot, unit * 0.016, mix(body.flesh, WHITE, 0.4))
        return
    count, reach, thick = {"sprouts": (3, 0.5, 0.04), "noodles": (4, 0.62, 0.028)}.get(feature, (4, 0.22, 0.022))
    for _ in range(count):
        t = np.linspace(-0.5, 0.5, 9)
        wave = rng.uniform(0.04, 0.14) * np.sin(t * rng.uniform(4, 9) + rng.uniform(0, 6))
        line = (
            unit * reach * (t + 1j * wave * (0 if feature == "shreds" else 1)) * cmath.rect(1, rng.uniform(-0.7, 0.7))
        )
        line = line + unit * 0.1 * complex(rng.uniform(-1, 1), rng.uniform(-1, 1))
        pen.line(line, tone(body.skin, 0.86), unit * thick)
        pen.line(line, tone(body.skin, rng.uniform(0.98, 1.08)), unit * thick * 0.55)
        if feature == "sprouts":
            pen.oval(line[-1], unit * 0.045, 0.7, (226, 204, 96))


def flake(pen: Pen, body: Body, rng: random.Random) -> None:
    """Tuna, bonito, fried onion: ragged thin pieces with fibres."""
    length = body.length * 0.24
    outline = blob(rng, length, 0.22, rng.uniform(0.4, 0.8), 14)
    colour = tone(body.skin, rng.uniform(0.88, 1.1))
    pen.polygon(outline, colour)
    for y in (-0.3, 0.0, 0.3):
        pen.line(
            [complex(-length * 0.6, y * length * 0.5), complex(length * 0.6, y * length * 0.4)],
            mix(colour, WHITE, 0.3),
            1,
        )


def powder(pen: Pen, body: Body, rng: random.Random) -> None:
    """A pinch: grains scattered ever more thinly."""
    for _ in range(26):
        spot = cmath.rect(body.unit * 0.17 * rng.random(), rng.uniform(0, 6.283))
        pen.disc(spot, rng.uniform(0.6, 1.3), tone(body.skin, rng.uniform(0.82, 1.1)))


def paste(pen: Pen, body: Body, rng: random.Random) -> None:
    """A dollop with a swirl on top."""
    radius = body.unit * 0.34
    pen.dome(blob(rng, radius, 0.07), body.skin, 0.35, 5)
    t = np.linspace(0.0, 1.0, 22)
    swirl = radius * (0.75 - 0.7 * t) * np.exp(1j * (t * 9 + rng.uniform(0, 6)))
    pen.line(swirl, tone(body.skin, 0.88), radius * 0.09)
    pen.line(swirl + pen.light * radius * 0.07, mix(body.skin, WHITE, 0.4), radius * 0.07)


def pool(pen: Pen, body: Body, rng: random.Random) -> None:
    """A puddle: darker at its rim, with reflections of the lamp."""
    radius = body.unit * 0.42
    outline = blob(rng, radius, 0.07, 0.9)
    pen.polygon(outline, tone(body.skin, 0.86))
    pen.polygon(outline * 0.93, body.skin)
    pen.polygon(outline * 0.7 + pen.light * radius * 0.12, mix(body.skin, WHITE, 0.12))
    shine = pen.light / abs(pen.light) * radius * 0.55
    pen.oval(shine, radius * 0.14, 0.5, mix(body.skin, WHITE, 0.75))
    pen.oval(-shine * 0.8 + radius * 0.2, radius * 0.05, 0.6, mix(body.skin, WHITE, 0.5))


WHOLE: dict[str, Draw] = {
    "ball": ball,
    "long": long,
    "stalk": stalk,
    "pods": pod,
    "head": head,
    "leaves": leaves,
    "slab": slab,
    "sheet": sheet_slice,
    "curls": curl,
    "eggs": egg,
    "grains": grain,
    "strands": strand,
    "flakes": flake,
    "mushroom": mushroom,
    "floret": floret,
    "powder": powder,
    "paste": paste,
    "liquid": pool,
}
"""What draws a whole thing of each shape of the pantry."""
