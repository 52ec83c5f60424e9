"""Everything in a layer at a glance, for pages that look over many recipes: search, and times by step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from recipeflow.annotate.document import STEPS, Document
from recipeflow.annotate.items import entity_text
from recipeflow.annotate.notes import shown_notes
from recipeflow.annotate.store import Layer, Store
from recipeflow.annotate.times import Work


def list_annotations(store: Store, layer: Layer) -> list[dict[str, Any]]:
    """The entities, flows, images and notes of every recipe in a layer, with the text of their lines."""
    rows = []
    for recipe_id in store.recipe_ids():
        history = store.history(recipe_id, layer)
        document = history.document
        if document.entities:
            rows.append({"id": recipe_id, "revision": history.revision, **_annotations(document)})
    return rows


def _annotations(document: Document) -> dict[str, Any]:
    pairs = [pair for listed in document.objects.values() for pair in listed]
    return {
        "title": document.base.title,
        "lines": [[line.text for line in lines] for lines in document.base.sections],
        "entities": [_entity(document, number) for number in range(len(document.entities))],
        "flows": [{"start": flow.start, "end": flow.end, "label": flow.label} for flow in document.flows],
        "objects": [
            {"key": pair.key, "action": pair.action, "object": pair.entity, "before": pair.before, "after": pair.after}
            for pair in pairs
        ],
        "notes": {note.target: {"unsure": note.unsure, "text": note.text} for note in shown_notes(document)},
    }


def _entity(document: Document, number: int) -> dict[str, Any]:
    """An entity with its characters, to mark it in its line."""
    entity = document.entities[number]
    words = document.words.sections[entity.section][entity.line].words
    return {
        "id": entity.id,
        "tag": entity.tag,
        "text": entity_text(document, entity),
        "from": words[entity.start].start,
        "to": words[entity.end - 1].end,
    }


def summarise_times(works: dict[str, Work], titles: dict[str, str | None]) -> dict[str, Any]:
    """Seconds and operations by recipe and step, and their sums."""
    rows = [{"id": recipe, "title": titles.get(recipe), "steps": work.as_dict()} for recipe, work in works.items()]
    return {"recipes": rows, "total": _total(works.values()), "count": len(rows)}


def _total(works: Iterable[Work]) -> dict[str, dict[str, float]]:
    works = list(works)
    return {
        step: {
            "seconds": round(sum(work.seconds[step] for work in works), 1),
            "operations": sum(work.operations[step] for work in works),
        }
        for step in STEPS
    }
