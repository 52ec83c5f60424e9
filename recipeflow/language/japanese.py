"""Japanese text in a release's form: normalised, everything in full width, without spaces."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import pairwise

from recipeflow.errors import SegmenterError, short
from recipeflow.language import segmentation
from segmentation_rfg import CONTROL, FULL_WIDTH, JAPANESE, LETTERS


def widen(text: str) -> str:
    """Turn ASCII into the full-width characters of the release's text."""
    return text.translate(FULL_WIDTH)


def normalise(text: str) -> str:
    """A line in the form that the release's offsets refer to: NFKC, full-width ASCII, no spaces or line breaks."""
    return "".join(widen(unicodedata.normalize("NFKC", CONTROL.sub(" ", text))).split())


def check_script(text: str) -> None:
    """Refuse a line of words with spaces between them, before normalising it would join them into one.

    Raises:
        SegmenterError: If the line has such words and not one Japanese character.
    """
    if not JAPANESE.search(text) and sum(bool(LETTERS.search(part)) for part in text.split()) > 1:
        raise SegmenterError(
            f"expected Japanese text, found {short(text)}, whose words would be joined into one; give the release the "
            'language of its text, such as "language": "en" in release.json'
        )


def segment(text: str) -> list[tuple[int, int]]:
    """The start and end of each word of a normalised line."""
    return segmentation.segment(text, segmentation.load_segmenter())


def join(words: Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
    """Words as a line, without spaces, and where each word is in it."""
    ends = [0]
    for word in words:
        ends.append(ends[-1] + len(word))
    return "".join(words), list(pairwise(ends))
