"""Languages that put spaces between words: lines are kept as they are, and split at spaces and punctuation."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from recipeflow.errors import SegmenterError, short
from segmentation_rfg import CONTROL, UNSPACED, WORD

_JOINED_TO_THE_LEFT = re.compile(r"[.,;:!?)\]}%]+|['’]\w+|n['’]t")
_JOINED_TO_THE_RIGHT = frozenset("([{")


def normalise(text: str) -> str:
    """A line with one space between words; every other character is kept, in its composed form (NFC)."""
    return " ".join(unicodedata.normalize("NFC", CONTROL.sub(" ", text)).split())


def segment(text: str) -> list[tuple[int, int]]:
    """The start and end of each word of a line; only spaces are between them.

    Raises:
        SegmenterError: If a part is in a script without spaces: it would become one long word.
    """
    if foreign := UNSPACED.search(text):
        raise SegmenterError(
            f"expected words with spaces between them, found {short(foreign[0])}, which is written without; give "
            "the release the language of its text"
        )
    return [match.span() for match in WORD.finditer(text)]


def join(words: Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
    """Words as a readable line, with spaces but none before a comma or full stop, and where each word is in it."""
    text, spans = "", []
    for number, word in enumerate(words):
        if number and words[number - 1] not in _JOINED_TO_THE_RIGHT and not _JOINED_TO_THE_LEFT.fullmatch(word):
            text += " "
        spans.append((len(text), len(text) + len(word)))
        text += word
    return text, spans
