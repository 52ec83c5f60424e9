"""Compare two layers: their agreement, and every difference for a curator to decide."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from recipeflow.annotate.document import STEPS, Document
from recipeflow.annotate.items import list_items
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
    return measure_agreement(*recipes)


def list_differences(first: Document, second: Document, gold: Document) -> dict[str, Any]:
    """What both have, what only one has, and the keys of everything in the gold annotation."""
    items = list_items(first), list_items(second)
    return {
        "both": [item.as_dict(first) for key, item in items[0].items() if key in items[1]],
        "only_first": [item.as_dict(first) for key, item in items[0].items() if key not in items[1]],
        "only_second": [item.as_dict(second) for key, item in items[1].items() if key not in items[0]],
        "gold": list(list_items(gold)),
    }
