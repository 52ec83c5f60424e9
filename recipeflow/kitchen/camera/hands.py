"""The cook's hand with its tools, and the caption bar that cooking videos have."""

from __future__ import annotations

import cmath
import math
import random

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from recipeflow.kitchen.camera.drawing import CIRCLE, WHITE, Finish, Pen, Sprite, mix, sheet, tone
from recipeflow.kitchen.camera.look import RGB, Look
from recipeflow.kitchen.camera.surfaces import SIZE

TOOLS = ("knife", "spoon", "chopsticks")
GRASP = {"knife": 78.0, "spoon": 84.0, "chopsticks": 92.0, None: 34.0}
"""How far ahead of the palm the work is done with each tool, in pixels."""

FINGERS = (-14.0, -4.8, 4.8, 14.0)
STEEL: RGB = (206, 210, 214)
WOOD: RGB = (146, 96, 58)


def hand_sprite(look: Look, tool: str | None) -> Sprite:
    """The hand with a tool, coming in from the recipe's own side; its middle is the palm."""
    if tool is not None and tool not in TOOLS:
        raise ValueError(f"unknown tool {tool!r}; the hand can hold {', '.join(TOOLS)} or None")

    def draw(pen: Pen, _: random.Random) -> None:
        if tool is not None:
            _TOOL_DRAWINGS[tool](pen)
        _arm(pen, look)
        _fingers(pen, look.skin_tone, curled=tool is not None)

    finish = Finish(relief=0.8, gloss=0.1, shadow=0.4, height=7.0)
    return sheet(draw, 150, [direction(look)], look.skin_tone, look.light, finish, random.Random(0))[0]


def direction(look: Look) -> float:
    """Where the hand points to, in radians."""
    return -math.pi / 2 + look.arm


def _arm(pen: Pen, look: Look) -> None:
    skin = look.skin_tone
    pen.polygon(np.array([-84 - 17j, -10 - 19j, -10 + 19j, -84 + 17j]), skin)
    pen.polygon(np.array([-84 - 7j, -10 - 8j, -10 + 2j, -84 - 1j]), mix(skin, WHITE, 0.12))
    pen.polygon(np.array([-230 - 34j, -66 - 25j, -62 + 0j, -66 + 25j, -230 + 34j]), look.sleeve)
    for y in (-12, 8):
        pen.line([-220 + 1.2j * y, -72 + 1j * y], tone(look.sleeve, 0.88), 3)
    pen.line([-68 - 25j, -64 + 0j, -68 + 25j], tone(look.sleeve, 0.8), 3)


def _fingers(pen: Pen, skin: RGB, curled: bool) -> None:
    pen.polygon(CIRCLE.real * 25 + 1j * CIRCLE.imag * 21, skin)
    pen.polygon(CIRCLE.real * 16 + 1j * CIRCLE.imag * 12 + pen.light * 4 - 4, mix(skin, WHITE, 0.14))
    reach = 26.0 if curled else 44.0
    for y in FINGERS:
        tip = complex(reach + (4 - abs(y) * 0.3), y * (0.9 if curled else 1.15))
        _limb(pen, [complex(8, y), complex(reach * 0.7, y * 1.08), tip], 10.5, skin)
        if not curled:
            pen.disc(tip + 2, 3.2, mix(skin, (250, 220, 214), 0.6))
    _limb(pen, [-8 + 15j, 10 + 27j, 26 + (20j if curled else 30j)], 11.0, skin)


def _limb(pen: Pen, joints: list[complex], width: float, skin: RGB) -> None:
    """A finger: a round-ended line with a dark edge and a light back."""
    for grow, colour in ((1.0, tone(skin, 0.82)), (0.8, skin), (0.34, mix(skin, WHITE, 0.16))):
        pen.line(joints, colour, width * grow)
        pen.disc(joints[-1], width * grow / 2, colour)


def _knife(pen: Pen) -> None:
    turn = cmath.rect(1, -0.28)
    blade = np.array([26 - 6j, 122 - 8j, 134 - 2j, 120 + 9j, 26 + 13j]) * turn
    pen.polygon(blade, STEEL)
    pen.polygon(np.array([26 - 6j, 122 - 8j, 130 - 3j, 26 + 2j]) * turn, mix(STEEL, WHITE, 0.55))
    pen.line(np.array([-34 + 0j, 30 + 0j]) * turn, tone(WOOD, 0.5), 13)


def _spoon(pen: Pen) -> None:
    pen.line([-40 + 6j, 76 - 2j], WOOD, 7)
    pen.line([-40 + 4j, 76 - 4j], mix(WOOD, WHITE, 0.3), 2)
    pen.polygon(CIRCLE.real * 25 + 1j * CIRCLE.imag * 17 + 94 - 2j, tone(WOOD, 0.9))
    pen.polygon(CIRCLE.real * 19 + 1j * CIRCLE.imag * 12 + 94 - 2j, mix(WOOD, WHITE, 0.2))


def _chopsticks(pen: Pen) -> None:
    for start, end in ((-42 - 12j, 116 - 3j), (-40 + 10j, 116 + 4j)):
        pen.line([start, end], tone(WOOD, 0.72), 5)
        pen.line([start, end], mix(WOOD, WHITE, 0.25), 2)


_TOOL_DRAWINGS = {"knife": _knife, "spoon": _spoon, "chopsticks": _chopsticks}


def caption_sprite(look: Look, text: str) -> Sprite:
    """The caption on its half-transparent bar, as wide as the picture; long captions shrink to fit."""
    size = 17
    font = ImageFont.load_default(size=size)
    width = font.getlength(text)
    if width > SIZE - 28:
        font = ImageFont.load_default(size=max(7, int(size * (SIZE - 28) / width)))
        width = font.getlength(text)
    bar = Image.new("RGBA", (SIZE, 34), (0, 0, 0, 0))
    draw = ImageDraw.Draw(bar)
    half = min(SIZE / 2 - 4, width / 2 + 14)
    draw.rounded_rectangle((SIZE / 2 - half, 3, SIZE / 2 + half, 30), 9, (*look.caption_bar, 196))
    draw.text((SIZE / 2, 16), text, font=font, fill=(*look.caption_text, 255), anchor="mm")
    return Sprite(bar, complex(-SIZE / 2, -17))
