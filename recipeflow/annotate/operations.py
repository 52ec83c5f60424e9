"""Everything that a person can do to a document, as small typed operations that can be stored.

``apply`` is pure: the same operation on the same document always gives the same document, and the patch that
undoes it. Invalid results (a cycle, a second flow of the same kind, words of two entities) are refused with a
reason, and nothing changes.
"""

from __future__ import annotations

import typing
from dataclasses import Field, asdict, dataclass
from typing import Any, ClassVar, NamedTuple

from recipeflow.annotate import division, flows, notes, objects, words
from recipeflow.annotate.accepting import Accept, Reconsider, Reject
from recipeflow.annotate.document import STEPS, AnnotatedEntity, AnnotatedFlow, Document, FrameChoice, Note
from recipeflow.annotate.effects import Effects
from recipeflow.annotate.patches import Patch, difference, turn
from recipeflow.annotate.typed_json import read_value
from recipeflow.errors import RefusedError, RequestError, short


@dataclass(frozen=True)
class Tag:
    """Make words an entity; those wholly inside become part of it."""

    section: int
    line: int
    start: int
    end: int
    tag: str

    def run(self, document: Document, effects: Effects) -> Document:
        entity = AnnotatedEntity(self.section, self.line, self.start, self.end, self.tag)
        return words.put_entity(document, entity, effects)


@dataclass(frozen=True)
class Retag:
    """Give an entity another tag."""

    entity: str
    tag: str

    def run(self, document: Document, effects: Effects) -> Document:
        return words.retag(document, self.entity, self.tag, effects)


@dataclass(frozen=True)
class RetagAll:
    """Give several entities another tag: one repair of what a search found."""

    entities: tuple[str, ...]
    tag: str

    def run(self, document: Document, effects: Effects) -> Document:
        for entity in self.entities:
            document = words.retag(document, entity, self.tag, effects)
        return document


@dataclass(frozen=True)
class Reshape:
    """Give an entity other words of its line."""

    entity: str
    start: int
    end: int

    def run(self, document: Document, effects: Effects) -> Document:
        return words.reshape(document, self.entity, self.start, self.end, effects)


@dataclass(frozen=True)
class Split:
    """Split an entity at a word."""

    entity: str
    at: int
    tag: str | None = None

    def run(self, document: Document, effects: Effects) -> Document:
        return words.split(document, self.entity, self.at, self.tag)


@dataclass(frozen=True)
class Remove:
    """Remove an entity."""

    entity: str

    def run(self, document: Document, effects: Effects) -> Document:
        return words.remove(document, self.entity, effects)


@dataclass(frozen=True)
class Cut:
    """Divide a word after some of its characters."""

    section: int
    line: int
    word: int
    at: int

    def run(self, document: Document, effects: Effects) -> Document:
        return division.cut_word(document, self.section, self.line, self.word, self.at, effects)


@dataclass(frozen=True)
class Join:
    """Make one word of several."""

    section: int
    line: int
    start: int
    end: int

    def run(self, document: Document, effects: Effects) -> Document:
        return division.join_words(document, self.section, self.line, self.start, self.end, effects)


@dataclass(frozen=True)
class AddFlow:
    """Add a flow."""

    start: str
    end: str
    label: str

    def run(self, document: Document, effects: Effects) -> Document:
        return flows.add_flow(document, AnnotatedFlow(self.start, self.end, self.label))


@dataclass(frozen=True)
class RemoveFlow:
    """Remove a flow."""

    start: str
    end: str
    label: str

    def run(self, document: Document, effects: Effects) -> Document:
        return flows.remove_flow(document, self.start, self.end, self.label)


@dataclass(frozen=True)
class Relabel:
    """Give a flow another label."""

    start: str
    end: str
    label: str
    to: str

    def run(self, document: Document, effects: Effects) -> Document:
        return flows.relabel(document, self.start, self.end, self.label, self.to)


@dataclass(frozen=True)
class FlowName:
    """A flow by its ends and label."""

    start: str
    end: str
    label: str


@dataclass(frozen=True)
class RelabelAll:
    """Give several flows another label."""

    flows: tuple[FlowName, ...]
    to: str

    def run(self, document: Document, effects: Effects) -> Document:
        for flow in self.flows:
            document = flows.relabel(document, flow.start, flow.end, flow.label, self.to)
        return document


@dataclass(frozen=True)
class AddObject:
    """Add an object to the list of an action."""

    action: str
    object: str | None
    position: int | None = None

    def run(self, document: Document, effects: Effects) -> Document:
        return objects.add_object(document, self.action, self.object, self.position)


@dataclass(frozen=True)
class RemoveObject:
    """Remove an object from the list of its action."""

    key: str

    def run(self, document: Document, effects: Effects) -> Document:
        return objects.remove_object(document, self.key, effects)


@dataclass(frozen=True)
class MoveObject:
    """Move an object in its list."""

    key: str
    position: int

    def run(self, document: Document, effects: Effects) -> Document:
        return objects.move_object(document, self.key, self.position)


@dataclass(frozen=True)
class ResetObjects:
    """Let the list of an action follow the flows again."""

    action: str

    def run(self, document: Document, effects: Effects) -> Document:
        return objects.reset_objects(document, self.action, effects)


@dataclass(frozen=True)
class SetFrame:
    """Choose the frame of one side of an object."""

    key: str
    side: str
    value: FrameChoice

    def run(self, document: Document, effects: Effects) -> Document:
        return objects.set_frames(document, [(self.key, self.side, self.value)])


@dataclass(frozen=True)
class SetFrames:
    """Choose several frames at once."""

    changes: tuple[SetFrame, ...]

    def run(self, document: Document, effects: Effects) -> Document:
        return objects.set_frames(document, [(each.key, each.side, each.value) for each in self.changes])


@dataclass(frozen=True)
class PutNote:
    """Say something about an entity, a flow or an image, or that one is unsure of it; nothing removes the note."""

    target: str
    unsure: bool
    text: str

    def run(self, document: Document, effects: Effects) -> Document:
        return notes.put_note(document, Note(self.target, self.unsure, self.text))


@dataclass(frozen=True)
class Done:
    """Mark a step as done, or reopen it."""

    step: str
    done: bool

    def run(self, document: Document, effects: Effects) -> Document:
        if self.step not in STEPS:
            raise RefusedError("step", f"expected a step of {', '.join(STEPS)}, found {self.step!r}", step=self.step)
        steps = {*document.done, self.step} if self.done else {*document.done} - {self.step}
        return document.change(done=tuple(step for step in STEPS if step in steps))


OPERATIONS: dict[str, type[Operation]] = {
    "tag": Tag,
    "retag": Retag,
    "retag_all": RetagAll,
    "reshape": Reshape,
    "split": Split,
    "remove": Remove,
    "cut": Cut,
    "join": Join,
    "flow": AddFlow,
    "unflow": RemoveFlow,
    "relabel": Relabel,
    "relabel_all": RelabelAll,
    "add_object": AddObject,
    "remove_object": RemoveObject,
    "move_object": MoveObject,
    "reset_objects": ResetObjects,
    "frame": SetFrame,
    "frames": SetFrames,
    "note": PutNote,
    "done": Done,
    "accept": Accept,
    "reject": Reject,
    "reconsider": Reconsider,
}
_NAMES = {kind: name for name, kind in OPERATIONS.items()}


class Operation(typing.Protocol):
    """An operation on a document."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def run(self, document: Document, effects: Effects) -> Document:
        """Carry it out; ``effects`` notes what else changes with it."""
        ...


class Applied(NamedTuple):
    """The result of an operation: the new document, the patch back to the old one, and the side effects."""

    document: Document
    inverse: Patch
    effects: Effects


def apply(document: Document, operation: Operation) -> Applied:
    """Apply an operation.

    Raises:
        RefusedError: If the result is invalid or unchanged.
    """
    effects = Effects()
    after = notes.prune_notes(operation.run(document, effects))
    patch = difference(document, after)
    if not patch:
        raise RefusedError("unchanged", "expected a change, found none")
    return Applied(after, turn(patch), effects)


def operation_to_json(operation: Operation) -> dict[str, Any]:
    """An operation as it is sent and stored."""
    return {"op": _NAMES[type(operation)], **asdict(operation)}


def read_operation(raw: Any) -> Operation:
    """The inverse of ``operation_to_json``.

    Raises:
        RequestError: If it is not an operation.
    """
    if not isinstance(raw, dict) or not isinstance(raw.get("op"), str) or raw["op"] not in OPERATIONS:
        raise RequestError(
            f"expected an operation, an object with op one of {', '.join(OPERATIONS)}; found {short(raw)}"
        )
    return read_value(OPERATIONS[raw["op"]], {key: value for key, value in raw.items() if key != "op"}, raw["op"])
