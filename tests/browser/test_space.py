"""The Space as it runs on the Hub: the real app in a process without this project, asked in a real browser."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.search.searching import own_cache  # noqa: F401  (autouse)
from tests.space.spacing import RECIPE, Kitchen, make_models, make_parser, running_app

ANSWER = 60_000
"""Milliseconds for an answer, on a machine with other work."""


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory) -> Kitchen:
    return make_models(tmp_path_factory.mktemp("space"))


@pytest.fixture(scope="module")
def address(kitchen, tmp_path_factory):
    models = ",".join(map(str, kitchen.models.values()))
    folder = tmp_path_factory.mktemp("app")
    parser = make_parser(tmp_path_factory.mktemp("parser"))
    own = {"VRF_MODEL": models, "VRF_DATASET": str(kitchen.dataset), "VRF_PARSER": str(parser)}
    with running_app(folder, **own) as address:
        yield address


@pytest.fixture
def expected_complaints() -> list[str]:
    return ["Method not implemented"]  # Gradio's own, of a part of its client that it does not use here


@pytest.fixture
def space(page, address) -> Page:
    page.goto(address)
    expect(page.get_by_role("heading", name="What will it look like?")).to_be_visible(timeout=ANSWER)
    return page


def search(space: Page) -> None:
    space.get_by_role("button", name="Search").click()


def expect_notes(space: Page, *texts: str) -> None:
    """What each model says; an answer is drawn piece by piece."""
    notes = space.locator("textarea[disabled]")
    expect(notes).to_have_count(len(texts), timeout=ANSWER)
    for number, text in enumerate(texts):
        expect(notes.nth(number)).to_have_value(re.compile(text, re.DOTALL), timeout=ANSWER)


def pictures(space: Page):
    return space.locator(".grid-container img")


def test_an_example_is_asked_and_all_three_models_answer(space):
    for title in ("verb + object", "picture from before", "verb + object + picture from before"):
        expect(space.get_by_role("heading", name=title, exact=True)).to_be_visible()
    space.locator(".gradio-container table tbody tr").first.click()
    expect(space.get_by_label("Verb")).not_to_have_value("", timeout=ANSWER)
    search(space)
    expect(pictures(space)).to_have_count(15, timeout=ANSWER)
    space.wait_for_function("[...document.querySelectorAll('.grid-container img')].every(i => i.naturalWidth > 0)")
    expect_notes(space, *["nearest of.*The recipe's own"] * 3)
    expect(space.locator(".grid-container").first).to_contain_text("1. ")


def test_words_alone_are_asked_of_models_that_can_take_them(space):
    for label in ("Verb", "Object"):
        space.get_by_label(label).click()
        space.get_by_role("option").first.click()
    search(space)
    expect(pictures(space)).to_have_count(10, timeout=ANSWER)
    expect_notes(space, "nearest of", "needs a picture", "only the words")


def test_unknown_words_and_missing_ones_are_reported(space):
    space.get_by_label("Verb").fill("<b>揚げ</b>")
    space.get_by_label("Verb").press("Enter")
    search(space)
    expect(space.get_by_text("as verb, found <b>揚げ</b>; choose from the list")).to_be_visible(timeout=ANSWER)
    space.reload()
    search(space)
    expect(space.get_by_text("needs a verb and an object")).to_be_visible(timeout=ANSWER)


def test_a_file_that_is_no_picture_is_reported(space, tmp_path):
    (tmp_path / "notes.png").write_bytes(b"not a picture")
    space.locator("input[type=file]").first.set_input_files(tmp_path / "notes.png")
    expect(space.get_by_role("img", name="The picture from before")).to_be_attached(timeout=ANSWER)
    search(space)
    expect(space.get_by_text("found a file that cannot be read as one")).to_be_visible(timeout=ANSWER)


def test_a_sentence_is_understood(space):
    space.get_by_label("In plain words").fill("きゅうりを薄切りにします。")
    search(space)
    expect(space.get_by_text("Understood: 薄切り of きゅうり")).to_be_visible(timeout=ANSWER)
    expect(pictures(space)).to_have_count(10, timeout=ANSWER)


def test_a_pasted_recipe_becomes_a_storyboard(space):
    space.get_by_role("tab", name="Storyboard").click()
    space.get_by_label("Recipe").fill(RECIPE)
    space.get_by_role("button", name="Imagine").click()
    expect(space.get_by_text("; the model is not sure of")).to_be_visible(timeout=ANSWER)
    drawn = space.locator(".grid-container:visible")
    expect(drawn.locator("img").first).to_be_visible()
    expect(drawn).to_contain_text("1. 薄切り · きゅうり")
    space.get_by_label("Recipe").fill("")
    space.get_by_role("button", name="Imagine").click()
    expect(space.get_by_text("expected the text of a recipe, found none")).to_be_visible(timeout=ANSWER)


def test_on_a_phone_no_picture_is_cut_off(space):
    space.set_viewport_size({"width": 390, "height": 844})
    space.locator(".gradio-container table tbody tr").first.click()
    expect(space.get_by_label("Verb")).not_to_have_value("", timeout=ANSWER)
    search(space)
    expect(pictures(space)).to_have_count(15, timeout=ANSWER)
    widths = "[...document.querySelectorAll('.grid-container')].map(grid => [grid.scrollWidth, grid.clientWidth])"
    assert all(needed <= there for needed, there in space.evaluate(widths))
