"""What a page shows before the server has answered is what the server will answer, as far as a page can know it.

The same operations go to ``predict.js`` and to ``apply``. A page does not trace objects, so pairs without frames
that only tracing the flows finds come with the answer.
"""

import json
import subprocess
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from recipeflow.annotate.division import follow_division, line_ends
from recipeflow.annotate.document import Document, annotated_document, blank_document
from recipeflow.annotate.items import Item, list_items
from recipeflow.annotate.operations import apply, read_operation
from recipeflow.annotate.views import changing_view, fixed_view
from recipeflow.errors import RefusedError
from recipeflow.release.recipe import Recipe
from recipeflow.release.scheme import PAPER
from tests.annotate.generating import draw_operation
from tests.making import EGG, SALAD
from tests.making_english import ENGLISH_INFO, SOUP
from tests.node import NODE

SCRIPT = Path(__file__).parent / "static" / "predicting.mjs"
BEGINNINGS = [
    *(annotated_document(SALAD), blank_document(SALAD), annotated_document(EGG)),
    annotated_document(SOUP, ENGLISH_INFO.scheme),  # with spaces, which a word cannot contain
]
RECIPES = {recipe.id: recipe for recipe in (SALAD, EGG, SOUP)}
KEEPS_PAIRS = {
    *("frame", "frames", "add_object", "remove_object", "move_object", "reset_objects"),
    *("done", "reject", "reconsider", "note"),
}
"""Operations after which a page knows every pair."""


@pytest.fixture(scope="module")
def node():
    """One process for all examples: starting one takes longer than a hundred predictions."""
    with subprocess.Popen([*NODE, SCRIPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.stdin.close()


def predict(node: subprocess.Popen, view: dict, operations: list[dict]) -> dict:
    node.stdin.write(json.dumps({"document": view, "operations": operations}) + "\n")
    node.stdin.flush()
    return json.loads(node.stdout.readline())


def view_of(document: Document, suggestions: dict[str, Item]) -> dict:
    view = fixed_view(document, None) | changing_view(document, {"model": suggestions})
    return json.loads(json.dumps(view))


def draw_suggestions(random: Random, recipe: Recipe) -> list[Document]:
    """A recipe's annotation and another one that contradicts it here and there."""
    document = first = annotated_document(recipe, ENGLISH_INFO.scheme if recipe == SOUP else PAPER)
    for _ in range(15):
        with suppress(RefusedError):
            document = apply(document, read_operation(draw_operation(random, document, []))).document
    return [first, document]


def items_for(document: Document, suggestions: list[Document]) -> dict[str, Item]:
    """The suggestions as a page with this document lists them."""
    return {key: item for each in suggestions for key, item in list_items(follow_division(each, document)).items()}


def accept_some(random: Random, suggested: list[dict]) -> dict:
    items = random.sample(suggested, min(len(suggested), 12))
    return {"op": "accept", "origin": "model", "items": items, "replace": random.random() < 0.5}


def accept_foreign(random: Random, document: Document, other: Document) -> dict:
    """Items of an annotation that divides lines in its own way, as a curator takes them into gold."""
    items = [item.as_dict(other) for item in list_items(other).values()]
    words = [
        {"section": section, "line": line, "ends": line_ends(other, section, line)}
        for section, lines in enumerate(other.base.sections)
        for line in range(len(lines))
        if line_ends(other, section, line) != line_ends(document, section, line)
    ]
    needed = [item for item in items if item["kind"] == "entity" and random.random() < 0.5]
    return {**accept_some(random, items), "needed": needed, "words": json.loads(json.dumps(words))}


def is_shown(operation: dict, shown: dict) -> bool:
    """Whether a page could send this: the pairs that it names are on the page."""
    keys = {operation["key"]} if "key" in operation else {change["key"] for change in operation.get("changes", ())}
    return keys <= {pair["key"] for pair in shown["objects"]}


def columns(rows: list[dict], *names: str) -> list[tuple]:
    return [tuple(row[name] for name in names) for row in rows]


@settings(max_examples=100)
@given(st.sampled_from(BEGINNINGS), st.integers(0, 2**32), st.integers(1, 12))
def test_the_page_predicts_what_the_server_does(node, document, seed, length):
    random, operations = Random(seed), []
    suggestions = draw_suggestions(random, RECIPES[document.base.id])
    predicted = beginning = view_of(document, items_for(document, suggestions))
    for _ in range(length):
        suggested = [item.as_dict(document) for item in items_for(document, suggestions).values()]
        # Much can go wrong with many suggestions at once, so they come more often than in `draw_operation`.
        if (chance := random.random()) < 0.2:
            operation = accept_some(random, suggested)
        elif chance < 0.4:
            operation = accept_foreign(random, document, suggestions[1])
        else:
            operation = draw_operation(random, document, suggested)
        if not is_shown(operation, predicted):
            continue
        try:
            document = apply(document, read_operation(operation)).document
        except RefusedError:
            continue
        operations.append(operation)
        event(operation["op"])
        predicted = predict(node, beginning, operations)
        answered = view_of(document, items_for(document, suggestions))
        compare(predicted, answered, {operation["op"] for operation in operations})


def compare(predicted: dict, answered: dict, names: set[str]) -> None:
    entity = ("id", "section", "line", "start", "end", "tag", "origin")
    assert columns(predicted["entities"], *entity) == columns(answered["entities"], *entity)
    flow = ("start", "end", "label", "origin")
    assert columns(predicted["flows"], *flow) == columns(answered["flows"], *flow)
    for part in ("unconnected", "done", "sections"):
        assert predicted[part] == answered[part]
    assert columns(predicted["actions"], "action") == columns(answered["actions"], "action")
    compare_pairs(predicted["objects"], answered["objects"], names)
    compare_notes(predicted, answered)
    states = {(each["origin"], each["key"]): each["state"] for each in answered["suggestions"]}
    for each in predicted["suggestions"]:
        assert states.get((each["origin"], each["key"]), each["state"]) == each["state"]


def compare_notes(predicted: dict, answered: dict) -> None:
    """A page knows every note except those on images that only tracing the flows brings back."""
    kept = [[note for note in view["notes"] if not note["target"].startswith("im:")] for view in (predicted, answered)]
    assert kept[0] == kept[1]
    known = {note["target"]: note for note in predicted["notes"]}
    shown = {pair["key"] for pair in predicted["objects"]}
    for note in answered["notes"]:
        if note["target"].startswith("im:") and note["target"][3:].rpartition(":")[0] in shown:
            assert known[note["target"]] == note


def compare_pairs(predicted: list[dict], answered: list[dict], names: set[str]) -> None:
    fields = ("key", "action", "object", "before", "after", "origin")
    if names <= KEEPS_PAIRS:
        assert columns(predicted, *fields) == columns(answered, *fields)
    chosen = [{row for row in columns(pairs, *fields) if row[3:5] != (None, None)} for pairs in (predicted, answered)]
    assert chosen[0] == chosen[1]
