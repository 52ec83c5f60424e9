"""Notes, guidelines, search with repair, and times: what oversees the work, on the pages."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, Route, expect

from tests.annotate.serving import AnnotationServer
from tests.browser.annotating import entity, expect_saved, open_step
from tests.making import EGG, SALAD, TEA, make_release

GUIDE = """# Our rules

Only the **stem** is tagged.

<script>window.harmed = true</script> <img src=x onerror="window.harmed = true">
[run](javascript:window.harmed=true) ![pan](https://example.org/pan.png) [paper](https://example.org/paper)

| word | tag |
|---|---|
| 茹で | Ac |
"""
LAYERS = ("alice", "bob", "carol", "dora", "eve", "fred")  # each test has its own
CONFLICT = "409 \\(Conflict\\)"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AnnotationServer]:
    folder = tmp_path_factory.mktemp("review")
    (folder / "guide.md").write_text(GUIDE, encoding="utf-8")
    layers = [option for name in LAYERS for option in ("--annotator", name)]
    options = ("--curate", "--guidelines", str(folder / "guide.md"), *layers)
    with AnnotationServer(make_release(folder / "r"), folder / "w.db", *options) as server:
        yield server


def notes_of(server: AnnotationServer, recipe: str, layer: str) -> dict[str, tuple[bool, str]]:
    return {note["target"]: (note["unsure"], note["text"]) for note in server.document(recipe, layer)["notes"]}


def test_a_word_a_flow_and_an_image_get_notes_and_a_curator_sees_them(page: Page, server: AnnotationServer):
    open_step(page, server, SALAD.id, "words")
    entity(page, "1-0-4").click()
    page.locator('.floating [data-tool="note"]').click()
    page.get_by_label("What a curator should know").fill("state or\nmanner?")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(entity(page, "1-0-4")).to_have_attribute("title", "from the release · Unsure: state or\nmanner?")
    open_step(page, server, SALAD.id, "flows")
    page.locator('[data-flow="1-0-2>1-0-5:Targ"] .flow-row').click()
    page.keyboard.press("u")
    expect(page.locator('[data-flow="1-0-2>1-0-5:Targ"] .note-flag')).to_have_text("?")
    open_step(page, server, SALAD.id, "frames")
    page.locator('[data-tool="unsure"][data-target$=":before"]').click()
    expect(page.locator('[data-object="1-0-5/1-0-2"] .note-flag')).to_have_count(1)
    expect_saved(page)
    on_image = "im:1-0-5/1-0-2:before"
    assert notes_of(server, SALAD.id, "alice") == {
        "ne:1-0-4": (True, "state or\nmanner?"),
        "fg:1-0-2>1-0-5:Targ": (True, ""),
        on_image: (True, ""),
    }
    page.keyboard.press("Control+z")
    expect(page.locator('[data-object="1-0-5/1-0-2"] .note-flag')).to_have_count(0)
    page.keyboard.press("Control+Shift+z")
    expect(page.locator('[data-object="1-0-5/1-0-2"] .note-flag')).to_have_count(1)
    expect_saved(page)
    page.goto(f"{server.url}/?layer=alice")
    expect(page.locator(".notes-flag")).to_have_text("3 unsure, 3 note(s)")

    server.save(SALAD.id, {"op": "remove", "entity": "1-0-4"}, "bob")
    page.goto(f"{server.url}/differences/{SALAD.id}?first=alice&second=bob")
    said = page.locator('[data-entry="ne:1-0-4:5:Sf"] .note-by')
    expect(said).to_have_text("alice was unsure: state or\nmanner?")
    expect(page.locator('[data-entry="fg:1-0-2>1-0-5:Targ"] .note-by')).to_have_text("alice was unsure")
    expect(page.locator('[data-entry^="im:1-0-5/1-0-2"] .note-by')).to_have_text("alice was unsure (before)")


def test_the_key_opens_guidelines_that_are_still_loading(page: Page, server: AnnotationServer):
    waiting: list[Route] = []
    page.route("**/api/guidelines", lambda route: waiting.append(route))
    open_step(page, server, TEA.id, "words")
    page.keyboard.press("g")
    panel = page.get_by_role("complementary", name="Guidelines")
    expect(panel).to_be_hidden()
    waiting[0].continue_()
    expect(panel).to_be_visible()
    page.keyboard.press("g")
    expect(panel).to_be_hidden()


def test_guidelines_are_text_and_nothing_else(page: Page, server: AnnotationServer):
    """No script runs and nothing is loaded: the fixture fails on any request beyond loopback."""
    open_step(page, server, TEA.id, "words")
    panel = page.get_by_role("complementary", name="Guidelines")
    expect(panel).to_be_hidden()
    page.keyboard.press("g")
    expect(panel.locator("strong")).to_have_text("stem")
    expect(panel).to_contain_text("<script>window.harmed = true</script>")
    assert panel.locator("td").all_text_contents() == ["茹で", "Ac"]
    links = panel.locator("a").evaluate_all("(found) => found.map((each) => [each.href, each.rel])")
    assert links == [["https://example.org/paper", "noopener noreferrer"]]
    assert panel.locator("img, script, iframe").count() == 0 and page.evaluate("window.harmed") is None
    open_step(page, server, TEA.id, "flows")
    expect(panel).to_be_visible()  # it stays open until it is closed
    text = page.locator(".text-scroller").bounding_box()
    assert panel.bounding_box()["x"] >= text["x"] + text["width"]  # beside the text, not over it
    panel.get_by_role("button", name="Close").click()
    expect(panel).to_be_hidden()


def found_hits(page: Page) -> list[tuple[str, str]]:
    rows = page.locator(".find-hit").evaluate_all("(rows) => rows.map((row) => [row.dataset.recipe, row.dataset.hit])")
    return [tuple(row) for row in rows]


def test_a_search_finds_forms_and_leads_to_the_place(page: Page, server: AnnotationServer):
    page.goto(f"{server.url}/?layer=alice")
    page.get_by_role("link", name="Search and repair").click()
    page.get_by_label("Text").fill("切る")  # the release has 切り
    page.get_by_label("Tag", exact=True).select_option("Ac")
    expect(page.locator(".find-count")).to_have_text("2 found in 1 recipe(s)")
    page.get_by_label("Text").fill("キュウリ")  # it has きゅうり
    page.get_by_label("Tag", exact=True).select_option("")
    expect(page.locator(".find-count")).to_have_text("2 found in 1 recipe(s)")
    page.get_by_label("Text").fill("トマト")
    expect(page.locator(".find-count")).to_have_text("2 found in 1 recipe(s)")
    page.get_by_label("exactly this").check()  # ミニトマト is not
    expect(page.locator(".find-hit")).to_have_count(0)
    page.get_by_label("exactly this").uncheck()
    page.get_by_label("Text").fill("茹で")
    expect(page.locator(".find-count")).to_have_text("1 found in 1 recipe(s)")
    page.reload()  # the address has the search
    expect(page.get_by_label("Text")).to_have_value("茹で")
    assert found_hits(page) == [(EGG.id, "1-1-6")]
    page.locator(".find-place").click()
    expect(page.locator(".selection-said")).to_have_text("茹で: Action by chef")


def test_chosen_hits_are_repaired_in_one_operation_per_recipe_and_undone(page: Page, server: AnnotationServer):
    before = {recipe: server.document(recipe, "carol") for recipe in (SALAD.id, EGG.id, TEA.id)}
    page.goto(f"{server.url}/find?layer=carol&tag=Q")
    expect(page.locator(".find-count")).to_have_text("6 found in 3 recipe(s)")
    page.get_by_label("choose all 6").check()
    page.get_by_label("New tag").select_option("D")
    page.locator(f'.find-hit[data-recipe="{TEA.id}"] input').uncheck()
    page.get_by_role("button", name="Change 5 in 2 recipe(s)").click()
    expect(page.get_by_role("status")).to_contain_text("Changed 5 in 2 recipe(s).")
    assert found_hits(page) == [(TEA.id, "0-0-1")]
    salad = server.document(SALAD.id, "carol")
    assert salad["revision"] == 1 and salad["undo"]["op"] == "retag_all"
    assert [e["tag"] for e in salad["entities"]].count("D") == 3
    page.locator('[data-tool="undo repair"]').click()
    expect(page.get_by_role("status")).to_contain_text("Undone in 2 recipe(s).")
    expect(page.locator(".find-hit")).to_have_count(6)
    for recipe, document in before.items():
        assert server.document(recipe, "carol")["entities"] == document["entities"]


def test_a_recipe_that_changed_meanwhile_is_left_alone_and_named(
    page: Page, server: AnnotationServer, expected_complaints: list[str]
):
    expected_complaints.append(CONFLICT)
    page.goto(f"{server.url}/find?layer=dora&in=flows&label=F-eq")
    expect(page.locator(".find-count")).to_have_text("6 found in 3 recipe(s)")
    server.save(EGG.id, {"op": "done", "step": "words", "done": True}, "dora")
    page.get_by_label("choose all 6").check()
    page.get_by_label("New label").select_option("other-mod")
    page.locator('[data-tool="repair"]').click()
    expect(page.get_by_role("status")).to_contain_text("Changed 4 in 2 recipe(s).")
    expect(page.locator(".notice.bad")).to_contain_text(f"{EGG.id}: was changed meanwhile")
    assert {f["label"] for f in server.document(EGG.id, "dora")["flows"]} >= {"F-eq"}
    assert page.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('vrf-unsent'))") == []


def test_unsure_decisions_of_all_annotators_are_found(page: Page, server: AnnotationServer):
    flow = SALAD.flows[-1]
    target = f"fg:{flow.start}>{flow.end}:{flow.label}"
    server.save(SALAD.id, {"op": "note", "target": target, "unsure": True, "text": ""}, "bob")
    page.goto(f"{server.url}/find?layer=fred&in=flows&unsure=1")
    expect(page.locator(".find-count")).to_have_text("0 found in 0 recipe(s)")
    page.get_by_label("all annotators").check()
    expect(page.locator('.find-hit[data-layer="bob"]')).to_have_count(1)


def test_times_by_step_are_a_page(page: Page, server: AnnotationServer):
    server.save(SALAD.id, {"op": "done", "step": "words", "done": True}, "eve")
    server.save(SALAD.id, {"op": "unflow", "start": "1-0-2", "end": "1-0-5", "label": "Targ"}, "eve")
    server.save(TEA.id, {"op": "done", "step": "words", "done": True}, "eve")
    page.goto(f"{server.url}/times?layer=fred")
    expect(page.get_by_text("Nothing was done in this layer yet.")).to_be_visible()
    page.get_by_label("Annotator").select_option("eve")
    expect(page.locator('[data-recipe="sum"] th')).to_have_text("Sum of 2 recipe(s)")
    operations = page.locator(f'[data-recipe="{SALAD.id}"] td .small').all_text_contents()
    assert operations == ["1 operations", "1 operations", "0 operations", "2 operations"]


def test_the_pages_fit_small_screens(page: Page, server: AnnotationServer):
    server.save(SALAD.id, {"op": "done", "step": "frames", "done": True}, "eve")
    for address in ("/find?layer=eve&in=flows", "/times?layer=eve"):
        page.goto(f"{server.url}{address}")
        page.locator(".find-hit, .times-table").first.wait_for()
        for width in (768, 390):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
    open_step(page, server, SALAD.id, "words")
    page.locator('[data-tool="guidelines"]').click()
    for width in (768, 390):
        page.set_viewport_size({"width": width, "height": 800})
        panel = page.get_by_role("complementary", name="Guidelines").bounding_box()
        assert panel["x"] >= 0 and panel["x"] + panel["width"] <= width
