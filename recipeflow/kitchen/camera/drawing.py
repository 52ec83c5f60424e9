"""Drawing small things well: colours, outlines, a pen, and the light that falls on what it drew.

Everything on the table is a sprite: drawn flat at a multiple of its size, reduced, and then given relief, gloss and
a soft shadow. All variants of one thing lie on one sheet, so that each step is a single call. Points are complex
numbers, because turning, scaling and shifting an outline are then one multiplication and one addition.
"""

from __future__ import annotations

import cmath
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageChops, ImageDraw, ImageFilter

from recipeflow.kitchen.camera.look import RGB

WHITE: RGB = (255, 255, 255)
BROWN: RGB = (110, 58, 20)
SHADOW: RGB = (34, 24, 18)
CIRCLE = np.exp(2j * np.pi * np.arange(28) / 28)


def rgb(code: str) -> RGB:
    """The colour that ``#rrggbb`` stands for."""
    red, green, blue = bytes.fromhex(code[1:])
    return red, green, blue


def mix(first: RGB, second: RGB, share: float) -> RGB:
    """The first colour with a share of the second in it."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(first, second, strict=True))
    return red, green, blue


def tone(colour: RGB, light: float = 1.0, vivid: float = 1.0) -> RGB:
    """The colour made lighter or darker, and more or less saturated."""
    grey = sum(colour) / 3
    red, green, blue = (max(0, min(255, round((grey + (c - grey) * vivid) * light))) for c in colour)
    return red, green, blue


def blob(rng: random.Random, radius: float, rough: float = 0.08, squash: float = 1.0, points: int = 28) -> np.ndarray:
    """An outline around the origin that is as uneven as natural things are."""
    turns = 2 * np.pi * np.arange(points) / points
    uneven = sum(rng.uniform(-1, 1) * np.cos(k * turns + rng.uniform(0, 6.3)) / k**0.5 for k in (2, 3, 5))
    ring = radius * (1 + rough * uneven) * np.exp(1j * turns)
    return ring.real + 1j * squash * ring.imag


def box(length: float, width: float) -> np.ndarray:
    """A rectangle around the origin."""
    return np.array([1 + 1j, -1 + 1j, -1 - 1j, 1 - 1j]).real * length / 2 + 1j * np.array([1, 1, -1, -1]) * width / 2


def rough_polygon(rng: random.Random, radius: float, corners: int, uneven: float = 0.2) -> np.ndarray:
    """A polygon with unequal corners, as a quick knife leaves."""
    return np.array(
        [
            cmath.rect(
                radius * rng.uniform(1 - uneven, 1 + uneven), 2 * cmath.pi * (k + rng.uniform(-0.2, 0.2)) / corners
            )
            for k in range(corners)
        ]
    )


class Pen:
    """Draws outlines, given in pixels of the final picture, turned and moved to their place on a sheet."""

    def __init__(self, image: Image.Image, scale: int, light: complex) -> None:
        self._draw = ImageDraw.Draw(image)
        self._scale = scale
        self._sky = light
        self._turn = complex(scale)
        self._centre = 0j
        ground = image.getpixel((0, 0))
        assert isinstance(ground, tuple)  # sheets are RGBA
        self._ground: tuple[int, ...] = (*ground[:3], 0)

    def at(self, centre: complex, angle: float = 0.0) -> None:
        """Draw around this place, turned by this angle, from now on."""
        self._centre = centre * self._scale
        self._turn = cmath.rect(self._scale, angle)

    @property
    def light(self) -> complex:
        """The direction towards the light as seen from the turned thing."""
        return self._sky * abs(self._turn) / self._turn

    def _place(self, points: np.ndarray | list[complex]) -> list[float]:
        return (np.asarray(points) * self._turn + self._centre).view(np.float64).tolist()

    def polygon(self, points: np.ndarray, colour: RGB) -> None:
        """Fill an outline."""
        self._draw.polygon(self._place(points), (*colour, 255))

    def erase(self, points: np.ndarray) -> None:
        """Make an outline's inside transparent again."""
        self._draw.polygon(self._place(points), self._ground)

    def disc(self, centre: complex, radius: float, colour: RGB) -> None:
        """Fill a circle."""
        middle, reach = centre * self._turn + self._centre, radius * self._scale
        x, y = middle.real, middle.imag
        self._draw.ellipse((x - reach, y - reach, x + reach, y + reach), (*colour, 255))

    def oval(self, centre: complex, radius: float, squash: float, colour: RGB) -> None:
        """Fill an ellipse that lies along the x axis."""
        self.polygon(CIRCLE.real * radius + 1j * CIRCLE.imag * radius * squash + centre, colour)

    def line(self, points: np.ndarray | list[complex], colour: RGB, width: float) -> None:
        """Draw a line of this width."""
        self._draw.line(self._place(points), (*colour, 255), max(1, round(width * self._scale)), joint="curve")

    def dome(self, points: np.ndarray, colour: RGB, lift: float = 0.3, steps: int = 5) -> None:
        """Fill an outline so that it looks rounded: from dark at its edge to light where it faces the light."""
        centre = points.mean()
        reach = float(np.abs(points - centre).mean())
        for step in range(steps):
            share = step / max(1, steps - 1)
            shade = mix(tone(colour, 0.84), mix(colour, WHITE, lift), share**1.5)
            self.polygon((points - centre) * (1 - 0.78 * share) + centre + self.light * reach * 0.36 * share, shade)


@dataclass(frozen=True)
class Finish:
    """What lies on the surface of a thing: how browned, wet, salted, droplet-covered it is, from 0 to 1."""

    relief: float = 1.0
    brown: float = 0.0
    gloss: float = 0.0
    salt: float = 0.0
    drops: float = 0.0
    shadow: float = 0.5
    height: float = 3.0


class Sprite(NamedTuple):
    """A small picture with transparency, and where its corner is relative to the middle of the thing."""

    image: Image.Image
    corner: complex

    def paste(self, picture: Image.Image, spot: complex) -> None:
        """Lay the thing with its middle on this spot."""
        corner = spot + self.corner
        picture.paste(self.image, (round(corner.real), round(corner.imag)), self.image)


def sheet(
    draw: Callable[[Pen, random.Random], None],
    reach: float,
    angles: list[float],
    ground: RGB,
    light: complex,
    finish: Finish,
    rng: random.Random,
) -> list[Sprite]:
    """Sprites of one thing, one for each angle.

    Args:
        draw: Draws one variant around the pen's origin.
        reach: How far from the origin it draws, in pixels.
        angles: How far each variant is turned.
        ground: A colour like that of the thing's edge, which keeps that edge clean when it is reduced.
        light: The direction towards the light.
        finish: What is on the surface.
        rng: Where the variants' differences come from.
    """
    scale = 3 if reach < 24 else 2
    cell = 2 * int(reach + 3 + finish.height * 1.6)
    image = Image.new("RGBA", (cell * len(angles) * scale, cell * scale), (*ground, 0))
    pen = Pen(image, scale, light)
    for number, angle in enumerate(angles):
        pen.at(complex(cell * (number + 0.5), cell / 2), angle)
        draw(pen, rng)
    lit = illuminate(image.reduce(scale), light, finish, rng)
    return [_trim(lit.crop((cell * n, 0, cell * (n + 1), cell))) for n in range(len(angles))]


def _trim(image: Image.Image) -> Sprite:
    """Leave out the empty margin, which would cost time at every paste."""
    bounds = image.getchannel("A").getbbox() or (0, 0, 1, 1)
    return Sprite(image.crop(bounds), complex(bounds[0], bounds[1]) - complex(*image.size) / 2)


def illuminate(image: Image.Image, light: complex, finish: Finish, rng: random.Random) -> Image.Image:
    """Give flat drawings relief towards the light, what the finish puts on them, and a soft shadow on the ground."""
    alpha = image.getchannel("A")
    height = finish.height
    soft = alpha.filter(ImageFilter.BoxBlur(max(1.0, height * 0.6)))
    step = light * max(1.0, height * 0.5)
    shade = ImageChops.subtract(_shifted(soft, step), _shifted(soft, -step), 3.2 / finish.relief, 128)
    colours = ImageChops.hard_light(image.convert("RGB"), Image.merge("RGB", (shade,) * 3))
    if finish.brown:
        crust = soft.point([round(255 * finish.brown * min(1.0, max(0.15, (255 - v) / 110))) for v in range(256)])
        colours.paste(BROWN, mask=crust)
    if finish.gloss:
        colours.paste(WHITE, mask=shade.point([round(finish.gloss * max(0, v - 140) * 3) for v in range(256)]))
    _sprinkle(colours, finish, rng)
    ground = Image.new("RGBA", image.size, (*SHADOW, 0))
    cast = _shifted(soft, -light * height)
    ground.putalpha(cast.point([round(v * finish.shadow) for v in range(256)]))
    colours.putalpha(alpha)
    ground.alpha_composite(colours)
    return ground


def _shifted(mask: Image.Image, by: complex) -> Image.Image:
    """The mask moved; unlike ``ImageChops.offset``, nothing comes back in on the other side."""
    moved = Image.new("L", mask.size)
    moved.paste(mask, (round(by.real), round(by.imag)))
    return moved


def _sprinkle(colours: Image.Image, finish: Finish, rng: random.Random) -> None:
    """Salt as white specks, water as drops that are dark on one side and bright on the other."""
    if not (finish.salt or finish.drops):
        return
    draw, (width, height) = ImageDraw.Draw(colours), colours.size
    for _ in range(int(finish.salt * width * height / 34)):
        x, y = rng.randrange(width), rng.randrange(height)
        draw.rectangle((x, y, x + rng.randrange(2), y + rng.randrange(2)), WHITE)
    for _ in range(int(finish.drops * width * height / 110)):
        x, y = rng.randrange(width), rng.randrange(height)
        draw.ellipse((x, y, x + 2, y + 2), (196, 214, 224))
        draw.point((x, y), WHITE)
