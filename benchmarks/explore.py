"""How the explorer scales: 5,000 recipes over 200, in one run.

Recipes of the simulated kitchen are repeated under new ids, made while they are read, and served to a real Chromium of
1280 x 800. Three catalogues are opened in turns, each time by a new server that has read nothing yet, so that a busy
machine slows them alike; figures are medians over the rounds:

    200           the index in chunks of 100 recipes, as `vrf explore` serves it
    5,000         likewise
    5,000 at once the same with the whole index as one chunk

    usable        from the navigation until the first page of cards is drawn and the search can be used
    index         bytes of all chunks, in total and a recipe

    python benchmarks/explore.py [--rounds 3]

The exit code is 1 if 5,000 recipes take more than twice as long to be of use as 200, or more than 1 KB of index each.
Without a Chromium it says so and ends with 0.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))

from recipeflow.explore.library import CHUNK, Library
from recipeflow.explore.site import data_script
from recipeflow.kitchen.cooking import devise_recipe
from recipeflow.release import ReleaseInfo
from tests.browser.chromium import FLAGS, find_chromium
from tests.browser.exploring import served
from tests.explore.repeating import RepeatedSource
from tests.making import make_frame

FEW, MANY, ORIGINALS = 200, 5_000, 20
SLOWEST, LARGEST = 2.0, 1_000
LAST_CARD = 47
"""Of the first page of the gallery, counted from 0."""


def make_library(recipes: int, chunk: int) -> Library:
    """A catalogue of so many recipes, of which none is read yet but the first."""
    devised = [devise_recipe(0, number) for number in range(ORIGINALS)]
    glossary = {word: english for each in devised for word, english in each.glossary.items()}
    picture = make_frame(1, (320, 320))
    source = RepeatedSource(
        [each.recipe for each in devised], recipes, ReleaseInfo(glossary=glossary), lambda recipe, number: picture
    )
    return Library(source, chunk)


def measure_usable(browser: Browser, library: Library) -> float:
    """Seconds until the gallery of a new server can be used."""
    with served(library) as address:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        started = time.perf_counter()
        page.goto(address, wait_until="commit")
        page.locator(".card").nth(LAST_CARD).wait_for(timeout=300_000)
        page.locator("#search").wait_for()
        seconds = time.perf_counter() - started
        page.close()
    return seconds


def index_size(library: Library) -> int:
    """Bytes of all chunks of the index."""
    return sum(len(data_script(f"data/index/{number}", chunk)) for number, chunk in enumerate(library.chunks()))


def main() -> None:
    """Measure, print, and fail beyond a target."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    chromium = find_chromium()
    if chromium is None:
        print("no Chromium here: nothing was measured")
        return
    sides = {"200": (FEW, CHUNK), "5,000": (MANY, CHUNK), "5,000 at once": (MANY, MANY)}
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        for number in range(options.rounds + 1):
            for name, side in sides.items():
                taken = measure_usable(browser, make_library(*side))
                if number:  # the first round warms up
                    seconds[name].append(taken)
        browser.close()
    sizes = {name: index_size(make_library(*sides[name])) for name in ("200", "5,000")}
    print(f"{options.rounds} rounds; seconds until usable:")
    for name, taken in seconds.items():
        print(f"  {name:14}{statistics.median(taken):8.2f}")
    ratio = statistics.median(many / few for few, many in zip(seconds["200"], seconds["5,000"], strict=True))
    once = statistics.median(
        whole / many for many, whole in zip(seconds["5,000"], seconds["5,000 at once"], strict=True)
    )
    each = sizes["5,000"] / MANY
    print(f"index: {sizes['200']:,} and {sizes['5,000']:,} bytes, {sizes['200'] / FEW:.0f} and {each:.0f} a recipe")
    print(
        f"5,000 recipes over 200, until usable: {ratio:.2f} (target: at most {SLOWEST}); without chunks {once:.1f} x"
    )
    sys.exit(ratio > SLOWEST or each > LARGEST)


if __name__ == "__main__":
    main()
