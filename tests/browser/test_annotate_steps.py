"""Each step's tools: what a person can do with words, flows and frames, by mouse and by keys alone."""

import re

import pytest
from playwright.sync_api import expect

from tests.annotate.serving import AnnotationServer
from tests.browser.annotating import drag, draw_flow, entity, expect_saved, open_step, set_side, word
from tests.making import EGG, SALAD, TEA, make_release

REFUSED = "422 \\(Unprocessable"  # which the browser itself prints on the console
LAYERS = ("keys", "words", "flows", "refused", "frames", "objects")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("steps")
    layers = [option for name in LAYERS for option in ("--annotator", name)]
    with AnnotationServer(make_release(folder / "release"), folder / "work.db", *layers) as server:
        yield server


@pytest.fixture(scope="module")
def blank(tmp_path_factory):
    folder = tmp_path_factory.mktemp("blank")
    with AnnotationServer(make_release(folder / "r"), folder / "w.db", "--annotator", "alice", "--blank") as server:
        yield server


def spans(document):
    return {found["id"]: (found["end"], found["tag"]) for found in document["entities"]}


def test_a_recipe_by_keys_alone(page, blank):
    """麦茶, from bare words to the last frame, without touching the mouse."""
    open_step(page, blank, TEA.id, "words")
    press = page.keyboard.press
    for key in ("ArrowRight", "1", "ArrowRight", "Shift+ArrowRight", "4"):  # 麦茶 F, １袋 Q
        press(key)
    for _ in range(3):  # １ ． 麦茶
        press("ArrowRight")
    press("1")
    for key in ("ArrowRight", "ArrowRight", "5", "ArrowRight", "ArrowRight", "5"):  # を 冷やし 、 注ぎ
        press(key)
    expect_saved(page)
    assert spans(blank.document(TEA.id)) == {each.id: (each.end_word, each.tag) for each in TEA.entities.values()}

    press("]")
    expect(page.locator(".step-flows")).to_be_visible()
    entity(page, "0-0-0").focus()
    for key in ("Enter", "ArrowRight", "ArrowRight", "Enter", "6"):  # 麦茶 -> 麦茶, F-eq
        press(key)
    for steps in (1, 2):  # 麦茶 -> 冷やし, 注ぎ: Targ
        entity(page, "1-0-2").focus()
        press("Enter")
        for _ in range(steps):
            press("ArrowRight")
        press("Enter")
        press("2")
    expect(page.locator(".arc")).to_have_count(3)
    expect_saved(page)

    press("]")
    expect(page.locator(".step-frames")).to_be_visible()
    for key in ("b", "n", "Home", "ArrowRight", "b", "ArrowRight", "a"):
        press(key)
    expect_saved(page)
    found = [(each["action"], each["before"], each["after"]) for each in blank.document(TEA.id)["objects"]]
    assert found == [("1-0-4", 1, "none"), ("1-0-6", 2, 3)]


def test_a_flow_takes_a_handful_of_keys(page, blank):
    """N begins at the next open entity and goes to its likely end; Enter takes the end, then the proposed label."""
    for found in EGG.entities.values():
        span = {"section": found.section, "line": found.line, "start": found.start_word, "end": found.end_word}
        assert blank.save(EGG.id, {"op": "tag", **span, "tag": found.tag})[0] == 200
    open_step(page, blank, EGG.id, "flows")
    press = page.keyboard.press
    for key in ("n", "Enter", "Enter") * 2:  # 卵 -> 卵, ２個 -> 卵
        press(key)
    expect(page.locator('.arc[data-flow="0-0-0>1-1-2:F-eq"]')).to_have_count(1)
    expect(page.locator('.arc[data-flow="0-0-1>0-0-0:other-mod"]')).to_have_count(1)
    for key in ("n", "n"):  # 水, then 適量
        press(key)
    expect(entity(page, "0-1-1")).to_have_class(re.compile("flow-start"))
    for key in ("Enter", "Enter"):
        press(key)
    expect(page.locator('.arc[data-flow="0-1-1>0-1-0:other-mod"]')).to_have_count(1)
    for key in ("n", "Enter", "Enter", "n", "j"):  # 水 -> 沸かし; 沸かし has a flow, but none starts there
        press(key)
    expect(page.locator('.arc[data-flow="1-0-2>1-0-4:Targ"]')).to_have_count(1)
    expect(entity(page, "1-2-2")).to_be_focused()  # the next likely end, behind 茹で
    for key in ("k", "Enter", "2"):
        press(key)
    expect(page.locator('.arc[data-flow="1-0-4>1-1-6:Targ"]')).to_have_count(1)
    entity(page, "1-1-2").focus()
    press("Enter")
    press("/")
    page.keyboard.type("茹")
    expect(entity(page, "1-1-6")).to_have_class(re.compile("found"))
    press("Enter")
    expect(page.locator(".label-choice .proposed")).to_have_attribute("data-label", "Targ")
    press("Enter")
    expect(page.locator('.arc[data-flow="1-1-2>1-1-6:Targ"]')).to_have_count(1)
    expect_saved(page)


def test_focus_can_be_seen_and_help_opened(page, server):
    open_step(page, server, SALAD.id, "words", "keys")
    for _ in range(3):
        page.keyboard.press("Tab")
    width = page.evaluate("() => getComputedStyle(document.activeElement).outlineWidth")
    assert width == "3px"
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Help")
    expect(dialog).to_contain_text("undo")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def test_retag_extend_split_shrink_and_remove(page, server):
    open_step(page, server, SALAD.id, "words", "words")

    def now():
        expect_saved(page)
        return spans(server.document(SALAD.id, "words"))

    entity(page, "0-1-3").click()  # ミニトマト
    page.locator('.floating [data-tag="T"]').click()
    assert now()["0-1-3"] == (5, "T")
    page.keyboard.press("1")
    assert now()["0-1-3"] == (5, "F")

    word(page, "0-1-4").click()  # the entity
    word(page, "0-1-4").click()  # its second word
    page.locator('.floating [data-tool="split"]').click()
    assert now()["0-1-3"] == (4, "F") and now()["0-1-4"] == (5, "F")
    drag(page, word(page, "0-1-3"), word(page, "0-1-4"))  # and together again: a run takes whole entities in
    page.locator('.floating [data-tag="F"]').click()
    assert now()["0-1-3"] == (5, "F") and "0-1-4" not in now()

    drag(page, word(page, "0-1-2"), word(page, "0-1-3"))  # from outside into the entity
    page.locator('.floating [data-tag="F"]').click()
    assert now()["0-1-2"] == (5, "F") and "0-1-3" not in now()
    drag(page, word(page, "0-1-3"), word(page, "0-1-4"))
    page.locator('.floating [data-tool="shrink"]').click()
    assert now()["0-1-3"] == (5, "F") and "0-1-2" not in now()

    drag(page, word(page, "0-1-4"), word(page, "0-1-3"))  # backwards is the same
    page.keyboard.press("Delete")
    assert "0-1-3" not in now()


def test_flows_are_relabelled_and_deleted(page, server):
    open_step(page, server, SALAD.id, "flows", "flows")
    row = page.locator('.flow-rows [data-flow="1-0-2>1-0-5:Targ"]')
    row.locator(".flow-row").click()
    page.locator('.label-choice [data-label="Dest"]').click()
    changed = page.locator('.flow-rows [data-flow="1-0-2>1-0-5:Dest"]')
    changed.locator(".delete").click()
    expect(changed).to_have_count(0)
    expect(page.locator(".arc")).to_have_count(len(SALAD.flows) - 1)
    expect_saved(page)
    assert len(server.document(SALAD.id, "flows")["flows"]) == len(SALAD.flows) - 1
    page.locator(".label-chip", has_text="Targ").click()
    expect(page.locator(".arc.label-Targ:visible")).to_have_count(0)
    expect(page.locator('.flow-rows [data-flow$=":Targ"]')).to_have_count(0)


def test_refused_flows_say_why(page, server, expected_complaints):
    expected_complaints.append(REFUSED)
    open_step(page, server, SALAD.id, "flows", "refused")
    entity(page, "1-2-10").click()  # 混ぜ -> きゅうり would go round
    entity(page, "1-0-2").click()
    page.locator('.label-choice [data-label="Targ"]').click()
    expect(page.locator(".notices")).to_contain_text("would make a cycle: ")
    expect(page.locator(".notices")).to_contain_text("きゅうり → 切り")
    expect(page.locator(".arc")).to_have_count(len(SALAD.flows))
    entity(page, "0-0-0").click()
    entity(page, "1-0-2").click()
    page.locator('.label-choice [data-label="F-eq"]').click()
    expect(page.locator(".notices")).to_contain_text("already there")
    expect_saved(page)


def test_unlikely_labels_are_dimmed_not_forbidden(page, server):
    open_step(page, server, SALAD.id, "flows", "refused")
    entity(page, "0-2-1").click()  # Q
    entity(page, "0-2-0").click()  # F
    choice = page.locator(".label-choice")
    expect(choice.locator(".label-button:not(.unlikely)")).to_have_count(1)
    expect(choice.locator('[data-label="Agent"]')).to_contain_class("unlikely")
    choice.locator('[data-label="Agent"]').click()
    expect(page.locator('.arc[data-flow="0-2-1>0-2-0:Agent"]')).to_have_count(1)
    expect(page.locator(".open-entities")).not_to_contain_text("少々")


def test_frames_are_offered_checked_and_cleared(page, server, expected_complaints):
    expected_complaints.append(REFUSED)
    open_step(page, server, SALAD.id, "frames", "frames")
    rows = page.locator("[data-object]")
    rows.nth(2).click()  # 入れ: きゅうり; the tomato before it was halved until frame 5
    page.locator('.side-card[data-side="before"] [data-tool="clear"]').click()
    page.locator('[data-tool="offer"]').click()
    expect(rows.nth(2).locator('[data-side="before"]')).to_have_attribute("data-value", "5")
    rows.nth(0).click()
    set_side(page, "before", 7)  # its after is 3
    expect(page.locator(".notices")).to_contain_text("must not come before")
    expect(rows.nth(0).locator('[data-side="before"]')).to_have_attribute("data-value", "1")
    page.keyboard.press("x")
    expect(rows.nth(0).locator('[data-side="after"]')).to_have_attribute("data-value", "")
    page.locator('[data-tool="next"]').click()
    expect_saved(page)
    found = server.document(SALAD.id, "frames")["objects"]
    assert (found[0]["before"], found[0]["after"], found[2]["before"]) == (None, None, 5)


def test_the_large_view_follows_the_pointer(page, server):
    open_step(page, server, SALAD.id, "frames", "frames")
    page.locator('.thumb[data-number="5"]').hover()
    expect(page.locator(".stage-picture")).to_have_attribute("src", f"/api/frames/{SALAD.id}/5.jpg?v={stamp(server)}")
    expect(page.locator(".stage figcaption")).to_contain_text("Frame 5")


def stamp(server):
    return server.document(SALAD.id, "frames")["frames"]["stamp"]


def test_objects_are_added_moved_and_removed(page, server):
    open_step(page, server, SALAD.id, "frames", "objects")
    rows = page.locator("[data-object]")
    expect(rows.first).to_be_visible()
    names = page.locator(".object-name").all_text_contents()
    rows.nth(2).click()
    page.get_by_role("button", name="Move down").click()
    expect(page.locator(".object-name").nth(3)).to_have_text(names[2])
    page.get_by_role("button", name="Add object").click()
    page.locator('dialog [data-choose="1-2-2"]').click()  # ボウル
    expect(rows).to_have_count(len(names) + 1)
    expect_saved(page)
    page.locator(".object-row", has_text="ボウル").click()
    page.get_by_role("button", name="Remove: ボウル").click()
    expect(rows).to_have_count(len(names))
    page.get_by_role("button", name="Trace again").click()
    expect(page.locator(".object-name").nth(2)).to_contain_text(names[2])
    expect_saved(page)


def test_many_flows_do_not_hide_the_words(page, server):
    """Arcs lie behind the words: whatever is drawn, a click on an entity reaches it."""
    open_step(page, server, SALAD.id, "flows", "keys")
    expect(page.locator(".arc")).not_to_have_count(0)
    hits = page.locator(".text-scroller [data-entity]").evaluate_all("""all => all.map((one) => {
        const box = one.getBoundingClientRect();
        const hit = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
        return [one.dataset.entity, hit.closest("[data-entity]")?.dataset.entity]; })""")
    assert set(dict(hits)) == set(SALAD.entities) and all(found == hit for found, hit in hits)


def test_drawing_by_drag_leaves_nothing_behind(page, server):
    open_step(page, server, SALAD.id, "flows", "keys")
    draw_flow(page, "0-0-1", "0-0-0", "other-mod", by_drag=True)
    expect(page.locator(".rubber")).to_have_count(0)
    expect_saved(page)


def test_a_recipe_without_frames(page, tmp_path):
    """As the official annotations come: no text, no film. What is there can be read, and no key can harm it."""
    release = make_release(tmp_path / "bare", [TEA], frames=False)
    for file in (release / "recipes" / TEA.id).glob("*.txt"):
        file.unlink()
    with AnnotationServer(release, tmp_path / "work.db", "--annotator", "alice") as server:
        open_step(page, server, TEA.id, "frames")
        expect(page.locator(".step-main")).to_contain_text("This recipe has no frames.")
        expect(page.locator(".object-name").first).to_have_text("▯▯")
        page.keyboard.press("b")
        page.keyboard.press("ArrowRight")
        expect_saved(page)
        assert server.document(TEA.id)["revision"] == 0
        open_step(page, server, TEA.id, "flows")
        expect(page.locator(".arc")).to_have_count(len(TEA.flows))


def test_fewer_frames_and_more(page, server):
    """Zoomed out by time, every second frame is left; the chosen one and the object's own always are."""
    open_step(page, server, SALAD.id, "frames", "keys")
    shown = page.locator(".thumb:visible")
    expect(shown).to_have_count(len(SALAD.used_frames))
    page.locator("[data-object]").first.click()  # frames 1 and 3
    page.get_by_role("button", name="Fewer frames").click()
    expect(page.locator(".zoom-said")).to_contain_text("0.7 s")
    expect(shown).to_have_count(3)
    assert shown.evaluate_all("all => all.map((one) => Number(one.dataset.number))") == [1, 3, 5]
    page.keyboard.press("+")
    expect(shown).to_have_count(len(SALAD.used_frames))


@pytest.mark.parametrize("step", ["words", "flows"])
def test_an_answer_in_the_middle_of_a_drag_does_not_disturb_it(page, server, step):
    """The line that is dragged over is drawn anew while the button is down."""
    open_step(page, server, TEA.id, step, "keys")
    held = []
    page.route("**/operations", lambda route: held.append(route))
    if step == "words":
        word(page, "1-0-0").click()
        page.keyboard.press("3")
        start, end = word(page, "1-0-4"), word(page, "1-0-6")
    else:
        draw_flow(page, "0-0-1", "0-0-0", "other-mod")
        start, end = entity(page, "0-0-0"), entity(page, "1-0-4")
    expect(page.locator(".pending")).not_to_have_count(0)
    middle = [
        (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        for box in (start.bounding_box(), end.bounding_box())
    ]
    page.mouse.move(*middle[0])
    page.mouse.down()
    held[0].continue_()
    expect_saved(page)
    page.mouse.move(*middle[1], steps=4)
    page.mouse.up()
    if step == "words":
        expect(page.locator(".selection-said")).to_have_text("Selected: 冷やし、注ぎ")
    else:
        expect(page.locator(".label-choice")).to_contain_text("麦茶 → 冷やし")
