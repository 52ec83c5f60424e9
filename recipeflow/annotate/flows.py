"""Step 2, flows: labelled and directed, between entities, without cycles."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import replace

from recipeflow.annotate.document import AnnotatedFlow, Document
from recipeflow.annotate.notes import flow_target, move_note
from recipeflow.annotate.words import find_entity
from recipeflow.errors import RefusedError


def add_flow(document: Document, flow: AnnotatedFlow) -> Document:
    """Add a flow in reading order, which is the order of tracing objects."""
    check_label(document, flow.label)
    find_entity(document, flow.start)
    find_entity(document, flow.end)
    if flow.start == flow.end:
        raise RefusedError("self_loop", f"expected two entities, found {flow.start} twice", entity=flow.start)
    _check_new(document, flow)
    if (path := _find_path(document, flow.end, flow.start)) is not None:
        circle = [*path, flow.end]
        reason = f"expected flows without a cycle, found {' → '.join(circle)} with this one"
        raise RefusedError("cycle", reason, path=circle)
    later = (i for i, other in enumerate(document.flows) if other.sort_key > flow.sort_key)
    position = next(later, len(document.flows))
    return document.change(flows=(*document.flows[:position], flow, *document.flows[position:]))


def remove_flow(document: Document, start: str, end: str, label: str) -> Document:
    """Remove a flow. An object that is no longer traced keeps its frames."""
    gone = find_flow(document, start, end, label)
    return document.change(flows=tuple(flow for flow in document.flows if flow != gone))


def relabel(document: Document, start: str, end: str, label: str, to: str) -> Document:
    check_label(document, to)
    old = find_flow(document, start, end, label)
    if label == to:
        return document
    new = replace(old, label=to, origin=None)
    _check_new(document, new)
    notes = move_note(document.notes, flow_target(old), flow_target(new))
    return document.change(flows=tuple(new if flow == old else flow for flow in document.flows), notes=notes)


def find_flow(document: Document, start: str, end: str, label: str) -> AnnotatedFlow:
    for flow in document.flows:
        if (flow.start, flow.end, flow.label) == (start, end, label):
            return flow
    reason = f"expected a flow {start} -{label}-> {end}, found none"
    raise RefusedError("no_flow", reason, start=start, end=end, label=label)


def check_label(document: Document, label: str) -> None:
    """Refuse a label that the release does not have."""
    if label not in (known := document.scheme.labels):
        raise RefusedError("label", f"expected a label of {', '.join(known)}, found {label!r}", label=label)


def _check_new(document: Document, flow: AnnotatedFlow) -> None:
    start, end, label = flow.start, flow.end, flow.label
    if any((other.start, other.end, other.label) == (start, end, label) for other in document.flows):
        reason = f"expected each flow once, found {start} -{label}-> {end} already there"
        raise RefusedError("duplicate", reason, start=start, end=end, label=label)


def _find_path(document: Document, start: str, end: str) -> list[str] | None:
    """The shortest path along the flows."""
    following: defaultdict[str, list[str]] = defaultdict(list)
    for flow in document.flows:
        following[flow.start].append(flow.end)
    came_from: dict[str, str | None] = {start: None}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        if node == end:
            path = [node]
            while (node := came_from[node]) is not None:
                path.append(node)
            return path[::-1]
        for after in following[node]:
            if after not in came_from:
                came_from[after] = node
                queue.append(after)
    return None
