"""Text in pictures: the same fonts on every machine, and English next to Japanese where it is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from PIL import ImageFont

from recipeflow.errors import MissingExtraError

LAST_LATIN = 0x17F


@cache
def japanese_font() -> Path:
    """The font file of ``matplotlib-fontja``, found without importing it, which would change matplotlib."""
    found = find_spec("matplotlib_fontja")
    if found is None or found.origin is None:
        raise MissingExtraError("expected matplotlib_fontja, found none; run pip install matplotlib-fontja")
    package = Path(found.origin).parent
    return package / "fonts" / "ipaexg.ttf"


def latin_font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """The font that comes with Pillow, for English."""
    return ImageFont.load_default(size=size)


def font(text: str, size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """A font that can draw this text."""
    return latin_font(size) if _is_latin(text) else ImageFont.truetype(japanese_font(), size)


def with_english(texts: Iterable[str | None], glossary: Mapping[str, str]) -> dict[str, str]:
    """Each text with its English translation, if the glossary has one."""
    return {text: f"{text} {glossary[text]}" if text in glossary else text for text in texts if text is not None}


def _is_latin(text: str) -> bool:
    return all(ord(character) <= LAST_LATIN for character in text)
