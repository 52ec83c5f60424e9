"""Small pictures inside a page: as `data:` addresses, so that the page is one file that needs nothing else."""

from __future__ import annotations

import base64

from PIL import ImageOps

from recipeflow.images import encode, open_small

QUALITY = 72


def thumbnail(data: bytes, side: int) -> str | None:
    """An encoded image as the address of a small, square WebP; ``None`` if it cannot be read."""
    try:
        picture = ImageOps.fit(open_small(data, (2 * side, 2 * side)), (side, side))
    except Exception:  # a damaged header can make Pillow's plugins raise nearly anything
        return None
    return data_address("image/webp", encode(picture, "WEBP", quality=QUALITY, method=4))


def data_address(kind: str, content: bytes) -> str:
    """Content as an address that holds it."""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"
