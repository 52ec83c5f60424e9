"""Notes and unsure marks: saved like everything else, following what they are about, kept by exports."""

import json

import pytest

from recipeflow.annotate.comparing import list_differences
from recipeflow.annotate.document import annotated_document
from recipeflow.annotate.exporting import export_layer
from recipeflow.annotate.notes import shown_notes
from recipeflow.annotate.operations import apply, read_operation
from recipeflow.annotate.patches import apply_patch
from recipeflow.annotate.store import Layer, Store
from recipeflow.annotate.times import measure_times
from recipeflow.annotate.workspace import Workspace
from recipeflow.corpora.importing import import_corpus
from recipeflow.errors import RefusedError, ReleaseProblem
from recipeflow.release import check_release, read_release
from tests.making import SALAD, make_release

DOCUMENT = annotated_document(SALAD)
FLOW = DOCUMENT.flows[0]
PAIR = next(pair for listed in DOCUMENT.objects.values() for pair in listed)
ON_FLOW = f"fg:{FLOW.start}>{FLOW.end}:{FLOW.label}"
ON_IMAGE = f"im:{PAIR.key}:before"


def do(document, **operation):
    return apply(document, read_operation(operation)).document


def note(document, target, text="why?", unsure=True):
    return do(document, op="note", target=target, unsure=unsure, text=text)


def said(document):
    return {note.target: note.text for note in document.notes}


def test_a_note_is_written_changed_and_removed_and_each_undone():
    for target in (f"ne:{FLOW.start}", ON_FLOW, ON_IMAGE):
        done = apply(DOCUMENT, read_operation({"op": "note", "target": target, "unsure": True, "text": "  why?\n"}))
        assert said(done.document) == {target: "why?"}
        assert apply_patch(done.document, done.inverse) == DOCUMENT
        assert said(note(done.document, target, "because")) == {target: "because"}
        assert note(done.document, target, "", unsure=False) == DOCUMENT


@pytest.mark.parametrize(
    ("target", "text", "code"),
    [
        ("ne:9-9-9", "", "no_target"),
        ("fg:0-0-0>1-0-2:none", "", "no_target"),
        ("im:1-0-5/9-9-9:before", "", "no_target"),
        ("words", "", "no_target"),
        (ON_FLOW, "x" * 1001, "note_text"),
        (ON_FLOW, "\ud800", "note_text"),
    ],
)
def test_a_note_on_nothing_or_without_text_is_refused(target, text, code):
    with pytest.raises(RefusedError) as caught:
        note(DOCUMENT, target, text)
    assert caught.value.code == code


def test_notes_follow_what_they_are_about():
    document = note(note(note(DOCUMENT, "ne:1-0-5", "cut"), ON_FLOW, "flow"), ON_IMAGE, "image")
    moved = do(document, op="cut", section=1, line=0, word=2, at=2)  # everything behind it is one word further on
    assert said(moved)["ne:1-0-6"] == "cut" and len(moved.notes) == 3
    relabelled = do(document, op="relabel", start=FLOW.start, end=FLOW.end, label=FLOW.label, to="other-mod")
    assert said(relabelled)[ON_FLOW.replace(FLOW.label, "other-mod")] == "flow"
    without = do(document, op="unflow", start=FLOW.start, end=FLOW.end, label=FLOW.label)
    assert ON_FLOW not in said(without) and ON_IMAGE in said(without)
    assert ON_IMAGE not in said(do(document, op="remove_object", key=PAIR.key))
    assert said(do(document, op="remove", entity=PAIR.action)).keys() <= {ON_FLOW}
    retagged = do(document, op="retag", entity=PAIR.action, tag="Af")
    assert ON_IMAGE in said(retagged)  # set aside with its frames
    assert ON_IMAGE not in [note.target for note in shown_notes(retagged)]
    assert said(do(retagged, op="retag", entity=PAIR.action, tag="Ac")) == said(document)


def test_two_notes_that_come_together_are_both_kept():
    ids = [entity.id for entity in DOCUMENT.entities if (entity.section, entity.line) == (1, 0)][:2]
    document = note(note(DOCUMENT, f"ne:{ids[0]}", "one", unsure=False), f"ne:{ids[1]}", "other")
    first, last = (DOCUMENT.entities_by_id[name] for name in ids)
    joined = do(document, op="tag", section=1, line=0, start=first.start, end=last.end, tag="F")
    assert [(each.target, each.unsure, each.text) for each in joined.notes] == [(f"ne:{ids[0]}", True, "one / other")]


def test_a_curator_sees_who_was_unsure_of_what():
    first = note(note(DOCUMENT, ON_FLOW, "a guess"), ON_IMAGE, "blurred")
    second = do(note(DOCUMENT, ON_FLOW, "me too"), op="frame", key=PAIR.key, side="before", value=None)
    second = do(second, op="frame", key=PAIR.key, side="after", value=None)
    second = note(second, ON_IMAGE, "not looked at")
    notes = list_differences(first, second, DOCUMENT)["notes"]
    [(key, flow)] = notes["both"].items()
    assert key == ON_FLOW
    assert [(each["by"], each["text"]) for each in flow] == [("first", "a guess"), ("second", "me too")]
    [(key, image)] = notes["only_first"].items()
    assert key.startswith("im:") and [each["text"] for each in image] == ["blurred"]
    assert [(each["by"], each["target"]) for each in notes["others"]] == [("second", ON_IMAGE)]


@pytest.fixture
def written(tmp_path):
    """A workspace whose layer has a note on a word, a flow and an image."""
    folder = make_release(tmp_path / "release", [SALAD])
    with Store(tmp_path / "work.db") as store:
        workspace = Workspace(store, folder)
        workspace.import_folder(folder)
        layer, _ = workspace.add_layer("alice")
        for number, target in enumerate((f"ne:{FLOW.start}", ON_FLOW, ON_IMAGE)):
            operation = {"op": "note", "target": target, "unsure": number > 0, "text": f"n{number}\n\tmore"}
            workspace.save(SALAD.id, layer, number, f"n{number}", operation)
        yield workspace, layer


def test_notes_are_counted_and_belong_to_a_step(written):
    workspace, layer = written
    listing = workspace.list_recipes(layer)
    assert (listing["recipes"][0]["notes"], listing["recipes"][0]["unsure"], listing["totals"]["unsure"]) == (3, 2, 2)
    [work] = measure_times(workspace.store.timeline(layer)).values()
    assert dict(work.operations) == {"words": 1, "flows": 1, "frames": 1}


def test_a_release_keeps_notes_both_ways(written, tmp_path):
    workspace, layer = written
    out = tmp_path / "out"
    export_layer(workspace.store, layer, out, release=workspace.release)
    assert check_release(out) == []
    with Store(tmp_path / "again.db") as store:
        again = Workspace(store, out)
        again.import_folder(out)
        assert store.history(SALAD.id, Layer("bob")).document.notes == (
            workspace.store.history(SALAD.id, layer).document.notes
        )
        assert store.history(SALAD.id, Layer("carol", start="blank")).document.notes == ()
    (out / "recipes" / SALAD.id / "notes.json").write_text(json.dumps([{"target": "x", "unsure": True}]))
    with Store(tmp_path / "bad.db") as store, pytest.raises(ReleaseProblem, match=r"target of a note.*found 'x'"):
        Workspace(store, out).import_folder(out)


def test_brat_has_notes_and_the_tools_files_say_that_they_have_none(written, tmp_path):
    workspace, layer = written
    export_layer(workspace.store, layer, tmp_path / "brat", "brat")
    rows = (tmp_path / "brat" / f"{SALAD.id}.ann").read_text(encoding="utf-8").splitlines()[-3:]
    assert [row.split("\t", 1)[1].split("\t")[1] for row in rows] == [
        "note: n0 more",
        "unsure: n1 more",
        f"unsure: n2 more (before of T{list(SALAD.entities).index(PAIR.object) + 1})",
    ]
    import_corpus("brat", tmp_path / "brat", tmp_path / "back")
    assert next(read_release(tmp_path / "back")).flows == SALAD.flows
    exported = export_layer(workspace.store, layer, tmp_path / "text", "text")
    assert "left out: 3 notes" in exported.notes[-1]
