"""The page of a storyboard in a real browser: no script, no network, and a trail that lights up."""

import pytest
from playwright.sync_api import Page, expect

from recipeflow.search import Retriever
from recipeflow.storyboard import imagine
from tests.making import SALAD
from tests.search.searching import make_table, own_cache  # noqa: F401  (autouse)
from tests.storyboard.boards import make_model

LIT = "e => Number(getComputedStyle(e).opacity)"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("board")
    retriever = Retriever.from_pretrained(make_model(make_table(folder, recipes=2)))
    return imagine(SALAD, retriever).save(folder / "saved")


@pytest.fixture
def board(page, saved) -> Page:
    page.goto((saved / "index.html").as_uri())
    return page


def lit(board: Page) -> list[int]:
    """The numbers of the panels that are not dimmed."""
    board.wait_for_timeout(300)  # until nothing fades any more
    panels = board.locator(".panel")
    return [number for number in range(1, panels.count() + 1) if panels.nth(number - 1).evaluate(LIT) == 1]


def test_an_ingredients_trail_lights_up_on_hover_and_by_keyboard(board):
    assert lit(board) == [1, 2, 3, 4, 5, 6]
    board.get_by_role("link", name="きゅうり").hover()
    assert lit(board) == [1, 3, 6]
    board.mouse.move(0, 0)
    board.get_by_role("link", name="塩").focus()
    assert lit(board) == [5, 6]


def test_a_panel_lights_its_words_in_the_graph_and_the_graph_leads_to_panels(board):
    board.locator("#panel-1").hover()
    actions = board.locator("svg a.p0")
    assert actions.count() == 1 and actions.locator("g").evaluate(LIT) == 1
    assert board.locator("svg g:not(.p0)").first.evaluate(LIT) < 1
    actions.click()
    expect(board.locator("#panel-1")).to_be_in_viewport()
    assert board.evaluate("location.hash") == "#panel-1"


def test_every_picture_is_drawn_and_described(board):
    pictures = board.locator(".panel img")
    expect(pictures).to_have_count(6)
    assert all(pictures.evaluate_all("all => all.map(one => one.naturalWidth > 0 && one.alt !== '')"))


def test_the_keyboard_walks_along_trails(board):
    board.keyboard.press("Tab")
    assert board.evaluate("document.activeElement.textContent").strip() == "きゅうり"
    assert lit(board) == [1, 3, 6]
    assert board.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    board.locator("#panel-3").focus()
    assert lit(board) == [1, 3]  # itself and what it continues


def test_the_page_fits_a_phone(board):
    board.set_viewport_size({"width": 390, "height": 844})
    assert board.evaluate("document.documentElement.scrollWidth") == 390


def test_the_page_is_dark_where_that_is_wanted(board):
    brightness = """() => {
        const [body, card] = ["body", ".panel"].map(name => getComputedStyle(document.querySelector(name)));
        const mean = colour => colour.match(/[0-9.]+/g).slice(0, 3).map(Number).reduce((a, b) => a + b) / 3;
        return [body.backgroundColor, card.backgroundColor, body.color].map(mean);
    }"""
    paper, card, ink = board.evaluate(brightness)
    assert min(paper, card) > 200 and ink < 80
    board.emulate_media(color_scheme="dark")
    paper, card, ink = board.evaluate(brightness)
    assert max(paper, card) < 80 and ink > 200
