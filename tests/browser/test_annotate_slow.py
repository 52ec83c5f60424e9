"""Slow answers: whatever is pressed before one and released after it is clicked, and the film does not rewind."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.annotate.serving import LocalServer, local_server
from tests.browser.annotating import entity, expect_saved, open_step, set_side, word
from tests.making import SALAD, TEA, make_release

LAYERS = ("words", "flows", "frames", "suggested", "film", "space", "alice", "bob")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    with local_server(tmp_path_factory.mktemp("slow"), *LAYERS, curating=True) as server:
        yield server


class Gate:
    """Operations wait here on their way to the server while it is closed."""

    def __init__(self, page: Page):
        self.page, self.closed, self.held = page, True, []
        page.route("**/operations", self._arrive)

    def _arrive(self, route: Route) -> None:
        if self.closed:
            self.held.append(route)
        else:
            route.continue_()

    def open(self) -> None:
        """Let everything pass, and wait until it is saved."""
        self.closed = False
        while self.held:
            self.held.pop(0).continue_()
        expect_saved(self.page)

    def click_across(self, target: Locator) -> None:
        """Press on an element, let the server answer, and release only then."""
        box = target.bounding_box()
        self.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        self.page.mouse.down()
        self.open()
        self.page.mouse.up()
        expect_saved(self.page)
        self.closed = True


@pytest.fixture
def gate(page: Page) -> Gate:
    return Gate(page)


def tags(server: LocalServer, layer: str) -> dict[str, str]:
    return {each["id"]: each["tag"] for each in server.document(TEA.id, layer)["entities"]}


def test_tags_beside_the_words_and_in_the_palette(page, server, gate):
    open_step(page, server, TEA.id, "words", "words")
    for place in (".floating", ".tag-palette"):
        word(page, "1-0-0").click()
        page.keyboard.press("3")
        word(page, "1-0-3").click()
        expect(page.locator(".floating")).to_be_visible()
        gate.click_across(page.locator(f'{place} [data-tag="T"]'))
        assert tags(server, "words")["1-0-3"] == "T"
        page.keyboard.press("Control+z")
        page.keyboard.press("Control+z")
        gate.open()
        gate.closed = True


def test_labels_of_flows_and_the_list(page, server, gate):
    open_step(page, server, TEA.id, "flows", "flows")

    def draw(start, end, label):
        entity(page, start).click()
        entity(page, end).click()
        return page.locator(f'.label-choice [data-label="{label}"]')

    draw("0-0-1", "0-0-0", "other-mod").click()
    gate.click_across(draw("1-0-4", "1-0-6", "Targ"))
    expect(page.locator('.arc[data-flow="1-0-4>1-0-6:Targ"]')).to_have_count(1)
    gone = page.locator('.flow-rows [data-flow="0-0-1>0-0-0:other-mod"] .delete')
    gate.click_across(gone)
    found = {(flow["start"], flow["end"]) for flow in server.document(TEA.id, "flows")["flows"]}
    assert ("1-0-4", "1-0-6") in found and ("0-0-1", "0-0-0") not in found


def test_frames_objects_and_the_bar(page, server, gate):
    open_step(page, server, SALAD.id, "frames", "frames")
    rows = page.locator("[data-object]")
    for press, wanted in (
        (page.locator('.side-card[data-side="after"] [data-tool="hidden"]'), (0, "after", "none")),
        (page.locator('.side-card[data-side="before"] [data-tool="clear"]'), (0, "before", None)),
    ):
        rows.nth(3).click()
        page.keyboard.press("x")
        rows.nth(0).click()
        gate.click_across(press)
        number, side, value = wanted
        assert server.document(SALAD.id, "frames")["objects"][number][side] == value
        page.keyboard.press("Control+z")
        page.keyboard.press("Control+z")
        gate.open()
        gate.closed = True
    page.keyboard.press("x")
    gate.click_across(rows.nth(4))
    expect(rows.nth(4)).to_have_attribute("aria-current", "true")
    page.keyboard.press("x")
    gate.click_across(page.get_by_role("button", name="Mark step as done"))
    assert server.document(SALAD.id, "frames")["done"]["frames"]


def test_suggestions(page, server, gate, tmp_path):
    server.workspace.suggest_release("model", make_release(tmp_path / "model", [TEA]))
    for entity_id in ("0-0-0", "0-0-1", "1-0-2"):
        assert server.save(TEA.id, {"op": "remove", "entity": entity_id}, "suggested")[0] == 200
    open_step(page, server, TEA.id, "words", "suggested")
    panel = page.locator(".suggestions")
    panel.get_by_role("button", name="Accept: 麦茶 F").first.click()
    gate.click_across(panel.get_by_role("button", name="Accept: １袋 Q"))
    assert tags(server, "suggested").keys() >= {"0-0-0", "0-0-1"}


def test_the_space_bar(page, server, gate):
    """A button is clicked when the space bar is released, if it is still the same button."""
    open_step(page, server, SALAD.id, "frames", "space")
    page.keyboard.press("x")
    page.locator('.side-card[data-side="before"] [data-tool="hidden"]').focus()
    page.keyboard.down(" ")
    gate.open()
    page.keyboard.up(" ")
    expect_saved(page)
    assert server.document(SALAD.id, "space")["objects"][0]["before"] == "none"


def test_gold_is_filled_while_its_answer_is_on_the_way(page, server, gate):
    for layer in ("alice", "bob"):
        for entity_id, tag in (("0-0-0", "T"), ("1-0-2", "T")):
            assert server.save(TEA.id, {"op": "retag", "entity": entity_id, "tag": tag}, layer)[0] == 200
    page.goto(f"{server.url}/differences/{TEA.id}?first=alice&second=bob")
    first, second = (page.locator(f'[data-entry="ne:{key}:T"] button') for key in ("0-0-0:1", "1-0-2:3"))
    first.click()
    gate.click_across(second)
    assert {each["id"] for each in server.document(TEA.id, "gold")["entities"]} == {"0-0-0", "1-0-2"}


def test_the_film_stays_where_the_last_after_frame_was(page, server, gate):
    """The next object is looked for from there, whether or not the server has answered."""
    keys = [each["key"] for each in server.document(SALAD.id, "film")["objects"]]
    changes = [
        {"op": "frame", "key": key, "side": side, "value": None} for key in keys for side in ("before", "after")
    ]
    assert server.save(SALAD.id, {"op": "frames", "changes": [_bare(each) for each in changes]}, "film")[0] == 200
    open_step(page, server, SALAD.id, "frames", "film")
    picked = page.locator(".thumb.picked")
    rows = page.locator("[data-object]")
    set_side(page, "before", 1)
    set_side(page, "after", 5)
    expect(rows.nth(1)).to_have_attribute("aria-current", "true")
    expect(picked).to_have_attribute("data-number", "5")
    gate.open()
    expect(picked).to_have_attribute("data-number", "5")
    expect(page.locator('[data-tool="offer"]')).to_contain_text("frame 7")  # 6 is not in this film


def _bare(change: dict) -> dict:
    return {name: value for name, value in change.items() if name != "op"}
