"""What a knife leaves: the pieces of each form, with flesh on the cut and skin where there was skin."""

from __future__ import annotations

import cmath
import random

import numpy as np

from recipeflow.kitchen.camera.bodies import Body
from recipeflow.kitchen.camera.drawing import CIRCLE, WHITE, Pen, mix, tone
from recipeflow.kitchen.camera.produce import bar, capsule, stripes

LEAFY = ("head", "leaves")
ROUND = ("ball", "grains", "eggs", "mushroom", "head", "sheet")


def face(pen: Pen, body: Body, radius: float, squash: float = 1.0) -> None:
    """A cut across: a rim of skin, flesh, and the pattern inside."""
    rim = 0.94 if body.trait.section != "hollow" else 0.97
    pen.oval(0j, radius, squash, body.skin)
    pen.oval(0j, radius * rim, squash, mix(body.flesh, WHITE, 0.2))
    pen.oval(0j, radius * rim * 0.92, squash, body.flesh)
    _SECTIONS.get(body.trait.section, _no_pattern)(pen, body, radius, squash)


def _no_pattern(pen: Pen, body: Body, radius: float, squash: float) -> None:
    """Nothing to see inside."""


def _ring_of(count: int, radius: float, squash: float) -> list[complex]:
    spots = [cmath.rect(radius, 6.283 * k / count + 0.3) for k in range(count)]
    return [complex(spot.real, spot.imag * squash) for spot in spots]


def _core(pen: Pen, body: Body, radius: float, squash: float) -> None:
    pen.oval(0j, radius * 0.46, squash, mix(body.flesh, WHITE, 0.22))
    pen.oval(0j, radius * 0.4, squash, tone(body.flesh, 1.04, 1.15))


def _rings(pen: Pen, body: Body, radius: float, squash: float) -> None:
    for share in (0.82, 0.62, 0.42, 0.22):
        pen.oval(0j, radius * share, squash, mix(body.flesh, body.skin, 0.32))
        pen.oval(0j, radius * (share - 0.06), squash, mix(body.flesh, WHITE, 0.25))


def _seeds(pen: Pen, body: Body, radius: float, squash: float) -> None:
    pen.oval(0j, radius * 0.6, squash, mix(body.flesh, (238, 244, 214), 0.45))
    for spot in _ring_of(9, radius * 0.42, squash):
        pen.oval(spot, radius * 0.085, 0.6, mix(body.flesh, (196, 176, 104), 0.55))


def _kiwi(pen: Pen, body: Body, radius: float, squash: float) -> None:
    for spot in _ring_of(16, radius * 0.8, squash):
        pen.line([spot * 0.4, spot], mix(body.flesh, WHITE, 0.22), radius * 0.05)
    pen.oval(0j, radius * 0.28, squash, (240, 244, 206))
    for spot in _ring_of(15, radius * 0.42, squash):
        pen.disc(spot, max(0.8, radius * 0.055), (36, 32, 22))


def _chambers(pen: Pen, body: Body, radius: float, squash: float) -> None:
    for spot in _ring_of(5, radius * 0.52, squash):
        pen.disc(spot, radius * 0.26, tone(body.flesh, 0.84, 1.2))
        for turn in (-0.3, 0.35):
            pen.disc(spot * cmath.rect(1.1, turn), max(0.8, radius * 0.055), (246, 214, 130))
    pen.oval(0j, radius * 0.17, squash, mix(body.flesh, WHITE, 0.35))


def _segments(pen: Pen, body: Body, radius: float, squash: float) -> None:
    pen.oval(0j, radius * 0.93, squash, (252, 240, 214))
    pen.oval(0j, radius * 0.85, squash, body.flesh)
    for spot in _ring_of(10, radius * 0.86, squash):
        pen.line([0j, spot], (252, 234, 196), radius * 0.06)


def _holes(pen: Pen, body: Body, radius: float, squash: float) -> None:
    for spot in [*_ring_of(8, radius * 0.58, squash), 0j]:
        pen.oval(spot, radius * 0.14, 0.9, tone(body.flesh, 0.55))


def _star(pen: Pen, body: Body, radius: float, squash: float) -> None:
    for spot in _ring_of(5, radius * 0.5, squash):
        pen.disc(spot, radius * 0.2, tone(body.flesh, 0.72))
        pen.disc(spot, radius * 0.12, (244, 240, 214))


def _hollow(pen: Pen, body: Body, radius: float, squash: float) -> None:
    inner = CIRCLE.real * radius * 0.74 + 1j * CIRCLE.imag * radius * 0.74 * squash
    if body.trimmed or radius < body.unit * 0.2:
        pen.polygon(inner, tone(body.flesh, 0.7))
        return
    pen.polygon(inner, tone(body.flesh, 0.78))
    for spot in _ring_of(9, radius * 0.24, squash):
        pen.disc(spot, radius * 0.1, (248, 240, 206))


def _pulp(pen: Pen, body: Body, radius: float, squash: float) -> None:
    pen.oval(0j, radius * 0.55, squash, tone(body.flesh, 0.86))
    for spot in () if body.trimmed else _ring_of(9, radius * 0.36, squash):
        pen.oval(spot, radius * 0.1, 0.6, (250, 238, 204))


def _pit(pen: Pen, body: Body, radius: float, squash: float) -> None:
    pen.oval(0j, radius * 0.72, squash, mix(body.flesh, (246, 240, 150), 0.5))
    pen.disc(radius * 0.1 + 0j, radius * 0.36, tone(body.flesh, 0.8) if body.trimmed else (112, 66, 34))


def _pips(pen: Pen, body: Body, radius: float, squash: float) -> None:
    pen.oval(0j, radius * 0.26, squash, tone(body.flesh, 0.9))
    for spot in () if body.trimmed else (radius * 0.13j, radius * -0.13j):
        pen.oval(spot, radius * 0.09, 0.6, (84, 44, 22))


def _yolk(pen: Pen, body: Body, radius: float, squash: float) -> None:
    pen.oval(0j, radius, squash, (238, 232, 218))
    pen.oval(0j, radius * 0.96, squash, (254, 252, 246))
    pen.oval(radius * 0.08 + 0j, radius * 0.56, squash, tone(body.flesh, 0.93))
    pen.oval(radius * 0.08 + pen.light * radius * 0.06, radius * 0.46, squash, mix(body.flesh, WHITE, 0.12))


_SECTIONS = {
    "core": _core,
    "rings": _rings,
    "seeds": _seeds,
    "kiwi": _kiwi,
    "chambers": _chambers,
    "segments": _segments,
    "holes": _holes,
    "star": _star,
    "hollow": _hollow,
    "pulp": _pulp,
    "pit": _pit,
    "pips": _pips,
    "yolk": _yolk,
    "layers": _rings,
}


def across(body: Body) -> float:
    """The radius of a cut across the body."""
    return (body.length * 0.5 if body.shape in ROUND else body.width * 0.5) * 0.96


def _squash(body: Body) -> float:
    return body.trait.slim if body.shape in ROUND else 1.0


def half_disc(radius: float) -> np.ndarray:
    """The half of a disc below the x axis; erasing no more than this leaves the neighbours on the sheet alone."""
    return np.exp(1j * np.linspace(0, np.pi, 16)) * radius


def rounds(pen: Pen, body: Body, rng: random.Random) -> None:
    """Discs."""
    face(pen, body, across(body) * rng.uniform(0.9, 1.0), rng.uniform(0.88, 1.0) * _squash(body))


def half_moon(pen: Pen, body: Body, rng: random.Random) -> None:
    """Half discs."""
    radius = across(body) * rng.uniform(0.92, 1.0)
    face(pen, body, radius)
    pen.erase(half_disc(radius * 1.1))


def quarter_moon(pen: Pen, body: Body, rng: random.Random) -> None:
    """Quarter discs."""
    half_moon(pen, body, rng)
    pen.erase(half_disc(across(body) * 1.1) * 1j)


def half(pen: Pen, body: Body, rng: random.Random) -> None:
    """One half: mostly with the cut up; long things are halved along their length."""
    if body.shape in ROUND:
        face(pen, body, across(body), body.trait.slim)
        return
    outline = capsule(body.length * 0.92, body.width * 0.8, 0.7)
    pen.polygon(outline, body.skin)
    pen.polygon(outline.real * 0.97 + 1j * outline.imag * 0.8, body.flesh)
    pen.polygon(outline.real * 0.84 + 1j * outline.imag * 0.3, mix(body.flesh, WHITE, 0.3))
    if body.trait.section in ("star", "seeds", "peas"):
        for k in range(-3, 4):
            pen.oval(complex(body.length * 0.1 * k, 0), body.width * 0.11, 0.8, mix(body.flesh, (200, 180, 110), 0.5))


def quarter(pen: Pen, body: Body, rng: random.Random) -> None:
    """A quarter of a round thing, cut faces up."""
    radius = across(body)
    face(pen, body, radius, body.trait.slim if body.shape in ROUND else 1.0)
    pen.erase(half_disc(radius * 1.1))
    pen.erase(half_disc(radius * 1.1) * 1j)
    pen.polygon(np.array([0, radius * 0.88, radius * 0.6 - radius * 0.22j]), mix(body.flesh, WHITE, 0.25))


def wedge(pen: Pen, body: Body, rng: random.Random) -> None:
    """A boat-shaped segment: skin along its back, two cut faces meeting in a ridge."""
    length, width = body.length * 0.9, body.length * 0.34
    t = np.linspace(0, np.pi, 16)
    back = -np.cos(t) * length / 2 + 1j * np.sin(t) * width
    pen.polygon(back, body.skin)
    pen.polygon(back.real * 0.94 + 1j * back.imag * 0.82, body.flesh)
    ridge = back.real * 0.9 + 1j * back.imag * 0.36
    pen.polygon(ridge, tone(body.flesh, 0.88))
    if body.trait.section in ("chambers", "rings", "segments", "layers"):
        for share in (0.58, 0.7):
            pen.line(back.real * share + 1j * back.imag * share, mix(body.flesh, body.skin, 0.4), 1.2)
    pen.line(ridge, mix(body.flesh, WHITE, 0.45), 1.2)


def slice_(pen: Pen, body: Body, rng: random.Random) -> None:
    """A thin slice: an arc of rings, a strip of leaf, a sliver of meat, or a thin disc."""
    if body.shape in LEAFY:
        shred(pen, body, rng, 0.5, 0.09, 2)
    elif body.trait.section in ("rings", "hollow"):
        _arc(pen, body, body.length * 0.44 if body.shape == "ball" else across(body), rng)
    elif body.trait.section == "mushroom":
        _mushroom_slice(pen, body)
    elif body.shape == "slab":
        outline = capsule(body.width * 0.85, body.width * 0.4) * cmath.rect(1, 0.2)
        pen.polygon(outline, tone(body.skin, 0.92))
        pen.polygon(outline * 0.92, body.flesh)
        stripes(pen, body, body.width * 0.7, body.width * 0.32, rng)
    else:
        thin = 0.62 if body.shape == "ball" else 0.8
        face(pen, body, across(body) * 0.9, thin * rng.uniform(0.9, 1.05))


def _arc(pen: Pen, body: Body, radius: float, rng: random.Random) -> None:
    thick = max(1.6, radius * 0.11)
    for k, colour in enumerate((body.flesh, mix(body.flesh, WHITE, 0.3))):
        bow = np.exp(1j * np.linspace(0.5, 2.6, 12)) * radius * (1 - 0.3 * k)
        bow = bow - 0.7j * radius
        pen.line(bow, mix(body.skin, body.flesh, 0.2), thick * 1.5)
        pen.line(bow * 0.985, colour, thick)


def _mushroom_slice(pen: Pen, body: Body) -> None:
    size = body.length * 0.42
    pen.polygon(capsule(size, size * 0.36) - size * 0.35, tone(body.flesh, 0.94))
    half_disc = np.exp(1j * np.linspace(-1.57, 1.57, 12)) * size * 0.85
    pen.polygon(half_disc, body.skin)
    pen.polygon(half_disc * 0.86, body.flesh)
    pen.line(half_disc * 0.55, tone(body.skin, 0.66), size * 0.09)


def oblique(pen: Pen, body: Body, rng: random.Random) -> None:
    """A slice cut at an angle: a long ellipse, or for thin things a slanted length of it."""
    radius = across(body)
    if radius < body.unit * 0.11:
        length, lean = body.unit * rng.uniform(0.26, 0.34), radius * 1.6
        points = np.array([-length / 2 - lean, length / 2 - lean, length / 2 + lean, -length / 2 + lean])
        outline = points + 1j * radius * np.array([-1, -1, 1, 1])
        pen.polygon(outline, tone(body.skin, 0.9))
        pen.polygon(outline * 0.8 - 0.1j * radius, tone(body.skin, 1.08))
        pen.oval(length / 2 + 0j, radius * 1.1, 0.7, body.flesh)
        return
    stretched = radius * 1.75
    pen.oval(0j, stretched, 0.56, tone(body.skin, 0.9))
    pen.oval(-1j * radius * 0.06, stretched * 0.93, 0.54, mix(body.flesh, WHITE, 0.15))
    _SECTIONS.get(body.trait.section, _no_pattern)(pen, body, stretched * 0.9, 0.54)


def tube(pen: Pen, outline: np.ndarray, body: Body) -> None:
    """A length of a stalk or pod with its cut end in view."""
    bar(pen, outline, body.skin)
    end, radius = outline.real.max(), outline.imag.max()
    pen.oval(complex(end - radius * 0.5, 0), radius * 0.85, 1.0, mix(body.flesh, WHITE, 0.15))
    if body.trait.feature == "crab":
        pen.polygon(outline.real * 0.9 + 1j * (outline.imag * 0.5 + radius * 0.35), body.flesh)


def shred(pen: Pen, body: Body, rng: random.Random, length: float, width: float, count: int) -> None:
    """A few thin strips lying over each other; strips of leaf curl, the others are straight."""
    unit, leafy = body.unit, body.shape in LEAFY or body.trait.section == "rings"
    for _ in range(count):
        t = np.linspace(-0.5, 0.5, 7)
        curl = rng.uniform(-0.3, 0.3) if leafy else rng.uniform(-0.05, 0.05)
        path = unit * length * rng.uniform(0.75, 1.1) * (t + 1j * curl * (1 - 4 * t * t))
        path = path * cmath.rect(1, rng.uniform(-0.5, 0.5)) + unit * length * 0.22 * complex(*_pair(rng))
        colour = mix(
            body.flesh, body.skin, rng.choice((0.0, 0.1, 0.3, 0.9)) if leafy else rng.choice((0.0, 0.05, 0.4))
        )
        pen.line(path, tone(colour, 0.8), unit * width)
        pen.line(path + pen.light * unit * width * 0.12, colour, unit * width * 0.66)


def _pair(rng: random.Random) -> tuple[float, float]:
    return rng.uniform(-1, 1), rng.uniform(-1, 1)
