"""Places for the nodes of a flow graph: from the ingredients on the left to the dish on the right."""

from __future__ import annotations

from collections.abc import Mapping

import networkx as nx

Place = tuple[float, float]
"""A column and a row; columns are whole numbers."""


def lay_out(graph: nx.MultiDiGraph) -> dict[str, Place]:
    """A place for every node: its column is right before the first node it flows into, and no two share a place.

    Each node takes the middle of the rows of those that flow into it. A node that flows into several hangs on the
    first of them, so that the picture is a tree with a few more lines.
    """
    depth: dict[str, int] = {}
    for node in reversed(list(nx.topological_sort(graph))):
        depth[node] = 1 + max((depth[following] for following in graph.successors(node)), default=-1)
    deepest = max(depth.values(), default=0)
    rows: dict[str, float] = {}
    for root in (node for node in graph if not graph.out_degree(node)):
        _place_rows(graph, root, rows)
    return {node: (deepest - depth[node], rows[node]) for node in graph}


def _place_rows(graph: nx.MultiDiGraph, root: str, rows: dict[str, float]) -> None:
    """Give rows to a node and all that hang on it, without recursion: chains of actions are long."""
    stack = [(root, False)]
    seen = {root}
    parts: dict[str, list[str]] = {}
    while stack:
        node, is_ready = stack.pop()
        if is_ready:
            taken = [rows[part] for part in parts[node]]
            rows[node] = (min(taken) + max(taken)) / 2 if taken else _next_row(rows)
            continue
        parts[node] = [
            part for part in dict.fromkeys(graph.predecessors(node)) if part not in rows and part not in seen
        ]
        seen.update(parts[node])
        stack.append((node, True))
        stack.extend((part, False) for part in reversed(parts[node]))


def _next_row(rows: Mapping[str, float]) -> float:
    return int(max(rows.values(), default=-1)) + 1
