"""The layout of a recipe's whole graph: columns and rows, which the page turns into pixels."""

from __future__ import annotations

from typing import Any

import networkx as nx

from recipeflow.graph import build_graph
from recipeflow.graph.folding import fold_modifiers
from recipeflow.graph.layout import lay_out
from recipeflow.release.recipe import Recipe


def graph_views(recipe: Recipe) -> dict[str, Any]:
    """The graph twice: ``all`` with every node, ``folded`` with quantities and the like inside what they modify.

    A folded graph has a third fewer boxes, and stays readable where the whole one would not. ``notes`` lists what is
    folded into what.
    """
    graph = build_graph(recipe)
    notes = fold_modifiers(graph)
    folded = graph.subgraph(node for node in graph if node not in notes)
    return {
        "all": _placed(graph),
        "folded": _placed(folded),
        "notes": [[note, owner] for note, owner in notes.items()],
    }


def _placed(graph: nx.MultiDiGraph) -> list[list[Any]]:
    """Rows of id, column and row."""
    return [[node, *place] for node, place in lay_out(graph).items()]
