"""Several views of one picture: the centre, its mirror image, and two closer crops.

Views are made from the decoded picture, before the backbone's own transform, so they work with every backbone. The
centre is the unchanged picture.
"""

from __future__ import annotations

from collections.abc import Callable

from PIL import Image, ImageOps

CLOSER = 0.8
"""The share of width and height that a closer crop shows."""


def _crop(image: Image.Image, corner: int) -> Image.Image:
    """The upper left (0) or lower right (1) of a picture."""
    left, top = (round(corner * side * (1 - CLOSER)) for side in image.size)
    width, height = (max(1, round(side * CLOSER)) for side in image.size)
    return image.crop((left, top, min(image.width, left + width), min(image.height, top + height)))


VIEWS: dict[str, Callable[[Image.Image], Image.Image]] = {
    "centre": lambda image: image,
    "flip": ImageOps.mirror,
    "upper left": lambda image: _crop(image, 0),
    "lower right": lambda image: _crop(image, 1),
}
CENTRE = "centre"
NUMBERS = (1, 2, 4)
"""The possible numbers of views: the first ones of `VIEWS`."""


def first_views(number: int) -> tuple[str, ...]:
    """The names of this many views, the centre first."""
    return tuple(VIEWS)[:number]
