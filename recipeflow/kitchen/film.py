"""A plan on film: which frame shows what, and which frames the annotator would have chosen.

The film is a list of key frames with a scene each; the frames between two of them show the hand at work. Frame numbers
count as in a video sampled at three frames per second, from 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from recipeflow.kitchen.camera import Camera, TravellingCamera, encode
from recipeflow.kitchen.plan import Plan, Step
from recipeflow.kitchen.world import Scene, Stuff, perform
from recipeflow.kitchen.writer import WrittenAction
from recipeflow.release.recipe import StateChange

VISIBLE = {"both": 0.708, "post": 0.132, "pre": 0.020, "none": 0.140}
PREPARATION_VISIBLE = {"both": 0.30, "post": 0.12, "pre": 0.02, "none": 0.56}
"""How often an object's images are annotated; preparation is often left out of the video."""

TOGETHER = 0.8
"""How often two things on one board are annotated with one pair of frames."""

REUSED = 0.6
"""How often a before-image is the after-image of an earlier action, though other things were shown in between."""

NEW_TAKE = 0.95
"""How often the camera moves between the two images of a pair."""

HAND, CAPTION = 0.25, 0.12
"""How often a hand rests in an annotated frame, and how often the video has a caption there."""


@dataclass(frozen=True, slots=True)
class KeyFrame:
    """A frame whose picture is drawn from a scene; ``take`` fixes where things are, ``tool`` leads up to it."""

    number: int
    scene: Scene
    take: int
    tool: str | None = None
    hand: bool = False
    caption: str | None = None


@dataclass
class Film:
    """The key frames of one recipe, in order, and the state changes that name them."""

    keys: list[KeyFrame] = field(default_factory=list)
    changes: list[StateChange] = field(default_factory=list)

    def caption_at(self, number: int) -> str | None:
        """The caption of a frame: that of the key frame that it is, or that it leads up to."""
        return next((key.caption for key in self.keys if key.number >= number), None)


def shoot_film(plan: Plan, actions: Sequence[WrittenAction], rng: Random) -> Film:
    """Film every action of a recipe, object by object."""
    director = Director(plan, rng)
    for action in actions:
        director.film_action(action)
    return director.film


class Director:
    """Decides what the camera sees and when."""

    def __init__(self, plan: Plan, rng: Random) -> None:
        self.plan = plan
        self.rng = rng
        self.film = Film()
        self.clock = 0
        self.take = rng.getrandbits(31)
        preparation = plan.instructions[0] if plan.has_preparation else []
        self.preparation = {id(step) for step in preparation}

    def film_action(self, action: WrittenAction) -> None:
        """Film one action: its objects one after the other, or together if they are side by side."""
        pairs = list(self.scenes(action.step, action.objects))
        frames: list[tuple[int, int]] = []
        side_by_side = len(pairs) > 1 and not action.step.word.effect.join and self.rng.random() < TOGETHER
        if side_by_side:
            before, after = (_together(scenes) for scenes in zip(*pairs, strict=True))
            frames = [self.film_change(action.step, before, after)] * len(pairs)
        else:
            frames = [self.film_change(action.step, before, after) for before, after in pairs]
        rates = PREPARATION_VISIBLE if id(action.step) in self.preparation else VISIBLE
        for before, after in frames:
            seen = self.rng.choices(list(rates), list(rates.values()))[0]
            change = StateChange(
                action.id, before if seen in ("both", "pre") else None, after if seen in ("both", "post") else None
            )
            self.film.changes.append(change)

    def scenes(self, step: Step, objects: Sequence[int]) -> Iterator[tuple[Scene, Scene]]:
        """What is seen before and after, for each object."""
        results = [self.plan.stuff[number] for number in step.results]
        if not step.word.effect.join:
            made = dict(zip(step.objects, results, strict=True))
            for number in objects:
                yield _scene(self.plan.stuff[number]), _scene(made[number])
            return
        base = self.plan.stuff[step.into] if step.into is not None else Stuff((), results[0].container)
        waiting = [self.plan.stuff[number] for number in objects]
        before = replace(_scene(base), container=results[0].container, aside=waiting[0].portions)
        for position, stuff in enumerate(waiting):
            (changed,) = perform(replace(step.word.effect, mix=False), [stuff])
            rest = waiting[position + 1 :]
            portions = (*before.portions, *changed.portions)
            mixed = before.mixed if before.portions else changed.mixed
            if step.word.effect.mix and not rest:
                mixed = len(portions)
            after = replace(before, portions=portions, mixed=mixed, aside=rest[0].portions if rest else ())
            yield before, after
            before = after

    def film_change(self, step: Step, before: Scene, after: Scene) -> tuple[int, int]:
        """Add the key frames of one change and return the two that are annotated.

        The last picture is used again if the scene continues.
        """
        last = self.film.keys[-1] if self.film.keys else None
        if last is not None and _same_contents(last.scene, before):
            start = last.number
        else:
            earlier = [key.number for key in self.film.keys if _same_contents(key.scene, before)]
            self.take = self.rng.getrandbits(31)
            start = self.add(before, self.rng.randint(1, 3))
            if earlier and self.rng.random() < REUSED:
                start = earlier[-1]
        if self.rng.random() < NEW_TAKE:
            self.take = self.rng.getrandbits(31)
        return start, self.add(after, self.rng.randint(3, 7), step)

    def add(self, scene: Scene, wait: int, step: Step | None = None) -> int:
        """Append a key frame ``wait`` frames later."""
        self.clock += wait
        caption = self.caption(step) if step is not None and self.rng.random() < CAPTION else None
        hand = self.rng.random() < HAND
        tool = None if step is None else step.word.tool
        self.film.keys.append(KeyFrame(self.clock, scene, self.take, tool, hand, caption))
        return self.clock

    def caption(self, step: Step) -> str:
        """The action in English, as a video's subtitle."""
        names = [self.plan.ingredient_of(number).english for number in step.objects[:2]]
        return f"{step.word.english} {' and '.join(names)}"


def _scene(stuff: Stuff) -> Scene:
    return Scene(stuff.container, stuff.portions, stuff.mixed)


def _same_contents(one: Scene, other: Scene) -> bool:
    """Whether two scenes differ at most in what waits beside them."""
    return replace(one, aside=()) == replace(other, aside=())


def _together(scenes: Sequence[Scene]) -> Scene:
    """Several things on one board."""
    return replace(scenes[0], portions=tuple(portion for scene in scenes for portion in scene.portions))


def render_film(film: Film, camera: Camera | TravellingCamera, used_only: bool) -> Iterator[tuple[int, bytes]]:
    """Draw the film frame by frame as JPEG; with ``used_only``, just the annotated frames.

    Args:
        film: What to draw.
        camera: The recipe's camera, which knows its kitchen.
        used_only: Leave out what no state change names.
    """
    used = {number for change in film.changes for number in (change.before, change.after)}
    previous = None
    for key in film.keys:
        if used_only and key.number not in used:
            continue
        still = camera.shoot(key.scene, key.take)
        if key.hand or key.caption:
            still = camera.annotate(still, key.number, hand=key.hand, caption=key.caption)
        if not used_only:
            first, picture = previous or (0, still)
            for number in range(first + 1, key.number):
                progress = (number - first) / (key.number - first)
                yield number, encode(camera.between(picture, still, progress, number, key.tool, key.caption))
        yield key.number, encode(still)
        previous = (key.number, still)
