"""What an annotator says about a decision: that they were unsure of it, and why.

A note belongs to an entity (``ne:1-0-5``), a flow (``fg:0-0-0>1-0-5:Targ``) or one image of an object
(``im:1-0-5/0-0-0:before``). It follows what it is about, and goes when that is removed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from recipeflow.annotate.document import SIDES, AnnotatedFlow, Document, Note, place
from recipeflow.annotate.typed_json import read_value
from recipeflow.errors import RefusedError, RequestError, short

LONGEST = 1000
"""In characters."""

ENTITY, FLOW, IMAGE = "ne", "fg", "im"
_ID = re.compile(r"\d+-\d+-\d+")
_FORMS = {
    ENTITY: re.compile(r"ne:(\d+-\d+-\d+)"),
    FLOW: re.compile(r"fg:(\d+-\d+-\d+)>(\d+-\d+-\d+):(.+)", re.DOTALL),
    IMAGE: re.compile(r"im:(\d+-\d+-\d+)/(\d+-\d+-\d+|\?\d+):(before|after)"),
}


def entity_target(entity_id: str) -> str:
    return f"{ENTITY}:{entity_id}"


def flow_target(flow: AnnotatedFlow) -> str:
    return f"{FLOW}:{flow.start}>{flow.end}:{flow.label}"


def image_targets(key: str) -> tuple[str, ...]:
    """The targets of both images of an object, by its key."""
    return tuple(f"{IMAGE}:{key}:{side}" for side in SIDES)


def put_note(document: Document, note: Note) -> Document:
    """Write a note, in place of an earlier one; one that says nothing only removes that.

    Raises:
        RefusedError: If there is nothing that it could be about, or the text is too long or no text.
    """
    if note.target not in _targets(document):
        raise RefusedError("no_target", f"expected something that is there, found {short(note.target)}")
    note = replace(note, text=_checked(note.text))
    rest = [other for other in document.notes if other.target != note.target]
    return document.change(notes=in_order([*rest, note] if note.unsure or note.text else rest))


def _checked(text: str) -> str:
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise RefusedError("note_text", "expected text, found half of a surrogate pair")
    if len(text := text.strip()) > LONGEST:
        raise RefusedError("note_text", f"expected at most {LONGEST} characters, found {len(text)}")
    return text


def _targets(document: Document) -> set[str]:
    pairs = (pair.key for listed in document.objects.values() for pair in listed)
    return {
        *map(entity_target, document.entities_by_id),
        *map(flow_target, document.flows),
        *(target for key in pairs for target in image_targets(key)),
    }


def in_order(notes: Iterable[Note]) -> tuple[Note, ...]:
    """Notes in reading order: of words, flows, images."""
    return tuple(sorted(notes, key=_order))


def _order(note: Note) -> tuple[Any, ...]:
    kind = note.target.partition(":")[0]
    return list(_FORMS).index(kind), [place(word) for word in _ID.findall(note.target)], note.target


def rename_notes(notes: tuple[Note, ...], names: Mapping[str, str]) -> tuple[Note, ...]:
    """Notes on entities that have other ids now; where two come together, both are kept."""
    return _moved(notes, lambda target: _renamed(target, names))


def move_note(notes: tuple[Note, ...], old: str, new: str) -> tuple[Note, ...]:
    """Notes on one thing that is known by another target now."""
    return _moved(notes, lambda target: new if target == old else target)


def _moved(notes: tuple[Note, ...], rename: Callable[[str], str]) -> tuple[Note, ...]:
    kept: dict[str, Note] = {}
    for note in notes:
        moved = replace(note, target=rename(note.target))
        if (other := kept.get(moved.target)) is not None:
            texts = dict.fromkeys(text for text in (other.text, moved.text) if text)
            moved = replace(moved, unsure=other.unsure or moved.unsure, text=" / ".join(texts)[:LONGEST])
        kept[moved.target] = moved
    return in_order(kept.values())


def _renamed(target: str, names: Mapping[str, str]) -> str:
    """Only ids are renamed: a label may look like one."""
    kind = target.partition(":")[0]
    found = _FORMS[kind].fullmatch(target)
    if found is None:
        return target
    parts = [names.get(part, part) for part in found.groups()[: 1 if kind == ENTITY else 2]]
    if kind == ENTITY:
        return entity_target(parts[0])
    return f"{FLOW}:{parts[0]}>{parts[1]}:{found[3]}" if kind == FLOW else f"{IMAGE}:{parts[0]}/{parts[1]}:{found[3]}"


def without_notes(notes: tuple[Note, ...], gone: Iterable[str]) -> tuple[Note, ...]:
    """Notes without those on some targets."""
    targets = set(gone)
    return tuple(note for note in notes if note.target not in targets)


def prune_notes(document: Document) -> Document:
    """The document without notes on what is no longer there.

    A note on an image stays as long as the action and the object do: flows may come to lead there again.
    """
    if not document.notes:
        return document
    flows = set(map(flow_target, document.flows))
    kept = tuple(note for note in document.notes if _is_there(document, note.target, flows))
    return document if kept == document.notes else document.change(notes=kept)


def _is_there(document: Document, target: str, flows: set[str]) -> bool:
    if target.startswith(FLOW):
        return target in flows
    words = _ID.findall(target)
    return len(set(words)) == len(words) and all(word in document.entities_by_id for word in words)


def shown_notes(document: Document) -> list[Note]:
    """The notes on what a page shows; an object may be out of its list at the moment."""
    if not any(note.target.startswith(IMAGE) for note in document.notes):
        return list(document.notes)
    targets = _targets(document)
    return [note for note in document.notes if note.target in targets]


def notes_from_json(raw: Any, where: str) -> tuple[Note, ...]:
    """Notes from a list of objects with ``target``, ``unsure`` and ``text``.

    Raises:
        RequestError: If it has another form.
    """
    notes: tuple[Note, ...] = read_value(tuple[Note, ...], raw, where)
    for note in notes:
        if not any(form.fullmatch(note.target) for form in _FORMS.values()):
            raise RequestError(f"{where}: expected the target of a note, such as ne:1-0-5, found {short(note.target)}")
    try:
        return in_order(replace(note, text=_checked(note.text)) for note in notes)
    except RefusedError as refusal:
        raise RequestError(f"{where}: {refusal.reason}") from None
