"""Frames as a page shows them: small enough to load by the dozen, untouched where they already are."""

from __future__ import annotations

import io

from PIL import Image

from recipeflow.errors import BrokenImageError
from recipeflow.images import FORMATS, encode, image_problem, open_small

LARGEST = 480
"""Pixels of the longer side."""

QUALITY = 85


def page_picture(data: bytes, name: str) -> bytes:
    """A frame as a JPEG of at most ``LARGEST`` pixels; one that is that already stays as it is, byte for byte.

    Raises:
        BrokenImageError: If it is no image.
    """
    if (reason := image_problem(data)) is not None:
        raise BrokenImageError(f"expected an image, {reason}", file=name, value=name)
    with Image.open(io.BytesIO(data), formats=FORMATS) as image:
        if image.format == "JPEG" and max(image.size) <= LARGEST:
            return data
    return encode(open_small(data, (LARGEST, LARGEST)), quality=QUALITY)
