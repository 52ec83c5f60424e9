"""The layout of a flow graph: from the ingredients on the left to the dish on the right."""

from __future__ import annotations

import networkx as nx

Place = tuple[float, float]
"""A column and a row; columns are whole numbers."""

Extent = dict[int, tuple[float, float]]
"""The rows that a part of the graph occupies in each of its columns, from the first to the last."""


def lay_out(graph: nx.MultiDiGraph) -> dict[str, Place]:
    """A place for every node, at least one row away from its neighbours in the same column.

    A node is placed just before the last node it flows into, as its child, so that the picture is a tree with a few
    more lines. Each node is in the middle of its children's rows, and branches are packed as closely as their columns
    allow.
    """
    columns = _find_columns(graph)
    parts: dict[str | None, list[str]] = {node: [] for node in (None, *graph)}
    for node in graph:
        parts[_hangs_on(graph, node, columns)].append(node)
    rows: dict[str, float] = {}
    extents: dict[str, Extent] = {}
    shifts: dict[str, float] = {}
    # What flows into a node has a smaller column, so that children come before their parents.
    for node in sorted(graph, key=columns.__getitem__):
        extent = _pack(parts[node], extents, shifts)
        taken = [rows[part] + shifts[part] for part in parts[node]]
        rows[node] = (min(taken) + max(taken)) / 2 if taken else 0.0
        extents[node] = {**extent, columns[node]: (rows[node], rows[node])}
    _pack(parts[None], extents, shifts)
    return _shifted(columns, rows, shifts, parts)


def _find_columns(graph: nx.MultiDiGraph) -> dict[str, int]:
    depth: dict[str, int] = {}
    for node in reversed(list(nx.topological_sort(graph))):
        depth[node] = 1 + max((depth[following] for following in graph.successors(node)), default=-1)
    deepest = max(depth.values(), default=0)
    return {node: deepest - depth[node] for node in graph}


def _hangs_on(graph: nx.MultiDiGraph, node: str, columns: dict[str, int]) -> str | None:
    following = [after for after in graph.successors(node) if columns[after] == columns[node] + 1]
    return following[0] if following else None


def _pack(parts: list[str], extents: dict[str, Extent], shifts: dict[str, float]) -> Extent:
    """Move each part below those before it, as closely as all its columns allow; the extent of them together."""
    together: Extent = {}
    for part in parts:
        extent = extents.pop(part)
        shared = [together[column][1] + 1 - first for column, (first, _) in extent.items() if column in together]
        shift = shifts[part] = max(shared, default=0.0)
        for column, (first, last) in extent.items():
            upper = together.get(column, (first + shift,))[0]
            together[column] = (upper, last + shift)
    return together


def _shifted(
    columns: dict[str, int], rows: dict[str, float], shifts: dict[str, float], parts: dict[str | None, list[str]]
) -> dict[str, Place]:
    """Every node's final place: children move with their parents, and the first row is 0."""
    moved: dict[str | None, float] = {None: 0.0}
    waiting: list[str | None] = [None]
    while waiting:
        node = waiting.pop()
        for part in parts[node]:
            moved[part] = moved[node] + shifts[part]
            waiting.append(part)
    top = min((row + moved[node] for node, row in rows.items()), default=0.0)
    return {node: (columns[node], row + moved[node] - top) for node, row in rows.items()}
