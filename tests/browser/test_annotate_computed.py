"""Suggestions that are computed while someone works: they appear by themselves, and no click is lost."""

import json
import re

import pytest
from playwright.sync_api import expect

from recipeflow.annotate.document import annotated_document
from recipeflow.annotate.items import list_items
from recipeflow.kitchen.cooking import devise_recipe
from tests.annotate.serving import AnnotationServer
from tests.browser.annotating import entity, expect_saved, open_step, word
from tests.making import make_release

PATIENT = 180_000
"""Milliseconds: the process that computes suggestions has the lowest priority on a busy machine."""

RECIPES = [devise_recipe(9, number).recipe for number in range(5)]
FIRST, SECOND = RECIPES[3:]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("computed")
    release = make_release(folder / "release", RECIPES, frames=False)
    options = ("--annotator", "alice", "--blank")
    with AnnotationServer(release, folder / "work.db", *options, suggesting=True) as server:
        for recipe in RECIPES[:3]:
            document = annotated_document(recipe)
            items = [item.as_dict(document) for item in list_items(document).values()]
            server.save(recipe.id, {"op": "accept", "origin": "x", "items": items, "replace": False})
            for step in ("words", "flows", "frames"):
                server.save(recipe.id, {"op": "done", "step": step, "done": True})
        yield server


def test_a_click_during_computation_is_not_lost(page, server):
    """The page polls while suggestions are computed; a click meanwhile is shown at once, saved, and stays."""
    held = []

    def hold(route):
        """Answer as if suggestions were still being computed, until they are let through."""
        if len(held) >= 2:
            return route.continue_()
        answer = route.fetch()
        body = answer.json()
        held.append(body["suggesting"])
        body |= {"suggestions": [], "suggesting": {"number": 0, "working": True, "problem": None}}
        return route.fulfill(response=answer, body=json.dumps(body))

    page.route("**/suggestions", hold)
    open_step(page, server, FIRST.id, "words")
    gold = next(iter(FIRST.entities.values()))
    word(page, gold.id).click()
    page.keyboard.press("3")  # a wrong tag, on purpose: no suggestion may replace what a person chose
    expect(entity(page, gold.id)).to_have_attribute("data-tag", "D")
    expect_saved(page)
    expect(page.locator(".entity.suggested").first).to_be_visible(timeout=PATIENT)
    expect(page.locator('.suggestions[data-working="false"]')).to_be_visible(timeout=PATIENT)
    expect(entity(page, gold.id)).to_have_attribute("data-tag", "D")
    found = server.document(FIRST.id)["entities"]
    assert [(each["id"], each["tag"], each["origin"]) for each in found] == [(gold.id, "D", None)]


def test_a_pressed_word_survives_the_arrival_of_suggestions(page, server):
    """Pressed before suggestions arrive and released after: the word is selected."""
    open_step(page, server, FIRST.id, "words")
    expect(page.locator(".entity.suggested").first).to_be_visible(timeout=PATIENT)
    free = page.locator(".text-instructions .word:not(.entity .word)").first
    box = free.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.evaluate("() => document.dispatchEvent(new Event('visibilitychange'))")
    page.wait_for_timeout(300)
    page.mouse.up()
    expect(page.locator(".floating")).to_be_visible()


def test_suggestions_are_accepted_step_by_step(page, server):
    open_step(page, server, SECOND.id, "words")
    expect(page.locator('.suggestions[data-working="false"]')).to_be_visible(timeout=PATIENT)
    expect(page.locator(".suggestions .origin").first).to_contain_text("%")
    first = page.locator(".suggestion").first
    key = first.get_attribute("data-suggestion")
    first.locator("button").first.click()
    expect(page.locator(f'[data-suggestion="{key}"]')).to_have_count(0)
    page.locator('[data-key="accept all"]').click()
    expect_saved(page)
    page.get_by_role("button", name="Done, next step").click()
    expect(page.locator(".arc.suggested").first).to_be_attached(timeout=PATIENT)
    expect(page.locator('.suggestions[data-working="false"]')).to_be_visible(timeout=PATIENT)
    page.locator('[data-key="accept all"]').click()
    expect_saved(page)
    progress = server.document(SECOND.id)["progress"]
    assert progress["flows"] > 10
    assert progress["human"] == 0
    assert progress["accepted"] == progress["entities"] + progress["flows"]


def test_the_next_recipe_is_the_least_certain_one(page, server):
    """Of the two open recipes, one has all its suggestions accepted: nothing there is uncertain."""
    page.goto(f"{server.url}/?layer=alice")
    plan = page.locator(".work-plan")
    expect(plan).to_contain_text("least certain")
    row = page.locator("tr", has_text=FIRST.id)
    expect(row).to_contain_text("% sure")
    plan.locator('[data-tool="next recipe"]').click()
    expect(page).to_have_url(re.compile(f"/r/{FIRST.id}/words"))
    page.go_back()
    plan.locator("select").select_option("listed")
    page.reload()
    expect(plan.locator("select")).to_have_value("listed")
