"""Takes the screenshots of the annotation pages and of the explorer, in docs/images.

::

    vrf kitchen kitchen --recipes 24 --seed 0
    python docs/making/screenshots.py kitchen [--official OFFICIAL]

``--official`` is a folder with the official annotations, for the picture of their largest graph. It uses the browser
and the servers of the tests, so it runs in a clone of the repository.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from recipeflow.annotate.store import Store  # noqa: E402
from recipeflow.annotate.workspace import Workspace  # noqa: E402
from recipeflow.explore.library import Library  # noqa: E402
from recipeflow.explore.sources import open_source  # noqa: E402
from recipeflow.release import read_release  # noqa: E402
from tests.annotate.serving import LocalServer  # noqa: E402
from tests.browser.annotating import entity, expect_saved, open_step  # noqa: E402
from tests.browser.chromium import FLAGS, find_chromium  # noqa: E402
from tests.browser.exploring import served  # noqa: E402
from tests.download.filming import make_video  # noqa: E402

IMAGES = ROOT / "docs" / "images"
OWN_RECIPE = """# Tomato salad
From my grandmother.
## Ingredients (serves 2)
- 2 large tomatoes
- 1 tbsp olive oil
## Method
1. Slice the tomatoes.
2. Toss them with the oil."""
RECIPE, WITH_POTATO = "kitchen-0-0003", "kitchen-0-0020"
QUALITY = 82


def save(page: Page, name: str, width: int | None = None, full: bool = False) -> None:
    """Write what a page shows; a picture with photographs as JPEG."""
    page.wait_for_load_state("networkidle")
    picture = Image.open(io.BytesIO(page.screenshot(full_page=full))).convert("RGB")
    if width is not None:
        picture = picture.resize((width, round(picture.height * width / picture.width)), Image.Resampling.LANCZOS)
    if name.endswith(".png"):  # few colours: a palette halves the file
        picture.quantize(128, dither=Image.Dither.NONE).save(IMAGES / name, optimize=True)
    else:
        picture.save(IMAGES / name, quality=QUALITY, optimize=True, progressive=True)
    print(IMAGES / name, picture.size)


def new_page(browser: Browser, width: int, height: int) -> Page:
    return browser.new_context(viewport={"width": width, "height": height}, locale="en-US").new_page()


def show_annotation(browser: Browser, release: Path, folder: Path) -> None:
    with Store(folder / "work.db") as store:
        workspace = Workspace(store, release)
        workspace.import_folder(release)
        workspace.add_layer("alice")
        with LocalServer(workspace) as server:
            page = new_page(browser, 1280, 800)
            recipe = next(read_release(release, {RECIPE}))
            action = next(found for found in recipe.entities.values() if found.tag == "Ac")
            target = {"op": "note", "target": f"ne:{action.id}", "unsure": True, "text": "one action, or two?"}
            server.save(RECIPE, target)
            open_step(page, server, RECIPE, "words")
            entity(page, action.id).click()
            save(page, "annotate-words.png")

            open_step(page, server, RECIPE, "flows")
            last = [found for found in recipe.entities.values() if found.tag == "Ac"][-3]
            entity(page, last.id).hover()
            save(page, "annotate-flows.png")

            open_step(page, server, RECIPE, "frames")
            chosen = next(
                found for found in server.document(RECIPE)["objects"] if found["before"] not in (None, "none")
            )
            page.locator(f'[data-object="{chosen["key"]}"]').click()
            expect_saved(page)
            page.locator(".stage-picture:not(.loading)").wait_for()
            save(page, "annotate-frames.jpg")

            page.goto(f"{server.url}/find?layer=alice&text=切る&tag=Ac")
            for row in (0, 2, 3):
                page.locator(".find-hit input").nth(row).check()
            page.get_by_label("New tag").select_option("Af")
            save(page, "annotate-find.png")


def show_new_recipe(browser: Browser, folder: Path) -> None:
    with Store(folder / "new.db") as store:
        workspace = Workspace(store)
        workspace.add_layer("alice")
        with LocalServer(workspace, annotator="alice") as server:
            page = new_page(browser, 1280, 800)
            page.goto(f"{server.url}/new?layer=alice")
            page.locator("#new-text").fill(OWN_RECIPE)
            page.locator("#film-file").set_input_files(make_video(folder / "salad.mp4", 600))
            expect(page.locator("#new-title")).to_have_value("Tomato salad")
            save(page, "annotate-new.png")


def show_explorer(browser: Browser, release: Path) -> None:
    with served(Library(open_source(release))) as address:
        page = new_page(browser, 1280, 800)
        page.goto(address)
        page.locator(".card").nth(9).wait_for()
        save(page, "explore-gallery.jpg", 1100)
        page.set_viewport_size({"width": 1280, "height": 1130})
        page.goto(f"{address}/#/recipe/{RECIPE}")
        page.locator(".entity.tag-Ac").nth(-3).hover()
        save(page, "explore.jpg", 1100)
        page.goto(f"{address}/#/recipe/{WITH_POTATO}/trail/0-0-0")
        page.locator(".trail img").first.wait_for()
        save(page, "explore-trail.jpg", 1100)


def show_largest_graph(browser: Browser, official: Path) -> None:
    largest = max(read_release(official), key=lambda recipe: len(recipe.flows))
    with served(Library(open_source(official))) as address:
        page = new_page(browser, 1280, 1100)
        page.goto(f"{address}/#/recipe/{largest.id}/graph")
        actions = [entity.id for entity in largest.entities.values() if entity.tag == "Ac"]
        page.locator(f'.box[data-node="{actions[len(actions) // 2]}"]').click()
        save(page, "explore-graph.jpg", 1100)


def main() -> None:
    reader = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    reader.add_argument("release", type=Path)
    reader.add_argument("--official", type=Path)
    chosen = reader.parse_args()
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(FLAGS))
        show_annotation(browser, chosen.release, Path(folder))
        show_new_recipe(browser, Path(folder))
        show_explorer(browser, chosen.release)
        if chosen.official is not None:
            show_largest_graph(browser, chosen.official)
        browser.close()


if __name__ == "__main__":
    main()
