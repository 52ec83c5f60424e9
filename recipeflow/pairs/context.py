"""What the flow graph says about an action beyond its verb, its object and one picture.

Three things help to predict how an object will look: how the action is done ("thinly", "for 3 minutes", into which
bowl), what was done to the object before, and, where its pre-action image is missing, the last picture in which it
was seen. All of them are found by walking the flows backwards.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recipeflow.release.recipe import LABELS, TAGS

Words = tuple[str, ...]
Context = tuple[tuple[str, str], ...]
"""Words with their roles, from ``configuration_vrf.CONTEXT_ROLES``."""

MANNER = ("other-mod", "T-comp", "F-comp", "V-tm")
"""Flows into an action that say how, with what or when it is done."""

MATERIAL = ("Targ", "Dest", "F-eq", "F-set", "F-part-of", "F-comp")
"""Flows along which food goes from the ingredient list to the dish."""

HISTORY_ROLES = {"Ac": "done", "F": "from", "Sf": "state"}
DEEPEST = 6
"""How many flows back history goes; what was done earlier is hardly visible any more."""

MOST_WORDS = 24
"""The largest number of words in a context, the nearest first."""


class RecipeHistory:
    """The flow graph of one recipe, to be walked backwards.

    Args:
        nodes: Rows of the column ``nodes`` of ``flow_graphs``.
        edges: Rows of the column ``edges``.
    """

    def __init__(self, nodes: Sequence[Mapping[str, Any]], edges: Sequence[Mapping[str, Any]]) -> None:
        tags, labels = tuple(TAGS), tuple(LABELS)
        self.tags = {node["id"]: tags[node["tag"]] for node in nodes}
        self.incoming: dict[str, list[tuple[str, str]]] = defaultdict(list)
        self.outgoing: dict[str, list[str]] = defaultdict(list)
        for edge in edges:
            label = labels[edge["label"]]
            self.incoming[edge["end"]].append((edge["start"], label))
            if label in MATERIAL:
                self.outgoing[edge["start"]].append(edge["end"])

    def manner(self, action: str) -> Iterator[tuple[str, str]]:
        """How the action is done and its destination, as roles and entities."""
        for start, label in self.incoming[action]:
            if label == "Dest":
                yield "destination", start
            elif label in MANNER:
                yield "modifier", start
                yield from (("modifier", other) for other, kind in self.incoming[start] if kind in MANNER)

    def levels(self, action: str, entity: str | None) -> Iterator[list[str]]:
        """The object's history, the nearest to the action first.

        An object that was put into a set ("all of it") is named by its ingredient, so first come the steps between
        the two, then what the object itself was made from, one flow back at a time.
        """
        if entity is None:
            return
        yield from self._walk_back(action, self._results_of(entity))
        yield [entity]
        yield from self._walk_back(entity)

    def _walk_back(self, end: str, among: Container[str] | None = None) -> Iterator[list[str]]:
        """What this was made from, one flow back at a time; only among ``among``, if given."""
        seen, level = {end}, [end]
        for _ in range(DEEPEST):
            found = [start for end in level for start, label in self.incoming[end] if label in MATERIAL]
            level = [
                start for start in dict.fromkeys(found) if start not in seen and (among is None or start in among)
            ]
            if not level:
                return
            seen.update(level)
            yield level

    def _results_of(self, entity: str) -> set[str]:
        """Everything that the entity flows into."""
        found, waiting = set(), [entity]
        while waiting:
            following = self.outgoing[waiting.pop()]
            waiting.extend(end for end in following if end not in found)
            found.update(following)
        return found

    def history(self, action: str, entity: str | None) -> Iterator[tuple[str, str]]:
        """What was done to the object before, to what, and the states mentioned on the way."""
        for level in self.levels(action, entity):
            for earlier in level:
                mentioned = [other for other, label in self.incoming[earlier] if label in MANNER]
                for entity_id in (earlier, *mentioned):
                    if entity_id != entity and (role := HISTORY_ROLES.get(self.tags[entity_id])):
                        yield role, entity_id


def describe_row(
    history: RecipeHistory,
    action: str,
    entity: str | None,
    companions: Sequence[str | None],
    words: Mapping[str, Words],
) -> Context:
    """The context of one row of ``image_pairs``.

    Args:
        history: Of its recipe.
        action: The id of the action.
        entity: The id of the object, if it has one.
        companions: The objects of the same action, this one among them.
        words: The words of every entity of the recipe; none where the release has no text.
    """
    mentioned = [
        *history.manner(action),
        *(("together", other) for other in companions if other is not None and other != entity),
        *history.history(action, entity),
    ]
    pairs = [(role, word) for role, entity_id in mentioned for word in words.get(entity_id, ())]
    return tuple(dict.fromkeys(pairs))[:MOST_WORDS]


@dataclass(frozen=True)
class Picture:
    """A post-action image: the object it belongs to, the number of its frame in the film, and that of the image."""

    entity: str | None
    frame: int
    image: int


def last_seen(
    history: RecipeHistory,
    action: str,
    entity: str | None,
    pictures: Mapping[str, Sequence[Picture]],
    result: Picture | None,
) -> int:
    """The image in which the object was last seen before the action, or -1.

    Args:
        history: Of its recipe.
        action: The id of the action.
        entity: The id of the object.
        pictures: The post-action images of every action.
        result: The row's own post-action image, which is the answer: neither it nor anything later is returned.
    """
    for level in history.levels(action, entity):
        seen = [
            picture
            for earlier in level
            for picture in pictures.get(earlier, ())
            if result is None or (picture.frame < result.frame and picture.image != result.image)
        ]
        if seen:
            return max(seen, key=lambda picture: (picture.entity == entity, picture.frame)).image
    return -1
