"""The frame that an object was last seen in: offered as the before-frame of the next action on it."""

from __future__ import annotations

from collections import defaultdict

from recipeflow.annotate.document import Document, place


def offer_frames(document: Document) -> dict[str, int]:
    """For objects by key, the after-frame of the previous action on the same object, if there is one.

    That is the last action before it, in reading order, with the same object; else the nearest actions from which
    flows lead to the object, or the object itself if it is the result of an action.
    """
    afters = _after_frames(document)
    by_object: defaultdict[str, list[tuple[tuple[int, ...], int]]] = defaultdict(list)
    for listed in document.objects.values():
        for pair in listed:
            if isinstance(pair.after, int):
                by_object[pair.object].append((place(pair.action), pair.after))
    sources: defaultdict[str, list[str]] = defaultdict(list)
    for flow in document.flows:
        sources[flow.end].append(flow.start)
    offers = {}
    for action, listed in document.objects.items():
        for pair in listed:
            earlier = [found for found in by_object[pair.object] if found[0] < place(action)]
            frame = max(earlier)[1] if earlier else _nearest(pair.object, sources, afters)
            if frame is not None:
                offers[pair.key] = frame
    return offers


def _after_frames(document: Document) -> dict[str, int]:
    """The last after-frame of every action that has one."""
    frames = {action: [pair.after for pair in listed] for action, listed in document.objects.items()}
    numbers = {action: [frame for frame in found if isinstance(frame, int)] for action, found in frames.items()}
    return {action: max(found) for action, found in numbers.items() if found}


def _nearest(name: str, sources: dict[str, list[str]], afters: dict[str, int]) -> int | None:
    seen, nodes = set(), [name]
    while nodes:
        if found := [afters[node] for node in nodes if node in afters]:
            return max(found)
        seen.update(nodes)
        nodes = list({source for node in nodes for source in sources[node]} - seen)
    return None
