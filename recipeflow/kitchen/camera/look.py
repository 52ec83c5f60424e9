"""How one recipe's film looks, and the seeds that everything random in a picture comes from.

Recipes are filmed in a few places, as the videos of one publisher are: table, dishes and light belong to the place,
the camera's place and the exact colour of the vegetables to the recipe. ``Look`` holds what stays through one recipe.
"""

from __future__ import annotations

import cmath
import random
import zlib
from dataclasses import dataclass

RGB = tuple[int, int, int]

PLACES = 2
"""How many places recipes are filmed in. The fewer, the less a background shows which recipe it belongs to."""

TABLES = ("planks", "tiles", "slate", "marble", "cloth")
TABLE_COLOURS = {
    "planks": ((176, 128, 84), (120, 82, 54), (206, 172, 130), (150, 110, 84)),
    "tiles": ((222, 220, 214), (176, 198, 200), (214, 196, 176)),
    "slate": ((74, 78, 84), (96, 92, 88), (60, 66, 64)),
    "marble": ((228, 226, 222), (206, 208, 212), (222, 212, 200)),
    "cloth": ((196, 82, 74), (92, 124, 160), (226, 214, 186), (128, 150, 112), (210, 164, 84)),
}
BOARD_COLOURS = ((222, 184, 134), (196, 150, 100), (236, 208, 164), (164, 114, 74), (238, 236, 230), (206, 224, 208))
BOWLS = ("glass", "steel", "ceramic")
CERAMIC_COLOURS = ((246, 243, 236), (70, 96, 130), (212, 186, 146), (158, 176, 156), (92, 84, 80), (232, 198, 190))
PAN_COLOURS = ((48, 48, 52), (70, 64, 60), (120, 122, 126), (58, 66, 74))
LIGHT_COLOURS = ((255, 244, 226), (255, 255, 252), (238, 246, 255), (255, 234, 206))
SKIN_TONES = ((238, 200, 172), (226, 180, 148), (244, 212, 190), (198, 148, 116), (160, 112, 84))
SLEEVES = ((236, 236, 236), (70, 88, 120), (150, 60, 66), (96, 120, 92), (44, 44, 50), (222, 196, 120))
CAPTIONS = (
    ((20, 20, 20), (255, 255, 255)),
    ((255, 255, 255), (50, 40, 36)),
    ((190, 60, 50), (255, 250, 240)),
    ((250, 226, 120), (70, 50, 20)),
)


def derive(*parts: object) -> int:
    """A seed that depends on all the parts, and on nothing else: not on the process, not on the hash seed."""
    return zlib.crc32("|".join(map(str, parts)).encode())


@dataclass(frozen=True)
class Look:
    """What stays the same through one recipe's film.

    Args:
        seed: What the exact shade and size of each ingredient are derived from.
        table: The material of the work surface.
        table_colour: Its colour.
        board_colour: The chopping board's colour; a light grey or green one is plastic, any other wood.
        bowl: The material of bowls.
        dish_colours: The colours of ceramic bowl, plate and side dish.
        pan_colour: The colour of pot and frying pan.
        light_colour: What white looks like.
        light: The direction towards the light (y down) as a complex number; its length is the strength.
        zoom: Pixels of everything relative to the usual distance of the camera.
        offset: How far the container is off the middle of the picture, in pixels.
        rotation: How far board and table are turned, in radians.
        skin_tone: The colour of the hands.
        sleeve: The colour of the sleeves.
        arm: The direction from which the hands come in, in radians off straight up.
        caption_bar: The colour of the caption's bar.
        caption_text: The colour of its letters.
        caption_on_top: Whether captions stand at the upper edge.
    """

    seed: int
    table: str
    table_colour: RGB
    board_colour: RGB
    bowl: str
    dish_colours: tuple[RGB, RGB, RGB]
    pan_colour: RGB
    light_colour: RGB
    light: complex
    zoom: float
    offset: complex
    rotation: float
    skin_tone: RGB
    sleeve: RGB
    arm: float
    caption_bar: RGB
    caption_text: RGB
    caption_on_top: bool

    @classmethod
    def from_seed(cls, seed: int, places: int = PLACES) -> Look:
        """The look of the recipe with this number; those with equal remainders are filmed in the same place."""
        place = random.Random(derive("studio", seed % places))
        rng = random.Random(derive("look", seed))
        table = place.choice(TABLES)
        bar, text = place.choice(CAPTIONS)
        return cls(
            seed=seed,
            table=table,
            table_colour=_vary(place, place.choice(TABLE_COLOURS[table]), 16),
            board_colour=_vary(place, place.choice(BOARD_COLOURS), 8),
            bowl=place.choice(BOWLS),
            dish_colours=(_ceramic(place), _ceramic(place), _ceramic(place)),
            pan_colour=_vary(place, place.choice(PAN_COLOURS), 6),
            light_colour=_vary(place, place.choice(LIGHT_COLOURS), 5),
            light=cmath.rect(place.uniform(0.75, 1.2), place.uniform(-2.9, -0.3)),
            zoom=rng.uniform(0.88, 1.14),
            offset=complex(rng.uniform(-16, 16), rng.uniform(-14, 14)),
            rotation=rng.uniform(-0.22, 0.22),
            skin_tone=_vary(rng, rng.choice(SKIN_TONES), 6),
            sleeve=_vary(rng, rng.choice(SLEEVES), 12),
            arm=rng.uniform(-0.6, 0.6),
            caption_bar=bar,
            caption_text=text,
            caption_on_top=rng.random() < 0.25,
        )


def _ceramic(rng: random.Random) -> RGB:
    return _vary(rng, rng.choice(CERAMIC_COLOURS), 8)


def _vary(rng: random.Random, colour: RGB, amount: int) -> RGB:
    grey = rng.uniform(-amount, amount)
    red, green, blue = (max(0, min(255, round(c + grey + rng.uniform(-amount, amount) / 2))) for c in colour)
    return red, green, blue
