"""Suggestions beside a running server: they learn from finished recipes, and a lost process is started again."""

import time
from collections.abc import Callable

import pytest

from recipeflow.annotate.document import annotated_document
from recipeflow.annotate.items import list_items
from recipeflow.annotate.store import Store
from recipeflow.annotate.suggest.background import Suggester
from recipeflow.annotate.suggest.retraining import ParserTraining
from recipeflow.annotate.suggest.worker import Worker
from recipeflow.annotate.workspace import Workspace
from recipeflow.kitchen.cooking import devise_recipe
from recipeflow.release.recipe import Recipe
from tests.annotate.serving import LocalServer

RECIPES = [devise_recipe(8, number).recipe for number in range(5)]


def finish(server: LocalServer, recipe: Recipe, layer: str = "alice") -> None:
    """Annotate a recipe as it is in the kitchen, and mark its steps as done."""
    document = annotated_document(recipe)
    items = [item.as_dict(document) for item in list_items(document).values()]
    assert server.save(recipe.id, {"op": "accept", "origin": "x", "items": items, "replace": False}, layer)[0] == 200
    for step in ("words", "flows", "frames"):
        assert server.save(recipe.id, {"op": "done", "step": step, "done": True}, layer)[0] == 200


def suggested(
    server: LocalServer, recipe: Recipe, layer: str = "alice", wanted: Callable[[dict], bool] = bool
) -> dict:
    """The suggestions for a recipe, once they are computed."""
    for _ in range(2000):
        found = server.get(f"/api/layers/{layer}/recipes/{recipe.id}/suggestions")
        if not found["suggesting"]["working"] and wanted(found):
            return found
        time.sleep(0.1)
    raise AssertionError(f"no suggestions: {found['suggesting']}")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Store(tmp_path_factory.mktemp("work") / "work.db") as store, Suggester(store) as suggester:
        training = ParserTraining(store, suggester)
        workspace = Workspace(store, blank=True, annotators=("alice", "bob"), suggester=suggester, training=training)
        workspace.add_recipes(RECIPES)
        for name in ("alice", "bob"):
            workspace.add_layer(name)
        with LocalServer(workspace) as server:
            for recipe in RECIPES[:3]:
                finish(server, recipe)
            yield server


def test_finished_recipes_lead_to_suggestions(server):
    found = suggested(server, RECIPES[4])
    gold = {key for key, item in list_items(annotated_document(RECIPES[4])).items() if item.kind == "entity"}
    keys = {each["key"] for each in found["suggestions"]}
    assert len(keys & gold) > 0.7 * len(gold)
    assert all(0 < each["confidence"] <= 1 for each in found["suggestions"])
    assert {each["origin"] for each in found["suggestions"]} <= {"finished recipes", "the dictionary"}


def test_another_annotator_is_not_influenced(server):
    """Blind annotation is blind: what alice finished teaches nothing to bob."""
    assert suggested(server, RECIPES[4], "bob")["suggestions"] == []


def test_accepted_suggestions_are_counted_apart_and_flows_follow(server):
    found = suggested(server, RECIPES[4])
    by_origin = [each for each in found["suggestions"] if each["origin"] == "finished recipes"]
    items = [{name: each[name] for name in ("key", "kind", "item")} for each in by_origin]
    operation = {"op": "accept", "origin": "finished recipes", "items": items, "replace": False}
    status, answer = server.save(RECIPES[4].id, operation)
    assert status == 200
    progress = answer["document"]["progress"]
    assert (progress["human"], progress["accepted"]) == (0, len(items))
    flows = suggested(server, RECIPES[4])["suggestions"]
    assert sum(each["kind"] == "flow" for each in flows) > 10
    assert not any(each["clash"] for each in flows)


def test_a_flow_that_is_drawn_replaces_what_was_suggested_from_there(server):
    """At once: not only when suggestions are computed again."""
    found = suggested(server, RECIPES[4], wanted=lambda found: any(e["kind"] == "flow" for e in found["suggestions"]))
    flow = next(each["item"] for each in found["suggestions"] if each["kind"] == "flow")
    entities = server.get(f"/api/layers/alice/recipes/{RECIPES[4].id}")["entities"]
    for other in entities:  # any end that is not suggested from there, and closes no cycle
        if other["id"] in {e["item"]["end"] for e in found["suggestions"] if e["kind"] == "flow"} | {flow["start"]}:
            continue
        drawn = {"op": "flow", "start": flow["start"], "end": other["id"], "label": "other-mod"}
        status, answer = server.save(RECIPES[4].id, drawn)
        if status == 200:
            break
    left = [each for each in answer["document"]["suggestions"] if each["kind"] == "flow"]
    assert left
    assert flow["start"] not in {each["item"]["start"] for each in left}
    again = [each for each in suggested(server, RECIPES[4])["suggestions"] if each["kind"] == "flow"]
    assert flow["start"] not in {each["item"]["start"] for each in again}


def test_the_list_says_how_certain_recipes_are(server):
    suggested(server, RECIPES[4])
    for _ in range(2000):  # recipes that nobody opened come last
        rows = {row["id"]: row for row in server.get("/api/layers/alice/recipes")["recipes"]}
        if rows[RECIPES[3].id]["certainty"] is not None:
            break
        time.sleep(0.1)
    assert 0 < rows[RECIPES[3].id]["certainty"] <= 1
    assert rows[RECIPES[3].id]["pending"] > 10
    assert rows[RECIPES[0].id]["certainty"] is None  # finished


def test_a_lost_process_is_started_again(server):
    before = suggested(server, RECIPES[3])
    process = server.workspace.suggester.worker.process
    assert process.poll() is None
    process.kill()
    server.save(RECIPES[3].id, {"op": "tag", "section": 0, "line": 0, "start": 0, "end": 1, "tag": "F"})
    after = suggested(server, RECIPES[3], wanted=lambda found: found["suggesting"]["problem"] is None)
    assert abs(len(after["suggestions"]) - len(before["suggestions"])) < 20
    assert after["suggestions"]


def test_too_few_recipes_train_no_parser(server):
    status, answer = server.post("/api/layers/bob/parser", {})
    assert (status, answer["error"]["code"]) == (422, "too_few")
    training = server.get("/api/layers/alice/parser")["training"]
    assert (training["state"], training["finished"]) == ("idle", 3)


def test_no_process_is_left_when_the_server_is_killed():
    """The worker reads until its input ends, so it ends with the server, however that ends."""
    worker = Worker()
    worker.call("learn", "alice", [])
    process = worker.process
    process.stdin.close()
    assert process.wait(timeout=120) == 0
    process.stdout.close()
