"""Everything that a person can do to a document, as small typed operations that can be stored.

``apply`` is pure: the same operation on the same document always gives the same document, and the patch that
undoes it. Invalid results (a cycle, a second flow of the same kind, words of two entities) are refused with a
reason, and nothing changes.
"""

from __future__ import annotations

import types
import typing
from dataclasses import MISSING, Field, asdict, dataclass, fields, is_dataclass
from typing import Any, ClassVar, NamedTuple

from recipeflow.annotate import flows, objects, words
from recipeflow.annotate.document import (
    STEPS,
    AnnotatedEntity,
    AnnotatedFlow,
    AnnotatedPair,
    Document,
    FrameChoice,
    Rejection,
)
from recipeflow.annotate.effects import Effects
from recipeflow.annotate.items import KINDS, Item, accept_item, make_item
from recipeflow.annotate.patches import Patch, difference, turn
from recipeflow.errors import RefusedError, RequestError, short, show


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
class Done:
    """Mark a step as done, or reopen it."""

    step: str
    done: bool

    def run(self, document: Document, effects: Effects) -> Document:
        if self.step not in STEPS:
            raise RefusedError("step", f"expected a step of {', '.join(STEPS)}, found {self.step!r}", step=self.step)
        steps = {*document.done, self.step} if self.done else {*document.done} - {self.step}
        return document.change(done=tuple(step for step in STEPS if step in steps))


@dataclass(frozen=True)
class Accepted:
    """A suggestion as it was listed."""

    key: str
    kind: str
    item: dict


@dataclass(frozen=True)
class Accept:
    """Accept suggestions, as many as possible."""

    origin: str
    items: tuple[Accepted, ...]
    replace: bool = False

    def run(self, document: Document, effects: Effects) -> Document:
        """What cannot be accepted is listed in the effects."""
        ranks = list(KINDS.values())
        accepted = []
        for item in sorted((_read_item(each) for each in self.items), key=lambda item: ranks.index(item.kind)):
            along = Effects()
            try:
                document = accept_item(document, item, self.origin, self.replace, along)
            except RefusedError as refusal:
                effects.skipped.append({"key": item.key, "code": refusal.code, "reason": refusal.reason})
                continue
            effects.add(along)
            accepted.append(item.key)
        if not accepted:
            reason = "expected a suggestion that can be accepted, found none"
            raise RefusedError("nothing_accepted", reason, skipped=effects.skipped)
        kept = (each for each in document.rejected if each.origin != self.origin or each.key not in accepted)
        return document.change(rejected=tuple(kept))


@dataclass(frozen=True)
class Reject:
    """Reject suggestions."""

    origin: str
    keys: tuple[str, ...]

    def run(self, document: Document, effects: Effects) -> Document:
        rejected = {*document.rejected, *(Rejection(self.origin, key) for key in self.keys)}
        return document.change(rejected=tuple(sorted(rejected)))


@dataclass(frozen=True)
class Reconsider:
    """Undo rejections."""

    origin: str
    keys: tuple[str, ...]

    def run(self, document: Document, effects: Effects) -> Document:
        rejected = {*document.rejected} - {Rejection(self.origin, key) for key in self.keys}
        return document.change(rejected=tuple(sorted(rejected)))


OPERATIONS: dict[str, type[Operation]] = {
    "tag": Tag,
    "retag": Retag,
    "reshape": Reshape,
    "split": Split,
    "remove": Remove,
    "flow": AddFlow,
    "unflow": RemoveFlow,
    "relabel": Relabel,
    "add_object": AddObject,
    "remove_object": RemoveObject,
    "move_object": MoveObject,
    "reset_objects": ResetObjects,
    "frame": SetFrame,
    "frames": SetFrames,
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
    after = operation.run(document, effects)
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
    return _read(OPERATIONS[raw["op"]], {key: value for key, value in raw.items() if key != "op"}, raw["op"])


def _read(hint: Any, value: Any, where: str) -> Any:
    """A value of this type from JSON."""
    if is_dataclass(hint):
        return _read_object(hint, value, where)
    if typing.get_origin(hint) is tuple and isinstance(value, list):
        return tuple(_read(typing.get_args(hint)[0], item, f"{where}[{i}]") for i, item in enumerate(value))
    accepted = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if type(value) not in accepted:  # not isinstance: true is not a number here
        raise RequestError(f"{where}: expected {hint}, found {show(value)}")
    return value


def _read_object(kind: type[Any], value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise RequestError(f"{where}: expected an object, found {show(value)}")
    hints = typing.get_type_hints(kind)
    needed = {field.name for field in fields(kind) if field.default is MISSING}
    if missing := needed - value.keys():
        raise RequestError(f"{where}: expected {', '.join(sorted(missing))}, found only {short(sorted(value))}")
    if unknown := value.keys() - hints.keys():
        raise RequestError(f"{where}: expected {', '.join(hints)}, found {short(sorted(unknown))} too")
    return kind(**{name: _read(hints[name], value[name], f"{where}.{name}") for name in value})


def _read_item(accepted: Accepted) -> Item:
    """The decision of a suggestion; its key has to match."""
    kinds = {name: kind for kind, name in KINDS.items()}
    if accepted.kind not in kinds:
        raise RequestError(f"items: expected a kind of {', '.join(kinds)}, found {short(accepted.kind)}")
    kind = kinds[accepted.kind]
    row = {name: value for name, value in accepted.item.items() if name not in ("origin", "id", "text")}
    if kind is AnnotatedPair and row.get("object") is None:
        row["object"] = accepted.key.rpartition("/")[2].partition(":")[0]
    item = make_item(_read_object(kind, row, f"items, {accepted.key}"))
    if item.key != accepted.key:
        raise RequestError(f"items: expected the key {item.key}, found {short(accepted.key)}")
    return item
