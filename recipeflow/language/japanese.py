"""Japanese text as a release holds it: normalised, everything in full width, without spaces."""

from __future__ import annotations

import unicodedata

_FULL_WIDTH = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}


def widen(text: str) -> str:
    """ASCII as the full-width characters that the release's text uses."""
    return text.translate(_FULL_WIDTH)


def normalise(text: str) -> str:
    """A line as the release's offsets count it: NFKC, ASCII in full width, and no space or line break of any kind."""
    return "".join(widen(unicodedata.normalize("NFKC", text)).split())
