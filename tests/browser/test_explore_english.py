"""A corpus of another language, without an ingredient list and without pictures, on the explorer's pages."""

from playwright.sync_api import expect

from recipeflow.explore.export import export_site
from recipeflow.explore.library import Library
from recipeflow.explore.sources import open_source
from recipeflow.release import write_release
from tests.browser.exploring import check_accessible
from tests.making_english import ENGLISH_INFO, SOUP


def test_words_have_their_spaces_and_the_corpus_its_tags(page, tmp_path):
    write_release(tmp_path / "english", [SOUP], ENGLISH_INFO)
    export_site(Library(open_source(tmp_path / "english")), tmp_path / "site")
    address = (tmp_path / "site" / "index.html").as_uri()
    page.goto(address)
    expect(page.locator(".card-title")).to_have_text("Tomato soup")
    expect(page.locator(".notice")).to_have_count(0)
    page.locator(".card").click()
    text = page.locator(".recipe-text")
    expect(text).to_have_attribute("lang", "en")
    expect(text.locator("h3")).to_have_text(["Instructions"])
    spoken = text.locator(".text-line").first.evaluate(
        "line => [...line.querySelectorAll('.tag-badge')].map((badge) => badge.remove()) && line.textContent"
    )
    assert spoken == "Chop 2 large tomatoes."
    expect(page.locator(".tag-key")).to_contain_text("Discontinuous action")
    expect(page.locator("[data-label='s'], .label-s").first).to_be_visible()
    check_accessible(page)
