"""The characters of the release's text: Japanese, with everything else in full width."""

from __future__ import annotations

_FULL_WIDTH = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}


def widen(text: str) -> str:
    """ASCII as the full-width characters that the release's text uses."""
    return text.translate(_FULL_WIDTH)
