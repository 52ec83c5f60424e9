"""Compare two layers: their agreement, and every difference for a curator to decide."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from recipeflow.annotate.division import by_character
from recipeflow.annotate.document import STEPS, AnnotatedEntity, AnnotatedFlow, Document, as_row
from recipeflow.annotate.items import Item, list_items
from recipeflow.annotate.notes import entity_target, flow_target, image_targets, shown_notes
from recipeflow.annotate.store import Layer, Store
from recipeflow.graph.agreement import Agreement, measure_agreement
from recipeflow.release.recipe import Recipe


def layer_recipes(store: Store, layer: Layer, recipe_id: str | None = None, done: bool = False) -> Iterator[Recipe]:
    """The recipes that were started in a layer, as in a release.

    Args:
        store: The database.
        layer: The layer.
        recipe_id: Only this one.
        done: Only those whose three steps are marked as done.
    """
    begun = {recipe for recipe, name in store.revisions() if name == layer.name}
    for each in store.recipe_ids():
        if each in begun and recipe_id in (None, each):
            document = store.history(each, layer).document
            if not done or len(document.done) == len(STEPS):
                yield document.recipe


def compare_layers(
    store: Store, first: Layer, second: Layer, recipe_id: str | None = None, done: bool = False
) -> Agreement:
    """The agreement of two layers, with the first as the truth; arguments as for ``layer_recipes``."""
    recipes = (layer_recipes(store, layer, recipe_id, done) for layer in (first, second))
    return measure_agreement(*recipes, [store.scheme])


def list_differences(first: Document, second: Document, gold: Document) -> dict[str, Any]:
    """What both have, what only one has, and under ``gold`` the keys of those that the gold annotation has.

    Items are those of the first or second document. They are equal if they are about the same characters, however
    their lines are divided into words. ``notes`` has what the two say about items, by list and key, and under
    ``others`` about anything else, such as an image that nobody chose.
    """
    lines = sorted({(cut.section, cut.line) for document in (first, second, gold) for cut in document.cuts})
    one, other, taken = (_by_characters(document, lines) for document in (first, second, gold))
    listed = {
        "both": {key: item for key, item in one.items() if key in other},
        "only_first": {key: item for key, item in one.items() if key not in other},
        "only_second": {key: item for key, item in other.items() if key not in one},
    }
    said = {"first": _notes_by_target(first), "second": _notes_by_target(second)}
    notes = {
        name: {item.key: found for key, item in items.items() if (found := _take_notes(said, key, one, other))}
        for name, items in listed.items()
    }
    return {
        **{
            name: [item.as_dict(second if name == "only_second" else first) for item in items.values()]
            for name, items in listed.items()
        },
        "gold": {
            name: [item.key for key, item in items.items() if key in taken]
            for name, items in (("first", one), ("second", other))
        },
        "notes": notes | {"others": [note | {"by": by} for by, left in said.items() for note in left.values()]},
    }


def _notes_by_target(document: Document) -> dict[str, dict[str, Any]]:
    return {note.target: as_row(note) for note in shown_notes(document)}


def _take_notes(
    said: dict[str, dict[str, dict[str, Any]]], key: str, one: dict[str, Item], other: dict[str, Item]
) -> list[dict[str, Any]]:
    """The notes of both on a decision, which are then no longer among the others."""
    found = [(by, items[key]) for by, items in (("first", one), ("second", other)) if key in items]
    taken = [(by, said[by].pop(target, None)) for by, item in found for target in _targets(item)]
    return [note | {"by": by} for by, note in taken if note is not None]


def _targets(item: Item) -> tuple[str, ...]:
    value = item.value
    if isinstance(value, AnnotatedEntity):
        return (entity_target(value.id),)
    return (flow_target(value),) if isinstance(value, AnnotatedFlow) else image_targets(value.key)


def _by_characters(document: Document, lines: list[tuple[int, int]]) -> dict[str, Item]:
    """The items of a document by the keys that they have when some lines are divided into characters."""
    return dict(zip(list_items(by_character(document, lines)), list_items(document).values(), strict=True))
