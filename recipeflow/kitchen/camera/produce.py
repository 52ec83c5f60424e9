"""Whole ingredients as the pen draws them, one function for each shape of the pantry."""

from __future__ import annotations

import cmath
import random
from collections.abc import Callable

import numpy as np

from recipeflow.kitchen.camera.bodies import Body
from recipeflow.kitchen.camera.drawing import CIRCLE, WHITE, Pen, blob, box, mix, tone
from recipeflow.kitchen.camera.look import RGB

Draw = Callable[[Pen, Body, random.Random], None]


def capsule(length: float, width: float, tip: float = 1.0) -> np.ndarray:
    """A rounded bar along x whose right end is ``tip`` times as wide as its left one."""
    x = CIRCLE.real * width / 2 + np.where(CIRCLE.real > 0, 1, -1) * (length - width) / 2
    taper = 1 + (tip - 1) * (x / length + 0.5)
    return x + 1j * CIRCLE.imag * width / 2 * taper


def leaf_outline(length: float, width: float, wave: float = 0.0, teeth: int = 0) -> np.ndarray:
    """A pointed leaf from the origin along x, with a wavy or toothed edge."""
    t = np.linspace(0, 1, 15)
    half = np.sin(np.pi * t**0.8) * width / 2
    edge = half * (1 + wave * np.sin(t * 6.283 * max(teeth, 4)))
    return np.concatenate([t * length + 1j * edge, (t * length - 1j * edge)[::-1]])


def leaf(pen: Pen, base: complex, turn: complex, length: float, width: float, colour: RGB, wave: float = 0.08) -> None:
    """One leaf with a lighter vein, from its base in the direction of ``turn``."""
    outline = leaf_outline(length, width, wave, 7) * turn + base
    pen.polygon(outline, colour)
    inner = leaf_outline(length * 0.94, width * 0.62, 0.0) * turn + base
    pen.polygon(inner, tone(colour, 1.09))
    vein = mix(colour, (232, 244, 190), 0.45)
    pen.line([base, base + turn * length * 0.9], vein, max(0.7, width * 0.05))
    for share in (0.3, 0.5, 0.7):
        for side in (1, -1):
            start = base + turn * length * share
            end = base + turn * (length * (share + 0.17) + 1j * side * width * 0.33)
            pen.line([start, end], vein, max(0.5, width * 0.025))


def ball(pen: Pen, body: Body, rng: random.Random) -> None:
    """Round fruit and roots."""
    radius, squash = body.length / 2, body.trait.slim
    feature = body.trait.feature
    outline = blob(rng, radius, 0.012 if feature in ("calyx", "pores", "dimple", "") else 0.03, squash)
    if feature == "pear":
        outline = outline.real + 1j * outline.imag * (0.92 + 0.26 * outline.real / radius)
    pen.dome(outline, body.skin, 0.34, 7)
    _MARKINGS.get(feature, _plain)(pen, body, rng)
    if body.trimmed or feature in ("", "eyes", "bands", "pores", "fuzz", "pear"):
        return
    if feature == "calyx":
        calyx(pen, radius * 0.44, body.stem, rng)
    elif feature == "leafstalk":
        for spread in (-0.3, 0.0, 0.35):
            pen.line(
                [complex(-radius * 0.9, 0), cmath.rect(radius * 1.5, cmath.pi + spread)], body.stem, radius * 0.14
            )
    else:
        pen.disc(0j, radius * 0.13, tone(body.stem, 0.8))
        pen.line([0j, cmath.rect(radius * 0.34, 0.6)], tone(body.stem, 0.7), radius * 0.13)


def calyx(pen: Pen, radius: float, colour: RGB, rng: random.Random) -> None:
    """The green star on a tomato."""
    for k in range(5):
        turn = cmath.rect(1, 1.257 * k + rng.uniform(-0.2, 0.2))
        pen.polygon(leaf_outline(radius * rng.uniform(0.85, 1.1), radius * 0.36) * turn, tone(colour, 0.92))
    pen.disc(0j, radius * 0.2, mix(colour, WHITE, 0.25))


def _plain(pen: Pen, body: Body, rng: random.Random) -> None:
    """Nothing on the skin."""


def _ribs(pen: Pen, body: Body, rng: random.Random) -> None:
    r, dark = body.length / 2, tone(body.skin, 0.76)
    count = 10 if body.trait.feature == "ribs" else 4
    for k in range(count):
        way = cmath.rect(1, 6.283 * (k + rng.uniform(-0.1, 0.1)) / count)
        bend = way * cmath.rect(1, 0.14)
        points = [way * r * 0.1, bend * r * 0.55, way * r * 0.94]
        pen.line([complex(p.real, p.imag * body.trait.slim) for p in points], dark, r * 0.05)


def _papery(pen: Pen, body: Body, rng: random.Random) -> None:
    r, squash = body.length / 2, body.trait.slim
    for k in range(-4, 5):
        t = np.linspace(-0.92, 0.92, 7)
        arc = r * t + 1j * r * squash * 0.21 * k * np.sqrt(1 - t * t)
        pen.line(arc, tone(body.skin, 0.88 if k % 2 else 1.1), r * 0.035)
    if not body.trimmed:
        pen.polygon((leaf_outline(r * 0.4, r * 0.3) + r * 0.86), tone(body.skin, 0.8))


def _specks(pen: Pen, body: Body, rng: random.Random) -> None:
    r, squash = body.length / 2, body.trait.slim
    fuzzy = body.trait.feature in ("fuzz", "pear", "pores")
    for _ in range(46 if fuzzy else 14):
        spot = cmath.rect(r * 0.92 * rng.random() ** 0.5, rng.uniform(0, 6.283))
        colour = tone(body.skin, rng.choice((0.8, 0.88, 1.14)))
        pen.disc(complex(spot.real, spot.imag * squash * 0.9), r * (0.02 if fuzzy else 0.045), colour)


def _bands(pen: Pen, body: Body, rng: random.Random) -> None:
    r, squash = body.length / 2, body.trait.slim
    for k in range(-2, 3):
        height = r * squash * (1 - (0.36 * k) ** 2) ** 0.5 * 0.9
        x = r * 0.36 * k
        pen.line([complex(x, -height), complex(x + r * 0.1, 0), complex(x, height)], tone(body.skin, 0.8), r * 0.05)


_MARKINGS: dict[str, Draw] = {
    "ribs": _ribs,
    "lobes": _ribs,
    "papery": _papery,
    "eyes": _specks,
    "fuzz": _specks,
    "pores": _specks,
    "pear": _specks,
    "bands": _bands,
}


def long(pen: Pen, body: Body, rng: random.Random) -> None:
    """Roots, cucumbers, eggplants: the stem is on the left."""
    length, width, feature = body.length, body.width, body.trait.feature
    tip = {"taper": 0.4, "cap": 1.35, "crown": 0.8}.get(feature, 1.0)
    outline = capsule(length, width, tip)
    if feature == "spindle":
        outline = outline.real + 1j * outline.imag * (1.12 - 1.9 * (outline.real / length) ** 2)
    outline = outline + 1j * width * 0.22 * np.cos(outline.real / length * 3.1)
    bar(pen, outline, body.skin)
    for _ in range(int(length / (5 if feature in ("taper", "bumps") else 12))):
        x = length * rng.uniform(-0.42, 0.42)
        y = width * (rng.uniform(-0.3, 0.24) * (1 + (tip - 1) * (x / length + 0.5)) + 0.22 * np.cos(x / length * 3.1))
        pen.line([complex(x, y), complex(x, y + width * 0.13)], tone(body.skin, rng.choice((0.84, 1.12))), 1.1)
    if feature == "nodes":
        for x in (-length * 0.46, length * 0.46):
            pen.oval(complex(x, width * 0.05), width * 0.13, 1.6, tone(body.skin, 0.7))
    if not body.trimmed:
        _stem_end(pen, body)


def bar(pen: Pen, outline: np.ndarray, colour: RGB) -> None:
    """A long rounded thing: darker on its edges, with a light streak on the side of the light."""
    pen.polygon(outline, tone(colour, 0.84))
    side = 1j * (1 if pen.light.imag > 0 else -1)
    width = float(outline.imag.max() - outline.imag.min())
    for share, light in ((0.8, 1.0), (0.56, 1.08), (0.22, 1.22)):
        inner = outline.real * (0.9 + 0.08 * share) + 1j * outline.imag * share
        pen.polygon(
            inner + side * width * 0.13 * (1 - share), tone(colour, light) if light < 1.2 else mix(colour, WHITE, 0.3)
        )


def _stem_end(pen: Pen, body: Body) -> None:
    length, width, feature = body.length, body.width, body.trait.feature
    end = complex(-length / 2, 0)
    if feature == "crown":
        pen.polygon(capsule(length * 0.16, width * 0.86) + end + length * 0.07, mix(body.skin, body.stem, 0.5))
    if feature in ("taper", "crown") and body.trait.slim > 0.1:
        for spread in (-0.5, 0.0, 0.45):
            pen.line([end, end + cmath.rect(length * 0.13, cmath.pi + spread)], body.stem, width * 0.17)
    elif feature == "cap":
        for spread in (-0.5, 0.0, 0.5):
            pen.polygon(
                leaf_outline(length * 0.3, width * 0.4) * cmath.rect(1, spread) + end, mix(body.stem, body.skin, 0.3)
            )
        pen.line([end, end - length * 0.08], tone(body.stem, 0.8), width * 0.22)
    elif feature in ("stub", "bumps"):
        pen.oval(end, width * 0.26, 0.9, tone(body.stem, 1.1))


def stalk(pen: Pen, body: Body, rng: random.Random) -> None:
    """Leek, asparagus, celery, crab sticks."""
    length, width, feature = body.length, body.width, body.trait.feature
    outline = capsule(length, width, 0.8 if feature == "spear" else 1.0)
    bar(pen, outline, body.flesh if feature in ("leek", "crab") else body.skin)
    if feature == "leek":
        for k in range(6):
            share = (k + 1) / 6
            end = complex(length * (0.05 + 0.08 * k), 0)
            pen.polygon(
                capsule(length * 0.52 - end.real, width * 0.96) + (end + length * 0.52) / 2,
                mix(body.flesh, body.skin, share),
            )
        for spread in (-0.12, 0.1):
            pen.line(
                [length * 0.3 + 0j, length * 0.3 + cmath.rect(length * 0.24, spread)],
                tone(body.skin, 0.85),
                width * 0.3,
            )
    elif feature == "spear":
        pen.polygon(leaf_outline(length * 0.22, width * 1.3, 0.2, 5) + length * 0.33, tone(body.skin, 0.78))
        for k in range(5):
            pen.polygon(leaf_outline(length * 0.05, width * 0.5) + length * (-0.3 + 0.12 * k), tone(body.skin, 0.8))
    elif feature == "crab":
        pen.polygon(capsule(length * 0.98, width * 0.55) - 1j * width * 0.2, body.skin)
    else:
        for y in (-0.3, -0.1, 0.1, 0.3):
            pen.line([complex(-length * 0.46, width * y), complex(length * 0.46, width * y)], tone(body.skin, 0.88), 1)
        if not body.trimmed:
            for spread in (-0.5, 0.0, 0.5):
                leaf(pen, length * 0.44 + 0j, cmath.rect(1, spread), length * 0.16, length * 0.1, body.stem)


def pod(pen: Pen, body: Body, rng: random.Random) -> None:
    """Okra, green beans, snap peas."""
    length, width, feature = body.length, body.width, body.trait.feature
    curve = rng.uniform(0.4, 1.2) * width * rng.choice((-1, 1))
    outline = capsule(length, width, 0.35 if feature == "okra" else 0.9)
    outline = outline + 1j * curve * np.cos(outline.real / length * 3.1)
    bar(pen, outline, body.skin)
    if feature == "peas":
        for k in range(-2, 3):
            spot = complex(length * 0.17 * k, curve * np.cos(0.17 * k * 3.1))
            pen.disc(spot, width * 0.3, mix(body.skin, WHITE, 0.14))
    elif feature == "okra":
        for y in (-0.18, 0.18):
            ridge = np.linspace(-0.4, 0.42, 6)
            pen.line(
                length * ridge + 1j * (curve * np.cos(ridge * 3.1) + width * y * (0.6 - ridge)),
                tone(body.skin, 0.8),
                1,
            )
    if not body.trimmed:
        pen.oval(complex(-length / 2, 0), width * 0.34, 0.8, tone(body.stem, 0.85))


def egg(pen: Pen, body: Body, rng: random.Random) -> None:
    """An egg in its shell, or peeled once it was boiled and trimmed."""
    outline = CIRCLE.real * body.length / 2 + 1j * CIRCLE.imag * body.width / 2 * (1 - 0.12 * CIRCLE.real)
    pen.dome(outline, (252, 248, 238) if body.trimmed else body.skin, 0.45, 7)


def curl(pen: Pen, body: Body, rng: random.Random) -> None:
    """A shrimp: an arc that grows thinner, with segments and a tail; it closes when cooked."""
    r = body.length * 0.26
    sweep = 4.6 if body.cooked else 3.4
    for k in range(22):
        share = k / 21
        width = r * (0.62 - 0.34 * share)
        spot = cmath.rect(r, sweep * share - sweep / 2)
        pen.disc(spot, width * 0.82, tone(body.skin, 0.94) if k % 4 == 0 else mix(body.skin, body.flesh, 0.6))
    end = cmath.rect(r, sweep / 2)
    way = cmath.rect(1, sweep / 2 + 1.57)
    for spread in (-0.45, 0.45):
        pen.polygon(leaf_outline(r * 0.75, r * 0.34) * way * cmath.rect(1, spread) + end, tone(body.skin, 0.88, 1.3))


def sheet_slice(pen: Pen, body: Body, rng: random.Random) -> None:
    """A slice of ham."""
    pen.polygon(blob(rng, body.length / 2, 0.02), tone(body.skin, 0.86))
    pen.polygon(blob(rng, body.length / 2 * 0.95, 0.02), body.flesh)
    for _ in range(16):
        spot = cmath.rect(body.length * 0.42 * rng.random() ** 0.5, rng.uniform(0, 6.283))
        pen.oval(spot, body.length * 0.035, 0.6, mix(body.flesh, WHITE, 0.3))


def slab(pen: Pen, body: Body, rng: random.Random) -> None:
    """Meat, fish, tofu, cheese: blocks or fillets."""
    length, width, feature = body.length, body.width, body.trait.feature
    if feature == "block":
        pen.polygon(box(length, width), tone(body.skin, 0.88))
        pen.polygon(box(length - width * 0.1, width * 0.9) + pen.light * width * 0.03, body.skin)
        return
    outline = capsule(length, width, 0.5 if feature == "drop" else 1.0)
    outline = outline + 1j * width * 0.06 * np.sin(outline.real / length * 9 + rng.uniform(0, 6))
    pen.dome(outline, body.skin, 0.2, 4)
    stripes(pen, body, length * 0.94, width * 0.9, rng)


def stripes(pen: Pen, body: Body, length: float, width: float, rng: random.Random) -> None:
    """Fat along bacon and pork, white lines across salmon, soft fibres in chicken."""
    feature = body.trait.feature
    fat = mix(body.flesh, WHITE, 0.35)
    if feature == "stripes":
        for y in (-0.28, 0.05, 0.34):
            t = np.linspace(-0.48, 0.48, 7)
            wave = 1j * width * (y + 0.05 * np.sin(t * 14 + rng.uniform(0, 6)))
            pen.line(length * t + wave, fat, width * rng.uniform(0.1, 0.2))
    elif feature == "lines":
        for k in range(-3, 4):
            x = length * 0.13 * k
            pen.line([complex(x - 4, -width * 0.44), complex(x + 3, 0), complex(x - 4, width * 0.44)], fat, 1.3)
    else:
        for k in range(-2, 3):
            y = width * 0.15 * k
            pen.line([complex(-length * 0.36, y), complex(length * 0.3, y * 0.7)], mix(body.skin, WHITE, 0.22), 1)


def head(pen: Pen, body: Body, rng: random.Random) -> None:
    """A cabbage or lettuce: leaves wrapped around each other, veins running out from the heart."""
    radius, squash = body.length / 2, body.trait.slim
    for ring, share in enumerate((1.0, 0.86, 0.68, 0.46)):
        centre = cmath.rect(radius * (0.12 * ring), rng.uniform(0, 6.283))
        outline = blob(rng, radius * share, 0.05, 1.0, 40)
        outline = outline * (1 + 0.018 * np.sin(np.arange(40) * 2.7))
        colour = mix(body.skin, body.flesh, 0.12 + 0.16 * ring)
        place = centre * (1 - share)
        for grow, light in ((1.0, 0.85), (0.965, 1.0), (0.8, 1.06)):
            points = outline * grow + place + pen.light * radius * 0.04 * (1 - grow)
            pen.polygon(points.real + 1j * points.imag * squash, tone(colour, light))
        vein = mix(colour, (244, 248, 222), 0.42)
        for k in range(5):
            way = cmath.rect(radius * share, 1.1 * k + ring * 1.9)
            points = np.array([way * 0.15, way * cmath.rect(0.55, 0.12), way * 0.92]) + place
            pen.line(points.real + 1j * points.imag * squash, vein, radius * 0.022)
