"""Small pictures inside a page: as `data:` addresses, so that the page is one file that needs nothing else."""

from __future__ import annotations

import base64
import io

from PIL import Image, ImageOps

from recipeflow.images import FORMATS

QUALITY = 72


def thumbnail(data: bytes, side: int) -> str | None:
    """An encoded image as the address of a small, square WebP; ``None`` if it cannot be read."""
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as image:
            image.draft("RGB", (2 * side, 2 * side))
            picture = ImageOps.fit(ImageOps.exif_transpose(image).convert("RGB"), (side, side))
    except Exception:  # a damaged header can make Pillow's plugins raise nearly anything
        return None
    buffer = io.BytesIO()
    picture.save(buffer, "WEBP", quality=QUALITY, method=4)
    return data_address("image/webp", buffer.getvalue())


def data_address(kind: str, content: bytes) -> str:
    """Content as an address that holds it."""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"
