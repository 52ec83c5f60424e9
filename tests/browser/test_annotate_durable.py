"""Nothing is lost: not when the server is killed, nor by reload, Back, a closed or a duplicated tab, at any step."""

import sqlite3

import pytest
from playwright.sync_api import expect

from tests.annotate.serving import AnnotationServer
from tests.browser.annotating import draw_flow, entity, expect_saved, open_step, set_side, tag_words, word
from tests.making import SALAD, TEA, make_release

UNSENT = "() => Object.keys(localStorage).filter((key) => key.startsWith('vrf-unsent')).length"
WORDS = ["0-0-0", "0-0-1", "0-1-3", "0-2-0", "0-2-1", "1-0-2", "1-0-4", "1-0-5", "1-1-2", "1-1-5", "1-1-7", "1-2-2"]

SERVER_GONE = "ERR_CONNECTION|ERR_EMPTY_RESPONSE|ERR_SOCKET|ERR_CONTENT_LENGTH_MISMATCH"
"""What a browser reports of a server that was killed, before or in the middle of an answer."""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("durable")
    layers = [option for name in ("bare", "reload", "back", "close", "twin") for option in ("--annotator", name)]
    with AnnotationServer(make_release(folder / "release"), folder / "work.db", *layers) as server:
        yield server


@pytest.fixture(scope="module")
def blank(tmp_path_factory):
    """A server whose layers begin without tags; tests kill it and start it again."""
    folder = tmp_path_factory.mktemp("blank")
    layers = [option for name in ("burst", "alone", "listed", "stranger") for option in ("--annotator", name)]
    with AnnotationServer(make_release(folder / "release"), folder / "work.db", "--blank", *layers) as server:
        yield server


def tag_quickly(page, word_id):
    """Click and press a key, and do not wait for anything."""
    word(page, word_id).click()
    page.keyboard.press("1")


def shown(page):
    """The entities that the page shows, as saved and as not saved yet."""
    found = page.evaluate("""() => [...document.querySelectorAll("[data-entity]")].map((span) =>
        [span.dataset.entity, span.classList.contains("pending")])""")
    return {name for name, pending in found if not pending}, {name for name, pending in found if pending}


def test_killed_in_a_burst_of_edits(page, context, blank, expected_complaints):
    """What was shown as saved is there after the restart; the rest is flagged, survives a closed tab, and is sent."""
    expected_complaints.append(SERVER_GONE)
    server = blank
    open_step(page, server, SALAD.id, "words", "burst")
    for word_id in WORDS[:7]:
        tag_quickly(page, word_id)
    server.kill()
    for word_id in WORDS[7:]:
        tag_quickly(page, word_id)
    expect(page.locator(".save-state")).to_have_attribute("data-state", "waiting")
    saved, pending = shown(page)
    assert saved | pending == set(WORDS)
    assert len(pending) >= 5 and page.evaluate(UNSENT) == len(pending)
    expect(page.locator(".save-state")).to_contain_text(f"Not saved: {len(pending)} change(s)")
    page.close()

    with sqlite3.connect(server.db) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    server.start()
    kept = {found["id"] for found in server.document(SALAD.id, "burst")["entities"]}
    assert saved <= kept

    again = context.new_page()
    open_step(again, server, SALAD.id, "words", "burst")
    expect_saved(again)
    assert {found["id"] for found in server.document(SALAD.id, "burst")["entities"]} == set(WORDS)
    assert again.evaluate(UNSENT) == 0
    assert shown(again) == (set(WORDS), set())


def test_the_page_goes_on_by_itself_when_the_server_is_back(page, blank, expected_complaints):
    expected_complaints.append(SERVER_GONE)
    open_step(page, blank, SALAD.id, "words", "alone")
    blank.kill()
    tag_quickly(page, WORDS[0])
    expect(page.locator(".save-state")).to_have_attribute("data-state", "waiting")
    blank.start()
    expect_saved(page)
    assert [found["id"] for found in blank.document(SALAD.id, "alone")["entities"]] == [WORDS[0]]


def test_another_server_at_the_same_address_takes_nothing(page, blank, tmp_path, expected_complaints):
    """It knows neither the annotator nor the recipe: the change waits for the one that it was meant for."""
    expected_complaints.append(f"{SERVER_GONE}|404 \\(Not Found")
    open_step(page, blank, SALAD.id, "words", "stranger")
    blank.kill()
    other = AnnotationServer(make_release(tmp_path / "other", [TEA]), tmp_path / "other.db", "--annotator", "alice")
    other.port = blank.port
    with other, page.expect_response("**/operations") as answered:
        tag_quickly(page, WORDS[0])
    assert answered.value.status == 404
    expect(page.locator(".save-state")).to_have_attribute("data-state", "waiting")
    blank.start()
    expect_saved(page)
    assert [found["id"] for found in blank.document(SALAD.id, "stranger")["entities"]] == [WORDS[0]]


def test_unsent_changes_are_flagged_in_the_list(page, blank, expected_complaints):
    expected_complaints.append(SERVER_GONE)
    open_step(page, blank, SALAD.id, "words", "listed")
    page.route("**/operations", lambda route: route.abort("connectionrefused"))
    tag_quickly(page, WORDS[0])
    page.locator(".back").click()
    row = page.locator("tr", has_text=SALAD.id)
    expect(row.locator(".flag")).to_contain_text("1 change(s) not saved yet")
    page.unroute("**/operations")
    expect(row.locator(".flag")).to_have_count(0, timeout=20_000)
    assert len(blank.document(SALAD.id, "listed")["entities"]) == 1


def edit_words(page):
    tag_words(page, 1, 2, 9, 10, "Sf")  # を
    return lambda document: any(found["id"] == "1-2-9" for found in document["entities"])


def edit_flows(page):
    draw_flow(page, "0-0-1", "0-0-0", "other-mod")
    return lambda document: (
        {"0-0-1", "0-0-0"} <= {end for flow in document["flows"] for end in (flow["start"], flow["end"])}
    )


def edit_frames(page):
    page.locator("[data-object]").first.click()
    set_side(page, "after", 5)
    return lambda document: document["objects"][0]["after"] == 5


EDITS = {"words": edit_words, "flows": edit_flows, "frames": edit_frames}
PROOFS = {
    "words": lambda page: expect(entity(page, "1-2-9")).to_have_count(1),
    "flows": lambda page: expect(page.locator('.arc[data-flow="0-0-1>0-0-0:other-mod"]')).to_have_count(1),
    "frames": lambda page: expect(page.locator('[data-object] [data-side="after"]').first).to_have_attribute(
        "data-value", "5"
    ),
}


@pytest.mark.parametrize("step", EDITS)
def test_reload(page, server, step):
    open_step(page, server, SALAD.id, step, "reload")
    is_there = EDITS[step](page)
    page.reload()
    PROOFS[step](page)
    expect_saved(page)
    assert is_there(server.document(SALAD.id, "reload"))


@pytest.mark.parametrize("step", EDITS)
def test_back_and_forward(page, server, step):
    page.goto(f"{server.url}/?layer=back")
    page.locator(f'[data-recipe="{SALAD.id}"][data-step="{step}"]').click()
    is_there = EDITS[step](page)
    page.go_back()
    expect(page.locator("table.recipes")).to_be_visible()
    page.go_forward()
    PROOFS[step](page)
    expect_saved(page)
    assert is_there(server.document(SALAD.id, "back"))


@pytest.mark.parametrize("step", EDITS)
def test_a_closed_tab(page, context, server, step):
    open_step(page, server, SALAD.id, step, "close")
    is_there = EDITS[step](page)
    page.close()
    again = context.new_page()
    open_step(again, server, SALAD.id, step, "close")
    PROOFS[step](again)
    expect_saved(again)
    assert is_there(server.document(SALAD.id, "close"))


@pytest.mark.parametrize("step", EDITS)
def test_a_duplicated_tab(page, context, server, step):
    open_step(page, server, SALAD.id, step, "twin")
    is_there = EDITS[step](page)
    twin = context.new_page()
    twin.goto(page.url)
    PROOFS[step](twin)
    for tab in (page, twin):
        expect_saved(tab)
    assert is_there(server.document(SALAD.id, "twin"))
    page.close()
    PROOFS[step](twin)


def test_undo_and_redo_over_a_reload(page, server):
    open_step(page, server, SALAD.id, "words", "bare")
    before = server.document(SALAD.id, "bare")
    entity(page, "1-2-8").click()  # 入れ, with flows and frames
    page.locator('.floating [data-tool="remove"]').click()
    expect(entity(page, "1-2-8")).to_have_count(0)
    expect(page.locator(".notices")).to_contain_text("Undo restores everything")
    page.reload()
    expect(entity(page, "1-2-2")).to_have_count(1)
    page.get_by_role("button", name="Undo").click()
    expect(entity(page, "1-2-8")).to_have_count(1)
    expect_saved(page)
    after = server.document(SALAD.id, "bare")
    assert [after[key] for key in ("entities", "flows", "objects")] == [
        before[key] for key in ("entities", "flows", "objects")
    ]
    page.keyboard.press("Control+Shift+z")
    expect(entity(page, "1-2-8")).to_have_count(0)
    page.keyboard.press("Control+z")
    expect(entity(page, "1-2-8")).to_have_count(1)
    expect_saved(page)
