"""Leave out single flows that no release may have, instead of whole recipes."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx

from recipeflow.release.recipe import Flow, Recipe
from recipeflow.release.scheme import Scheme


def without_bad_flows(recipe: Recipe, scheme: Scheme) -> tuple[Recipe, list[Flow]]:
    """A recipe without flows of an unknown label, or that close a cycle, and the list of these.

    Of a cycle, the flow that comes last is left out.
    """
    graph = nx.DiGraph()
    kept, dropped = [], []
    for flow in recipe.flows:
        closes = flow.start == flow.end or (
            flow.end in graph and flow.start in graph and nx.has_path(graph, flow.end, flow.start)
        )
        if closes or flow.label not in scheme.labels:
            dropped.append(flow)
        else:
            graph.add_edge(flow.start, flow.end)
            kept.append(flow)
    return replace(recipe, flows=tuple(kept)), dropped
