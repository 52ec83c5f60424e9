"""The frame to offer as an object's before-frame, from the frames that were chosen before it.

Films go forward, so an object's before-frame is most often where the last after-frame was. Two things move it on: the
object itself was last seen later than that, or a new instruction begins with something that was not touched yet,
which a film shows in a new shot. ``tests/annotate/test_offers.py`` measures the rule on the official annotations.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from recipeflow.annotate.document import AnnotatedPair, Document, place


def offer_frames(document: Document) -> dict[str, int]:
    """For objects by key, the likeliest before-frame, where something before them has an after-frame.

    It is not known here which frames a film has: the offer may have to be the next one that exists.
    """
    seen = _last_seen(document)
    offers: dict[str, int] = {}
    latest: AnnotatedPair | None = None
    for action, listed in document.objects.items():
        for pair in listed:
            own, last = seen.get(pair.key), _after(latest)
            if own is None and last is not None and latest is not None and _line(latest.action) != _line(action):
                offers[pair.key] = last + 1
            elif known := [frame for frame in (own, last) if frame is not None]:
                offers[pair.key] = max(known)
            if _after(pair) is not None:
                latest = pair
    return offers


def _after(pair: AnnotatedPair | None) -> int | None:
    return pair.after if pair is not None and isinstance(pair.after, int) else None


def _line(word: str) -> tuple[int, ...]:
    """The line that a word is in."""
    return place(word)[:2]


def _last_seen(document: Document) -> dict[str, int]:
    """For objects by key, the after-frame of the previous action on the same object, if there is one.

    That is the last action before it, in reading order, with the same object; else the nearest actions from which
    flows lead to the object, or the object itself if it is the result of an action.
    """
    afters = _after_frames(document)
    by_object: defaultdict[str, list[tuple[tuple[int, ...], int]]] = defaultdict(list)
    for listed in document.objects.values():
        for pair in listed:
            if (frame := _after(pair)) is not None:
                by_object[pair.object].append((place(pair.action), frame))
    sources: defaultdict[str, list[str]] = defaultdict(list)
    for flow in document.flows:
        sources[flow.end].append(flow.start)
    seen = {}
    for action, listed in document.objects.items():
        for pair in listed:
            earlier = [found for found in by_object[pair.object] if found[0] < place(action)]
            frame = max(earlier)[1] if earlier else _nearest(pair.object, sources, afters)
            if frame is not None:
                seen[pair.key] = frame
    return seen


def _after_frames(document: Document) -> dict[str, int]:
    """The last after-frame of every action that has one."""
    frames = {action: [_after(pair) for pair in listed] for action, listed in document.objects.items()}
    numbers = {action: [frame for frame in found if frame is not None] for action, found in frames.items()}
    return {action: max(found) for action, found in numbers.items() if found}


def _nearest(name: str, sources: Mapping[str, Sequence[str]], afters: Mapping[str, int]) -> int | None:
    seen, nodes = set(), [name]
    while nodes:
        if found := [afters[node] for node in nodes if node in afters]:
            return max(found)
        seen.update(nodes)
        nodes = list({source for node in nodes for source in sources[node]} - seen)
    return None
