"""Step 3, frames: the objects of every action, and the frames that show them before and after it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from recipeflow.annotate.document import NOT_VISIBLE, SIDES, Document, FrameChoice, HandList, Shot
from recipeflow.annotate.effects import Effects
from recipeflow.annotate.words import find_mark
from recipeflow.errors import RefusedError
from recipeflow.parsing import LARGEST


def find_object(document: Document, key: str) -> tuple[Shot, int]:
    """An object by its key, and its place in the list of its action."""
    for position, shot in enumerate(document.objects.get(key.partition("/")[0], ())):
        if shot.key == key:
            return shot, position
    raise RefusedError("no_object", f"expected an object of an action, found none called {key}", key=key)


def add_object(document: Document, action: str, entity: str | None, position: int | None = None) -> Document:
    """Put an object into the list of an action, which is hand-edited from then on."""
    names = _names(document, action)
    if entity is None:
        taken = {shot.object for shot in document.shots if shot.action == action} | set(names)
        name = next(name for number in range(len(taken) + 1) if (name := f"?{number}") not in taken)
    else:
        name = find_mark(document, entity).id
    if name == action:
        raise RefusedError("self_loop", f"expected another entity than the action, found {action}", entity=action)
    if name in names:
        reason = f"expected each object of an action once, found {name} of {action} already there"
        raise RefusedError("duplicate_object", reason, action=action, object=name)
    position = len(names) if position is None else position
    _check_position(position, len(names) + 1)
    return _edit(document, action, (*names[:position], name, *names[position:]))


def remove_object(document: Document, key: str, effects: Effects) -> Document:
    """Take an object out of the list of its action, with its frames."""
    shot, position = find_object(document, key)
    names = _names(document, shot.action)
    effects.removed_objects.append(shot)
    by_hand = any(edited.action == shot.action for edited in document.lists)
    document = document.change(shots=tuple(other for other in document.shots if other.key != key))
    if not by_hand and shot.object not in document.traced[shot.action]:
        return document  # only its frames had kept it
    return _edit(document, shot.action, names[:position] + names[position + 1 :])


def move_object(document: Document, key: str, position: int) -> Document:
    """Give an object another place in its list."""
    shot, old = find_object(document, key)
    names = _names(document, shot.action)
    _check_position(position, len(names))
    if position == old:
        return document
    rest = names[:old] + names[old + 1 :]
    return _edit(document, shot.action, (*rest[:position], shot.object, *rest[position:]))


def reset_objects(document: Document, action: str, effects: Effects) -> Document:
    """Let the list of an action follow the flows again; objects with chosen frames stay."""
    _names(document, action)
    after = document.change(lists=tuple(edited for edited in document.lists if edited.action != action))
    left = {shot.object for shot in after.objects[action]}
    effects.removed_objects += [shot for shot in document.objects[action] if shot.object not in left]
    return after


def set_frames(document: Document, changes: Iterable[tuple[str, str, FrameChoice]]) -> Document:
    """Choose frames: several objects and sides at once, each as ``(key, side, value)``.

    The order of before and after is checked when all are set.
    """
    touched: dict[str, Shot] = {}
    for key, side, value in changes:
        check_choice(side, value)
        shot = touched.get(key) or find_object(document, key)[0]
        if getattr(shot, side) != value:
            shot = replace(shot, **{side: value}, origin=None)
        touched[key] = shot
    for shot in touched.values():
        check_order(shot)
    return put_shots(document, touched.values())


def put_shots(document: Document, shots: Iterable[Shot]) -> Document:
    """Keep what was chosen for some objects, instead of what was chosen before."""
    kept = {shot.key: shot for shot in document.shots} | {shot.key: shot for shot in shots}
    chosen = (shot for shot in kept.values() if shot.before is not None or shot.after is not None)
    return document.change(shots=tuple(sorted(chosen, key=lambda shot: shot.sort_key)))


def check_order(shot: Shot) -> None:
    """Refuse an after that is earlier than its before."""
    if isinstance(shot.before, int) and isinstance(shot.after, int) and shot.after < shot.before:
        reason = f"expected after not to be earlier than before, found frames {shot.before} and {shot.after}"
        raise RefusedError("after_before", reason, before=shot.before, after=shot.after)


def check_choice(side: str, value: FrameChoice) -> None:
    """Refuse what is no frame, nor the statement that there is none."""
    if side not in SIDES:
        raise RefusedError("side", f"expected before or after, found {side!r}", side=side)
    number = isinstance(value, int) and 1 <= value <= LARGEST
    if not (number or value is None or value == NOT_VISIBLE):
        reason = f"expected a frame number from 1, {NOT_VISIBLE!r} or null, found {value!r}"
        raise RefusedError("no_frame", reason, value=value)


def _names(document: Document, action: str) -> tuple[str, ...]:
    mark = find_mark(document, action)
    if mark.tag != "Ac":
        reason = f"expected an action by the chef (Ac), found {action}, which is {mark.tag}"
        raise RefusedError("not_action", reason, entity=action)
    return tuple(shot.object for shot in document.objects[action])


def _check_position(position: int, count: int) -> None:
    if not 0 <= position < count:
        reason = f"expected a place from 0 to {count - 1}, found {position}"
        raise RefusedError("position", reason, position=position)


def _edit(document: Document, action: str, names: tuple[str, ...]) -> Document:
    lists = [edited for edited in document.lists if edited.action != action] + [HandList(action, names)]
    return document.change(lists=tuple(sorted(lists, key=lambda edited: edited.sort_key)))
