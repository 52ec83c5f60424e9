"""The recipe flow graph (r-FG) and what its actions act on.

The release's state changes do not name their objects: they are in the order in which tracing the flows finds the
objects. This module implements that rule.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import networkx as nx

import flows_vrf
from flows_vrf import sort_flows
from recipeflow.release.recipe import Entity, Recipe, StateChange


def build_graph(recipe: Recipe) -> nx.MultiDiGraph:
    """The flow graph: nodes are entity ids with the attribute ``entity``, edges have their label as key and attribute.

    Every entity is a node, even without an edge.
    """
    graph = nx.MultiDiGraph(recipe_id=recipe.id)
    graph.add_nodes_from((entity.id, {"entity": entity}) for entity in recipe.entities.values())
    graph.add_edges_from((flow.start, flow.end, flow.label, {"label": flow.label}) for flow in recipe.flows)
    return graph


def trace_objects(recipe: Recipe) -> dict[str, tuple[str, ...]]:
    """The objects of every action, by the action's id, in the order of the annotation.

    The sources of the ``Targ`` edges into the action, in order; a source with incoming ``F-set`` edges stands for its
    members, and a member that is an action stands for that action's own objects. An object that is reached in two ways
    counts once.
    """
    flows = [(flow.start, flow.end, flow.label) for flow in recipe.flows]
    order = sort_flows(recipe.entities, flows)
    return flows_vrf.trace_objects((action.id for action in recipe.actions), order, flows)


@dataclass(frozen=True, slots=True)
class ImagePair:
    """A state change with the object it belongs to; ``object`` is ``None`` for a surplus one."""

    action: Entity
    object: Entity | None
    change: StateChange


def pair_objects(recipe: Recipe) -> list[ImagePair]:
    """Match the state changes to the traced objects of their action, in order.

    If an action has more state changes than objects, the surplus gets ``None`` instead of shifting the rest.
    """
    objects = trace_objects(recipe)
    used: defaultdict[str, int] = defaultdict(int)
    pairs = []
    for change in recipe.state_changes:
        position = used[change.action]
        used[change.action] += 1
        traced = objects[change.action]
        found = recipe.entities[traced[position]] if position < len(traced) else None
        pairs.append(ImagePair(recipe.entities[change.action], found, change))
    return pairs
