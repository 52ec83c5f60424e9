"""Is this really a picture? Frames are passed on as the bytes they are, so each is decoded once to be sure."""

from __future__ import annotations

import io

from PIL import Image, UnidentifiedImageError

FORMATS = ("JPEG", "PNG", "WEBP")
"""What a frame may be in spite of its name. Not all that Pillow opens: some formats run other programs."""


def image_problem(data: bytes) -> str | None:
    """Why ``data`` is not a whole image, or ``None`` if it is one."""
    if not data:
        return "found an empty file"
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as image:
            # A JPEG decoded at an eighth of its size still reads every byte, at a fraction of the cost.
            image.draft(image.mode, (max(1, image.width // 8), max(1, image.height // 8)))
            image.load()
    except UnidentifiedImageError:
        return f"found {len(data)} bytes that start with {data[:8]!r}"
    except Exception as error:  # a damaged header can make Pillow's plugins raise nearly anything
        return f"found {len(data)} bytes that do not decode: {error}"
    return None
