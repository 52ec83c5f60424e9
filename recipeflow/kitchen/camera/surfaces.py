"""The work surface and the containers on it, seen from above.

They are computed pixel by pixel, which is slow, and then reused for every picture of the recipe.
"""

from __future__ import annotations

import functools
import math
import random
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageFilter

from recipeflow.kitchen.camera.drawing import SHADOW, WHITE, mix, tone
from recipeflow.kitchen.camera.look import RGB, Look, derive
from recipeflow.kitchen.world import BOARD, BOWL, PAN, PLATE, POT, SIEVE, SMALL_BOWL

SIZE = 320
MARGIN = 8
FULL = SIZE + 2 * MARGIN
"""Pictures are drawn a little larger than they are shown, so that the camera can shake."""

RADII = {BOWL: 132.0, SMALL_BOWL: 82.0, POT: 130.0, PAN: 132.0, PLATE: 140.0, SIEVE: 122.0}
INSIDE = {BOWL: 0.80, SMALL_BOWL: 0.76, POT: 0.88, PAN: 0.84, PLATE: 0.70, SIEVE: 0.82}
_Y, _X = np.mgrid[0:FULL, 0:FULL].astype(np.float32)


@dataclass(frozen=True)
class Place:
    """Where food lies: a circle, or on the board an ellipse around the middle."""

    centre: complex
    radius: float
    round: bool


def place_of(look: Look, container: str) -> Place:
    """Where food lies in a container."""
    centre = complex(FULL / 2, FULL / 2) + look.offset
    if container == BOARD:
        return Place(centre, 118 * look.zoom, round=False)
    return Place(centre, RADII[container] * INSIDE[container] * look.zoom, round=True)


def aside_place(look: Look) -> Place:
    """Where the dish with what waits stands: partly in view, at a corner that is the recipe's own."""
    side = 1 if derive("aside", look.seed) % 2 else -1
    return Place(complex(FULL / 2 + side * (FULL / 2 - 34), 46), 42 * look.zoom, round=True)


def noise(rng: np.random.Generator, across: int, down: int, size: int = FULL) -> np.ndarray:
    """Smooth noise around 0 with this many bumps across and down."""
    grid = Image.fromarray(rng.standard_normal((down, across)).astype(np.float32))
    return np.asarray(grid.resize((size, size), Image.Resampling.BICUBIC))


@functools.cache
def _grain(number: int) -> Image.Image:
    """One of a few pieces of wood, larger than a picture, so that it can be turned and cut to any board."""
    rng = np.random.default_rng(number)
    big = FULL * 2
    lines = noise(rng, 4, 34, big) * 14 + noise(rng, 7, 120, big) * 10 + noise(rng, 18, 320, big) * 6
    return Image.fromarray(np.clip(128 + lines, 0, 255).astype(np.uint8))


def wood(seed: int, colour: RGB, angle: float, contrast: float = 1.0) -> np.ndarray:
    """Wood grain along a direction, as floats of shape (FULL, FULL, 3)."""
    x, y = FULL * (0.75 + 0.5 * (seed % 97) / 97), FULL * (0.75 + 0.5 * (seed % 89) / 89)
    cos, sin, half = math.cos(angle), math.sin(angle), FULL / 2
    turn = (cos, sin, x - half * cos - half * sin, -sin, cos, y + half * sin - half * cos)
    grain = _grain(seed % 5).transform((FULL, FULL), Image.Transform.AFFINE, turn, Image.Resampling.BILINEAR)
    bands = [
        grain.point([max(0, min(255, round(c + (v - 128) * 0.5 * contrast * tint))) for v in range(256)])
        for c, tint in zip(colour, (1.0, 0.9, 0.75), strict=True)
    ]
    return np.asarray(Image.merge("RGB", bands)).astype(np.float32)


def table(look: Look) -> Image.Image:
    """The bare work surface."""
    rng = np.random.default_rng(derive("table", look.seed))
    turn = complex(math.cos(look.rotation), -math.sin(look.rotation))
    u, v = _X * turn.real - _Y * turn.imag, _X * turn.imag + _Y * turn.real
    colour = np.array(look.table_colour, np.float32)
    if look.table == "planks":
        pixels = wood(derive("planks", look.seed), look.table_colour, look.rotation, 1.3)
        plank = np.floor(v / 74)
        gap = np.abs(v / 74 - plank - 0.5) > 0.483
        pixels = pixels + (8 * np.sin(plank * 12.9) - 46 * gap)[..., None]
    elif look.table == "tiles":
        gap = np.maximum(np.abs(u / 62 % 1 - 0.5), np.abs(v / 62 % 1 - 0.5)) > 0.475
        hue = 6 * np.sin(np.floor(u / 62) * 7.1 + np.floor(v / 62) * 3.3) + noise(rng, 9, 9) * 2
        pixels = colour + hue[..., None] - 30 * gap[..., None]
    elif look.table == "marble":
        vein = np.exp(-(((noise(rng, 5, 4) + u / 190 - v / 230) % 1.2 - 0.6) ** 2) * 420)
        pixels = colour + (noise(rng, 7, 7) * 4 - 40 * vein * np.clip(noise(rng, 4, 4) + 0.6, 0, 1))[..., None]
    elif look.table == "cloth":
        stripes = (np.abs(u / 40 % 1 - 0.5) > 0.3).astype(np.float32) + (np.abs(v / 40 % 1 - 0.5) > 0.3)
        weave = np.sin(u * 2.1) * 3 + np.sin(v * 2.1) * 3 + noise(rng, 5, 5) * 4
        pixels = colour + (stripes * 15 - 12 + weave)[..., None]
    else:
        pixels = colour + (noise(rng, 12, 12) * 5 + noise(rng, 70, 70) * 4)[..., None]
    return _image(pixels)


def light_map(look: Look) -> Image.Image:
    """What every picture is multiplied with: the lamp's colour, its fall-off, and film grain."""
    x, y = (_X - FULL / 2) / FULL, (_Y - FULL / 2) / FULL
    slope = 0.985 + 0.22 * (x * look.light.real + y * look.light.imag) - 0.32 * (x * x + y * y)
    level = Image.fromarray((np.clip(slope + _film_grain(), 0, 1) * 255).astype(np.uint8))
    return Image.merge("RGB", [level.point([v * c // 255 for v in range(256)]) for c in look.light_colour])


@functools.cache
def _film_grain() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((FULL, FULL)).astype(np.float32) * 0.012


def dish_layer(look: Look, container: str) -> Image.Image:
    """A container and its shadow, to be laid over the table."""
    if container == BOARD:
        return _board(look)
    return _dish(look, container, place_of(look, container).centre, RADII[container] * look.zoom)


def aside_layer(look: Look) -> Image.Image:
    """The dish for what waits and its shadow, to be laid over the table."""
    place = aside_place(look)
    return _dish(look, "aside", place.centre, place.radius / 0.76)


def _board(look: Look) -> Image.Image:
    centre = complex(FULL / 2, FULL / 2) + look.offset
    cos, sin = math.cos(look.rotation), -math.sin(look.rotation)
    u = (_X - centre.real) * cos - (_Y - centre.imag) * sin
    v = (_X - centre.real) * sin + (_Y - centre.imag) * cos
    half_u, half_v, corner = 146 * look.zoom, 112 * look.zoom, 16.0
    du, dv = np.maximum(np.abs(u) - half_u + corner, 0), np.maximum(np.abs(v) - half_v + corner, 0)
    inner = corner - np.hypot(du, dv)
    plastic = max(look.board_colour) - min(look.board_colour) < 32
    pixels = wood(derive("board", look.seed), look.board_colour, look.rotation, 0.12 if plastic else 1.0)
    facing = u * look.light.real + v * look.light.imag
    relief = np.clip(1 - inner / 4, 0, 1) * 26 * np.sign(facing)
    if not plastic:
        relief += 7 * np.sin(np.floor(v / 45) * 5.7)
    hole = np.clip(9 - np.hypot(u - half_u + 20, v + half_v - 20), 0, 1)
    return _layer(look, pixels + relief[..., None], np.clip(inner, 0, 1) * (1 - hole), 5)


def _dish(look: Look, kind: str, centre: complex, radius: float) -> Image.Image:
    """A round dish; its soft shading is computed at half the resolution, its edge at the full one."""
    x, y = _X[::2, ::2] - centre.real, _Y[::2, ::2] - centre.imag
    distance = np.hypot(x, y)
    d = distance / radius
    facing = (x * look.light.real + y * look.light.imag) / np.maximum(distance, 1)
    material, colour = _material(look, kind)
    floor = INSIDE.get(kind, 0.76)
    wall = np.clip((d - floor * 0.8) / (1 - floor * 0.8), 0, 1)
    shade = 1 - 0.30 * facing * np.sin(np.minimum(wall * 1.25, 1) * np.pi) - 0.10 * (1 - wall)
    rim = np.exp(-(((d - 0.965) * radius / 2.2) ** 2))
    extra = rim * (34 + 44 * facing) + _texture(material, x, y, d, facing)
    pixels = np.array(colour, np.float32) * shade[..., None] + extra[..., None]
    full = np.hypot(_X - centre.real, _Y - centre.imag)
    alpha = np.clip(radius - full, 0, 1)
    if material == "glass":
        alpha *= _enlarge(np.clip(0.30 + 0.25 * wall + 0.6 * rim, 0, 1))
    elif kind == SIEVE:
        mesh = np.maximum(np.sin((_X - centre.real) * 1.25), np.sin((_Y - centre.imag) * 1.25)) ** 2
        alpha *= np.where(full < 0.9 * radius, 0.35 + 0.65 * mesh, 1)
    smooth = _image(pixels).resize((FULL, FULL), Image.Resampling.BILINEAR)
    layer = _layer(look, smooth, alpha, 9 if kind in (POT, BOWL, SIEVE) else 5)
    handles = _handles(look, kind, centre, radius)
    return layer if handles is None else Image.alpha_composite(handles, layer)


def _enlarge(field: np.ndarray) -> np.ndarray:
    return np.asarray(Image.fromarray(field.astype(np.float32)).resize((FULL, FULL), Image.Resampling.BILINEAR))


def _material(look: Look, kind: str) -> tuple[str, RGB]:
    steel = (186, 190, 194)
    if kind == BOWL:
        return look.bowl, {"glass": (240, 247, 250), "steel": steel, "ceramic": look.dish_colours[0]}[look.bowl]
    if kind in (POT, PAN):
        return ("steel", steel) if kind == POT and min(look.pan_colour) > 60 else ("iron", look.pan_colour)
    if kind == SIEVE:
        return "steel", steel
    return "ceramic", look.dish_colours[1 if kind == PLATE else 2]


def _texture(material: str, x: np.ndarray, y: np.ndarray, d: np.ndarray, facing: np.ndarray) -> np.ndarray:
    """What the material adds: a bright streak on steel, turning marks in iron, a sheen on ceramic and glass."""
    if material == "steel":
        return 16 * np.cos(2 * np.arctan2(y, x) + 0.8) * np.minimum(d * 1.4, 1) + 2.5 * np.sin(d * 150)
    if material == "iron":
        return 2.0 * np.sin(d * 120) + 16 * np.exp(-(((d - 0.86) / 0.03) ** 2)) * (0.5 - 0.5 * facing)
    sheen = np.exp(-(((d - 0.84) / 0.035) ** 2)) * np.clip(-facing, 0, 1) ** 3
    return (70 if material == "glass" else 26) * sheen


def _handles(look: Look, kind: str, centre: complex, radius: float) -> Image.Image | None:
    """The handles of pot, pan and sieve; other dishes have none."""
    ends = {POT: (1.14, 20.0, True), PAN: (2.2, 15.0, False), SIEVE: (2.2, 9.0, False)}.get(kind)
    if ends is None:
        return None
    reach, half, both = ends
    angle = 0.5 * math.pi + random.Random(derive("handle", look.seed, kind)).uniform(-0.9, 0.9)
    along = (_X - centre.real) * math.cos(angle) + (_Y - centre.imag) * math.sin(angle)
    across = (_Y - centre.imag) * math.cos(angle) - (_X - centre.real) * math.sin(angle)
    along = np.abs(along) if both else along
    alpha = np.clip(np.minimum(half - np.abs(across), reach * radius - along), 0, 1) * (along > radius * 0.9)
    colour = mix(look.pan_colour, WHITE, 0.5) if kind == SIEVE else tone(look.pan_colour, 0.8)
    pixels = np.array(colour, np.float32) + (np.cos(across / half * 1.5) * 34)[..., None]
    return _layer(look, pixels, alpha, 5)


def _layer(look: Look, pixels: np.ndarray | Image.Image, alpha: np.ndarray, height: int) -> Image.Image:
    """A thing with its shadow around it."""
    thing = pixels if isinstance(pixels, Image.Image) else _image(pixels)
    mask = Image.fromarray((alpha * 255).astype(np.uint8))
    cast = Image.new("L", mask.size)
    cast.paste(mask, (-round(look.light.real * height), -round(look.light.imag * height)))
    layer = Image.new("RGBA", mask.size, SHADOW)
    layer.putalpha(cast.filter(ImageFilter.BoxBlur(height * 1.3)).point([round(v * 0.62) for v in range(256)]))
    thing.putalpha(mask)
    layer.alpha_composite(thing)
    return layer


def _image(pixels: np.ndarray) -> Image.Image:
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
