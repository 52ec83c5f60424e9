"""How making task sets scales: ten times the recipes over one time, in one run.

Recipes of the simulated kitchen are devised without pictures being drawn; each frame is a tiny picture of its own.
Both datasets are made into task sets in turns; figures are processor seconds of the fastest round, so that a busy
machine does not count:

    time        seconds of the ten times larger dataset over those of the small one
    memory      the peak of a process that makes the large one, and of one that makes the small one

    python benchmarks/tasks.py [--recipes 40] [--rounds 2]

The exit code is 1 if ten times the recipes take more than eleven times as long.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import datasets

from recipeflow.dataset.build import build_dataset
from recipeflow.tasks.making import make_tasks
from tests.tasks.conftest import write_kitchen

TIMES, SLOWEST = 10, 11.0


def make(folder: Path) -> tuple[float, float, int]:
    """Processor seconds and peak megabytes of making the task sets of a dataset, and how many questions there are."""
    started = time.process_time()
    made = make_tasks(folder / "vrf", folder / "tasks", overwrite=True)
    seconds = time.process_time() - started
    questions = sum(sum(config["rows"].values()) for config in made.manifest["configs"].values())
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, questions


def main() -> None:
    """Measure, print, and fail beyond the target."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--recipes", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    datasets.disable_progress_bars()
    sizes = (options.recipes, TIMES * options.recipes)
    best: dict[int, tuple[float, float, int]] = {}
    # A process each: memory that one has used before must not hide what it needs now.
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as scratch:
        folders = {size: Path(scratch) / str(size) for size in sizes}
        for size, folder in folders.items():
            folder.mkdir()
            build_dataset(write_kitchen(folder / "kitchen", size), folder / "vrf")
        for _ in range(options.rounds):
            for size, folder in folders.items():
                with context.Pool(1) as pool:
                    found = pool.apply(make, (folder,))
                best[size] = min(found, best.get(size, found))
    for size, (seconds, memory, questions) in best.items():
        print(f"{size:6,} recipes: {seconds:6.1f} s, {memory:6.0f} MB, {questions:,} questions")
    ratio = best[sizes[1]][0] / best[sizes[0]][0]
    print(f"time: {ratio:.2f} times for {TIMES} times the recipes (at most {SLOWEST})")
    sys.exit(ratio > SLOWEST)


if __name__ == "__main__":
    main()
