"""Whatever is done, undone and redone: nothing is lost, and everything can be had again from the log."""

import json
import uuid
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from recipeflow.annotate import store as store_module
from recipeflow.annotate.document import Document, annotated_document, blank_document
from recipeflow.annotate.items import list_items
from recipeflow.annotate.operations import apply, operation_to_json, read_operation
from recipeflow.annotate.patches import apply_patch, turn
from recipeflow.annotate.store import Layer, Store
from recipeflow.errors import RefusedError
from recipeflow.release.parsing import RecipeParser, recipe_to_json
from tests.annotate.generating import draw_operation
from tests.making import EGG, SALAD

BEGINNINGS = [annotated_document(SALAD), blank_document(SALAD), annotated_document(EGG)]
SUGGESTED = {recipe.id: annotated_document(recipe) for recipe in (SALAD, EGG)}


def check_invariants(document: Document) -> None:
    """What no operation may break: a valid release, and nothing that refers to nothing."""
    parser = RecipeParser(document.base.id)
    parser.parse(recipe_to_json(document.recipe))
    assert parser.problems == []
    assert [entity.id for entity in document.entities] == list(document.recipe.entities)
    known = document.entities_by_id.keys()
    for pair in document.pairs:
        assert pair.action in known and (pair.entity is None or pair.entity in known)
        assert pair.before is not None or pair.after is not None
    for edited in document.lists:
        assert edited.action in known
        assert {name for name in edited.objects if not name.startswith("?")} <= known
        assert len(set(edited.objects)) == len(edited.objects)
    shown = {pair.key for listed in document.objects.values() for pair in listed}
    assert {pair.key for pair in document.pairs if document.entities_by_id[pair.action].tag == "Ac"} <= shown
    assert document.with_state(json.loads(json.dumps(document.state()))) == document


@settings(max_examples=100)
@given(st.sampled_from(BEGINNINGS), st.integers(0, 2**32), st.integers(1, 15))
def test_every_operation_can_be_taken_back_exactly(document, seed, length):
    random = Random(seed)
    suggested = [item.as_dict(document) for item in list_items(SUGGESTED[document.base.id]).values()]
    for _ in range(length):
        operation = read_operation(draw_operation(random, document, suggested))
        assert read_operation(json.loads(json.dumps(operation_to_json(operation)))) == operation
        try:
            after, inverse, _ = apply(document, operation)
        except RefusedError as refusal:
            event(f"refused: {refusal.code}")
            assert refusal.reason.startswith("expected")
            continue
        event(f"done: {operation_to_json(operation)['op']}")
        inverse = json.loads(json.dumps(inverse))
        check_invariants(after)
        assert apply_patch(after, inverse) == document
        assert apply_patch(document, turn(inverse)) == after
        # What was carried over from the document before is what would be worked out anew.
        afresh = replace(after)
        assert (after.traced, after.objects, after.tagged) == (afresh.traced, afresh.objects, afresh.tagged)
        document = after


@settings(max_examples=30)
@given(st.sampled_from(["release", "blank"]), st.integers(0, 2**32), st.integers(1, 20))
def test_log_gives_the_same_state_again(start, seed, length):
    layer = Layer("alice", start=start)
    with TemporaryDirectory() as folder, patch.object(store_module, "SNAPSHOT_EVERY", 4):
        path = Path(folder) / "annotations.db"
        with Store(path) as store:
            store.add_recipes([SALAD])
            store.add_layer(layer)
            states = _work(Random(seed), length, store, layer)
            history = store.history(SALAD.id, layer)
        with Store(path) as again:
            found = again.history(SALAD.id, layer)
            assert found == history
            assert (found.document, found.revision) == (states[-1], len(states) - 1)
            assert _replayed(again, layer) == states


def _work(random: Random, length: int, store: Store, layer: Layer) -> list[Document]:
    """Do, undo and redo at random, beside a plain model of the two stacks; the document after every revision."""
    suggested = [item.as_dict(SUGGESTED[SALAD.id]) for item in list_items(SUGGESTED[SALAD.id]).values()]
    states = [store.history(SALAD.id, layer).document]
    past, future = [], []
    for _ in range(length):
        step = random.choice(["do", "do", "do", "undo", "redo"])
        place = (SALAD.id, layer, len(states) - 1, str(uuid.uuid4()))
        if step == "do":
            try:
                saved = store.save(*place, draw_operation(random, states[-1], suggested))
            except RefusedError:
                continue
            past.append(states[-1])
            future.clear()
        else:
            stack, opposite = (past, future) if step == "undo" else (future, past)
            if not stack:
                with pytest.raises(RefusedError, match=f"something to {step}"):
                    getattr(store, step)(*place)
                continue
            saved = getattr(store, step)(*place)
            opposite.append(states[-1])
            assert saved.history.document == stack.pop()
        states.append(saved.history.document)
        assert saved.revision == saved.history.revision == len(states) - 1
        assert (bool(saved.history.undoable), bool(saved.history.redoable)) == (bool(past), bool(future))
    return states


def _replayed(store: Store, layer: Layer) -> list[Document]:
    """Every state, from the operations alone: the patches in the log and its snapshots are not looked at."""
    begin = annotated_document if layer.start == "release" else blank_document
    states, past, future = [begin(SALAD)], [], []
    for entry in store.entries(SALAD.id, layer):
        if entry.kind == "do":
            past.append(states[-1])
            future.clear()
            states.append(apply(states[-1], read_operation(entry.operation)).document)
            continue
        stack, opposite = (past, future) if entry.kind == "undo" else (future, past)
        opposite.append(states[-1])
        states.append(stack.pop())
    return states
