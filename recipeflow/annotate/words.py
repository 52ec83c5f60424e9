"""Step 1, words: which of them are entities.

An entity is identified by its first word. So when an entity gets another first word, all references to it are
updated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import networkx as nx

from recipeflow.annotate.document import AnnotatedEntity, AnnotatedFlow, AnnotatedPair, Document, HandList
from recipeflow.annotate.effects import Effects
from recipeflow.annotate.notes import rename_notes
from recipeflow.errors import RefusedError


def find_entity(document: Document, entity_id: str) -> AnnotatedEntity:
    if (entity := document.entities_by_id.get(entity_id)) is None:
        raise RefusedError("no_entity", f"expected an entity, found none at {entity_id}", entity=entity_id)
    return entity


def put_entity(document: Document, entity: AnnotatedEntity, effects: Effects, replaces: bool = False) -> Document:
    """Make words an entity.

    Entities inside it become part of it, and references to them are updated.

    Args:
        document: The document.
        entity: The new entity.
        effects: Collects side effects.
        replaces: Also replace entities that it overlaps only in part.
    """
    check_tag(document, entity.tag)
    _check_span(document, entity)
    covered = _overlapping(document, entity)
    for other in covered:
        if not replaces and (other.start < entity.start or other.end > entity.end):
            raise _overlap(other)
    if [(other.start, other.end) for other in covered] == [(entity.start, entity.end)]:
        return document if covered[0].tag == entity.tag else _exchange(document, covered[0], entity, effects)
    effects.removed_entities += covered[1:]
    for other in covered:
        _put_aside(document, other, entity, effects)
    entities = [other for other in document.entities if other not in covered]
    changed = document.change(entities=_in_order((*entities, entity)))
    return rename_entities(changed, {other.id: entity.id for other in covered}, effects)


def retag(document: Document, entity_id: str, tag: str, effects: Effects) -> Document:
    """Give an entity another tag; flows and frames stay."""
    check_tag(document, tag)
    entity = find_entity(document, entity_id)
    return (
        document if entity.tag == tag else _exchange(document, entity, replace(entity, tag=tag, origin=None), effects)
    )


def reshape(document: Document, entity_id: str, start: int, end: int, effects: Effects) -> Document:
    """Give an entity other words of its line; flows and frames follow it."""
    entity = find_entity(document, entity_id)
    if (start, end) == (entity.start, entity.end):
        return document
    changed = replace(entity, start=start, end=end, origin=None)
    _check_span(document, changed)
    for other in _overlapping(document, changed):
        if other != entity:
            raise _overlap(other)
    document = document.change(entities=_in_order(changed if m == entity else m for m in document.entities))
    return rename_entities(document, {entity.id: changed.id}, effects)


def split(document: Document, entity_id: str, at: int, tag: str | None) -> Document:
    """Split an entity; flows and frames stay with the first part."""
    entity = find_entity(document, entity_id)
    if not entity.start < at < entity.end:
        reason = f"expected a word inside {entity_id}, from {entity.start + 1} to {entity.end - 1}, found {at}"
        raise RefusedError("split", reason, at=at)
    check_tag(document, tag or entity.tag)
    parts = replace(entity, end=at, origin=None), replace(entity, start=at, tag=tag or entity.tag, origin=None)
    rest = (other for other in document.entities if other != entity)
    return document.change(entities=_in_order((*rest, *parts)))


def remove(document: Document, entity_id: str, effects: Effects) -> Document:
    """Remove an entity, with its flows, its frames and its place in lists of objects."""
    entity = find_entity(document, entity_id)
    gone = [flow for flow in document.flows if entity_id in (flow.start, flow.end)]
    pairs = [pair for pair in document.pairs if entity_id in (pair.action, pair.object)]
    effects.removed_entities.append(entity)
    effects.removed_flows += gone
    effects.removed_objects += pairs
    lists = (
        replace(edited, objects=tuple(name for name in edited.objects if name != entity_id))
        for edited in document.lists
        if edited.action != entity_id
    )
    return document.change(
        entities=tuple(other for other in document.entities if other != entity),
        flows=tuple(flow for flow in document.flows if flow not in gone),
        pairs=tuple(pair for pair in document.pairs if pair not in pairs),
        lists=tuple(lists),
    )


def check_tag(document: Document, tag: str) -> None:
    """Refuse a tag that the release does not have."""
    if tag not in (known := document.scheme.tags):
        raise RefusedError("tag", f"expected a tag of {', '.join(known)}, found {tag!r}", tag=tag)


def _check_span(document: Document, entity: AnnotatedEntity) -> None:
    sections = document.words.sections
    known = 0 <= entity.section < len(sections) and 0 <= entity.line < len(sections[entity.section])
    words = len(sections[entity.section][entity.line].words) if known else 0
    if not 0 <= entity.start < entity.end <= words:
        reason = f"expected words of a line of {words}, found {entity.start} to {entity.end}"
        raise RefusedError("span", reason, start=entity.start, end=entity.end, words=words)


def _overlapping(document: Document, entity: AnnotatedEntity) -> list[AnnotatedEntity]:
    line = entity.section, entity.line
    return [
        m for m in document.entities if (m.section, m.line) == line and m.start < entity.end and entity.start < m.end
    ]


def _overlap(other: AnnotatedEntity) -> RefusedError:
    reason = f"expected words of no other entity, found {other.id}, which has some of them ({other.tag})"
    return RefusedError("overlap", reason, entity=other.id)


def _exchange(document: Document, old: AnnotatedEntity, new: AnnotatedEntity, effects: Effects) -> Document:
    """Replace an entity by one with the same words."""
    _put_aside(document, old, new, effects)
    return document.change(entities=tuple(new if entity == old else entity for entity in document.entities))


def _put_aside(document: Document, old: AnnotatedEntity, new: AnnotatedEntity, effects: Effects) -> None:
    if old.tag == "Ac" != new.tag:
        effects.aside += [pair for pair in document.pairs if pair.action == old.id]


def _in_order(entities: Iterable[AnnotatedEntity]) -> tuple[AnnotatedEntity, ...]:
    return tuple(sorted(entities, key=lambda entity: (entity.section, entity.line, entity.start)))


def rename_entities(document: Document, names: Mapping[str, str], effects: Effects) -> Document:
    """Update references to renamed entities; what became a duplicate or meaningless is removed."""
    effects.renamed |= {old: new for old, new in names.items() if old != new}
    if not names or all(old == new for old, new in names.items()):
        return document
    return document.change(
        flows=_rename_flows(document.flows, names, effects),
        pairs=_rename_pairs(document.pairs, names, effects),
        lists=_rename_lists(document.lists, names),
        notes=rename_notes(document.notes, names),
    )


def _rename_flows(
    flows: Iterable[AnnotatedFlow], names: Mapping[str, str], effects: Effects
) -> tuple[AnnotatedFlow, ...]:
    kept: dict[tuple[str, str, str], AnnotatedFlow] = {}
    for flow in flows:
        renamed = replace(flow, start=names.get(flow.start, flow.start), end=names.get(flow.end, flow.end))
        key = renamed.start, renamed.end, renamed.label
        if renamed.start == renamed.end or key in kept:
            effects.removed_flows.append(flow)
        else:
            kept[key] = renamed
    graph = nx.DiGraph((start, end) for start, end, _ in kept)
    if not nx.is_directed_acyclic_graph(graph):
        cycle = nx.find_cycle(graph)
        path = [cycle[0][0], *(end for _, end in cycle)]
        raise RefusedError("cycle", f"expected flows without a cycle, found {' → '.join(path)}", path=path)
    return tuple(kept.values())


def _rename_pairs(
    pairs: Iterable[AnnotatedPair], names: Mapping[str, str], effects: Effects
) -> tuple[AnnotatedPair, ...]:
    kept: dict[str, AnnotatedPair] = {}
    for pair in pairs:
        action, name = names.get(pair.action, pair.action), names.get(pair.object, pair.object)
        renamed = replace(pair, action=action, object=name)
        if action == name or renamed.key in kept:
            effects.removed_objects.append(pair)
        else:
            kept[renamed.key] = renamed
    return tuple(sorted(kept.values(), key=lambda pair: pair.sort_key))


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
