"""Whether a preset holds on photographs: `fast` and `best` on a release made of any folder of them, and their ratio.

Each photograph stands for an ingredient. Recipes do things to some of them (cut, grate, boil, fry, …, mix), which
change the pixels; every picture is taken from another angle and in another light. The photographs are real, the
cooking is not.

    python benchmarks/photographs.py FOLDER [--recipes 200] [--folds 0,1,2] [--out photographs]
"""

import argparse
import io
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image, ImageChops, ImageEnhance, ImageFilter, ImageOps

from configuration_vrf import OFFLINE_BACKBONE, OFFLINE_WEIGHTS
from recipeflow.dataset.build import build_dataset
from recipeflow.experiment.compare import compare_experiments, comparison_notes, comparison_table
from recipeflow.experiment.jobs import Experiment, run_experiment
from recipeflow.experiment.paper import parse_folds
from recipeflow.kitchen.writer import tagged_line
from recipeflow.release.info import ReleaseInfo
from recipeflow.release.recipe import Flow, Line, Recipe, StateChange, word_id
from recipeflow.release.writing import ReleaseWriter
from recipeflow.training.settings import get_preset

SIZE = 256
INGREDIENTS = 120
PICTURED = 0.87
"""How often there is a pre-action image: about as often as in the release."""


def tiles(image: Image.Image, rng: random.Random, count: int) -> Image.Image:
    """The picture in small pieces, in any order."""
    side = SIZE // count
    boxes = [(x * side, y * side, (x + 1) * side, (y + 1) * side) for y in range(count) for x in range(count)]
    result = image.copy()
    for place, box in zip(boxes, rng.sample(boxes, len(boxes)), strict=True):
        result.paste(image.crop(box), place[:2])
    return result


def tinted(image: Image.Image, colour: str, share: float) -> Image.Image:
    """The picture with some of its colours turned into shades of one."""
    return Image.blend(image, ImageChops.multiply(image, Image.new("RGB", image.size, colour)), share)


def mixed(images: list[Image.Image], rng: random.Random) -> Image.Image:
    """All pictures in one, in pieces."""
    result = images[0]
    for number, other in enumerate(images[1:], start=2):
        result = Image.blend(result, other, 1 / number)
    return tiles(result, rng, 8)


ACTIONS: dict[str, Callable[[Image.Image, random.Random], Image.Image]] = {
    "cut": lambda image, rng: tiles(image, rng, 4),
    "grate": lambda image, rng: tiles(image, rng, 16),
    "boil": lambda image, rng: ImageEnhance.Color(image.filter(ImageFilter.GaussianBlur(3))).enhance(0.4),
    "fry": lambda image, rng: ImageEnhance.Contrast(tinted(image, "#b5651d", 0.8)).enhance(1.3),
    "season": lambda image, rng: Image.blend(image, Image.effect_noise(image.size, 120).convert("RGB"), 0.25),
    "chill": lambda image, rng: tinted(image, "#9fc5ff", 0.7),
    "press": lambda image, rng: ImageOps.posterize(image, 2),
}


def photograph(image: Image.Image, rng: random.Random) -> bytes:
    """Another picture of the same thing: nearer or farther, from another side, in another light."""
    turned = image.rotate(rng.uniform(-25, 25), Image.Resampling.BILINEAR, expand=False)
    if rng.random() < 0.5:
        turned = ImageOps.mirror(turned)
    side = rng.uniform(0.5, 0.8) * SIZE
    left, top = rng.uniform(0, SIZE - side), rng.uniform(0, SIZE - side)
    seen = turned.resize((SIZE, SIZE), box=(left, top, left + side, top + side))
    buffer = io.BytesIO()
    ImageEnhance.Brightness(seen).enhance(rng.uniform(0.6, 1.4)).save(buffer, "JPEG", quality=85)
    return buffer.getvalue()


@dataclass
class Kitchen:
    """A recipe while it is being made."""

    rng: random.Random
    instructions: list[Line] = field(default_factory=list)
    flows: list[Flow] = field(default_factory=list)
    changes: list[StateChange] = field(default_factory=list)
    frames: dict[int, bytes] = field(default_factory=dict)

    def shoot(self, image: Image.Image) -> int:
        """The number of a new frame, which shows this."""
        self.frames[len(self.frames) + 1] = photograph(image, self.rng)
        return len(self.frames)

    def act(
        self, verb: str, sources: list[str], names: list[str], images: list[Image.Image]
    ) -> tuple[str, Image.Image]:
        """Do something to one thing or several; the id of the action, and what it leads to."""
        line = len(self.instructions)
        self.instructions.append(tagged_line([*((name, "F-B") for name in names), (verb, "Ac-B")]))
        action = word_id(1, line, len(names))
        after = ACTIONS[verb](images[0], self.rng) if verb in ACTIONS else mixed(images, self.rng)
        seen = [self.shoot(image) if self.rng.random() < PICTURED else None for image in images]
        shown = self.shoot(after)
        for number, (source, before) in enumerate(zip(sources, seen, strict=True)):
            mention = word_id(1, line, number)
            self.flows += [Flow(source, mention, "F-eq"), Flow(mention, action, "Targ")]
            self.changes.append(StateChange(action, before, shown))
        return action, after


def make_recipe(number: int, names: list[str], pictures: list[Image.Image]) -> tuple[Recipe, dict[int, bytes]]:
    """Prepare three to five ingredients, each for itself, then all together."""
    kitchen = Kitchen(random.Random(number))
    rng = kitchen.rng
    chosen = rng.sample(range(len(names)), rng.randint(3, 5))
    ready: list[tuple[str, str, Image.Image]] = []
    for line, ingredient in enumerate(chosen):
        source, image = word_id(0, line, 0), pictures[ingredient]
        for verb in rng.sample(list(ACTIONS), rng.randint(1, 3)):
            source, image = kitchen.act(verb, [source], [names[ingredient]], [image])
        ready.append((source, names[ingredient], image))
    sources, kept, images = map(list, zip(*ready, strict=True))
    source, image = kitchen.act("mix", sources, kept, images)
    for verb in rng.sample(list(ACTIONS), rng.randint(0, 2)):
        source, image = kitchen.act(verb, [source], ["mixture"], [image])
    ingredients = tuple(tagged_line([(names[ingredient], "F-B")]) for ingredient in chosen)
    recipe = Recipe(
        f"photographs-{number:04d}",
        ingredients,
        tuple(kitchen.instructions),
        tuple(kitchen.flows),
        tuple(kitchen.changes),
        title=f"dish {number}",
        url=f"https://photographs.invalid/photographs-{number:04d}",
    )
    return recipe, kitchen.frames


def make_release(photographs: Path, out: Path, recipes: int) -> None:
    """Write a release of recipes over these photographs."""
    files = sorted(path for path in photographs.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg", ".png"))
    chosen = {path.read_bytes(): path for path in files}.values()  # the same picture counts once
    if len(chosen) < 6:
        raise SystemExit(f"expected at least 6 photographs in {photographs}, found {len(chosen)}")
    pictures = [ImageOps.fit(Image.open(path).convert("RGB"), (SIZE, SIZE)) for path in list(chosen)[:INGREDIENTS]]
    names = [f"food{number}" for number in range(len(pictures))]
    with ReleaseWriter(out) as writer:
        for number in range(recipes):
            writer.add(*make_recipe(number, names, pictures))
        writer.info = ReleaseInfo("photographs", "unknown", "1", {}, {"recipes": recipes})


def main() -> None:
    """Make the release, run both presets on the same folds and compare them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photographs", type=Path, nargs="?", help="a folder of photographs")
    parser.add_argument("--recipes", type=int, default=200)
    parser.add_argument("--folds", default="0,1,2")
    parser.add_argument("--out", type=Path, default=Path("photographs"))
    arguments = parser.parse_args()
    if arguments.photographs is None:  # as `make bench` calls it
        print("not run: it needs a folder of photographs of yours")
        return
    out = arguments.out
    if not (out / "vrf").exists():
        make_release(arguments.photographs, out / "release", arguments.recipes)
        build_dataset(out / "release", out / "vrf")
    for preset in ("fast", "best"):
        config = get_preset(preset)
        experiment = Experiment(str(out / "vrf"), OFFLINE_BACKBONE, OFFLINE_WEIGHTS, None, preset, config)
        run_experiment(experiment, out / preset, rows=("both",), folds=parse_folds(arguments.folds))
    compared = compare_experiments(out / "fast", out / "best")
    print(comparison_table(compared, ("fast", "best")).markdown())
    print(comparison_notes(compared))


if __name__ == "__main__":
    main()
