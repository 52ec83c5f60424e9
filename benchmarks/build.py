"""The cost of ``vrf build``, and a check that the cost per recipe does not grow with their number.

Prints seconds per recipe and peak memory for 200 and for 2,000 recipes. Both releases are copies of one release's
recipes under new ids, with the frames hard-linked, so that only the number differs. Every build runs in a fresh
process.

    python benchmarks/build.py              cooks a kitchen first
    python benchmarks/build.py kitchen      takes the recipes of a release folder
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from recipeflow.release import ReleaseWriter, read_info, read_release
from recipeflow.release.recipe import Recipe, frame_name
from recipeflow.tables import Table

SIZES = (200, 2000)
TIME_LIMIT = 1.2
MEMORY_LIMIT = 1.3

MEASURE = """
import json, resource, sys, time
import datasets
from recipeflow.dataset.build import build_dataset

datasets.disable_progress_bars()
start = time.perf_counter()
build_dataset(sys.argv[1], sys.argv[2])
seconds = time.perf_counter() - start
unit = 1 if sys.platform == "darwin" else 1024
print(json.dumps({"seconds": seconds, "bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit}))
"""


def copy_release(source: Path, target: Path, count: int) -> Path:
    """A release of ``count`` recipes: those of ``source`` again and again, under new ids."""
    originals = list(read_release(source))
    with ReleaseWriter(target, read_info(source)) as writer:
        for number, recipe in enumerate(itertools.islice(itertools.cycle(originals), count)):
            copy = replace(recipe, id=f"{number:06d}", url=None)
            writer.add(copy)
            link_frames(recipe, writer.folder / "recipes" / copy.id / "frames")
    return target


def link_frames(recipe: Recipe, target: Path) -> None:
    """Hard-link the frames that a recipe uses; a release without frames stays without."""
    if recipe.frames_folder is None:
        return
    target.mkdir(parents=True)
    for number in recipe.used_frames:
        os.link(recipe.frames_folder / frame_name(number), target / frame_name(number))


def measure(release: Path, out: Path) -> dict[str, float]:
    """Seconds and peak memory of one build, in its own process."""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-c", MEASURE, release, out]
    return json.loads(subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout)


def compare(source: Path, work: Path, sizes: tuple[int, int]) -> dict:
    """Measure both sizes, and how much the larger costs per recipe compared with the smaller."""
    rows = []
    for count in sizes:
        release = copy_release(source, work / f"release-{count}", count)
        found = measure(release, work / f"vrf-{count}")
        rows.append({"recipes": count, **found, "seconds_per_recipe": found["seconds"] / count})
    small, large = rows
    growth = {name: large[name] / small[name] for name in ("seconds_per_recipe", "bytes")}
    ok = growth["seconds_per_recipe"] <= TIME_LIMIT and growth["bytes"] <= MEMORY_LIMIT
    return {
        "builds": rows,
        "growth": growth,
        "limits": {"seconds_per_recipe": TIME_LIMIT, "bytes": MEMORY_LIMIT},
        "ok": ok,
    }


def tables(result: dict) -> list[Table]:
    """The result, to be printed."""
    builds = [
        (row["recipes"], row["seconds"], row["seconds_per_recipe"] * 1000, row["bytes"] / 2**20)
        for row in result["builds"]
    ]
    growth = [
        (label, result["growth"][name], result["limits"][name])
        for label, name in (("time per recipe", "seconds_per_recipe"), ("peak memory", "bytes"))
    ]
    return [
        Table("vrf build", ("recipes", "seconds", "ms per recipe", "peak MiB"), builds),
        Table("growth", ("what", "factor", "at most"), growth),
    ]


def main() -> int:
    """Run both builds; the exit code is 1 where a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("release", nargs="?", type=Path, help="a release folder; a kitchen is cooked if there is none")
    parser.add_argument("--sizes", nargs=2, type=int, default=SIZES, help="numbers of recipes to compare")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    options = parser.parse_args()
    # Hard links need one file system, so the work folder is next to the release.
    beside = options.release.resolve().parent if options.release else None
    with tempfile.TemporaryDirectory(dir=beside, prefix=".benchmark-") as work:
        source = options.release
        if source is None:
            from recipeflow.kitchen import cook_release

            source = Path(work) / "kitchen"
            cook_release(source, used_only=True)
        result = compare(source, Path(work), tuple(options.sizes))
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        Console().print(*(table.rich() for table in tables(result)), sep="\n")
    return 0 if result["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
