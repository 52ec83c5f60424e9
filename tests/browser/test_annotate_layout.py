"""The annotation pages on a phone, a tablet and a desk; the help; the way from one recipe to the next."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from recipeflow.annotate.store import FROM_WORDS, Store
from recipeflow.annotate.workspace import Workspace
from recipeflow.release.recipe import LABELS, TAGS
from tests.annotate.serving import LocalServer, local_server
from tests.browser.annotating import entity, expect_saved, open_step, word
from tests.making import EGG, RECIPES, SALAD, TEA, make_release

LEAST_CONTRAST = """(nodes) => Math.min(...nodes.map((node) => {
    const light = (text) => {
        const parts = text.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255);
        const [r, g, b] = parts.map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const style = getComputedStyle(node);
    const [dark, bright] = [light(style.color), light(style.backgroundColor)].sort((a, b) => a - b);
    return (bright + 0.05) / (dark + 0.05); }))"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    with local_server(tmp_path_factory.mktemp("layout"), "alice") as server:
        server.workspace.start = FROM_WORDS
        server.workspace.add_layer("blank")
        server.workspace.suggest_release("model", server.workspace.release)
        yield server


@pytest.mark.parametrize("step", ["words", "flows", "frames"])
def test_nothing_lies_on_the_text(page: Page, server: LocalServer, step: str):
    open_step(page, server, SALAD.id, step)
    for width in (1280, 768, 390):
        page.set_viewport_size({"width": width, "height": 844})
        assert page.evaluate("() => document.scrollingElement.scrollWidth") <= width
        main, side = boxes(page, ".step-main", ".side")
        assert are_apart(main, side) and main["width"] >= 320
        left, middle, right = boxes(page, ".bar-left", ".bar-middle", ".bar-right")
        assert are_apart(left, middle) and are_apart(middle, right) and are_apart(left, right)
        if step == "words":
            word(page, "1-0-2").click()
            expect(page.locator(".floating")).to_be_visible()
            (floating,) = boxes(page, ".floating")
            assert floating["x"] >= 0 and floating["x"] + floating["width"] <= width
            page.keyboard.press("Escape")


def boxes(page: Page, *selectors: str) -> list[dict]:
    """Where parts of the page are at one moment: they may be drawn again after each answer."""
    return page.evaluate("(all) => all.map((one) => document.querySelector(one).getBoundingClientRect())", selectors)


def are_apart(one: dict, other: dict) -> bool:
    """Whether two boxes share no point, but for rounding."""
    across = min(one["x"] + one["width"], other["x"] + other["width"]) - max(one["x"], other["x"])
    down = min(one["y"] + one["height"], other["y"] + other["height"]) - max(one["y"], other["y"])
    return across <= 1 or down <= 1


@pytest.mark.parametrize(("width", "height"), [(768, 1024), (1024, 768)])
def test_suggestions_are_in_sight(new_context, server, width, height):
    page = new_context(viewport={"width": width, "height": height}).new_page()
    open_step(page, server, SALAD.id, "words", "blank")
    expect(page.locator(".suggestions h2")).to_be_in_viewport()
    expect(page.locator('[data-key="accept all"]')).to_be_in_viewport()
    expect(page.locator(".suggestion").first).to_be_in_viewport()


def test_key_hints_can_be_read(page: Page, server: LocalServer):
    """On the coloured buttons of sides that are open as on the others."""
    open_step(page, server, SALAD.id, "frames")
    page.keyboard.press("x")
    expect_saved(page)
    expect(page.locator(".side-card button.primary kbd")).not_to_have_count(0)
    # In one call: the cards are drawn again after each answer, and a node that was replaced has no colours.
    assert page.locator(".side-card kbd").evaluate_all(LEAST_CONTRAST) >= 4.5
    page.keyboard.press("Control+z")
    expect_saved(page)


@pytest.mark.parametrize("language", ["en-US", "ja-JP"])
def test_help_defines_every_tag_and_label_with_an_example(new_context, server, language):
    page = new_context(locale=language).new_page()
    open_step(page, server, SALAD.id, "flows")
    page.keyboard.press("?")
    rows = page.locator("dialog [data-meaning]")
    expect(rows.first).to_be_visible()
    read = (
        "all => all.map((row) => [row.dataset.meaning, [...row.querySelectorAll('td')].map((cell) => cell.innerText)])"
    )
    meanings = dict(rows.evaluate_all(read))
    for name in (*TAGS, *LABELS):
        assert len(meanings[name]) == 2 and all(len(cell) > 1 for cell in meanings[name]), name


def test_from_the_last_step_to_the_next_recipe(page: Page, server: LocalServer):
    open_step(page, server, RECIPES[0].id, "frames")
    following = page.get_by_role("button", name="Next recipe")
    expect(following).to_be_hidden()
    page.get_by_role("button", name="Mark step as done").click()
    expect_saved(page)
    following.click()
    expect(page.locator(".recipe-name")).to_have_text(RECIPES[1].title)
    expect(page.locator(".step-words")).to_be_visible()
    for recipe in RECIPES:
        for step in ("words", "flows", "frames"):
            server.save(recipe.id, {"op": "done", "step": step, "done": True})
    open_step(page, server, RECIPES[1].id, "frames")
    following.click()
    expect(page.locator(".notices")).to_contain_text("All recipes are done.")


def test_annotations_without_text_are_explained(page: Page, tmp_path):
    release = make_release(tmp_path / "bare", [TEA, EGG], frames=False)
    for file in release.glob("recipes/*/*.txt"):
        file.unlink()
    with Store(tmp_path / "work.db") as store:
        workspace = Workspace(store, release)
        workspace.import_folder(release)
        workspace.add_layer("alice")
        with LocalServer(workspace) as bare:
            open_step(page, bare, TEA.id, "words")
            expect(page.locator(".textless-notice")).to_contain_text("stands for one character")
            expect(entity(page, "0-0-0")).to_contain_text("▯▯")
