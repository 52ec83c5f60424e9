"""The camera above the work surface: stills of scenes, film frames between two stills, hands and captions.

A picture is put together from parts that are drawn once for each recipe: table and containers as backgrounds, the
pieces of each portion as sprites, hand and captions as overlays. What varies between two takes is where pieces lie,
where the camera is, and the colour of its picture.
"""

from __future__ import annotations

import cmath
import functools
import io
import math
import random
from collections.abc import Sequence

from PIL import Image, ImageChops, ImageDraw, ImageFilter

from recipeflow.kitchen.camera.bodies import FLUIDS, sauce_of
from recipeflow.kitchen.camera.drawing import WHITE, Sprite, mix, rgb, tone
from recipeflow.kitchen.camera.hands import GRASP, caption_sprite, direction, hand_sprite
from recipeflow.kitchen.camera.heaps import Heap, centre_of, make_heap, scatter, spots
from recipeflow.kitchen.camera.look import RGB, Look, derive
from recipeflow.kitchen.camera.surfaces import (
    FULL,
    SIZE,
    Place,
    aside_layer,
    aside_place,
    dish_layer,
    light_map,
    place_of,
    table,
)
from recipeflow.kitchen.pantry import PANTRY
from recipeflow.kitchen.world import PAN, POT, SMALL_BOWL, Portion, Scene

__all__ = ["Camera", "Look", "encode"]

MOST_PIECES = 110
SCALES = {SMALL_BOWL: 0.72}
ASIDE_SCALE = 0.5
FRONT = 90
"""How wide the soft front is that wipes over the picture while a knife works, in pixels."""

CLOSEST = 0.5
"""How much of the picture's width is left when the camera is nearest."""

TILT = math.radians(15)
"""How far the camera turns between takes, at the most."""

BALANCE = 0.1
"""How far its white balance drifts towards warm or cool."""


class Camera:
    """Takes the pictures of one recipe.

    Args:
        look: How this recipe's film looks.
        nearest: How much of the picture's width is left when the camera is nearest.
        farthest: The same when it is farthest.
        clutter: How many other things lie around the container, at the most.
    """

    def __init__(self, look: Look, nearest: float = CLOSEST, farthest: float = 1.0, clutter: int = 0) -> None:
        self.look = look
        self.nearest, self.farthest, self.clutter = nearest, farthest, clutter
        self._light = light_map(look)
        self._grounds: dict[tuple[str, bool], Image.Image] = {}
        self._layers: dict[str, Image.Image] = {}
        self._heaps: dict[tuple[Portion, RGB | None, float, bool], Heap] = {}
        self._overlays: dict[tuple[str, str | None], Sprite] = {}

    def shoot(self, scene: Scene, seed: int) -> Image.Image:
        """A still of the scene.

        Args:
            scene: What is there.
            seed: What differs between takes: piece positions, flicker, shake. The same look, scene and seed give the
                same picture in every process.
        """
        rng = random.Random(derive("take", self.look.seed, seed))
        picture = self._ground(scene.container, bool(scene.aside)).copy()
        place = place_of(self.look, scene.container)
        self._lay_clutter(picture, place, random.Random(derive("clutter", self.look.seed, seed)))
        if scene.aside:
            self._serve(picture, scene.aside, aside_place(self.look), 0, ASIDE_SCALE, rng)
        self._serve(picture, scene.portions, place, scene.mixed, SCALES.get(scene.container, 1.0), rng)
        self._pour_water(picture, scene, place)
        self._let_steam(picture, scene, place, rng)
        # From a seed of its own, so that two scenes of one take are seen from the same place, whatever they hold.
        return self._expose(picture, random.Random(derive("camera", self.look.seed, seed)))

    def between(
        self,
        before: Image.Image,
        after: Image.Image,
        progress: float,
        seed: int,
        tool: str | None = None,
        caption: str | None = None,
    ) -> Image.Image:
        """A film frame at a progress between 0 and 1: the scene changing, with a hand at work over it.

        Args:
            before: The still before the action.
            after: The still after it.
            progress: How much of the action is done.
            seed: What differs between the frames' hands.
            tool: ``knife``, ``spoon``, ``chopsticks`` or None for the bare hand.
            caption: English text for a caption bar.
        """
        rng = random.Random(derive("film", self.look.seed, seed))
        x, y = SIZE / 2 + self.look.offset.real, SIZE / 2 + self.look.offset.imag
        if tool == "knife":
            edge = round(SIZE + FRONT - progress * (SIZE + FRONT))
            mask = _front().crop((SIZE + FRONT - edge, 0, 2 * SIZE + FRONT - edge, SIZE))
            frame = Image.composite(after, before, mask)
            x = min(max(edge - FRONT / 2, 70), SIZE - 70)
        else:
            frame = Image.blend(before, after, progress)
            swing = cmath.rect(34, 2 * math.pi * (progress * 1.5 + rng.random()))
            x, y = x + swing.real, y + swing.imag * 0.7
        target = complex(x + rng.uniform(-8, 8), y + rng.uniform(-8, 8) + 40 * abs(2 * progress - 1) ** 6)
        self._lay_hand(frame, target, tool)
        self._lay_caption(frame, caption)
        return frame

    def annotate(self, still: Image.Image, seed: int, hand: bool = False, caption: str | None = None) -> Image.Image:
        """A still with a resting hand at its edge and/or a caption, as annotated frames have now and then.

        Args:
            still: The still, which is left as it is.
            seed: Where the hand rests.
            hand: Whether there is one.
            caption: English text for a caption bar.
        """
        frame = still.copy()
        if hand:
            rng = random.Random(derive("rest", self.look.seed, seed))
            self._lay_hand(frame, complex(rng.uniform(60, SIZE - 60), SIZE - rng.uniform(40, 90)), None)
        self._lay_caption(frame, caption)
        return frame

    def hold(self, still: Image.Image, target: complex) -> Image.Image:
        """A still with a hand over this point."""
        frame = still.copy()
        self._lay_hand(frame, target, None)
        return frame

    def _ground(self, container: str, aside: bool) -> Image.Image:
        """The table with a container on it; layers are kept apart, because the same ones come back together."""
        key = (container, aside)
        if key not in self._grounds:
            picture = self._layer("table").copy()
            for name in ("aside",) * aside + (container,):
                layer = self._layer(name)
                picture.paste(layer, mask=layer)
            self._grounds[key] = picture
        return self._grounds[key]

    def _layer(self, name: str) -> Image.Image:
        if name not in self._layers:
            makers = {"table": table, "aside": aside_layer}
            self._layers[name] = makers[name](self.look) if name in makers else dish_layer(self.look, name)
        return self._layers[name]

    def _heap(self, portion: Portion, sauce: RGB | None, scale: float, tidy: bool) -> Heap:
        key = (portion, sauce, scale, tidy)
        if key not in self._heaps:
            self._heaps[key] = make_heap(self.look, portion, sauce, scale, tidy)
        return self._heaps[key]

    def _serve(
        self,
        picture: Image.Image,
        portions: Sequence[Portion],
        place: Place,
        mixed: int,
        scale: float,
        rng: random.Random,
    ) -> None:
        """Lay the portions into their place: what is mixed first, then the others side by side upon it."""
        sauce = sauce_of(portions[:mixed])
        through = self._heaps_of(portions[:mixed], place, scale, sauce)
        if through:
            self._strew(picture, through, place, sauce, rng)
        beside = self._heaps_of(portions[mixed:], place, scale, None)
        for number, heap in enumerate(beside):
            self._wet(picture, heap, place, number, len(beside))
            for k, spot in enumerate(spots(heap, place, number, len(beside), self.look)):
                heap.sprites[k % len(heap.sprites)].paste(picture, _shaken(spot, rng, heap.footprint))

    def _heaps_of(self, portions: Sequence[Portion], place: Place, scale: float, sauce: RGB | None) -> list[Heap]:
        """What there is of each portion; sauce colours everything but itself."""
        dry = [p for p in portions if PANTRY[p.ingredient].group != "water"]
        return [
            self._heap(p, None if PANTRY[p.ingredient].shape in FLUIDS else sauce, scale, not place.round) for p in dry
        ]

    def _wet(self, picture: Image.Image, heap: Heap, place: Place, number: int, total: int) -> None:
        """The water that soaked things lie in: all over a dish, a puddle on the board."""
        if "soaked" not in heap.portion.marks or heap.portion.marks & {"drained", "squeezed", "dressed"}:
            return
        centre, radius = place.centre, place.radius
        if not place.round:
            centre = centre_of(heap, place, number, total, self.look)
            radius = min(place.radius * 0.8, max(heap.radius, heap.body.length / 2) * 1.2)
        picture.paste((206, 226, 234), mask=_disc(centre, radius, 110))
        picture.paste(WHITE, mask=_disc(centre + self.look.light * radius * 0.6, radius * 0.12, 100))

    def _strew(
        self, picture: Image.Image, heaps: list[Heap], place: Place, sauce: RGB | None, rng: random.Random
    ) -> None:
        """Pieces of everything through each other, small ones mostly on top, in a pool of the dressing."""
        fixed = random.Random(derive("strewn", self.look.seed, *(h.portion.ingredient for h in heaps)))
        thin = min(1.0, MOST_PIECES / sum(h.count for h in heaps))
        solid = [h for h in heaps if h.body.shape not in FLUIDS]
        radius = min(place.radius * 0.86, math.sqrt(sum(h.radius**2 for h in solid)) * 1.05 if solid else place.radius)
        if sauce is not None:
            _puddle(picture, place.centre, radius * 0.98, sauce, self.look.light)
        pieces = [
            (heap.footprint, heap.sprites[k % len(heap.sprites)])
            for heap in heaps
            if heap.body.shape not in ("liquid", "paste")
            for k in range(max(2, round(heap.count * thin)))
        ]
        fixed.shuffle(pieces)
        laid = [(*piece, spot) for piece, spot in zip(pieces, scatter(len(pieces), radius, fixed), strict=True)]
        laid.sort(key=lambda piece: -piece[0] * fixed.uniform(0.5, 1.6))
        for _, sprite, spot in laid:
            sprite.paste(picture, _shaken(place.centre + spot, rng, 8.0))
        self._drizzle(picture, heaps, place, radius, fixed)

    def _drizzle(
        self, picture: Image.Image, heaps: list[Heap], place: Place, radius: float, rng: random.Random
    ) -> None:
        """Drops and streaks of each dressing, which stay visible in the mixture."""
        draw = ImageDraw.Draw(picture)
        for heap in heaps:
            if heap.body.shape not in ("liquid", "paste"):
                continue
            for _ in range(14):
                spot = place.centre + cmath.rect(radius * 0.9 * rng.random() ** 0.5, rng.uniform(0, 2 * math.pi))
                size = rng.uniform(1.0, 3.4)
                x, y = spot.real, spot.imag
                draw.ellipse((x - size, y - size, x + size, y + size), heap.body.skin)
                draw.point((x - size / 3, y - size / 3), mix(heap.body.skin, WHITE, 0.7))

    def _lay_clutter(self, picture: Image.Image, place: Place, rng: random.Random) -> None:
        """Things that have nothing to do with the recipe, all around the container."""
        foods = [name for name, item in PANTRY.items() if item.group == "food"]
        for _ in range(rng.randint(self.clutter // 2, self.clutter)):
            portion = Portion(rng.choice(foods))
            spot = place.centre + cmath.rect(place.radius * rng.uniform(1.2, 1.5), rng.uniform(0, 2 * math.pi))
            self._serve(picture, [portion], Place(spot, 42.0, round=False), 0, rng.uniform(0.4, 0.7), rng)

    def _pour_water(self, picture: Image.Image, scene: Scene, place: Place) -> None:
        """Water covers what lies in it, thinly enough to see through."""
        waters = [PANTRY[p.ingredient] for p in scene.portions if PANTRY[p.ingredient].group == "water"]
        if not waters:
            return
        colour = rgb(waters[-1].skin)
        radius = place.radius * (1.02 if place.round else 0.8)
        picture.paste(colour, mask=_disc(place.centre, radius, 72))
        picture.paste(tone(colour, 1.1), mask=_disc(place.centre + self.look.light * radius * 0.2, radius * 0.6, 34))
        draw = ImageDraw.Draw(picture)
        for share, start in ((0.86, 200), (0.62, 30), (0.4, 120)):
            reach = radius * share
            x, y = place.centre.real, place.centre.imag
            draw.arc((x - reach, y - reach, x + reach, y + reach), start, start + 50, WHITE, 1)

    def _let_steam(self, picture: Image.Image, scene: Scene, place: Place, rng: random.Random) -> None:
        """Steam over what has just been heated in the pot or comes from the microwave."""
        hot = scene.container in (POT, PAN) and any(p.heat != "raw" for p in scene.portions)
        hot = hot or any(p.heat == "microwaved" and not p.marks for p in scene.portions)
        if not hot:
            return
        for _ in range(3):
            spot = place.centre + cmath.rect(place.radius * 0.6 * rng.random(), rng.uniform(0, 2 * math.pi))
            mask = _steam()
            picture.paste((246, 248, 250), (round(spot.real) - 60, round(spot.imag) - 70), mask)

    def _expose(self, picture: Image.Image, rng: random.Random) -> Image.Image:
        """Let the lamp shine on it and cut out what the camera sees: nearer or further, turned, warmer or cooler."""
        turn = rng.uniform(-TILT, TILT)
        room = FULL / (math.cos(turn) + abs(math.sin(turn)))  # the largest square that a turned picture fills
        side = min(SIZE * rng.uniform(self.nearest, self.farthest), room)
        left, top = ((FULL - side + (room - side) * rng.uniform(-0.7, 0.7)) / 2 for _ in range(2))
        window = (left, top, left + side, top + side)
        lit = ImageChops.multiply(picture, self._light).rotate(math.degrees(turn), Image.Resampling.BILINEAR)
        level, warmth = rng.uniform(0.98, 1.14), rng.uniform(-BALANCE, BALANCE)
        gains = (level * (1 + warmth), level, level * (1 - warmth))
        curves = [min(255, round(v * gain)) for gain in gains for v in range(256)]
        return lit.resize((SIZE, SIZE), Image.Resampling.BILINEAR, window).point(curves)

    def _lay_hand(self, frame: Image.Image, target: complex, tool: str | None) -> None:
        key = ("hand", tool)
        if key not in self._overlays:
            self._overlays[key] = hand_sprite(self.look, tool)
        self._overlays[key].paste(frame, target - cmath.rect(GRASP[tool], direction(self.look)))

    def _lay_caption(self, frame: Image.Image, caption: str | None) -> None:
        if caption is None:
            return
        key = ("caption", caption)
        if key not in self._overlays:
            self._overlays[key] = caption_sprite(self.look, caption)
        self._overlays[key].paste(frame, complex(SIZE / 2, 23 if self.look.caption_on_top else SIZE - 23))


def encode(image: Image.Image, quality: int = 88) -> bytes:
    """The image as JPEG."""
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality)
    return buffer.getvalue()


def _shaken(spot: complex, rng: random.Random, size: float) -> complex:
    """The spot a little off, as no two takes are the same; large things move further."""
    reach = min(4.0, 1.0 + size * 0.08)
    return spot + complex(rng.uniform(-reach, reach), rng.uniform(-reach, reach))


def _disc(centre: complex, radius: float, opacity: int) -> Image.Image:
    """A soft-edged disc as a mask for the whole picture."""
    mask = Image.new("L", (FULL, FULL))
    box = (centre.real - radius, centre.imag - radius, centre.real + radius, centre.imag + radius)
    ImageDraw.Draw(mask).ellipse(box, opacity)
    return mask.filter(ImageFilter.BoxBlur(1.5))


def _puddle(picture: Image.Image, centre: complex, radius: float, colour: RGB, light: complex) -> None:
    """A pool of dressing: darker at its rim, shining towards the lamp."""
    picture.paste(tone(colour, 0.8), mask=_disc(centre, radius, 230))
    picture.paste(colour, mask=_disc(centre, radius * 0.95, 235))
    picture.paste(mix(colour, WHITE, 0.3), mask=_disc(centre + light * radius * 0.5, radius * 0.22, 110))


@functools.cache
def _front() -> Image.Image:
    """The mask of the knife's work: done on the right, not yet on the left, a soft front between."""
    ramp = Image.new("L", (2 * SIZE + FRONT, 1))
    ramp.putdata([min(255, max(0, round((x - SIZE) / FRONT * 255))) for x in range(2 * SIZE + FRONT)])
    return ramp.resize((2 * SIZE + FRONT, SIZE))


@functools.cache
def _steam() -> Image.Image:
    """A wisp of steam as a mask."""
    mask = Image.new("L", (120, 140))
    draw, rng = ImageDraw.Draw(mask), random.Random(7)
    for _ in range(26):
        x, y, size = rng.uniform(35, 85), rng.uniform(30, 110), rng.uniform(6, 16)
        draw.ellipse((x - size, y - size * 1.6, x + size, y + size * 1.6), rng.randrange(20, 64))
    return mask.filter(ImageFilter.GaussianBlur(9))
