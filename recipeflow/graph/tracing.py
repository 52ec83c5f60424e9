"""Paths through a flow graph: from an action back to its objects, from an ingredient to the dish."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import networkx as nx

from recipeflow.graph.flow_graph import ImagePair, trace_objects
from recipeflow.graph.program import OBJECT, PASSES_ON, STANDS_FOR, Program
from recipeflow.release.recipe import Flow, Recipe

MEMBER = "F-set"


def find_carriers(recipe: Recipe, foods: Iterable[str]) -> dict[str, set[str]]:
    """For each of these foods, by id, all mentions and actions that contain it, on its way to the dish.

    After an action on several foods at once, a mention of its result with the name of one of them means only that
    one: cucumber and tomato are cut, and the *tomato* is salted. Without text this cannot be decided, and the
    mention means both.
    """
    objects = trace_objects(recipe)
    into = _flows_by_end(recipe.flows)
    order = list(nx.topological_sort(nx.DiGraph((flow.start, flow.end) for flow in recipe.flows)))
    carriers = {}
    for food in foods:
        found = carriers[food] = {food}
        for node in order:
            if any(flow.start in found and not _means_another(recipe, flow, objects, found) for flow in into[node]):
                found.add(node)
    return carriers


def _flows_by_end(flows: Iterable[Flow]) -> defaultdict[str, list[Flow]]:
    """The flows that pass food and tools on, without those that only say when and how."""
    into: defaultdict[str, list[Flow]] = defaultdict(list)
    for flow in flows:
        if flow.label in PASSES_ON:
            into[flow.end].append(flow)
    return into


def _means_another(recipe: Recipe, flow: Flow, objects: Mapping[str, tuple[str, ...]], found: set[str]) -> bool:
    name = recipe.entities[flow.end].text
    if flow.label not in STANDS_FOR or name is None:
        return False
    namesakes = [thing for thing in objects.get(flow.start, ()) if recipe.entities[thing].text == name]
    return bool(namesakes) and found.isdisjoint(namesakes)


def light_actions(recipe: Recipe, carriers: Mapping[str, set[str]]) -> dict[str, dict[str, list[str]]]:
    """For every action, the ids to highlight with it.

    ``objects`` are its traced objects; ``through`` are the mentions between them and the action, such as the name of a
    set of foods; ``origins`` are the inputs that the objects contain by now.
    """
    into = _flows_by_end(flow for flow in recipe.flows if flow.label in (OBJECT, MEMBER))
    return {
        action: {
            "objects": list(objects),
            "through": _between(action, set(objects), into),
            "origins": [food for food, found in carriers.items() if not found.isdisjoint(objects)],
        }
        for action, objects in trace_objects(recipe).items()
    }


def _between(action: str, objects: set[str], into: Mapping[str, list[Flow]]) -> list[str]:
    """The mentions on the way from an action back to its objects."""
    found: dict[str, None] = {}
    waiting = [action]
    while waiting:
        for start in (flow.start for flow in into.get(waiting.pop(0), ())):
            if start not in objects and start not in found:
                found[start] = None
                waiting.append(start)
    return list(found)


def follow_ingredients(
    recipe: Recipe, program: Program, carriers: Mapping[str, set[str]], pairs: Sequence[ImagePair]
) -> list[dict[str, Any]]:
    """The state trail of every input: the actions that it goes through on its way to the dish, in order.

    A step has its action, the label of the ingredient's flow into it, and ``rows``, the positions of its image
    pairs among ``pairs``: those of objects that contain the ingredient. If none does, because the objects are added to
    it, they are those of all its objects.
    """
    rows: defaultdict[str, list[int]] = defaultdict(list)
    for number, pair in enumerate(pairs):
        rows[pair.action.id].append(number)
    into = _flows_by_end(recipe.flows)
    trails = []
    for food, found in carriers.items():
        steps = []
        for action in (step.id for step in program.steps.values() if step.id in found):
            labels = [flow.label for flow in into[action] if flow.start in found]
            own = [row for row in rows[action] if (thing := pairs[row].object) and thing.id in found]
            label = OBJECT if OBJECT in labels else labels[0]
            steps.append({"action": action, "label": label, "rows": own or rows[action]})
        trails.append({"ingredient": food, "steps": steps})
    return trails
