"""Step 3, frames: the objects of every action, and the frames that show them before and after it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from recipeflow.annotate.document import NOT_VISIBLE, SIDES, AnnotatedPair, Document, FrameChoice, HandList
from recipeflow.annotate.effects import Effects
from recipeflow.annotate.notes import image_targets, without_notes
from recipeflow.annotate.words import find_entity
from recipeflow.errors import RefusedError
from recipeflow.release.parsing import LARGEST


def find_object(document: Document, key: str) -> tuple[AnnotatedPair, int]:
    """An object by its key, and its place in the list of its action."""
    for position, pair in enumerate(document.objects.get(key.partition("/")[0], ())):
        if pair.key == key:
            return pair, position
    raise RefusedError("no_object", f"expected an object of an action, found none called {key}", key=key)


def add_object(document: Document, action: str, entity: str | None, position: int | None = None) -> Document:
    """Add an object to the list of an action, which is hand-edited from then on."""
    names = _names(document, action)
    if entity is None:
        taken = {pair.object for pair in document.pairs if pair.action == action} | set(names)
        name = next(name for number in range(len(taken) + 1) if (name := f"?{number}") not in taken)
    else:
        name = find_entity(document, entity).id
    if name == action:
        raise RefusedError("self_loop", f"expected an entity other than the action, found {action}", entity=action)
    if name in names:
        reason = f"expected each object of an action once, found {name} of {action} already there"
        raise RefusedError("duplicate_object", reason, action=action, object=name)
    position = len(names) if position is None else position
    _check_position(position, len(names) + 1)
    return _edit(document, action, (*names[:position], name, *names[position:]))


def remove_object(document: Document, key: str, effects: Effects) -> Document:
    """Remove an object from the list of its action, with its frames."""
    pair, position = find_object(document, key)
    names = _names(document, pair.action)
    effects.removed_objects.append(pair)
    by_hand = any(edited.action == pair.action for edited in document.lists)
    notes = without_notes(document.notes, image_targets(key))
    document = document.change(pairs=tuple(other for other in document.pairs if other.key != key), notes=notes)
    if not by_hand and pair.object not in document.traced[pair.action]:
        return document  # it was listed only because of its frames
    return _edit(document, pair.action, names[:position] + names[position + 1 :])


def move_object(document: Document, key: str, position: int) -> Document:
    """Move an object in its list."""
    pair, old = find_object(document, key)
    names = _names(document, pair.action)
    _check_position(position, len(names))
    if position == old:
        return document
    rest = names[:old] + names[old + 1 :]
    return _edit(document, pair.action, (*rest[:position], pair.object, *rest[position:]))


def reset_objects(document: Document, action: str, effects: Effects) -> Document:
    """Let the list of an action follow the flows again; objects with chosen frames stay."""
    _names(document, action)
    after = document.change(lists=tuple(edited for edited in document.lists if edited.action != action))
    left = {pair.object for pair in after.objects[action]}
    effects.removed_objects += [pair for pair in document.objects[action] if pair.object not in left]
    return after


def set_frames(document: Document, changes: Iterable[tuple[str, str, FrameChoice]]) -> Document:
    """Choose frames: several objects and sides at once, each as ``(key, side, value)``.

    The order of before and after is checked when all are set.
    """
    touched: dict[str, AnnotatedPair] = {}
    for key, side, value in changes:
        check_choice(side, value)
        pair = touched.get(key) or find_object(document, key)[0]
        if getattr(pair, side) != value:
            pair = replace(pair, **{side: value}, origin=None)
        touched[key] = pair
    for pair in touched.values():
        check_order(pair)
    return put_pairs(document, touched.values())


def put_pairs(document: Document, pairs: Iterable[AnnotatedPair]) -> Document:
    """Replace the choices of some objects."""
    kept = {pair.key: pair for pair in document.pairs} | {pair.key: pair for pair in pairs}
    chosen = (pair for pair in kept.values() if pair.before is not None or pair.after is not None)
    return document.change(pairs=tuple(sorted(chosen, key=lambda pair: pair.sort_key)))


def check_order(pair: AnnotatedPair) -> None:
    """Refuse an after that is earlier than its before."""
    if isinstance(pair.before, int) and isinstance(pair.after, int) and pair.after < pair.before:
        reason = f"expected after not to be earlier than before, found frames {pair.before} and {pair.after}"
        raise RefusedError("after_before", reason, before=pair.before, after=pair.after)


def check_choice(side: str, value: FrameChoice) -> None:
    """Refuse anything but a frame, *not visible* or null."""
    if side not in SIDES:
        raise RefusedError("side", f"expected before or after, found {side!r}", side=side)
    number = isinstance(value, int) and 1 <= value <= LARGEST
    if not (number or value is None or value == NOT_VISIBLE):
        reason = f"expected a frame number from 1, {NOT_VISIBLE!r} or null, found {value!r}"
        raise RefusedError("no_frame", reason, value=value)


def _names(document: Document, action: str) -> tuple[str, ...]:
    entity = find_entity(document, action)
    if entity.tag != "Ac":
        reason = f"expected an action by the chef (Ac), found {action}, which is {entity.tag}"
        raise RefusedError("not_action", reason, entity=action)
    return tuple(pair.object for pair in document.objects[action])


def _check_position(position: int, count: int) -> None:
    if not 0 <= position < count:
        reason = f"expected a place from 0 to {count - 1}, found {position}"
        raise RefusedError("position", reason, position=position)


def _edit(document: Document, action: str, names: tuple[str, ...]) -> Document:
    lists = [edited for edited in document.lists if edited.action != action] + [HandList(action, names)]
    return document.change(lists=tuple(sorted(lists, key=lambda edited: edited.sort_key)))
