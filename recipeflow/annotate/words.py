"""Step 1, words: which of them are entities.

Word ids never change, and an entity is called by its first word. So when an entity gets another first word, everything
that refers to it follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import networkx as nx

from recipeflow.annotate.document import Document, Edge, HandList, Mark, Shot
from recipeflow.annotate.effects import Effects
from recipeflow.errors import RefusedError
from recipeflow.recipe import TAGS


def find_mark(document: Document, entity: str) -> Mark:
    """The entity of this id."""
    if (mark := document.marks.get(entity)) is None:
        raise RefusedError("no_entity", f"expected an entity, found none at {entity}", entity=entity)
    return mark


def put_entity(document: Document, mark: Mark, effects: Effects, replaces: bool = False) -> Document:
    """Make words an entity.

    Entities wholly inside it become part of it, and what referred to them refers to it.

    Args:
        document: Before.
        mark: The entity to be.
        effects: What went along.
        replaces: Also take the place of entities that it shares only some words with.
    """
    check_tag(mark.tag)
    _check_span(document, mark)
    covered = _overlapping(document, mark)
    for other in covered:
        if not replaces and (other.start < mark.start or other.end > mark.end):
            raise _overlap(other)
    if [(other.start, other.end) for other in covered] == [(mark.start, mark.end)]:
        return document if covered[0].tag == mark.tag else _exchange(document, covered[0], mark, effects)
    effects.removed_entities += covered[1:]
    for other in covered:
        _put_aside(document, other, mark, effects)
    entities = [other for other in document.entities if other not in covered]
    changed = document.change(entities=_in_order((*entities, mark)))
    return _rename(changed, {other.id: mark.id for other in covered}, effects)


def retag(document: Document, entity: str, tag: str, effects: Effects) -> Document:
    """Give an entity another tag; flows and frames stay."""
    check_tag(tag)
    mark = find_mark(document, entity)
    return document if mark.tag == tag else _exchange(document, mark, replace(mark, tag=tag, origin=None), effects)


def reshape(document: Document, entity: str, start: int, end: int, effects: Effects) -> Document:
    """Give an entity other words of its line; flows and frames follow it."""
    mark = find_mark(document, entity)
    if (start, end) == (mark.start, mark.end):
        return document
    changed = replace(mark, start=start, end=end, origin=None)
    _check_span(document, changed)
    for other in _overlapping(document, changed):
        if other != mark:
            raise _overlap(other)
    document = document.change(entities=_in_order(changed if m == mark else m for m in document.entities))
    return _rename(document, {mark.id: changed.id}, effects)


def split(document: Document, entity: str, at: int, tag: str | None) -> Document:
    """Cut an entity in two; flows and frames stay with the first part."""
    mark = find_mark(document, entity)
    if not mark.start < at < mark.end:
        reason = f"expected a word inside {entity}, from {mark.start + 1} to {mark.end - 1}, found {at}"
        raise RefusedError("split", reason, at=at)
    check_tag(tag or mark.tag)
    parts = replace(mark, end=at, origin=None), replace(mark, start=at, tag=tag or mark.tag, origin=None)
    rest = (other for other in document.entities if other != mark)
    return document.change(entities=_in_order((*rest, *parts)))


def remove(document: Document, entity: str, effects: Effects) -> Document:
    """Take an entity away, with its flows, its frames and its place in lists of objects."""
    mark = find_mark(document, entity)
    gone = [edge for edge in document.flows if entity in (edge.start, edge.end)]
    shots = [shot for shot in document.shots if entity in (shot.action, shot.object)]
    effects.removed_entities.append(mark)
    effects.removed_flows += gone
    effects.removed_objects += shots
    lists = (
        replace(edited, objects=tuple(name for name in edited.objects if name != entity))
        for edited in document.lists
        if edited.action != entity
    )
    return document.change(
        entities=tuple(other for other in document.entities if other != mark),
        flows=tuple(edge for edge in document.flows if edge not in gone),
        shots=tuple(shot for shot in document.shots if shot not in shots),
        lists=tuple(lists),
    )


def check_tag(tag: str) -> None:
    """Refuse a tag that is not one of the paper's eight."""
    if tag not in TAGS:
        raise RefusedError("tag", f"expected a tag of {', '.join(TAGS)}, found {tag!r}", tag=tag)


def _check_span(document: Document, mark: Mark) -> None:
    sections = document.base.sections
    known = 0 <= mark.section < len(sections) and 0 <= mark.line < len(sections[mark.section])
    words = len(sections[mark.section][mark.line].words) if known else 0
    if not 0 <= mark.start < mark.end <= words:
        reason = f"expected words of a line of {words}, found {mark.start} to {mark.end}"
        raise RefusedError("span", reason, start=mark.start, end=mark.end, words=words)


def _overlapping(document: Document, mark: Mark) -> list[Mark]:
    line = mark.section, mark.line
    return [m for m in document.entities if (m.section, m.line) == line and m.start < mark.end and mark.start < m.end]


def _overlap(other: Mark) -> RefusedError:
    reason = f"expected words of no other entity, found {other.id}, which has some of them ({other.tag})"
    return RefusedError("overlap", reason, entity=other.id)


def _exchange(document: Document, old: Mark, new: Mark, effects: Effects) -> Document:
    """Put an entity in the place of one with the same words."""
    _put_aside(document, old, new, effects)
    return document.change(entities=tuple(new if mark == old else mark for mark in document.entities))


def _put_aside(document: Document, old: Mark, new: Mark, effects: Effects) -> None:
    if old.tag == "Ac" != new.tag:
        effects.aside += [shot for shot in document.shots if shot.action == old.id]


def _in_order(marks: Iterable[Mark]) -> tuple[Mark, ...]:
    return tuple(sorted(marks, key=lambda mark: (mark.section, mark.line, mark.start)))


def _rename(document: Document, names: Mapping[str, str], effects: Effects) -> Document:
    """Let everything that referred to some entities refer to others; what became double or senseless goes."""
    effects.renamed |= {old: new for old, new in names.items() if old != new}
    if not names or all(old == new for old, new in names.items()):
        return document
    return document.change(
        flows=_rename_flows(document.flows, names, effects),
        shots=_rename_shots(document.shots, names, effects),
        lists=_rename_lists(document.lists, names),
    )


def _rename_flows(flows: Iterable[Edge], names: Mapping[str, str], effects: Effects) -> tuple[Edge, ...]:
    kept: dict[tuple[str, str, str], Edge] = {}
    for edge in flows:
        renamed = replace(edge, start=names.get(edge.start, edge.start), end=names.get(edge.end, edge.end))
        key = renamed.start, renamed.end, renamed.label
        if renamed.start == renamed.end or key in kept:
            effects.removed_flows.append(edge)
        else:
            kept[key] = renamed
    graph = nx.DiGraph((start, end) for start, end, _ in kept)
    if not nx.is_directed_acyclic_graph(graph):
        cycle = nx.find_cycle(graph)
        path = [cycle[0][0], *(end for _, end in cycle)]
        raise RefusedError("cycle", f"expected flows without a cycle, found {' → '.join(path)}", path=path)
    return tuple(kept.values())


def _rename_shots(shots: Iterable[Shot], names: Mapping[str, str], effects: Effects) -> tuple[Shot, ...]:
    kept: dict[str, Shot] = {}
    for shot in shots:
        action, name = names.get(shot.action, shot.action), names.get(shot.object, shot.object)
        renamed = replace(shot, action=action, object=name)
        if action == name or renamed.key in kept:
            effects.removed_objects.append(shot)
        else:
            kept[renamed.key] = renamed
    return tuple(sorted(kept.values(), key=lambda shot: shot.sort_key))


def _rename_lists(lists: Iterable[HandList], names: Mapping[str, str]) -> tuple[HandList, ...]:
    kept: dict[str, HandList] = {}
    for edited in lists:
        action = names.get(edited.action, edited.action)
        objects = dict.fromkeys(names.get(name, name) for name in edited.objects)
        objects.pop(action, None)
        if action in kept:  # two actions became one: it has the objects of both
            objects = dict.fromkeys((*kept[action].objects, *objects))
        kept[action] = HandList(action, tuple(objects))
    return tuple(sorted(kept.values(), key=lambda edited: edited.sort_key))
