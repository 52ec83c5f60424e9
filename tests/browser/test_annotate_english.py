"""A release in English: its text is marked as English, and its words are divided like any others."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from recipeflow.annotate.store import Store
from recipeflow.annotate.workspace import Workspace
from recipeflow.release import write_release
from tests.annotate.serving import LocalServer
from tests.browser.annotating import add_recipe, drag, entity, expect_saved, open_step, word
from tests.making_english import ENGLISH_INFO, SOUP

LANGUAGES = "(found) => [...new Set(found.map((each) => each.lang))]"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    folder = tmp_path_factory.mktemp("english")
    write_release(folder / "release", [SOUP], ENGLISH_INFO)
    with Store(folder / "work.db") as store:
        workspace = Workspace(store, folder / "release", curating=True)
        workspace.import_folder(folder / "release")
        for name in ("alice", "bob"):
            workspace.add_layer(name)
        workspace.suggest_release("model", folder / "release")
        with LocalServer(workspace) as server:
            yield server


def test_nothing_in_english_is_marked_as_japanese(page: Page, server: LocalServer):
    """A reader would pronounce it, and a browser draw it, as Japanese; only the switch of languages is."""
    server.save(SOUP.id, {"op": "remove", "entity": "1-0-3"}, "bob")
    server.save(SOUP.id, {"op": "note", "target": "ne:1-0-0", "unsure": True, "text": "why"}, "alice")
    pages = {f"/r/soup/{step}?layer=bob": f".step-{step}" for step in ("words", "flows", "frames")}
    pages |= {
        "/?layer=alice": ".recipe-title",
        "/differences/soup?first=alice&second=bob": ".difference-columns",
        "/find?layer=alice": ".find-hit",
        "/times?layer=alice": ".times-table",
    }
    for address, shown in pages.items():
        page.goto(f"{server.url}{address}")
        page.locator(shown).first.wait_for()
        if "words" in address:
            entity(page, "1-0-0").click()
        if "flows" in address:
            page.locator(".flow-row").first.click()
        assert page.locator("main [lang]").evaluate_all(LANGUAGES) == ["en"], address
    open_step(page, server, SOUP.id, "words", "bob")
    page.keyboard.press("?")
    expect(page.locator('dialog [data-meaning="F-eq"] td').last).to_contain_text("tomatoes")
    assert page.locator("dialog [lang]").evaluate_all(LANGUAGES) == ["en"]


def test_english_words_are_imported_cut_joined_and_undone(page: Page, server: LocalServer):
    add_recipe(page, server, "alice", "rub", "Rub", "½cup salt", "Mix with salt-and-pepper.")
    word(page, "0-0-0").click()
    page.locator('.floating [data-tag="Q"]').click()
    word(page, "0-0-1").click()
    page.locator('.floating [data-tag="F"]').click()
    expect_saved(page)
    server.save("rub", {"op": "flow", "start": "0-0-0", "end": "0-0-1", "label": "other-mod"})
    open_step(page, server, "rub", "words")
    entity(page, "0-0-0").click()
    page.locator('.floating [data-cut="1"]').click()
    expect(word(page, "0-0-1")).to_have_text("cup")
    expect(page.locator('.text-line[data-section="0"]')).to_have_text("½cupQ saltF")  # the space stays where it was
    drag(page, word(page, "0-0-1"), word(page, "0-0-2"))
    expect(page.locator(".selection-said")).to_have_text("Selected: ½cup salt")
    expect(page.locator('.floating [data-tool="join"]')).to_have_count(0)  # there is a space between them
    expect_saved(page)
    document = server.document("rub")
    assert [(each["id"], each["text"]) for each in document["entities"]] == [("0-0-0", "½cup"), ("0-0-2", "salt")]
    assert [(each["start"], each["end"]) for each in document["flows"]] == [("0-0-0", "0-0-2")]
    page.keyboard.press("Control+z")
    expect(word(page, "0-0-2")).to_have_count(0)
    expect_saved(page)
    assert [each["id"] for each in server.document("rub")["entities"]] == ["0-0-0", "0-0-1"]
    word(page, "1-0-2").click()
    page.locator('.floating [data-cut="4"]').click()
    expect(word(page, "1-0-3")).to_have_text("-and-pepper")
    drag(page, word(page, "1-0-2"), word(page, "1-0-3"))
    page.keyboard.press("m")
    expect(word(page, "1-0-2")).to_have_text("salt-and-pepper")
    expect_saved(page)
