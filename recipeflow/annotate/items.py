"""Single decisions of an annotation, each with a key that says all of it.

By their keys two annotations are compared, and one can be offered to another as suggestions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from recipeflow.annotate.document import SIDES, Document, Edge, Mark, Shot, as_row
from recipeflow.annotate.effects import Effects
from recipeflow.annotate.flows import add_flow
from recipeflow.annotate.objects import add_object, check_choice, check_order, put_shots
from recipeflow.annotate.words import find_mark, put_entity
from recipeflow.errors import RefusedError

Decision = Mark | Edge | Shot


@dataclass(frozen=True, slots=True)
class Item:
    """One decision; ``value`` is a ``Mark``, an ``Edge`` or a ``Shot``, without its origin."""

    key: str
    value: Decision

    @property
    def kind(self) -> str:
        """How pages call it."""
        return KINDS[type(self.value)]

    def as_dict(self, document: Document) -> dict[str, Any]:
        """The item as pages get it and send it back; the text of an entity comes from the document's words."""
        row = {name: value for name, value in as_row(self.value).items() if name != "origin"}
        if isinstance(self.value, Mark):
            row = {"id": self.value.id, **row, "text": mark_text(document, self.value)}
        elif isinstance(self.value, Shot):
            row["object"] = self.value.entity
        return {"key": self.key, "kind": self.kind, "item": row}


KINDS = {Mark: "entity", Edge: "flow", Shot: "image"}


def mark_text(document: Document, mark: Mark) -> str | None:
    """The words of an entity as text."""
    line = document.base.sections[mark.section][mark.line]
    return line.text and line.text[line.words[mark.start].start : line.words[mark.end - 1].end]


def make_item(value: Decision) -> Item:
    """A decision with its key."""
    value = replace(value, origin=None)
    if isinstance(value, Mark):
        return Item(f"ne:{value.id}:{value.end}:{value.tag}", value)
    if isinstance(value, Edge):
        return Item(f"fg:{value.start}>{value.end}:{value.label}", value)
    sides = ":".join("-" if frame is None else str(frame) for frame in (value.before, value.after))
    return Item(f"im:{value.key}:{sides}", value)


def list_items(document: Document) -> dict[str, Item]:
    """All decisions of a document by key: entities, flows and chosen frames, in this order."""
    shots = (shot for listed in document.objects.values() for shot in listed)
    chosen = (shot for shot in shots if shot.before is not None or shot.after is not None)
    items = map(make_item, (*document.entities, *document.flows, *chosen))
    return {item.key: item for item in items}


def accept_item(document: Document, item: Item, origin: str, replaces: bool, effects: Effects) -> Document:
    """Make a decision one's own.

    Args:
        document: Before.
        item: The decision.
        origin: Whose it was.
        replaces: Take the place of what stands against it, instead of leaving that alone.
        effects: What went along.

    Raises:
        RefusedError: If it cannot be, or is so already.
    """
    value = replace(item.value, origin=origin)
    if isinstance(value, Mark):
        changed = _accept_entity(document, value, replaces, effects)
    elif isinstance(value, Edge):
        changed = _accept_flow(document, value, replaces, effects)
    else:
        changed = _accept_shot(document, value, replaces)
    if changed == document:
        raise RefusedError("unchanged", "expected something new, found it so already")
    return changed


def _accept_entity(document: Document, mark: Mark, replaces: bool, effects: Effects) -> Document:
    if not replaces:
        line = mark.section, mark.line
        for other in document.entities:
            if (other.section, other.line) == line and other.start < mark.end and mark.start < other.end:
                raise RefusedError("overlap", f"expected free words, found the entity {other.id}", entity=other.id)
    return put_entity(document, mark, effects, replaces)


def _accept_flow(document: Document, edge: Edge, replaces: bool, effects: Effects) -> Document:
    beside = [other for other in document.flows if (other.start, other.end) == (edge.start, edge.end)]
    if beside and not replaces:
        label = beside[0].label
        reason = f"expected no flow from {edge.start} to {edge.end}, found {label}"
        raise RefusedError("duplicate", reason, start=edge.start, end=edge.end, label=label)
    if edge.label in (other.label for other in beside):
        return document
    effects.removed_flows += beside
    rest = tuple(other for other in document.flows if other not in beside)
    return add_flow(document.change(flows=rest), edge)


def _accept_shot(document: Document, shot: Shot, replaces: bool) -> Document:
    if find_mark(document, shot.action).tag != "Ac":
        raise RefusedError("not_action", f"expected an action, found {shot.action}", entity=shot.action)
    for side in SIDES:
        check_choice(side, getattr(shot, side))
    check_order(shot)
    found = {other.object: other for other in document.objects[shot.action]}
    if shot.object not in found:
        document = add_object(document, shot.action, shot.entity)
        name = document.objects[shot.action][-1].object
        return put_shots(document, [replace(shot, object=name)])
    old = found[shot.object]
    sides = {}
    for side in SIDES:
        given, there = getattr(shot, side), getattr(old, side)
        sides[side] = given if given is not None and (replaces or there is None) else there
    if (old.before, old.after) == tuple(sides.values()):
        return document
    new = replace(shot, **sides)
    check_order(new)
    return put_shots(document, [new])
