"""Studios: where and how a kitchen's pictures are taken.

In the default one, a recipe is filmed in one place, so that table, dishes and light are the same before and after an
action. A model can lean on that, and then fails on photographs. In every other studio each picture is taken in another
place, by another camera and on another day: what two pictures of one recipe share is the food.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace

from PIL import Image, ImageFilter

from recipeflow.errors import UsageError
from recipeflow.kitchen.camera.look import Look, derive
from recipeflow.kitchen.camera.shooting import Camera
from recipeflow.kitchen.camera.surfaces import SIZE
from recipeflow.kitchen.world import Scene

MANY_PLACES = 997
"""How many places there are to travel to: more than any recipe has pictures."""

PAPER = (246, 245, 242)
"""The ground of a stock photograph."""


@dataclass(frozen=True)
class Setup:
    """How one picture is taken.

    Args:
        paper: On a sheet of white paper, as stock photographs are, instead of a table.
        nearest: How much of the picture's width is left when the camera is nearest.
        farthest: The same when it is farthest.
        clutter: How many other things lie around, at the most.
        hands: How often hands are over the food.
        blur: How far out of focus or shaken it is, at the most, in pixels.
        light: How far brightness and colour of the light vary, as a share.
    """

    paper: bool = False
    nearest: float = 0.5
    farthest: float = 1.0
    clutter: int = 0
    hands: float = 0.0
    blur: float = 0.0
    light: float = 0.15


SETUPS = {
    "changing": Setup(),
    "stock": Setup(paper=True, nearest=0.6, light=0.06),
    "close": Setup(nearest=0.26, farthest=0.5),
    "cluttered": Setup(clutter=6, hands=0.4),
    "handheld": Setup(blur=2.6, light=0.4, hands=0.15),
}
"""Each of these is a studio of its own."""

FILM, ANY = "film", "any"
STUDIOS = (FILM, *SETUPS, ANY)
"""``film`` is the default, one place for each recipe; ``any`` takes each picture in one of the other studios."""


def check_studio(name: str) -> None:
    """Refuse a studio that does not exist."""
    if name not in STUDIOS:
        raise UsageError(f"expected a studio among {', '.join(STUDIOS)}, found {name!r}; choose one of them")


def open_camera(seed: int, studio: str = FILM) -> Camera | TravellingCamera:
    """The camera of the recipe whose look has this seed."""
    check_studio(studio)
    if studio == FILM:
        return Camera(Look.from_seed(seed))
    return TravellingCamera(seed, tuple(SETUPS.values()) if studio == ANY else (SETUPS[studio],))


class TravellingCamera:
    """Takes each picture of a recipe in a place of its own.

    Args:
        seed: Of the recipe's look.
        setups: How pictures are taken; each in one of these ways.
    """

    def __init__(self, seed: int, setups: tuple[Setup, ...]) -> None:
        self.seed, self.setups = seed, setups
        self._home = Camera(Look.from_seed(seed))

    def shoot(self, scene: Scene, seed: int) -> Image.Image:
        """A still of the scene, as `Camera.shoot`: the same scene and seed give the same picture in every process."""
        place = derive("place", self.seed, seed)
        rng = random.Random(place)
        setup = rng.choice(self.setups)
        look = Look.from_seed(place, MANY_PLACES)
        if setup.paper:
            look = replace(look, table="slate", table_colour=PAPER)
        camera = Camera(look, setup.nearest, setup.farthest, setup.clutter)
        picture = camera.shoot(scene, seed)
        if rng.random() < setup.hands:
            picture = camera.hold(picture, complex(rng.uniform(0.2, 0.8) * SIZE, rng.uniform(0.45, 0.9) * SIZE))
        return _develop(picture, setup, rng)

    def annotate(self, still: Image.Image, seed: int, hand: bool = False, caption: str | None = None) -> Image.Image:
        """As `Camera.annotate`: hand and caption belong to the recipe, not to the place."""
        return self._home.annotate(still, seed, hand, caption)

    def between(
        self,
        before: Image.Image,
        after: Image.Image,
        progress: float,
        seed: int,
        tool: str | None = None,
        caption: str | None = None,
    ) -> Image.Image:
        """A film frame between two places: a cut in the middle, with a hand at work on both sides."""
        picture = before if progress < 0.5 else after
        return self._home.between(picture, picture, progress, seed, tool, caption)


def _develop(picture: Image.Image, setup: Setup, rng: random.Random) -> Image.Image:
    """Light of its own colour and strength, and a lens that is not always sharp."""
    level = math.exp(rng.uniform(-setup.light, setup.light * 0.5))
    warmth = rng.uniform(-setup.light, setup.light) / 2
    gains = (level * (1 + warmth), level, level * (1 - warmth))
    picture = picture.point([min(255, round(v * gain)) for gain in gains for v in range(256)])
    return picture.filter(ImageFilter.GaussianBlur(rng.uniform(0, setup.blur))) if setup.blur else picture
