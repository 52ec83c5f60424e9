"""One recipe as annotated by one person so far: frozen, and cheap to compare, change and store.

Decisions are kept separate from what follows from them. Entities, flows and chosen frames are decisions. The
objects of an action follow from the flows, by the rule of ``recipeflow.graph.trace_objects``, until someone edits an
action's list by hand. Frames are stored by action and object, so they stay whatever happens to the flows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from recipeflow.graph import trace_objects
from recipeflow.release.recipe import Flow, Line, Recipe, StateChange, Word, word_id
from recipeflow.release.scheme import PAPER, Scheme

STEPS = ("words", "flows", "frames")
SIDES = ("before", "after")
NOT_VISIBLE = "none"
"""A side that is not visible in any frame; ``None`` means that it was not looked at yet."""

RELEASE = "release"
"""The origin of what was in the release when a layer started. What a person made has the origin ``None``."""

FrameChoice = int | str | None


def place(word: str) -> tuple[int, ...]:
    """A word id as numbers, to sort ids in reading order."""
    return tuple(map(int, word.split("-")))


@dataclass(frozen=True, slots=True)
class AnnotatedEntity:
    """An entity and where it comes from: words ``start`` up to, not including, ``end`` of a line."""

    section: int
    line: int
    start: int
    end: int
    tag: str
    origin: str | None = None

    @property
    def id(self) -> str:
        """The id of its first word."""
        return word_id(self.section, self.line, self.start)


@dataclass(frozen=True, slots=True)
class AnnotatedFlow:
    """A flow between two entities, and where it comes from."""

    start: str
    end: str
    label: str
    origin: str | None = None

    @property
    def sort_key(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Reading order, as in the official release."""
        return place(self.start), place(self.end)


@dataclass(frozen=True, slots=True)
class AnnotatedPair:
    """An image pair: the frames before and after an action, for one of its objects.

    ``object`` is an entity's id, or ``?0``, ``?1``, … without one.
    """

    action: str
    object: str
    before: FrameChoice = None
    after: FrameChoice = None
    origin: str | None = None

    @property
    def key(self) -> str:
        return f"{self.action}/{self.object}"

    @property
    def entity(self) -> str | None:
        """The object's entity, if it has one."""
        return None if self.object.startswith("?") else self.object

    @property
    def sort_key(self) -> tuple:
        """Reading order; objects without an entity come last."""
        nameless = self.object.startswith("?")
        return place(self.action), nameless, (int(self.object[1:]),) if nameless else place(self.object)


@dataclass(frozen=True, slots=True)
class HandList:
    """The objects of an action whose list was edited by hand and no longer follows the flows."""

    action: str
    objects: tuple[str, ...]

    @property
    def sort_key(self) -> tuple[int, ...]:
        """Reading order."""
        return place(self.action)


@dataclass(frozen=True, slots=True, order=True)
class LineWords:
    """A line that is divided into other words than when it was imported: where each of them ends."""

    section: int
    line: int
    ends: tuple[int, ...]


@dataclass(frozen=True, slots=True, order=True)
class Rejection:
    """A rejected suggestion."""

    origin: str
    key: str


@dataclass(frozen=True, slots=True)
class Note:
    """What an annotator says about a decision, see ``recipeflow.annotate.notes``."""

    target: str
    unsure: bool
    text: str = ""


PARTS: dict[str, type] = {
    "entities": AnnotatedEntity,
    "flows": AnnotatedFlow,
    "pairs": AnnotatedPair,
    "lists": HandList,
    "done": str,
    "rejected": Rejection,
    "cuts": LineWords,
    "notes": Note,
}
"""Everything that can change in a document, with the item type of each part."""

STORED_NAMES = {part: part for part in PARTS} | {"pairs": "shots"}
"""The name of a part in the database. Pairs keep the name of the first databases."""


@dataclass(frozen=True)
class Document:
    """One recipe in one layer.

    Args:
        base: Its words as they were imported, its text and title, without annotation; these never change.
        entities: In reading order.
        flows: In stored order, which decides the order of traced objects.
        pairs: Only those with a chosen frame.
        lists: The hand-edited lists of objects.
        done: The steps that are marked as done, in the order of ``STEPS``.
        rejected: The suggestions that were rejected.
        cuts: The lines that were divided into other words, in order.
        notes: What the annotator says about some decisions, in order.
        scheme: The tags and labels to choose from.
    """

    base: Recipe
    entities: tuple[AnnotatedEntity, ...] = ()
    flows: tuple[AnnotatedFlow, ...] = ()
    pairs: tuple[AnnotatedPair, ...] = ()
    lists: tuple[HandList, ...] = ()
    done: tuple[str, ...] = ()
    rejected: tuple[Rejection, ...] = ()
    cuts: tuple[LineWords, ...] = ()
    notes: tuple[Note, ...] = ()
    scheme: Scheme = PAPER

    @cached_property
    def entities_by_id(self) -> dict[str, AnnotatedEntity]:
        return {entity.id: entity for entity in self.entities}

    def change(self, **parts: tuple) -> Document:
        """The document with some parts replaced; what depends only on the others is not computed again."""
        changed = replace(self, **parts)
        kept = [name for name, sources in _FOLLOWS_FROM.items() if not sources & parts.keys()]
        changed.__dict__.update((name, self.__dict__[name]) for name in kept if name in self.__dict__)
        return changed

    @cached_property
    def words(self) -> Recipe:
        """The recipe with the words that it has now, without annotation."""
        if not self.cuts:
            return self.base
        sections = [list(lines) for lines in self.base.sections]
        for cut in self.cuts:
            line = sections[cut.section][cut.line]
            sections[cut.section][cut.line] = replace(line, words=divided_words(line, cut.ends))
        return replace(self.base, ingredients=tuple(sections[0]), instructions=tuple(sections[1]))

    @cached_property
    def tagged(self) -> Recipe:
        """The recipe with its entities and flows, without state changes."""
        sections = [list(lines) for lines in self.words.sections]
        for entity in self.entities:
            line = sections[entity.section][entity.line]
            words = list(line.words)
            for number in range(entity.start, entity.end):
                ne = f"{entity.tag}-{'I' if number > entity.start else 'B'}"
                words[number] = Word(words[number].start, words[number].end, ne)
            sections[entity.section][entity.line] = Line(tuple(words), line.text)
        flows = tuple(Flow(flow.start, flow.end, flow.label) for flow in self.flows)
        return replace(self.base, ingredients=tuple(sections[0]), instructions=tuple(sections[1]), flows=flows)

    @cached_property
    def traced(self) -> dict[str, tuple[str, ...]]:
        """The objects of every action, traced through the flows."""
        return trace_objects(self.tagged)

    @cached_property
    def objects(self) -> dict[str, tuple[AnnotatedPair, ...]]:
        """The objects of every action as shown, in order, with the frames chosen so far.

        A list also keeps objects with chosen frames that the flows no longer lead to or that were not in it.
        """
        chosen: defaultdict[str, dict[str, AnnotatedPair]] = defaultdict(dict)
        for pair in self.pairs:
            chosen[pair.action][pair.object] = pair
        by_hand = {edited.action: edited.objects for edited in self.lists}
        return {
            action: tuple(
                chosen[action].get(name) or AnnotatedPair(action, name)
                for name in dict.fromkeys((*by_hand.get(action, traced), *chosen[action]))
            )
            for action, traced in self.traced.items()
        }

    @cached_property
    def recipe(self) -> Recipe:
        """The annotation as in a release."""
        return replace(self.tagged, state_changes=tuple(self._state_changes()))

    def _state_changes(self) -> Iterator[StateChange]:
        """The state changes, in the order that matches their objects when read again.

        The format does not name objects: the n-th state change belongs to the n-th traced object. So traced objects
        are in traced order, one that was removed before another keeps its place without images, and objects that the
        flows do not lead to come last. A recipe without any chosen frame has no state changes.
        """
        if not any(pair.action in self.traced for pair in self.pairs) and "frames" not in self.done:
            return
        for action, listed in self.objects.items():
            pairs = {pair.object: pair for pair in listed}
            traced = list(self.traced[action])
            extra = [name for name in pairs if name not in traced]
            while traced and not extra and traced[-1] not in pairs:
                traced.pop()
            for name in (*traced, *extra):
                pair = pairs.get(name, AnnotatedPair(action, name))
                frames = (frame if isinstance(frame, int) else None for frame in (pair.before, pair.after))
                yield StateChange(action, *frames)

    def state(self) -> dict[str, list]:
        """Everything that can change, as JSON; the imported words are not part of it."""
        return {stored: to_rows(getattr(self, part)) for part, stored in STORED_NAMES.items()}

    def with_state(self, state: dict[str, list]) -> Document:
        """The same recipe with the content of ``state``; a part that is not in it did not exist when it was saved."""
        parts = {part: from_rows(part, state.get(stored, ())) for part, stored in STORED_NAMES.items()}
        return Document(self.base, **parts, scheme=self.scheme)


def spaces_of(line: Line) -> frozenset[int]:
    """The characters of a line that belong to no word: the spaces of languages that write them."""
    inside = {character for word in line.words for character in range(word.start, word.end)}
    return frozenset(range(max(inside, default=-1) + 1)) - inside


def divided_words(line: Line, ends: Sequence[int]) -> tuple[Word, ...]:
    """The words of a line that end at ``ends``; each begins behind the spaces that follow the one before it."""
    spaces, words, start = spaces_of(line), [], 0
    for end in ends:
        while start in spaces:
            start += 1
        words.append(Word(start, end))
        start = end
    return tuple(words)


_FOLLOWS_FROM = {
    "words": {"cuts"},
    "entities_by_id": {"entities"},
    "tagged": {"entities", "flows", "cuts"},
    "traced": {"entities", "flows"},
    "objects": {"entities", "flows", "pairs", "lists"},
}
"""Derived values, by the parts that they depend on."""


def as_row(item: Any) -> dict[str, Any]:
    """An item as JSON with names. ``dataclasses.asdict`` copies deeply, which would slow every click."""
    return {name: getattr(item, name) for name in item.__slots__}


def to_rows(items: Sequence[Any]) -> list:
    """The items of a part as JSON."""
    return [item if isinstance(item, str) else list(as_row(item).values()) for item in items]


def from_rows(part: str, rows: Sequence[Any]) -> tuple:
    """The inverse of ``to_rows``."""
    kind = PARTS[part]
    if kind is str:
        return tuple(rows)
    return tuple(kind(*(tuple(value) if isinstance(value, list) else value for value in row)) for row in rows)


def blank_document(recipe: Recipe, scheme: Scheme = PAPER) -> Document:
    """The bare words of a recipe."""
    ingredients, instructions = (
        tuple(Line(tuple(replace(word, ne="O") for word in line.words), line.text) for line in lines)
        for lines in recipe.sections
    )
    base = replace(recipe, ingredients=ingredients, instructions=instructions, flows=(), state_changes=())
    return Document(base, scheme=scheme)


def annotated_document(recipe: Recipe, scheme: Scheme = PAPER, origin: str | None = RELEASE) -> Document:
    """A recipe of a release as a document, with this origin.

    State changes do not name their objects, so they are paired with the traced ones, in order. Where their numbers
    differ, the action's list counts as edited by hand; a surplus state change is an object without an entity. Actions
    are in reading order, as in the official release.
    """
    traced = trace_objects(recipe)
    changes: defaultdict[str, list[StateChange]] = defaultdict(list)
    for change in recipe.state_changes:
        changes[change.action].append(change)
    pairs, lists = [], []
    for action in traced if recipe.state_changes else ():
        surplus = range(len(changes[action]) - len(traced[action]))
        names = (*traced[action][: len(changes[action])], *(f"?{number}" for number in surplus))
        if names != traced[action]:
            lists.append(HandList(action, names))
        for name, change in zip(names, changes[action], strict=True):
            frames = (NOT_VISIBLE if frame is None else frame for frame in (change.before, change.after))
            pairs.append(AnnotatedPair(action, name, *frames, origin))
    entities = tuple(
        AnnotatedEntity(entity.section, entity.line, entity.start_word, entity.end_word, entity.tag, origin)
        for entity in recipe.entities.values()
    )
    flows = tuple(AnnotatedFlow(flow.start, flow.end, flow.label, origin) for flow in recipe.flows)
    document = replace(blank_document(recipe, scheme), entities=entities, flows=flows, lists=tuple(lists))
    return replace(document, pairs=tuple(sorted(pairs, key=lambda pair: pair.sort_key)))
