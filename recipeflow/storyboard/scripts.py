"""A recipe as a script: what is done to what, in order, and which state continues which."""

from __future__ import annotations

from typing import Any

from flows_vrf import Script, make_script
from recipeflow.release.recipe import Recipe
from recipeflow.release.scores import Scores


def script_of(recipe: Recipe, scores: Scores | None = None) -> Script:
    """The script of an annotated or parsed recipe.

    Args:
        recipe: With text.
        scores: How certain a parser was of each flow: of a cycle, the least certain flow is removed.
    """
    certain = scores.flows if scores else {}
    nodes: list[dict[str, Any]] = []
    for entity in recipe.entities.values():
        tokens = recipe.sections[entity.section][entity.line].tokens or ()
        words = tokens[entity.start_word : entity.end_word]
        nodes.append({"id": entity.id, "tag": entity.tag, "text": entity.text, "words": list(words)})
    edges = [
        {"start": flow.start, "end": flow.end, "label": flow.label, "score": certain.get(flow, 1.0)}
        for flow in recipe.flows
    ]
    return make_script(nodes, edges)
