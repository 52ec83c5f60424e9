"""How the explorer scales: 5,000 recipes over 200, in one run.

Recipes of the simulated kitchen are repeated under new ids, made while they are read, and served to a real Chromium of
1280 x 800. Both catalogues are opened in turns, each time from a new server that has read nothing yet, so that a busy
machine slows them alike; figures are medians over the rounds:

    usable      from the navigation until the first page of cards is drawn and the search can be used
    index       bytes of all its chunks, in total and per recipe

    python benchmarks/explore.py [--rounds 3]

The exit code is 1 if 5,000 recipes take more than twice as long to be usable as 200, or more than 1 KB of index each.
Without a Chromium it says so and ends with 0.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from functools import cache
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))

from recipeflow.explore.library import Library
from recipeflow.explore.site import data_script
from recipeflow.kitchen.cooking import DevisedRecipe, devise_recipe
from recipeflow.release import ReleaseInfo
from tests.browser.chromium import FLAGS, find_chromium
from tests.browser.exploring import served
from tests.explore.repeating import RepeatedSource
from tests.making import make_frame

FEW, MANY, ORIGINALS = 200, 5_000, 20
SLOWEST, LARGEST = 2.0, 1_000
LAST_CARD = 47
"""Of the first page of the gallery, counted from 0."""


@cache
def devise_originals() -> list[DevisedRecipe]:
    """The recipes that are repeated."""
    return [devise_recipe(0, number) for number in range(ORIGINALS)]


def make_library(recipes: int) -> Library:
    """A catalogue of so many recipes, of which none is read yet but the first."""
    devised = devise_originals()
    glossary = {word: english for each in devised for word, english in each.glossary.items()}
    picture = make_frame(1, (320, 320))
    source = RepeatedSource(
        [each.recipe for each in devised], recipes, ReleaseInfo(glossary=glossary), lambda recipe, number: picture
    )
    return Library(source)


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
    seconds: dict[int, list[float]] = {FEW: [], MANY: []}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        for number in range(options.rounds + 1):
            for recipes, taken in seconds.items():
                measured = measure_usable(browser, make_library(recipes))
                if number:  # the first round warms up
                    taken.append(measured)
        browser.close()
    sizes = {recipes: index_size(make_library(recipes)) for recipes in seconds}
    print(f"{options.rounds} rounds, recipes, seconds until usable, bytes of the index, bytes per recipe:")
    for recipes, taken in seconds.items():
        size = sizes[recipes]
        print(f"  {recipes:6,}{statistics.median(taken):8.2f}{size:12,}{size / recipes:8.0f}")
    ratio = statistics.median(many / few for few, many in zip(*seconds.values(), strict=True))
    print(f"5,000 recipes over 200, until usable: {ratio:.2f} (target: at most {SLOWEST})")
    sys.exit(ratio > SLOWEST or sizes[MANY] / MANY > LARGEST)


if __name__ == "__main__":
    main()
