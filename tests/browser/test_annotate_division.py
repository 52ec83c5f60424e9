"""Words that were divided wrongly are corrected on the page, before or after they were tagged."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.annotate.serving import LocalServer, local_server
from tests.browser.annotating import drag, entity, expect_saved, open_step, word
from tests.making import SALAD

REFUSED = "422 \\(Unprocessable"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    with local_server(tmp_path_factory.mktemp("division"), "mouse", "keys", "refused") as server:
        yield server


def words_of(server: LocalServer, layer: str, line: int) -> list[str]:
    found = server.document(SALAD.id, layer)["sections"][1]["lines"][line]["words"]
    return [each["text"] for each in found]


def flows_of(server: LocalServer, layer: str) -> set[tuple[str, str, str]]:
    document = server.document(SALAD.id, layer)
    text = {each["id"]: each["text"] for each in document["entities"]}
    return {(text[flow["start"]], flow["label"], text[flow["end"]]) for flow in document["flows"]}


def test_boundaries_can_be_seen(page: Page, server: LocalServer):
    open_step(page, server, SALAD.id, "words", "mouse")
    expect(word(page, "1-0-1")).to_have_css("border-left-style", "dotted")


def test_a_word_is_cut_tagged_undone_and_joined_by_mouse(page: Page, server: LocalServer):
    """切り is tagged whole; cut into 切 and り, only 切 keeps the tag, with its flow; undo takes each step back."""
    open_step(page, server, SALAD.id, "words", "mouse")
    word(page, "1-0-5").click()
    page.locator('.floating [data-cut="1"]').click()
    expect(word(page, "1-0-6")).to_have_text("り")
    page.locator('.floating [data-tool="shrink"]').click()
    expect_saved(page)
    assert words_of(server, "mouse", 0) == ["１", "．", "きゅうり", "は", "薄く", "切", "り", "ます", "。"]
    assert ("きゅうり", "Targ", "切") in flows_of(server, "mouse")
    open_step(page, server, SALAD.id, "frames", "mouse")
    first = page.locator("[data-object]").first
    expect(first.locator('[data-side="after"]')).to_have_attribute("data-value", "3")
    open_step(page, server, SALAD.id, "words", "mouse")
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+z")
    expect(word(page, "1-0-5")).to_have_text("切り")
    expect_saved(page)
    assert server.document(SALAD.id, "mouse")["entities"] == server.document(SALAD.id, "keys")["entities"]
    drag(page, word(page, "1-0-6"), word(page, "1-0-7"))  # ます 。
    page.locator('.floating [data-tool="join"]').click()
    expect(word(page, "1-0-6")).to_have_text("ます。")
    expect_saved(page)
    assert words_of(server, "mouse", 0)[-1] == "ます。"


def test_by_keys_alone(page: Page, server: LocalServer):
    open_step(page, server, SALAD.id, "words", "keys")
    word(page, "1-0-2").click()  # きゅうり
    for key in ("c", "ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    expect(word(page, "1-0-3")).to_have_text("り")
    expect(entity(page, "1-0-2")).to_have_text("きゅうりF")
    expect_saved(page)
    page.locator(".word-host").focus()
    page.keyboard.press("Escape")
    word(page, "1-0-2").click()  # the entity, both words
    page.keyboard.press("m")
    expect(word(page, "1-0-2")).to_have_text("きゅうり")
    expect_saved(page)
    assert words_of(server, "keys", 0)[2:4] == ["きゅうり", "は"]


def test_words_of_two_entities_are_not_joined(page: Page, server: LocalServer, expected_complaints: list[str]):
    expected_complaints.append(REFUSED)
    open_step(page, server, SALAD.id, "words", "refused")
    drag(page, word(page, "1-0-4"), word(page, "1-0-5"))  # 薄く 切り
    page.locator('.floating [data-tool="join"]').click()
    expect(page.locator(".notices")).to_contain_text("belong to two entities")
    expect(word(page, "1-0-5")).to_have_text("切り")
