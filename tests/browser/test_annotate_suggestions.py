"""Suggestions with their origin, never counted as human work; imports in the page; the guided first recipe."""

import pytest
from playwright.sync_api import expect

from tests.annotate.serving import AnnotationServer
from tests.browser.annotating import add_recipe, entity, expect_saved, open_step, word
from tests.making import SALAD, TEA, make_release


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("suggest")
    model = make_release(folder / "model-a", [SALAD, TEA])
    options = (
        "--annotator",
        "alice",
        "--annotator",
        "guided",
        "--annotator",
        "carol",
        "--blank",
        "--suggest",
        str(model),
    )
    with AnnotationServer(make_release(folder / "release"), folder / "work.db", *options) as server:
        yield server


def test_one_by_one_and_all_at_once(page, server):
    open_step(page, server, TEA.id, "words")
    panel = page.locator(".suggestions")
    expect(panel.locator("h2")).to_have_text(f"Suggestions ({len(TEA.entities)})")
    expect(panel).to_contain_text("model-a")
    expect(page.locator(".entity.suggested")).to_have_count(len(TEA.entities))

    panel.get_by_role("button", name="Accept: 麦茶 F").first.click()
    expect(page.locator(".entity:not(.suggested)")).to_have_count(1)
    panel.get_by_role("button", name="Reject: １袋 Q").click()
    expect(page.locator(".entity.suggested")).to_have_count(len(TEA.entities) - 2)
    expect_saved(page)
    progress = server.document(TEA.id)["progress"]
    assert (progress["human"], progress["accepted"], progress["rejected"]) == (0, 1, 1)
    expect(panel).to_contain_text("By hand 0 · accepted 1 · rejected 1")

    panel.get_by_text("Rejected (1)").click()
    panel.get_by_role("button", name="Undo rejection").click()
    panel.get_by_role("button", name=f"Accept all {len(TEA.entities) - 1} shown").click()
    expect(page.locator(".entity.suggested")).to_have_count(0)
    expect_saved(page)
    expect(page.locator(".entity.accepted")).to_have_count(len(TEA.entities))
    found = server.document(TEA.id)["entities"]
    assert {each["id"]: each["tag"] for each in found} == {each.id: each.tag for each in TEA.entities.values()}
    assert {each["origin"] for each in found} == {"model-a"}


def test_flows_and_frames_too(page, server):
    open_step(page, server, TEA.id, "flows")
    expect(page.locator(".arc.suggested")).to_have_count(len(TEA.flows))
    page.locator('[data-key="accept all"]').click()
    expect(page.locator(".arc:not(.suggested)")).to_have_count(len(TEA.flows))
    expect_saved(page)
    page.keyboard.press("]")
    page.locator('[data-key="accept all"]').click()
    expect(page.locator('[data-object] [data-side="before"]').first).to_have_attribute("data-value", "1")
    expect_saved(page)
    assert [each["before"] for each in server.document(TEA.id)["objects"]] == [1, 2]


def test_line_by_line(page, server):
    """`Y` accepts what is suggested in the marked line, and marks the next one; a wrong one is rejected before."""
    open_step(page, server, SALAD.id, "words", "carol")
    by_line = {}
    for each in SALAD.entities.values():
        by_line.setdefault((each.section, each.line), []).append(each.id)
    (first, found), (second, others), *_ = by_line.items()
    marked = page.locator(".text-line.at-hand")
    expect(marked).to_have_attribute("data-line", str(first[1]))
    expect(page.locator('[data-key="accept line"]')).to_contain_text(f"Accept the line’s {len(found)}")
    page.keyboard.press("y")
    expect(marked).to_have_attribute("data-line", str(second[1]))
    expect(page.locator(".entity.accepted")).to_have_count(len(found))
    page.locator(f'[data-suggestion^="ne:{others[0]}:"]').get_by_role("button", name="Reject").click()
    page.locator('[data-key="accept line"]').click()
    expect(page.locator(".entity.accepted")).to_have_count(len(found) + len(others) - 1)
    expect_saved(page)
    taken = [each["id"] for each in server.document(SALAD.id, "carol")["entities"]]
    assert taken == [*found, *others[1:]]


def test_a_line_of_flows(page, server):
    """A flow belongs to the line that it starts in; what needs entities that are not there is left out."""
    open_step(page, server, TEA.id, "words", "carol")
    page.locator('[data-key="accept all"]').click()
    page.keyboard.press("]")
    first = min(tuple(map(int, flow.start.split("-")[:2])) for flow in TEA.flows)
    inside = [flow for flow in TEA.flows if flow.start.startswith(f"{first[0]}-{first[1]}-")]
    expect(page.locator('[data-key="accept line"]')).to_contain_text(str(len(inside)))
    page.keyboard.press("y")
    expect(page.locator(".arc:not(.suggested)")).to_have_count(len(inside))
    expect_saved(page)
    assert {each["start"] for each in server.document(TEA.id, "carol")["flows"]} == {flow.start for flow in inside}


def test_a_suggestion_in_the_text(page, server):
    open_step(page, server, SALAD.id, "words")
    word(page, "1-0-5").click()
    page.locator(".floating").get_by_role("button", name="Accept: Ac").click()
    expect(entity(page, "1-0-5")).not_to_have_class("suggested")
    expect_saved(page)
    found = server.document(SALAD.id)["entities"]
    assert [(each["id"], each["origin"]) for each in found] == [("1-0-5", "model-a")]


def test_the_guide_ticks_off_what_was_done(page, server):
    page.goto(f"{server.url}/guide?layer=guided")
    guide = page.locator(".guide")
    expect(guide.locator("li.next")).to_contain_text("Click a food")
    page.locator(".text-scroller .word").nth(0).click()
    page.keyboard.press("1")
    expect(guide.locator("li.done")).to_have_count(1)
    expect(guide.locator("li.next")).to_contain_text("a verb")
    page.reload()
    expect(guide.locator("li.done")).to_have_count(1)
    page.get_by_role("button", name="Hide the guide").click()
    expect(guide).to_have_count(0)


def open_import(page, server):
    page.goto(f"{server.url}/?layer=guided")
    page.get_by_role("button", name="Import…").click()
    return page.get_by_role("dialog", name="Import")


def test_importing_text(page, server):
    """Hostile text is imported as text, and cut into words that can be tagged at once."""
    hostile = "玉ねぎ<img src=x onerror=window.hacked=1>"
    add_recipe(page, server, "guided", "my-soup", hostile, "玉ねぎ 1個", "玉ねぎを切り、煮ます。")
    word(page, "0-0-0").click()
    page.keyboard.press("1")
    expect_saved(page)
    assert [each["text"] for each in server.document("my-soup", "guided")["entities"]] == ["玉ねぎ"]
    assert page.evaluate("() => window.hacked") is None


def test_importing_a_folder_as_suggestions(page, server, tmp_path):
    dialog = open_import(page, server)
    dialog.get_by_label("annotations.json").set_input_files(make_release(tmp_path / "other", [TEA], frames=False))
    dialog.get_by_label("as suggestions").check()
    dialog.get_by_label("Origin").fill("model-b")
    dialog.get_by_role("button", name="Import").last.click()
    expect(dialog).to_contain_text("Imported 1 recipe(s).")
    origins = {each["origin"] for each in server.document(TEA.id, "guided")["suggestions"]}
    assert origins == {"model-a", "model-b"}
    open_step(page, server, TEA.id, "words", "guided")
    page.locator(".suggestions").get_by_role("button", name="model-b", exact=True).click()
    expect(page.locator(".suggestions h2")).to_have_text(f"Suggestions ({len(TEA.entities)})")
