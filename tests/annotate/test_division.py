"""Words divided otherwise: tags, flows and frames follow, undo restores, suggestions and comparisons still fit."""

from dataclasses import replace

import pytest

from recipeflow.annotate.comparing import list_differences
from recipeflow.annotate.document import annotated_document, blank_document
from recipeflow.annotate.history import History
from recipeflow.annotate.operations import apply, read_operation
from recipeflow.annotate.patches import apply_patch
from recipeflow.annotate.store import Layer, Store
from recipeflow.annotate.workspace import Workspace
from recipeflow.errors import RefusedError
from recipeflow.release import read_release, write_release
from tests.making import SALAD, TEA, make_release

CUT = {"op": "cut", "section": 1, "line": 0, "word": 5, "at": 1}  # 切り -> 切|り


def do(document, **operation):
    return apply(document, read_operation(operation)).document


def names(document, *parts):
    """Flows and pairs by the text of what they connect: ids move, these do not."""
    text = {entity.id: entity.text for entity in document.recipe.entities.values()}
    flows = [(text[flow.start], flow.label, text[flow.end]) for flow in document.flows]
    pairs = [(text[pair.action], text.get(pair.object), pair.before, pair.after) for pair in document.pairs]
    return flows, pairs


def test_a_cut_moves_everything_behind_it_and_nothing_else():
    document = annotated_document(SALAD)
    after = do(document, op="cut", section=1, line=0, word=2, at=2)  # きゅうり -> きゅ|うり
    assert after.recipe.instructions[0].tokens[:4] == ["１", "．", "きゅ", "うり"]
    assert after.entities_by_id["1-0-2"].end == 4  # the entity keeps its characters
    assert "1-0-6" in after.entities_by_id and "1-0-5" in after.entities_by_id  # 切り, 薄く, one further on
    assert names(after) == names(document)
    assert after.recipe.instructions[1:] == document.recipe.instructions[1:]


def test_a_cut_is_undone_exactly():
    document = annotated_document(SALAD)
    done = apply(document, read_operation(CUT))
    assert done.document.cuts and apply_patch(done.document, done.inverse) == document
    assert do(done.document, op="join", section=1, line=0, start=5, end=7) == document


def test_joined_words_belong_to_the_one_entity_among_them():
    document = do(annotated_document(SALAD), op="join", section=1, line=0, start=5, end=7)  # 切り Ac + ます
    assert document.recipe.entities["1-0-5"].text == "切ります"
    with pytest.raises(RefusedError, match="expected a word of one entity"):
        do(annotated_document(SALAD), op="join", section=1, line=0, start=4, end=6)  # 薄く Sf + 切り Ac


@pytest.mark.parametrize(
    "change", [{"word": 9}, {"word": -1}, {"at": 0}, {"at": 2}, {"line": 7}, {"section": 2}, {"line": -1}]
)
def test_what_is_not_there_is_refused(change):
    with pytest.raises(RefusedError):
        do(annotated_document(SALAD), **(CUT | change))


def test_a_cut_survives_a_restart_and_is_exported(tmp_path):
    release, layer = make_release(tmp_path / "release"), Layer("alice")
    with Store(tmp_path / "w.db") as store:
        Workspace(store, release).import_folder(release)
        store.add_layer(layer)
        saved = store.save(SALAD.id, layer, 0, "a", CUT)
        assert saved.divided
        kept = store.history(SALAD.id, layer).document
    with Store(tmp_path / "w.db") as store:
        history: History = store.history(SALAD.id, layer)
        assert history.document == kept
        write_release(tmp_path / "out", [replace(history.document.recipe, frames_folder=None)])
        assert next(read_release(tmp_path / "out")).instructions[0].tokens[5:7] == ["切", "り"]
        assert store.undo(SALAD.id, layer, 1, "b").history.document == annotated_document(SALAD)


def test_suggestions_follow_the_words_of_whoever_sees_them(tmp_path):
    release = make_release(tmp_path / "model")
    with Store(tmp_path / "w.db") as store:
        workspace = Workspace(store, release, blank=True)
        workspace.import_folder(release)
        layer, _ = workspace.add_layer("alice")
        workspace.suggest_release("model", release)
        assert store.save(SALAD.id, layer, 0, "0", {"op": "reject", "origin": "model", "keys": ["ne:1-0-5:6:Ac"]})
        store.save(SALAD.id, layer, 1, "a", {"op": "cut", "section": 1, "line": 0, "word": 2, "at": 2})
        view = workspace.view(SALAD.id, layer)
    suggested = {each["key"]: each for each in view["suggestions"]}
    assert suggested["ne:1-0-2:4:F"]["item"]["text"] == "きゅうり"
    assert suggested["ne:1-0-6:7:Ac"]["state"] == "rejected"
    assert "fg:1-0-2>1-0-6:Targ" in suggested


def test_a_suggestion_may_divide_the_text_otherwise(tmp_path):
    cut = do(annotated_document(SALAD), **CUT)
    write_release(tmp_path / "cut", [replace(cut.recipe, frames_folder=None)])
    release = make_release(tmp_path / "release")
    with Store(tmp_path / "w.db") as store:
        workspace = Workspace(store, release, blank=True)
        workspace.import_folder(release)
        layer, _ = workspace.add_layer("alice")
        assert workspace.suggest_release("cut", tmp_path / "cut").skipped == []
        texts = [each["item"].get("text") for each in workspace.view(SALAD.id, layer)["suggestions"]]
    assert "切り" in texts  # the whole word, as it is divided here


def ends_of(document, section, line):
    words = document.recipe.sections[section][line].words
    return {"section": section, "line": line, "ends": [word.end for word in words]}


def test_differences_are_compared_by_characters():
    cut = do(annotated_document(TEA), op="cut", section=1, line=0, word=4, at=2)  # 冷やし -> 冷や|し
    found = list_differences(cut, annotated_document(TEA), annotated_document(TEA))
    assert found["only_first"] == found["only_second"] == []
    assert found["gold"]["first"] == [entry["key"] for entry in found["both"]]


def test_gold_is_cut_where_an_entity_needs_it():
    """Of 冷やし only 冷や is the action; what is behind it in the line has other numbers than in gold."""
    cut = do(annotated_document(TEA), op="cut", section=1, line=0, word=4, at=2)
    first = do(cut, op="reshape", entity="1-0-4", start=4, end=5)
    gold = blank_document(TEA)
    found = list_differences(first, annotated_document(TEA), gold)
    words = [ends_of(first, 1, 0)]
    entries = [*found["only_first"], *found["both"]]
    gold = do(gold, op="accept", origin="a", items=entries, replace=True, words=words)
    assert gold.recipe.instructions == first.recipe.instructions and gold.recipe.flows == first.recipe.flows
    assert gold.recipe.state_changes == first.recipe.state_changes
    # Bob's whole word takes its place, and the words stay as they are.
    entries = list_differences(first, annotated_document(TEA), gold)["only_second"]
    gold = do(
        gold, op="accept", origin="b", items=entries, replace=True, words=[ends_of(annotated_document(TEA), 1, 0)]
    )
    assert gold.recipe.entities["1-0-4"].text == "冷やし" and gold.recipe.instructions[0].tokens[4:6] == ["冷や", "し"]


def test_needed_entities_come_first_and_replace_nothing():
    document = annotated_document(TEA)
    entries = list_differences(document, blank_document(TEA), blank_document(TEA))["only_first"]
    by_kind = {kind: [entry for entry in entries if entry["kind"] == kind] for kind in ("entity", "flow")}
    gold = do(blank_document(TEA), op="tag", section=1, line=0, start=4, end=6, tag="T")
    operation = {"op": "accept", "origin": "a", "items": by_kind["flow"], "replace": True, "needed": by_kind["entity"]}
    done = apply(gold, read_operation(operation))
    assert done.document.entities_by_id["1-0-4"].end == 6  # the curator's own
    assert [flow.label for flow in done.document.flows] == ["F-eq", "Targ", "Targ"]
    assert done.effects.skipped == []
