"""Single decisions of an annotation, each with a key that describes it completely.

The keys are used to compare two annotations, and to offer one as suggestions for another.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from recipeflow.annotate.document import SIDES, AnnotatedEntity, AnnotatedFlow, AnnotatedPair, Document, as_row
from recipeflow.annotate.effects import Effects
from recipeflow.annotate.flows import add_flow
from recipeflow.annotate.objects import add_object, check_choice, check_order, put_pairs
from recipeflow.annotate.words import find_entity, put_entity
from recipeflow.errors import RefusedError

Decision = AnnotatedEntity | AnnotatedFlow | AnnotatedPair


@dataclass(frozen=True, slots=True)
class Item:
    """One decision: an entity, a flow or a pair, without its origin. A computed guess has a confidence."""

    key: str
    value: Decision
    confidence: float | None = None

    @property
    def kind(self) -> str:
        return KINDS[type(self.value)]

    @property
    def words(self) -> list[str]:
        """The ids of the words that it refers to."""
        value = self.value
        if isinstance(value, AnnotatedEntity):
            return [value.id]
        if isinstance(value, AnnotatedFlow):
            return [value.start, value.end]
        return [value.action] if value.entity is None else [value.action, value.entity]

    def as_dict(self, document: Document) -> dict[str, Any]:
        """The item as sent to pages and back; the text of an entity comes from the document's words."""
        row = {name: value for name, value in as_row(self.value).items() if name != "origin"}
        if isinstance(self.value, AnnotatedEntity):
            row = {"id": self.value.id, **row, "text": entity_text(document, self.value)}
        elif isinstance(self.value, AnnotatedPair):
            row["object"] = self.value.entity
        sure = {} if self.confidence is None else {"confidence": self.confidence}
        return {"key": self.key, "kind": self.kind, "item": row, **sure}


KINDS: dict[type[Decision], str] = {AnnotatedEntity: "entity", AnnotatedFlow: "flow", AnnotatedPair: "image"}
"""The names of decisions in pages and the log; they are saved, so they must not change."""


def entity_text(document: Document, entity: AnnotatedEntity) -> str | None:
    line = document.words.sections[entity.section][entity.line]
    return line.text and line.text[line.words[entity.start].start : line.words[entity.end - 1].end]


def make_item(value: Decision) -> Item:
    value = replace(value, origin=None)
    if isinstance(value, AnnotatedEntity):
        return Item(f"ne:{value.id}:{value.end}:{value.tag}", value)
    if isinstance(value, AnnotatedFlow):
        return Item(f"fg:{value.start}>{value.end}:{value.label}", value)
    sides = ":".join("-" if frame is None else str(frame) for frame in (value.before, value.after))
    return Item(f"im:{value.key}:{sides}", value)


def list_items(document: Document) -> dict[str, Item]:
    """All decisions of a document by key: entities, flows and chosen frames, in this order."""
    pairs = (pair for listed in document.objects.values() for pair in listed)
    chosen = (pair for pair in pairs if pair.before is not None or pair.after is not None)
    items = map(make_item, (*document.entities, *document.flows, *chosen))
    return {item.key: item for item in items}


def accept_item(document: Document, item: Item, origin: str, replaces: bool, effects: Effects) -> Document:
    """Add a decision to a document.

    Args:
        document: The document.
        item: The decision.
        origin: Where it comes from.
        replaces: Replace what conflicts with it, instead of refusing.
        effects: Collects side effects.

    Raises:
        RefusedError: If it is invalid, or already there.
    """
    value = replace(item.value, origin=origin)
    if isinstance(value, AnnotatedEntity):
        changed = _accept_entity(document, value, replaces, effects)
    elif isinstance(value, AnnotatedFlow):
        changed = _accept_flow(document, value, replaces, effects)
    else:
        changed = _accept_pair(document, value, replaces)
    if changed == document:
        raise RefusedError("unchanged", "expected something new, found it already there")
    return changed


def _accept_entity(document: Document, entity: AnnotatedEntity, replaces: bool, effects: Effects) -> Document:
    if not replaces:
        line = entity.section, entity.line
        for other in document.entities:
            if (other.section, other.line) == line and other.start < entity.end and entity.start < other.end:
                raise RefusedError("overlap", f"expected free words, found the entity {other.id}", entity=other.id)
    return put_entity(document, entity, effects, replaces)


def _accept_flow(document: Document, flow: AnnotatedFlow, replaces: bool, effects: Effects) -> Document:
    beside = [other for other in document.flows if (other.start, other.end) == (flow.start, flow.end)]
    if beside and not replaces:
        label = beside[0].label
        reason = f"expected no flow from {flow.start} to {flow.end}, found {label}"
        raise RefusedError("duplicate", reason, start=flow.start, end=flow.end, label=label)
    if flow.label in (other.label for other in beside):
        return document
    effects.removed_flows += beside
    rest = tuple(other for other in document.flows if other not in beside)
    return add_flow(document.change(flows=rest), flow)


def _accept_pair(document: Document, pair: AnnotatedPair, replaces: bool) -> Document:
    if find_entity(document, pair.action).tag != "Ac":
        raise RefusedError("not_action", f"expected an action, found {pair.action}", entity=pair.action)
    for side in SIDES:
        check_choice(side, getattr(pair, side))
    check_order(pair)
    found = {other.object: other for other in document.objects[pair.action]}
    if pair.object not in found:
        document = add_object(document, pair.action, pair.entity)
        name = document.objects[pair.action][-1].object
        return put_pairs(document, [replace(pair, object=name)])
    old = found[pair.object]
    sides = {}
    for side in SIDES:
        given, there = getattr(pair, side), getattr(old, side)
        sides[side] = given if given is not None and (replaces or there is None) else there
    if (old.before, old.after) == tuple(sides.values()):
        return document
    new = replace(pair, **sides)
    check_order(new)
    return put_pairs(document, [new])
