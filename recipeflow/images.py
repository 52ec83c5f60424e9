"""Decode, check, shrink and write pictures; small ones as `data:` URLs, so that a page is one file."""

from __future__ import annotations

import base64
import io
from pathlib import Path

from PIL import Image, ImageOps, UnidentifiedImageError

from recipeflow.errors import BrokenImageError, UsageError
from recipeflow.files import write_png

FORMATS = ("JPEG", "PNG", "WEBP")
"""Accepted formats, whatever the file name says. Not all that Pillow opens: some formats run other programs."""


def image_problem(data: bytes) -> str | None:
    """Why ``data`` is not a complete image, or ``None`` if it is one."""
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


def check_picture(path: Path, formats: list[str] | tuple[str, ...] | None = None) -> None:
    """Refuse a file that is not a picture before any work is done for it.

    Args:
        path: The file.
        formats: The allowed formats, by Pillow's names; by default anything that Pillow opens.
    """
    try:
        with Image.open(path, formats=formats) as image:
            image.load()
    except FileNotFoundError:
        found = "no such file"
    except UnidentifiedImageError:
        found = "something else"
    except Exception as error:  # a damaged header can make Pillow's plugins raise nearly anything
        found = f"one that does not decode ({error})"
    else:
        return
    kinds = f" ({' or '.join(formats)})" if formats else ""
    raise UsageError(f"expected a picture{kinds} at {path}, found {found}; pass an image file")


CARD_PICTURES = {".png": ("PNG",), ".jpg": ("JPEG",)}
"""The formats that a card can show, by file extension."""


def check_card_picture(path: Path) -> str:
    """Refuse what a card cannot show; return the file extension."""
    suffix = path.suffix.lower()
    if suffix not in CARD_PICTURES:
        raise UsageError(f"expected a picture, .png or .jpg, found {path}; draw one with `vrf search --picture`")
    check_picture(path, CARD_PICTURES[suffix])
    return suffix


def open_small(data: bytes, box: tuple[int, int]) -> Image.Image:
    """Decode an image, scaled down to fit the box."""
    with Image.open(io.BytesIO(data), formats=FORMATS) as image:
        image.draft("RGB", box)  # decodes a JPEG near the wanted size, in a fraction of the time
        small = ImageOps.exif_transpose(image).convert("RGB")
    small.thumbnail(box)
    return small


def encode(picture: Image.Image, kind: str = "JPEG", **options: int) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, kind, **options)
    return buffer.getvalue()


def save_picture(image: Image.Image, path: str | Path) -> None:
    """Write a PNG file atomically."""
    write_png(Path(path), image.save, optimize=True)


THUMBNAIL_QUALITY = 72


def thumbnail(data: bytes, side: int) -> str | None:
    """A small, square WebP of an encoded image, as a `data:` URL; ``None`` if it cannot be read."""
    try:
        picture = ImageOps.fit(open_small(data, (2 * side, 2 * side)), (side, side))
    except Exception:  # a damaged header can make Pillow's plugins raise nearly anything
        return None
    return data_address("image/webp", encode(picture, "WEBP", quality=THUMBNAIL_QUALITY, method=4))


def data_address(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


LARGEST_ON_PAGE = 480
"""Pixels of the longer side."""

PAGE_QUALITY = 85


def page_picture(data: bytes, name: str) -> bytes:
    """A frame as a JPEG of at most ``LARGEST_ON_PAGE`` pixels; one that is small enough is returned unchanged.

    Raises:
        BrokenImageError: If it is not an image.
    """
    if (reason := image_problem(data)) is not None:
        raise BrokenImageError(f"expected an image, {reason}", file=name, value=name)
    with Image.open(io.BytesIO(data), formats=FORMATS) as image:
        if image.format == "JPEG" and max(image.size) <= LARGEST_ON_PAGE:
            return data
    return encode(open_small(data, (LARGEST_ON_PAGE, LARGEST_ON_PAGE)), quality=PAGE_QUALITY)
