"""A smaller flow graph: quantities and the like are shown inside what they modify."""

from __future__ import annotations

import networkx as nx

MODIFIES = "other-mod"


def fold_modifiers(graph: nx.MultiDiGraph) -> dict[str, str]:
    """Nodes that can be shown inside the one node they modify: without incoming and with no other outgoing flows."""
    notes = {}
    for node in graph:
        flows = list(graph.out_edges(node, keys=True))
        if not graph.in_degree(node) and len(flows) == 1 and flows[0][2] == MODIFIES:
            notes[node] = flows[0][1]
    return notes
