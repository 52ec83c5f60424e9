"""Two annotators beside each other: figures computed by hand, every difference listed, and gold picked from them."""

import json
import os
import subprocess
import sys

import pytest

from recipeflow.annotate.comparing import compare_layers
from recipeflow.annotate.document import annotated_document, blank_document
from recipeflow.annotate.items import list_items
from recipeflow.annotate.store import Store
from recipeflow.annotate.views import changing_view
from recipeflow.annotate.workspace import Workspace
from recipeflow.errors import AgreementError, RefusedError, UsageError
from tests.annotate.serving import ROOT, LocalServer
from tests.making import EGG, TEA, make_release

# Both annotate 麦茶１袋 and １．麦茶を冷やし、注ぎます。 from bare words.
BOTH = [
    {"op": "tag", "section": 0, "line": 0, "start": 0, "end": 1, "tag": "F"},
    {"op": "tag", "section": 1, "line": 0, "start": 2, "end": 3, "tag": "F"},
    {"op": "tag", "section": 1, "line": 0, "start": 4, "end": 5, "tag": "Ac"},
    {"op": "tag", "section": 1, "line": 0, "start": 6, "end": 7, "tag": "Ac"},
    {"op": "flow", "start": "0-0-0", "end": "1-0-2", "label": "F-eq"},
    {"op": "flow", "start": "1-0-2", "end": "1-0-4", "label": "Targ"},
]
ALICE = [
    *BOTH,
    {"op": "tag", "section": 0, "line": 0, "start": 1, "end": 3, "tag": "Q"},
    {"op": "flow", "start": "1-0-2", "end": "1-0-6", "label": "Targ"},
    {"op": "frame", "key": "1-0-4/1-0-2", "side": "before", "value": 1},
    {"op": "frame", "key": "1-0-4/1-0-2", "side": "after", "value": 2},
    {"op": "frame", "key": "1-0-6/1-0-2", "side": "after", "value": 3},
]
BOB = [
    *BOTH,
    {"op": "tag", "section": 0, "line": 0, "start": 1, "end": 2, "tag": "Q"},
    {"op": "flow", "start": "1-0-4", "end": "1-0-6", "label": "Targ"},
    {"op": "flow", "start": "0-0-1", "end": "0-0-0", "label": "other-mod"},
    {"op": "frame", "key": "1-0-4/1-0-2", "side": "before", "value": 1},
    {"op": "frame", "key": "1-0-4/1-0-2", "side": "after", "value": 3},
]


def annotate(workspace, name, operations, recipe=TEA.id):
    layer, _ = workspace.add_layer(name)
    for operation in operations:
        base = workspace.store.history(recipe, layer).revision
        workspace.save(recipe, layer, base, f"{name}-{recipe.encode().hex()}-{base}", operation)
    return layer


@pytest.fixture
def workspace(tmp_path):
    with Store(tmp_path / "annotations.db") as store:
        workspace = Workspace(store, blank=True, curating=True)
        workspace.add_recipes([TEA, EGG])
        annotate(workspace, "alice", ALICE)
        annotate(workspace, "bob", BOB)
        yield workspace


# r-NE: 5 each, of which the quantity differs in length. r-FG: alice has 3, bob 4, and 2 in common.
# Images: alice's pairs are chilling (1, 2) and pouring (none, 3), both of the tea; bob's are chilling (1, 3), and
# pouring with the chilled tea (none, none). Only chilling's before agrees: 1 of 4 and of 4 sides.
EXPECTED = {
    "r-NE": (4, 5, 5, 80.0, 80.0, 80.0),
    "r-FG": (2, 3, 4, 50.0, 200 / 3, 400 / 7),
    "Image": (1, 4, 4, 25.0, 25.0, 25.0),
}


def figures(agreement):
    return {
        step: tuple(row[name] for name in ("both", "first", "second", "precision", "recall", "f_measure"))
        for step, row in agreement.items()
    }


def test_figures_by_hand(workspace):
    layers = [workspace.find_layer(name) for name in ("alice", "bob")]
    measured = compare_layers(workspace.store, *layers).as_dict()
    found = figures(measured["agreement"])
    assert found.keys() == EXPECTED.keys()
    for step, expected in EXPECTED.items():
        assert found[step] == pytest.approx(expected)
    kinds = measured["by_kind"]
    assert (kinds["r-NE"]["F"]["both"], kinds["r-NE"]["Q"]["both"], kinds["r-NE"]["Q"]["f_measure"]) == (2, 0, 0.0)
    assert (kinds["r-FG"]["Targ"]["both"], kinds["r-FG"]["Targ"]["first"], kinds["r-FG"]["Targ"]["second"]) == (
        1,
        2,
        2,
    )
    assert kinds["r-FG"]["other-mod"]["recall"] is None and kinds["r-FG"]["other-mod"]["precision"] == 0.0
    assert (kinds["Image"]["before"]["both"], kinds["Image"]["no_before"]["both"]) == (1, 0)
    swapped = compare_layers(workspace.store, *layers[::-1]).as_dict()["agreement"]["r-FG"]
    assert (swapped["precision"], swapped["recall"]) == pytest.approx((200 / 3, 50.0))


def test_only_what_both_have_begun_is_compared(workspace):
    annotate(workspace, "alice", [{"op": "done", "step": "words", "done": True}], EGG.id)
    layers = [workspace.find_layer(name) for name in ("alice", "bob")]
    measured = compare_layers(workspace.store, *layers)
    assert (measured.recipes, measured.only_first) == ([TEA.id], [EGG.id])
    with pytest.raises(AgreementError, match="none in common"):
        compare_layers(workspace.store, *layers, done=True)
    with pytest.raises(AgreementError):
        compare_layers(workspace.store, *layers, recipe_id=EGG.id)


def test_the_command_reads_layers_and_releases(workspace, tmp_path):
    release = make_release(tmp_path / "release", [TEA], frames=False)
    db = workspace.store.path
    for first, second in ((f"{db}:alice", f"{db}:bob"), (str(release), f"{db}:bob")):
        command = [sys.executable, "-m", "recipeflow.cli", "agreement", first, second, "--json"]
        ran = subprocess.run(command, cwd=ROOT, env=os.environ, capture_output=True, text=True, check=True)
        answer = json.loads(ran.stdout)
        assert (answer["first"], answer["recipes"]) == (first, [TEA.id])
        if first != str(release):
            for step, row in figures(answer["agreement"]).items():
                assert row == pytest.approx(EXPECTED[step])


def test_pages_show_figures_and_differences_and_gold_is_picked(workspace):
    with LocalServer(workspace) as server:
        answer = server.get("/api/agreement?first=alice&second=bob")
        assert figures(answer["agreement"])["r-NE"] == EXPECTED["r-NE"]
        assert "| r-NE | 80.00 | 80.00 | 80.00 | 4 | 5 | 5 |" in answer["markdown"]
        found = server.get("/api/differences/tea_3?first=alice&second=bob")
        assert [item["key"] for item in found["only_first"]] == [
            "ne:0-0-1:3:Q",
            "fg:1-0-2>1-0-6:Targ",
            "im:1-0-4/1-0-2:1:2",
            "im:1-0-6/1-0-2:-:3",
        ]
        assert [item["key"] for item in found["only_second"]] == [
            "ne:0-0-1:2:Q",
            "fg:0-0-1>0-0-0:other-mod",
            "fg:1-0-4>1-0-6:Targ",
            "im:1-0-4/1-0-2:1:3",
        ]
        assert found["only_first"][0]["item"]["text"] == "１袋"
        assert found["gold"] == {"revision": 0, "first": [], "second": []}
        assert server.post("/api/layers", {"name": "gold"}) == (201, {"name": "gold", "kind": "gold"})
        for origin, items in (
            ("alice+bob", found["both"]),
            ("alice", found["only_first"]),
            ("bob", found["only_second"][:2]),
        ):
            operation = {"op": "accept", "origin": origin, "items": items, "replace": True}
            status, saved = server.save(TEA.id, operation, "gold")
            assert status == 200 and "skipped" not in saved["effects"], saved
        gold = server.get("/api/differences/tea_3?first=alice&second=bob")["gold"]
        assert gold["revision"] == 3
        # Bob's shorter quantity took the place of alice's, and its flow came with it.
        assert {*gold["first"], *gold["second"]} == {item["key"] for item in found["both"]} | {
            "ne:0-0-1:2:Q",
            "fg:1-0-2>1-0-6:Targ",
            "fg:0-0-1>0-0-0:other-mod",
            "im:1-0-4/1-0-2:1:2",
            "im:1-0-6/1-0-2:-:3",
        }
        origins = {entity["id"]: entity["origin"] for entity in server.document(TEA.id, "gold")["entities"]}
        assert (origins["0-0-0"], origins["0-0-1"]) == ("alice+bob", "bob")


def test_suggestions_count_apart_from_work_by_hand(tmp_path):
    release = make_release(tmp_path / "model", [TEA, EGG], frames=False)
    with Store(tmp_path / "annotations.db") as store:
        workspace = Workspace(store, blank=True)
        workspace.add_recipes([TEA])
        layer, _ = workspace.add_layer("alice")
        imported = workspace.suggest(str(release))
        assert (imported.added, imported.skipped) == ([TEA.id], [(EGG.id, "not one of the recipes here")])
        document = workspace.view(TEA.id, layer)
        assert len(document["suggestions"]) == 5 + 3 + 2
        assert {row["origin"] for row in document["suggestions"]} == {"model"}
        clashes = {row["key"]: row["clash"] for row in document["suggestions"]}
        assert clashes["ne:0-0-0:1:F"] is None and clashes["fg:0-0-0>1-0-2:F-eq"] == "no_entity"
        words = [{name: row[name] for name in ("key", "kind", "item")} for row in document["suggestions"][:5]]
        steps = [
            {"op": "tag", "section": 0, "line": 0, "start": 1, "end": 2, "tag": "Q"},
            {"op": "reject", "origin": "model", "keys": [words[1]["key"]]},
            {"op": "accept", "origin": "model", "items": words},
        ]
        for number, step in enumerate(steps):
            saved = workspace.save(TEA.id, layer, number, f"s{number}", step)
        counts = workspace.changing(TEA.id, layer, saved.history)["progress"]
        assert (counts["human"], counts["accepted"], counts["rejected"], counts["pending"]) == (1, 4, 1, 5)
        row = workspace.list_recipes(layer)["recipes"][0]
        assert (row["human"], row["accepted"], row["pending"]) == (1, 4, 5)
        # A layer can be shown to somebody else, but nobody is suggested their own work.
        bob, _ = workspace.add_layer("bob")
        workspace.suggest("alice")
        assert {row["origin"] for row in workspace.view(TEA.id, bob)["suggestions"]} == {"model", "alice"}
        assert {row["origin"] for row in workspace.view(TEA.id, layer)["suggestions"]} == {"model"}
        with pytest.raises(UsageError, match=r"expected a release folder or a layer \(alice, bob\)"):
            workspace.suggest("carol")
        with pytest.raises(RefusedError, match="plain name"):
            workspace.suggest_release("release", release)


def test_every_suggestion_can_be_sent_back_as_it_was_listed():
    document, other = blank_document(EGG), annotated_document(EGG)
    listed = changing_view(document, {"model": list_items(other)})["suggestions"]
    assert [row["key"] for row in listed] == list(list_items(other))
    assert json.loads(json.dumps(listed)) == listed
