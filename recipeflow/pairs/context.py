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

from recipeflow.release.scheme import PAPER, Scheme

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
        scheme: The names of their numbers.
    """

    def __init__(
        self, nodes: Sequence[Mapping[str, Any]], edges: Sequence[Mapping[str, Any]], scheme: Scheme = PAPER
    ) -> None:
        tags, labels = tuple(scheme.tags), tuple(scheme.labels)
        self.tags = {node["id"]: tags[node["tag"]] for node in nodes}
        self.incoming: dict[str, list[tuple[str, str]]] = defaultdict(list)
        self.made_from: dict[str, list[str]] = defaultdict(list)
        self.described_by: dict[str, list[str]] = defaultdict(list)
        self.outgoing: dict[str, list[str]] = defaultdict(list)
        for edge in edges:
            start, end, label = edge["start"], edge["end"], labels[edge["label"]]
            self.incoming[end].append((start, label))
            if label in MANNER:
                self.described_by[end].append(start)
            if label in MATERIAL:
                self.made_from[end].append(start)
                self.outgoing[start].append(end)
        self._made: dict[str, list[list[str]]] = {}  # several rows of a recipe ask for the same object
        self._results: dict[str, set[str]] = {}

    def manner(self, action: str) -> Iterator[tuple[str, str]]:
        """How the action is done and its destination, as roles and entities."""
        for start, label in self.incoming.get(action, ()):
            if label == "Dest":
                yield "destination", start
            elif label in MANNER:
                yield "modifier", start
                yield from (("modifier", other) for other in self.described_by.get(start, ()))

    def levels(self, action: str, entity: str | None) -> Iterator[list[str]]:
        """The object's history, the nearest to the action first.

        An object that was put into a set ("all of it") is named by its ingredient, so first come the steps between
        the two, then what the object itself was made from, one flow back at a time.
        """
        if entity is None:
            return
        yield from self._walk_back(action, self._results_of(entity))
        yield [entity]
        if entity not in self._made:
            self._made[entity] = list(self._walk_back(entity))
        yield from self._made[entity]

    def _walk_back(self, end: str, among: Container[str] | None = None) -> Iterator[list[str]]:
        """What this was made from, one flow back at a time; only among ``among``, if given."""
        seen, level = {end}, [end]
        for _ in range(DEEPEST):
            found = [start for end in level for start in self.made_from.get(end, ())]
            level = [
                start for start in dict.fromkeys(found) if start not in seen and (among is None or start in among)
            ]
            if not level:
                return
            seen.update(level)
            yield level

    def _results_of(self, entity: str) -> set[str]:
        """Everything that the entity flows into."""
        if entity in self._results:
            return self._results[entity]
        found: set[str] = set()
        waiting = [entity]
        while waiting:
            following = self.outgoing.get(waiting.pop(), ())
            waiting.extend([end for end in following if end not in found])
            found.update(following)
        self._results[entity] = found
        return found

    def history(self, action: str, entity: str | None) -> Iterator[tuple[str, str]]:
        """What was done to the object before, to what, and the states mentioned on the way."""
        for level in self.levels(action, entity):
            for earlier in level:
                for entity_id in (earlier, *self.described_by.get(earlier, ())):
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
