"""How much work suggestions save: an annotator who knows the gold annotation is played, operation by operation.

Suggestions learn from 0, 5, 20 and 100 finished recipes; the annotator then works on recipes that they have not seen.
What counts:

- By hand, a tag takes 2.0 acts (clicks or keys), a flow 3.0 and an object 3.4, as measured in the pages, and each is
  one decision (an object is two: its frames before and after).
- A missing suggestion costs what it costs by hand. So does a wrong one in the place of what is missing: tagging the
  words, or drawing the flow from the same entity, replaces it, in the page as here. A wrong label costs 2 acts and a
  decision, any other wrong suggestion an act and a decision to reject it.
- Accepting all that is left of a step costs one act and one decision. The columns `line by line` count one of each for
  every line in which suggestions are accepted instead (`Y` in the page): an annotator who decides on each line.
- `checked` counts the right suggestions, which still have to be read.

At the end of each step the played document must equal the gold one.

    python benchmarks/annotate_effort.py                            # kitchen text
    python benchmarks/annotate_effort.py --finished films           # a release with films: the frames too
    python benchmarks/annotate_effort.py --finished english --test english-dev [--parser parser/model]

Without `--test`, the second half of `--finished` is annotated. `--parser` also uses a trained parser, which must not
have seen the recipes to annotate; `--train-parser ""` trains parsers on the same finished recipes, as the server does
on request. `--near 1` also takes frames that are one beside the gold ones. The exit code is 1 if from 20 recipes on
more than a third of the acts or decisions is left.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1]))

from _played import Effort, by_hand, check_reached, play_flows, play_frames, play_words

from recipeflow.annotate.document import annotated_document, blank_document
from recipeflow.annotate.suggest.dictionary import Dictionary
from recipeflow.annotate.suggest.film import FilmTraits, look_at
from recipeflow.annotate.suggest.frames import FrameModel
from recipeflow.annotate.suggest.guessing import guess_frames
from recipeflow.annotate.suggest.learning import Learned, Lesson
from recipeflow.annotate.suggest.reading import Reader
from recipeflow.kitchen.cooking import devise_recipe
from recipeflow.progress import progress_bar
from recipeflow.release import ReleaseInfo, Scheme, read_release, read_scheme, write_release
from recipeflow.release.recipe import Recipe
from recipeflow.release.scheme import PAPER
from recipeflow.web.pictures import read_film

if TYPE_CHECKING:
    from recipeflow.annotate.suggest.parsing import ParserReader

FINISHED_SEED, TEST_SEED = 101, 102
GOAL = 1 / 3
Costs = dict[str, Effort]


class Sources:
    """Where the suggestions of one column come from."""

    def __init__(self, learned: Learned, frames: FrameModel | None = None, parser: ParserReader | None = None) -> None:
        self.reader = Reader(learned, parser)
        self.frame_model = frames or FrameModel.untrained()


@cache
def watch(folder: Path | None) -> FilmTraits | None:
    """What can be seen in a film, if there is one with all of its frames."""
    film = read_film(folder)
    return look_at(film.folder, film.numbers) if film else None


def play(recipe: Recipe, scheme: Scheme, sources: Sources, near: int) -> Costs:
    """Annotate one recipe from bare words."""
    gold, document = annotated_document(recipe, scheme, origin=None), blank_document(recipe, scheme)
    document, words = play_words(document, gold, sources.reader.tags)
    check_reached(document, gold, ["entity"])
    document, flows = play_flows(document, gold, sources.reader.flows)
    check_reached(document, gold, ["entity", "flow"])
    if (film := watch(recipe.frames_folder)) is None:
        return {"words": words, "flows": flows}
    document = document.change(lists=gold.lists)
    document, frames = play_frames(document, gold, lambda doc: guess_frames(doc, sources.frame_model, film), near)
    if near == 0:
        check_reached(document, gold, ["entity", "flow", "image"])
    return {"words": words, "flows": flows, "frames": frames}


def measure(recipes: Sequence[Recipe], scheme: Scheme, sources: Sources, near: int, label: str) -> Costs:
    """The mean effort per recipe, by step."""
    total: defaultdict[str, Effort] = defaultdict(Effort)
    for recipe in progress_bar(recipes, len(recipes), label):
        for step, effort in play(recipe, scheme, sources, near).items():
            total[step].add(effort, 1 / len(recipes))
    return dict(total)


def measure_by_hand(recipes: Sequence[Recipe], scheme: Scheme) -> Costs:
    """The mean effort per recipe without suggestions."""
    total: defaultdict[str, Effort] = defaultdict(Effort)
    for recipe in recipes:
        for step, effort in by_hand(annotated_document(recipe, scheme, origin=None)).items():
            total[step].add(effort, 1 / len(recipes))
    return dict(total)


def make_columns(
    finished: Sequence[Recipe], scheme: Scheme, folder: Path, parser: ParserReader | None, train_options: str | None
) -> Iterator[tuple[str, Sources]]:
    """The kinds of suggestions to compare, each learned from the same finished recipes."""
    lessons = [Lesson(annotated_document(r, scheme), frozenset(("words", "flows", "frames"))) for r in finished]
    yield "dictionary and rules", Sources(Learned(Dictionary.learn(finished)))
    films = ((lesson.document, watch(r.frames_folder)) for lesson, r in zip(lessons, finished, strict=True))
    frames = FrameModel.learn((document, film) for document, film in films if film)
    learned = Learned.learn(lessons)
    yield "learned", Sources(learned, frames)
    if parser is not None:
        yield "learned and parser", Sources(learned, frames, parser)
    if train_options is not None and finished:
        own = train_parser(finished, scheme, folder, train_options)
        yield "learned, own parser", Sources(learned, frames, own)


def train_parser(finished: Sequence[Recipe], scheme: Scheme, folder: Path, options: str) -> ParserReader:
    """A parser trained by the command on the finished recipes alone, as the server does on request."""
    release, out = folder / f"release-{len(finished)}", folder / f"parser-{len(finished)}"
    write_release(release, finished, ReleaseInfo(scheme=scheme))
    command = [sys.executable, "-m", "recipeflow.cli", "parser", "train", str(release), "--out", str(out)]
    command += options.split()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return open_parser(str(out / "model"), scheme, is_own=True)


def open_parser(name: str, scheme: Scheme, is_own: bool = False) -> ParserReader:
    """A trained parser that can read such recipes."""
    from recipeflow.annotate.suggest.parsing import ParserReader

    parser = ParserReader(name, is_own)
    parser.check(scheme)
    return parser


def read_recipes(options: argparse.Namespace) -> tuple[list[Recipe], list[Recipe], Scheme]:
    """Finished recipes in a random order, recipes to annotate, and their scheme."""
    if options.finished is None:
        finished = [devise_recipe(FINISHED_SEED, number).recipe for number in range(max(options.done))]
        return finished, [devise_recipe(TEST_SEED, number).recipe for number in range(options.recipes)], PAPER
    recipes, scheme = list(read_release(options.finished)), read_scheme(options.finished)
    Random(0).shuffle(recipes)
    if options.test is None or options.test == options.finished:
        half = len(recipes) // 2
        return recipes[:half], recipes[half:][: options.recipes], scheme
    return recipes, list(read_release(options.test))[: options.recipes], scheme


def report(done: int, name: str, costs: Costs, hand: Costs) -> tuple[float, float]:
    """Print one row per step, and return the shares of acts and decisions that are left in all of them."""
    for step in (*costs, "all"):
        ours, theirs = ((side[step] if step != "all" else _sum(side, costs)) for side in (costs, hand))
        acts, decisions = ours.acts / theirs.acts, ours.decisions / theirs.decisions
        by_line = (ours.acts + ours.lines) / theirs.acts, (ours.decisions + ours.lines) / theirs.decisions
        figures = f"{ours.acts:8.1f} {acts:7.3f} {ours.decisions:10.1f} {decisions:7.3f} {ours.checked:8.1f}"
        print(f"{done:5} {name:22} {step:7} {figures} {by_line[0]:12.3f} {by_line[1]:7.3f}", flush=True)
    return acts, decisions


def _sum(side: Costs, steps: Iterable[str]) -> Effort:
    total = Effort()
    for step in steps:
        total.add(side[step])
    return total


def main() -> int:
    """Learn, play, compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--finished", help="a release to learn from; kitchen text by default")
    parser.add_argument("--test", help="a release to annotate; by default the second half of the other")
    parser.add_argument("--done", type=lambda text: [int(n) for n in text.split(",")], default=[0, 5, 20, 100])
    parser.add_argument("--recipes", type=int, default=40, help="recipes to annotate")
    parser.add_argument("--near", type=int, default=0, help="frames that a suggestion may be beside the gold one")
    parser.add_argument("--parser", help="a trained parser to use too; it must not have seen the recipes to annotate")
    parser.add_argument(
        "--train-parser", metavar="OPTIONS", help='train parsers on the finished recipes: "" or options of the command'
    )
    options = parser.parse_args()
    finished, test, scheme = read_recipes(options)
    given = open_parser(options.parser, scheme) if options.parser else None
    hand = measure_by_hand(test, scheme)
    print(f"{len(test)} recipes to annotate; by hand, per recipe:")
    for step, effort in hand.items():
        print(f"      {'by hand':22} {step:7} {effort.acts:8.1f} {'':7} {effort.decisions:10.1f}")
    figures = f"{'acts':>8} {'share':>7} {'decisions':>10} {'share':>7} {'checked':>8} {'line by line':>20}"
    print(f"{'done':>5} {'suggestions':22} {'step':7} {figures}")
    reached = True
    with tempfile.TemporaryDirectory() as folder:
        for done in [number for number in options.done if number <= len(finished)]:
            columns = make_columns(finished[:done], scheme, Path(folder), given, options.train_parser)
            for name, sources in columns:
                costs = measure(test, scheme, sources, options.near, f"{name}, {done} done")
                shares = report(done, name, costs, hand)
            reached &= done < 20 or max(shares) <= GOAL
    print(f"at most a third from 20 recipes on: {'reached' if reached else 'NOT reached'}")
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
