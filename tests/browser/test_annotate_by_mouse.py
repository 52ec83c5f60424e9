"""A recipe of the kitchen, annotated by mouse alone from bare text through all three steps; the export is its gold."""

import io
import zipfile

import pytest
from playwright.sync_api import expect

from recipeflow.graph import trace_objects
from recipeflow.kitchen import cook_recipe
from recipeflow.release import ReleaseWriter, read_release
from tests.annotate.serving import AnnotationServer
from tests.browser.annotating import draw_flow, expect_saved, open_step, set_side, tag_words


@pytest.fixture(scope="module")
def cooked():
    """One of the kitchen's shortest recipes, with its whole film."""
    return cook_recipe(0, 49)


@pytest.fixture(scope="module")
def server(cooked, tmp_path_factory):
    folder = tmp_path_factory.mktemp("by-mouse")
    with ReleaseWriter(folder / "kitchen") as writer:
        writer.add(cooked.recipe, cooked.frames)
    with AnnotationServer(folder / "kitchen", folder / "work.db", "--annotator", "alice", "--blank") as server:
        yield server


def test_from_bare_text_to_gold(page, server, cooked, tmp_path):
    gold = cooked.recipe
    page.goto(f"{server.url}/?layer=alice")
    page.get_by_role("link", name=gold.title).click()
    expect(page.locator(".step-words")).to_be_visible()
    expect(page.locator("[data-entity]")).to_have_count(0)
    annotate_words(page, gold)
    annotate_flows(page, gold)
    annotate_frames(page, gold)
    exported = export_release(page, server, tmp_path)
    assert len(exported) == 1
    assert exported[0].entities == gold.entities
    assert exported[0].flows == gold.flows
    assert trace_objects(exported[0]) == trace_objects(gold)
    for made, wanted in zip(exported[0].state_changes, gold.state_changes, strict=True):
        assert made == wanted
    assert exported[0] == gold


def annotate_words(page, gold):
    for each in gold.entities.values():
        tag_words(page, each.section, each.line, each.start_word, each.end_word, each.tag)
    expect_saved(page)
    page.get_by_role("button", name="Done, next step").click()


def annotate_flows(page, gold):
    expect(page.locator(".step-flows")).to_be_visible()
    for number, flow in enumerate(gold.flows):
        draw_flow(page, flow.start, flow.end, flow.label, by_drag=number % 5 == 0)
    expect_saved(page)
    page.get_by_role("button", name="Done, next step").click()


def annotate_frames(page, gold):
    expect(page.locator(".step-frames")).to_be_visible()
    rows = page.locator("[data-object]")
    expect(rows).to_have_count(len(gold.state_changes))  # prepared by tracing the flows
    for number, change in enumerate(gold.state_changes):
        rows.nth(number).click()
        set_side(page, "before", change.before)
        rows.nth(number).click()
        set_side(page, "after", change.after)
    expect(page.get_by_role("button", name="All objects are set.")).to_be_visible()
    expect_saved(page)
    page.get_by_role("button", name="Mark step as done").click()
    expect_saved(page)


def export_release(page, server, folder):
    page.get_by_role("link", name="Recipes").click()
    page.locator("summary", has_text="Export").click()
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Release folder (zip)").click()
    zipfile.ZipFile(io.BytesIO(waiting.value.path().read_bytes())).extractall(folder / "out")
    found = next((folder / "out").rglob("annotations.json"))
    return list(read_release(found.parent))


def test_nothing_was_left_over(page, server, cooked):
    """What the page says afterwards is what the server has: all three steps done, nothing open."""
    open_step(page, server, cooked.recipe.id, "flows")
    expect(page.locator(".step-tab.done")).to_have_count(3)
    expect(page.locator(".open-entities")).to_contain_text("Without a flow (0)")


def test_an_address_without_an_annotator_opens_the_recipe_for_the_only_one(page, server, cooked):
    page.goto(f"{server.url}/r/{cooked.recipe.id}/flows")
    expect(page.locator(".step-flows")).to_be_visible()
    expect(page.locator(".who")).to_have_text("alice")
