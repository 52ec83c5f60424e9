"""Japanese in pictures, on machines with and without a font for it.

Pillow's own font has Latin letters only. Japanese is drawn with any font of this machine that has it. Where there is
none, a word is shown in English if the glossary has it, and else spelled out: kana by their sounds (キャベツ becomes
kiyabetu), any other character by its code point (切 becomes <5207>).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache

from PIL import ImageFont

from recipeflow import report

LAST_LATIN = 0x17F
SAMPLE = "切りキ茹"
"""A font that has these has what recipes are written with."""


@cache
def japanese_font() -> str | None:
    """The file of a font with Japanese characters, upright and of normal weight if there is a choice."""
    from matplotlib.font_manager import fontManager  # here, because it may have to list all fonts first
    from matplotlib.ft2font import FT2Font

    fonts = sorted(fontManager.ttflist, key=lambda entry: (entry.style != "normal", entry.weight != 400, entry.fname))
    for path in dict.fromkeys(entry.fname for entry in fonts):
        try:
            characters = FT2Font(path).get_charmap()
        except (OSError, RuntimeError):
            continue  # gone since they were listed, or no outline font
        glyphs = {characters.get(ord(character)) for character in SAMPLE}
        if None not in glyphs and len(glyphs) == len(SAMPLE):  # a font of last resort has one glyph for all of them
            return path
    return None


def font(text: str, size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """A font that can draw this text."""
    path = None if _is_latin(text) else japanese_font()
    return report.font(size) if path is None else ImageFont.truetype(path, size)


def legible(texts: Iterable[str | None], glossary: Mapping[str, str]) -> dict[str, str]:
    """For each text, what can be drawn in its place on this machine; the text itself if there is a font for it."""
    shown = {}
    for text in texts:
        if text is not None:
            drawable = _is_latin(text) or japanese_font() is not None
            shown[text] = text if drawable else _in_latin(text, glossary)
    return shown


def _in_latin(text: str, glossary: Mapping[str, str]) -> str:
    if text in glossary:
        return glossary[text]
    return " ".join(glossary.get(word) or "".join(map(_spell, word)) for word in text.split())


def _spell(character: str) -> str:
    plain = unicodedata.normalize("NFKC", character)
    if _is_latin(plain):
        return plain
    name = unicodedata.name(character, "")
    if name.startswith(("HIRAGANA LETTER", "KATAKANA LETTER")):
        return name.split()[-1].lower()
    return "-" if character == "ー" else f"<{ord(character):04X}>"


def _is_latin(text: str) -> bool:
    return all(ord(character) <= LAST_LATIN for character in text)
