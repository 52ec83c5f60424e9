"""Several at work: annotators stay apart, two tabs of one show their conflict, a curator compares and picks gold."""

import pytest
from playwright.sync_api import expect

from recipeflow.annotate.document import annotated_document
from recipeflow.annotate.items import list_items
from tests.annotate.serving import AnnotationServer
from tests.browser.annotating import entity, expect_saved, open_step, tag_words, word
from tests.making import EGG, SALAD, TEA, make_release

LAYERS = ("alice", "bob", "carol")
CONFLICT = "409 \\(Conflict\\)"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("together")
    layers = [option for name in LAYERS for option in ("--annotator", name)]
    with AnnotationServer(make_release(folder / "r"), folder / "w.db", "--blank", "--curate", *layers) as server:
        yield server


def ids(server, layer, recipe=SALAD.id):
    return [found["id"] for found in server.document(recipe, layer)["entities"]]


def test_two_annotators_at_once(new_context, server):
    pages = {name: new_context().new_page() for name in ("alice", "bob")}
    for name, page in pages.items():
        open_step(page, server, SALAD.id, "words", name)
    for line in range(3):
        for name, page in pages.items():
            word(page, f"{0}-{line}-0").click()
            page.keyboard.press("1" if name == "alice" else "2")
    for page in pages.values():
        expect_saved(page)
        expect(page.locator(".conflict")).to_be_hidden()
    assert ids(server, "alice") == ids(server, "bob") == ["0-0-0", "0-1-0", "0-2-0"]
    assert {found["tag"] for found in server.document(SALAD.id, "alice")["entities"]} == {"F"}
    assert {found["tag"] for found in server.document(SALAD.id, "bob")["entities"]} == {"T"}


def two_tabs(context, server):
    """Two tabs on the same recipe, of which the second has not seen what the first did."""
    first, second = context.new_page(), context.new_page()
    for tab in (first, second):
        open_step(tab, server, SALAD.id, "words", "carol")
        expect(word(tab, "1-0-0")).to_be_visible()
    return first, second


def test_one_annotator_in_two_tabs(context, server, expected_complaints):
    """The conflict is shown with both sides; whatever is decided, nothing disappears unasked."""
    expected_complaints.append(CONFLICT)
    first, second = two_tabs(context, server)
    tag_words(first, 0, 0, 0, 1, "F")
    expect_saved(first)
    tag_words(second, 1, 0, 5, 6, "Ac")
    banner = second.locator(".conflict")
    expect(banner.locator(".theirs")).to_contain_text("tag “きゅうり” as F")
    expect(banner.locator(".mine")).to_contain_text("tag “切り” as Ac")
    expect(second.locator(".save-state")).to_have_attribute("data-state", "conflict")
    expect(entity(second, "0-0-0")).to_have_count(1)  # theirs is shown already
    expect(entity(second, "1-0-5")).to_have_count(1)  # and mine still is
    second.reload()  # not even now is it lost
    expect(banner.locator(".mine")).to_contain_text("切り")
    banner.get_by_role("button", name="Save mine as well").click()
    expect_saved(second)
    assert ids(server, "carol") == ["0-0-0", "1-0-5"]

    tag_words(first, 1, 1, 7, 8, "Ac")
    expect(first.locator(".conflict .theirs")).to_contain_text("切り")
    first.get_by_role("button", name="Leave mine out").click()
    expect_saved(first)
    expect(first.locator(".conflict")).to_be_hidden()
    assert ids(server, "carol") == ["0-0-0", "1-0-5"]
    expect(entity(first, "1-1-7")).to_have_count(0)


def test_many_edits_in_two_tabs_lose_none(context, server, expected_complaints):
    """Both tabs work at once; each conflict is answered with "mine as well"; in the end all of it is there."""
    expected_complaints.append(CONFLICT)
    first, second = two_tabs(context, server)
    wanted = {first: ["1-2-2", "1-2-4", "1-2-6"], second: ["1-1-2", "1-1-3", "1-1-5"]}
    for one, other in zip(*wanted.values(), strict=True):
        for tab, word_id in ((first, one), (second, other)):
            word(tab, word_id).click()
            tab.keyboard.press("3")
    for tab in wanted:
        for _ in range(10):
            tab.wait_for_function(
                "() => ['saved', 'conflict'].includes(document.querySelector('.save-state').dataset.state)"
            )
            if tab.locator(".save-state").get_attribute("data-state") == "saved":
                break
            tab.get_by_role("button", name="Save mine as well").click()
        expect_saved(tab)
    assert {name for names in wanted.values() for name in names} <= set(ids(server, "carol"))


def annotate_tea(server):
    """Alice and Bob agree on two words, and each has one that the other has not."""
    shared = [(0, 0, 0, 1, "F"), (1, 0, 4, 5, "Ac")]
    own = {"alice": (1, 0, 2, 3, "F"), "bob": (1, 0, 6, 7, "Ac")}
    for layer, extra in own.items():
        for section, line, start, end, tag in [*shared, extra]:
            operation = {"op": "tag", "section": section, "line": line, "start": start, "end": end, "tag": tag}
            assert server.save(TEA.id, operation, layer)[0] == 200


def copy_annotation(server, recipe, layer):
    """Give a blank layer the annotation of a recipe of the release."""
    document = annotated_document(recipe)
    items = [item.as_dict(document) for item in list_items(document).values()]
    assert server.save(recipe.id, {"op": "accept", "origin": "a", "items": items}, layer)[0] == 200


def test_gold_does_not_depend_on_the_order_of_clicks(page, server):
    """Only erin's first, then what both have: her flows brought the entities that they need."""
    for layer in ("dave", "erin"):
        assert server.post("/api/layers", {"name": layer})[0] == 201
        copy_annotation(server, EGG, layer)
    for flow in EGG.flows[2:5]:
        operation = {"op": "unflow", "start": flow.start, "end": flow.end, "label": flow.label}
        assert server.save(EGG.id, operation, "dave")[0] == 200
    page.goto(f"{server.url}/differences/{EGG.id}?first=dave&second=erin")
    page.locator('[data-take-all="erin"]').click()
    expect(page.locator('[data-take-all="erin"]')).to_be_disabled()
    page.locator('[data-take-all="dave+erin"]').click()
    expect(page.locator('[data-take-all="dave+erin"]')).to_be_disabled()
    expect(page.locator(".notices .notice")).to_have_count(0)
    gold = server.document(EGG.id, "gold")
    assert len(gold["flows"]) == len(EGG.flows) and len(gold["entities"]) == len(EGG.entities)


def test_agreement_differences_and_gold(page, server):
    annotate_tea(server)
    page.goto(f"{server.url}/agreement?first=alice&second=bob")
    row = page.locator('.agreement-table [data-measure="r-NE"]')
    expect(row).to_be_visible()
    found = server.get("/api/agreement?first=alice&second=bob")["agreement"]["r-NE"]
    shown = f"{100 * found['both'] / found['second']:.2f}"  # per cent already
    expect(row.locator("td").first).to_have_text(shown)
    page.get_by_role("link", name=TEA.id).click()
    expect(page.locator(".entity.differs")).to_have_count(2)
    page.locator('[data-take-all="alice+bob"]').click()
    expect(page.locator(".good")).to_have_count(2)
    page.locator('[data-entry^="ne:1-0-6"] button').click()
    expect(page.locator(".good")).to_have_count(3)
    gold = {each["id"]: each["tag"] for each in server.document(TEA.id, "gold")["entities"]}
    assert gold == {"0-0-0": "F", "1-0-4": "Ac", "1-0-6": "Ac"}
    page.get_by_role("link", name="Open gold in the editor").click()
    expect(entity(page, "1-0-6")).to_have_attribute("data-tag", "Ac")


def test_what_gold_cannot_take_is_said_and_frames_are_shown(page, server):
    """Two flows that contradict each other: the second would close a circle."""
    for layer in ("fay", "gus"):
        assert server.post("/api/layers", {"name": layer})[0] == 201
        copy_annotation(server, TEA, layer)
    assert server.save(TEA.id, {"op": "flow", "start": "1-0-4", "end": "1-0-6", "label": "Targ"}, "fay")[0] == 200
    assert server.save(TEA.id, {"op": "flow", "start": "1-0-6", "end": "1-0-4", "label": "Targ"}, "gus")[0] == 200
    key = server.document(TEA.id, "gus")["objects"][0]["key"]
    assert server.save(TEA.id, {"op": "frame", "key": key, "side": "after", "value": 2}, "gus")[0] == 200
    page.goto(f"{server.url}/differences/{TEA.id}?first=fay&second=gus")
    picture = page.locator('[data-entry^="im:1-0-4/1-0-2:1:2"] [aria-label="After: frame 2"]')
    expect(picture).to_be_visible()
    assert "/api/sheets/" in picture.evaluate("(box) => box.style.backgroundImage")
    page.locator('[data-take-all="fay"]').click()
    expect(page.locator('[data-take-all="fay"]')).to_be_disabled()
    page.locator('[data-take-all="gus"]').click()
    expect(page.locator(".notices")).to_contain_text(
        "1 left out of gold: 注ぎ → 冷やし  Targ: This would make a cycle"
    )
