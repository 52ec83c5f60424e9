"""Cards with a picture and a few lines of text, as on a sheet of search results or panels."""

from __future__ import annotations

from typing import Any

from PIL import Image, ImageDraw, ImageOps

from recipeflow.drawing.lettering import font
from recipeflow.drawing.palette import PAPER

PICTURE, PADDING = 190, 14


def draw_frame(sheet: Image.Image, box: tuple[int, int, int, int], colour: str) -> tuple[int, int]:
    """Draw an empty card, and return where its picture begins."""
    ImageDraw.Draw(sheet).rounded_rectangle(box, 12, fill="white", outline=colour)
    return box[0] + PADDING, box[1] + PADDING


def square(image: Image.Image) -> Image.Image:
    """Fit a picture of any shape into the card, upright and whole."""
    return ImageOps.pad(ImageOps.exif_transpose(image).convert("RGB"), (PICTURE, PICTURE), color=PAPER)


def write(
    draw: ImageDraw.ImageDraw,
    place: tuple[int, int],
    text: str,
    colour: str,
    size: int,
    lines: int = 1,
    width: int = PICTURE,
) -> int:
    """Write within a width, cut with dots after some lines, and return where the next line begins."""
    x, y = place
    face = font(text, size)
    for number in range(lines):
        part = _fit(draw, text, face, width)
        text = text[len(part) :].lstrip()
        if text and number == lines - 1:
            part = part[:-1].rstrip() + "…"
        draw.text((x, y), part, fill=colour, font=face)
        y += round(size * 1.35)
    return y


def _fit(draw: ImageDraw.ImageDraw, text: str, face: Any, width: int) -> str:
    """As much of the text as fits on one line, up to a space if that keeps more than half of it."""
    length = next((n for n in range(len(text), 0, -1) if draw.textlength(text[:n], font=face) <= width), 0)
    space = text.rfind(" ", 0, length)
    return text[:length] if length == len(text) or space < length // 2 else text[:space]
