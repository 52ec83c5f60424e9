"""What is known of two entities before there is a flow between them: tags, order, distance, shared words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache

from recipeflow.annotate.suggest.dictionary import lowered
from recipeflow.annotate.suggest.learner import Features
from recipeflow.release.recipe import Entity, Recipe

NEAR = 14
"""Entities that are further apart than this are candidates only if they have words in common."""

EDGE = "|"
"""In place of a word, where a line begins or ends."""


class EntityPairs:
    """The entities of a recipe in reading order, by number, and the features of pairs of them."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.entities = list(recipe.entities.values())
        self.words = {(e.section, e.line): lowered(recipe, e.section, e.line) for e in self.entities}
        self.texts = [(entity.text or "").lower() for entity in self.entities]
        self.contents = [frozenset(self._words_of(entity)) for entity in self.entities]
        self.before = self._count_tags()
        self.last_line = max((e.line for e in self.entities if e.section), default=0)
        self.relation = cache(self._relation)

    def _words_of(self, entity: Entity) -> list[str]:
        return self.words[entity.section, entity.line][entity.start_word : entity.end_word]

    def _count_tags(self) -> list[Counter[str]]:
        """How many entities of each tag come before each entity, and before the end."""
        counts, count = [], Counter()
        for entity in self.entities:
            counts.append(count.copy())
            count[entity.tag] += 1
            count["action"] += entity.tag.startswith("A")
        return [*counts, count]

    def candidates(self, start: int) -> list[int]:
        """Where a flow from an entity may end."""
        return [
            end
            for end in range(len(self.entities))
            if end != start and (abs(end - start) <= NEAR or self.relation(start, end) != "")
        ]

    def _relation(self, start: int, end: int) -> str:
        """How the words of two entities are related; nothing if they are not."""
        one, other = self.texts[start], self.texts[end]
        if not one or not other:
            return ""
        if one == other:
            return "same"
        if one in other or other in one:
            return "part"
        if self.contents[start] & self.contents[end]:
            return "word"
        first, second = self.entities[start], self.entities[end]
        if (first.section, first.line) != (second.section, second.line) and self._mentions(first, end):
            return "line"  # such as the mark of a group of ingredients, or the food of an action
        return ""

    def _mentions(self, entity: Entity, other: int) -> bool:
        """Whether the line of an entity has all words of another one."""
        return self.contents[other] <= set(self.words[entity.section, entity.line])

    def _between(self, start: int, end: int, tag: str) -> int:
        """How many entities of a tag are between two, at most 3."""
        low, high = min(start, end), max(start, end)
        inside = self.before[high][tag] - self.before[low + 1][tag]
        return min(inside, 3)

    def _beside(self, entity: Entity, after: bool) -> str:
        words, place = self.words[entity.section, entity.line], entity.end_word if after else entity.start_word - 1
        return words[place] if 0 <= place < len(words) else EDGE

    def _newest(self, start: int, end: int) -> bool:
        """Whether no other entity of the same tag as the start that is related to the end comes between them."""
        tag = self.entities[start].tag
        return not any(self.entities[k].tag == tag and self.relation(k, end) for k in range(start + 1, end))

    def _first(self, start: int, end: int) -> bool:
        """Whether the end is the first entity after the start that is related to it in this way."""
        kind = self.relation(start, end)
        tag, section = self.entities[end].tag, self.entities[end].section
        return not any(
            self.entities[k].tag == tag and self.entities[k].section == section and self.relation(start, k) == kind
            for k in range(start + 1, end)
        )

    def describe(self, start: int, end: int) -> Features:
        """The features of a flow from one entity to another."""
        one, other = self.entities[start], self.entities[end]
        way = ">" if end > start else "<"
        tags = f"{one.tag}{way}{other.tag}"
        far = one.section != other.section
        lines = "other" if far else _step(other.line - one.line)
        same_line = not far and one.line == other.line
        actions = self._between(start, end, "action")
        ends, starts = self._between(start, end, other.tag), self._between(start, end, one.tag)
        related = self.relation(start, end)
        order = f"{self._newest(start, end)} {self._first(start, end)}" if related else ""
        behind, ahead = self._beside(one, True), self._beside(other, False)
        return (
            "flow",
            f"tags {tags} {one.section}{other.section}",
            f"distance {tags} {_step(end - start)}",
            f"lines {tags} {lines}",
            f"actions {tags} {actions} {same_line}",
            f"ends {tags} {ends}",
            f"starts {tags} {starts}",
            f"crowd {tags} {ends} {starts} {same_line}",
            f"all {tags} {actions} {ends} {starts} {lines}",
            f"related {related} {one.tag == other.tag} {far}",
            f"related {tags} {related} {far}",
            f"related {tags} {related} {order} {far}",
            f"behind {tags} {behind}",
            f"behind {tags} {behind} {_step(end - start)}",
            f"behind {tags} {behind} {same_line} {ends}",
            f"ahead {tags} {ahead}",
            f"before {tags} {self._beside(one, False)}",
            f"after {tags} {self._beside(other, True)}",
            f"start {self.texts[start]} {way}{other.tag} {same_line} {ends}",
            f"end {self.texts[end]} {one.tag}{way} {same_line} {ends}",
            f"both {self.texts[start]} {way} {self.texts[end]}",
        )

    def describe_none(self, start: int) -> Features:
        """The features of no flow from an entity, such as the last action."""
        entity = self.entities[start]
        last = self.before[-1][entity.tag] - self.before[start][entity.tag] == 1
        return (
            "none",
            f"none {entity.tag} {entity.section}",
            f"none {entity.tag} {last}",
            f"none {entity.tag} {len(self.entities) - start < 4}",
            f"none {self.texts[start]}",
            f"none {entity.tag} {self._beside(entity, True)}",
        )

    def describe_label(self, start: int, end: int) -> Features:
        """The features that a flow's label follows from."""
        one, other = self.entities[start], self.entities[end]
        way = ">" if end > start else "<"
        tags = f"{one.tag}{way}{other.tag}"
        beside = [self._beside(one, False), self._beside(one, True), self._beside(other, False)]
        return (
            f"tags {tags}",
            f"tags {tags} {one.section}{other.section}",
            *(f"beside {place} {tags} {word}" for place, word in enumerate(beside)),
            f"beside {beside[1]}",
            f"before {beside[0]}",
            f"start {other.tag} {self.texts[start]}",
            f"end {one.tag} {self.texts[end]}",
            f"related {tags} {self.relation(start, end)}",
            f"ends {tags} {self._between(start, end, other.tag)}",
            f"starts {tags} {self._between(start, end, one.tag)}",
            f"distance {tags} {_step(end - start)}",
            f"actions {tags} {self._between(start, end, 'action')}",
        )

    def numbered(self) -> Iterator[tuple[str, int]]:
        """The id of every entity with its number."""
        return ((entity.id, number) for number, entity in enumerate(self.entities))


def _step(distance: int) -> str:
    """A distance, exactly if it is small."""
    size = abs(distance)
    rough = size if size <= 3 else next(limit for limit in (5, 8, 14, 10_000_000) if size <= limit)
    return f"{'-' if distance < 0 else '+'}{rough}"
