"""Japanese text in a release's form: normalised, everything in full width, without spaces."""

from __future__ import annotations

import unicodedata

_FULL_WIDTH = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}


def widen(text: str) -> str:
    """Turn ASCII into the full-width characters of the release's text."""
    return text.translate(_FULL_WIDTH)


def normalise(text: str) -> str:
    """A line in the form that the release's offsets refer to: NFKC, full-width ASCII, no spaces or line breaks."""
    return "".join(widen(unicodedata.normalize("NFKC", text)).split())
