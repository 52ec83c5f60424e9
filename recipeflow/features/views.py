"""The names of the views of a picture, which its processor makes (`processing_vrf.VIEWS`), and how many there can be.

They are here as well, because settings are checked before anything heavy is loaded.
"""

from __future__ import annotations

CENTRE = "centre"
NAMES = (CENTRE, "flip", "upper left", "lower right")
NUMBERS = (1, 2, 4)
"""The possible numbers of views: the first ones of `NAMES`."""


def first_views(number: int) -> tuple[str, ...]:
    """The names of this many views, the centre first."""
    return NAMES[:number]
