"""The served explorer: thousands of recipes, and annotations that have neither text nor pictures."""

import pytest
from playwright.sync_api import expect

from recipeflow.explore.library import Library
from recipeflow.explore.sources import open_source
from tests.browser.exploring import check_accessible, served
from tests.explore.repeating import RepeatedSource
from tests.making import RECIPES, make_frame

COUNT = 5_000


@pytest.fixture(scope="module")
def many():
    library = Library(RepeatedSource(RECIPES, COUNT, picture=lambda recipe, number: make_frame(number)))
    with served(library) as url:
        yield url


def test_five_thousand_recipes_are_of_use_at_once_and_all_are_found(page, many):
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(many)
    expect(page.locator(".card").first).to_be_visible()
    assert page.locator(".card").count() <= 48
    expect(page.get_by_role("status")).to_have_text("5,000 recipes", timeout=120_000)
    expect(page.locator(".card"), "the page does not grow with the catalogue").to_have_count(48)
    assert sum("/pictures/" in url for url in asked) <= 48, "pictures are loaded as they are needed"
    assert not any("/data/recipes/" in url for url in asked)
    page.get_by_label("Search").fill("4999")
    expect(page.locator(".card")).to_have_count(1)
    page.locator(".card").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("4999")


def test_pages_of_the_gallery_are_turned(page, many):
    page.goto(f"{many}/#/?page=105")
    expect(page.get_by_role("status")).to_have_text("5,000 recipes", timeout=120_000)
    expect(page.locator(".card")).to_have_count(COUNT - 104 * 48)
    page.get_by_role("link", name="Previous").click()
    expect(page.locator(".card")).to_have_count(48)
    expect(page.get_by_role("link", name="Page 104")).to_have_attribute("aria-current", "page")


def test_an_address_in_a_late_chunk_is_found(page, many):
    page.goto(f"{many}/#/recipe/repeat-04321/trail")
    expect(page.get_by_role("heading", level=1)).to_contain_text("4321", timeout=120_000)


@pytest.fixture(scope="module")
def bare(official):
    with served(Library(open_source(official))) as url:
        yield url


LARGEST = "23173b6e-4518-43ff-9ec1-83095c7df335"
"""The official recipe with the most entities: 112, and 113 flows."""


def test_annotations_alone_are_shown_and_say_what_they_lack(page, bare):
    page.goto(bare)
    expect(page.locator(".notice")).to_contain_text("without the recipes' text")
    expect(page.locator(".notice")).to_contain_text("without frames")
    expect(page.get_by_label("Ingredient")).to_be_hidden()
    expect(page.get_by_role("status")).to_have_text("200 recipes")
    page.get_by_label("Flow label").select_option("A-eq")
    expect(page.locator(".card")).to_have_count(1)
    check_accessible(page)


def test_the_largest_official_graph_is_readable(page, bare):
    page.goto(f"{bare}/#/recipe/{LARGEST}/graph")
    expect(page.locator(".box")).to_have_count(83)
    page.get_by_label("Quantities and manners inside boxes").uncheck()
    expect(page.locator(".box")).to_have_count(112)
    page.get_by_label("Quantities and manners inside boxes").check()
    expect(page.locator(".box")).to_have_count(83)
    boxes = page.locator(".box rect").evaluate_all(
        "all => all.map((one) => one.getBoundingClientRect()).map((box) => [box.left, box.top, box.right, box.bottom])"
    )
    overlapping = [
        (one, other)
        for position, one in enumerate(boxes)
        for other in boxes[:position]
        if one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
    ]
    assert not overlapping
    assert max(right for _, _, right, _ in boxes) <= 1280, "all of it is in the window"
    size = page.locator(".box-text").first.evaluate("text => text.getBoundingClientRect().height")
    assert size >= 8, "pixels, at which letters can still be read"


def test_the_largest_official_recipe_shows_all_its_flows(page, bare):
    page.goto(f"{bare}/#/recipe/{LARGEST}")
    expect(page.locator(".arc")).to_have_count(113)
    expect(page.locator(".notice")).to_contain_text("word ids its names")
    expect(page.locator(".pair-list .missing").first).to_be_visible()
    expect(page.locator(".pair-list img")).to_have_count(0)
    page.goto(f"{bare}/#/recipe/{LARGEST}/trail")
    expect(page.locator(".moment-action").first).to_be_visible()
    page.goto(f"{bare}/#/recipe/{LARGEST}/program")
    expect(page.locator(".program")).to_contain_text("x26")
