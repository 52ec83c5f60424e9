"""A person's own recipe in the page: text is pasted, a film dropped, words tagged meanwhile, and a dataset built."""

import base64
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from datasets import load_dataset
from playwright.sync_api import Page, Route, expect

from recipeflow.annotate.store import Store
from recipeflow.annotate.workspace import Workspace
from recipeflow.dataset.build import build_dataset
from tests.annotate.serving import LocalServer
from tests.browser.annotating import draw_flow, expect_saved, set_side, tag_words
from tests.download.filming import make_video

TEXT = "# Boiled eggs\n\nMy favourite.\n\n## Ingredients\n- 2 eggs\n\n## Method\n1. Boil the eggs.\n2. Peel them.\n"


@pytest.fixture(scope="module")
def film(tmp_path_factory) -> Path:
    return make_video(tmp_path_factory.mktemp("film") / "eggs.mp4", 40)


@pytest.fixture
def server(tmp_path) -> Iterator[LocalServer]:
    """What ``vrf annotate --annotator alice`` serves in an empty folder."""
    with Store(tmp_path / "work.db") as store:
        workspace = Workspace(store)
        workspace.add_layer("alice")
        with LocalServer(workspace, annotator="alice") as server:
            yield server


def paste(page: Page, server: LocalServer, text: str = TEXT) -> None:
    page.goto(f"{server.url}/")
    page.locator(".nothing-yet").get_by_role("link", name="Add a recipe").click()
    page.locator("#new-text").fill(text)
    expect(page.locator("#new-instructions")).to_have_value("Boil the eggs.\nPeel them.")


def drop(page: Page, path: Path, selector: str = ".film-drop") -> None:
    """Drop a file on an element, as from the desktop."""
    content = base64.b64encode(path.read_bytes()).decode()
    page.locator(selector).evaluate(
        """(field, [name, content]) => {
            const bytes = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
            const dataTransfer = new DataTransfer();
            dataTransfer.items.add(new File([bytes], name, { type: "video/mp4", lastModified: 5 }));
            for (const kind of ["dragover", "drop"])
              field.dispatchEvent(new DragEvent(kind, { dataTransfer, bubbles: true, cancelable: true }));
        }""",
        [path.name, content],
    )


def test_from_pasted_text_and_a_dropped_film_to_a_dataset(page: Page, server: LocalServer, film, tmp_path):
    held: list[Route] = []
    page.route("**/film/*/*", lambda route: held.append(route))  # so that the bar is there to be seen
    paste(page, server)
    expect(page.locator("#new-title")).to_have_value("Boiled eggs")
    expect(page.locator("#new-ingredients")).to_have_value("2 eggs")
    expect(page.locator("#new-language")).to_have_value("en")
    expect(page.get_by_text("Left out: “My favourite.”")).to_be_visible()
    page.locator("#new-title").fill("Eggs")
    drop(page, film)
    page.get_by_role("button", name="Add the recipe").click()
    expect(page.locator(".film-line progress")).to_be_visible()
    expect(page.locator(".film-line")).to_contain_text("Uploading eggs.mp4")
    # Words and flows do not wait for the film.
    tag_words(page, 0, 0, 1, 2, "F")
    tag_words(page, 1, 0, 0, 1, "Ac")
    expect_saved(page)
    held[0].continue_()
    page.locator('.step-tab[data-step="flows"]').click()
    draw_flow(page, "0-0-1", "1-0-0", "Targ")
    page.locator('.step-tab[data-step="frames"]').click()
    expect(page.locator(".thumb")).to_have_count(4, timeout=120_000)
    expect(page.locator(".film-panel")).to_have_count(0)
    set_side(page, "before", 1)
    set_side(page, "after", 3)
    expect_saved(page)

    page.goto(f"{server.url}/?layer=alice")
    expect(page.locator("table.recipes")).to_contain_text("Eggs")
    page.get_by_text("Export", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Release folder (zip)").click()
    with zipfile.ZipFile(io.BytesIO(Path(download.value.path()).read_bytes())) as archive:
        archive.extractall(tmp_path)
    build_dataset(tmp_path / "alice-release", tmp_path / "vrf")
    (row,) = load_dataset(str(tmp_path / "vrf"), "image_pairs", split="train", cache_dir=str(tmp_path / "cache"))
    assert (row["action"], row["object"], row["pre_frame"], row["post_frame"]) == ("Boil", "eggs", 1, 3)
    assert row["post_image"].size == (160, 32)


def test_a_film_that_is_none_is_refused_and_another_one_taken(page: Page, server: LocalServer, film, tmp_path):
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(b"no film at all")
    paste(page, server)
    page.get_by_role("button", name="Add the recipe").click()
    page.locator('.step-tab[data-step="frames"]').click()
    drop(page, broken)
    expect(page.locator(".film-panel [role=alert]")).to_contain_text("expected an MP4 video", timeout=120_000)
    drop(page, film)
    expect(page.locator(".thumb")).to_have_count(4, timeout=120_000)


def test_an_upload_goes_on_after_a_lost_connection(page: Page, server: LocalServer, film, expected_complaints):
    expected_complaints.append("ERR_FAILED|ERR_INTERNET_DISCONNECTED")
    lost = []

    def lose_first(route: Route) -> None:
        lost.append(route.request.url)
        route.abort() if len(lost) == 1 else route.continue_()

    page.route("**/film/*/*", lose_first)
    paste(page, server)
    drop(page, film)
    page.get_by_role("button", name="Add the recipe").click()
    expect(page.get_by_text("The frames of the film are ready.")).to_be_visible(timeout=120_000)
    assert len(lost) == 2


def test_a_phone_has_room_for_all_of_it(new_context, server: LocalServer):
    page = new_context(viewport={"width": 390, "height": 844}).new_page()
    paste(page, server)
    for selector in ("#new-text", "#new-instructions", ".film-drop", ".new-recipe button.primary"):
        box = page.locator(selector).bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 390, selector
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
