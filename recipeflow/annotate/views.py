"""A document as sent to pages: the format of ``recipeflow.web.views``, with additions for annotators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from recipeflow.annotate.document import RELEASE, STEPS, Document, as_row
from recipeflow.annotate.effects import Effects
from recipeflow.annotate.items import Item, accept_item, entity_text, list_items
from recipeflow.annotate.notes import shown_notes
from recipeflow.annotate.offers import offer_frames
from recipeflow.errors import RefusedError
from recipeflow.web.pictures import COLUMNS, ROWS, Film
from recipeflow.web.views import recipe_view

FRAME_INTERVAL = 1 / 3
"""About the number of seconds between two frames, by the release's sampling rule."""

Suggestions = Mapping[str, Mapping[str, Item]]
"""Items by key, by origin."""


def fixed_view(document: Document, film: Film | None) -> dict[str, Any]:
    """What operations do not change, or seldom: title, text and words, frames."""
    view = recipe_view(document.base, document.scheme.language)
    still = {name: view[name] for name in ("id", "title", "url", "language")}
    return {**still, **words_view(document), "frames": film and film_view(film, document.base.id)}


def words_view(document: Document) -> dict[str, Any]:
    """The lines with their words, which only a few operations change."""
    return {"sections": recipe_view(document.words, document.scheme.language)["sections"]}


def film_view(film: Film, recipe_id: str) -> dict[str, Any]:
    """The frames of a recipe, as a filmstrip needs them."""
    width, height = film.cell
    address = f"/api/sheets/{quote(recipe_id, safe='')}/{{sheet}}.jpg?v={film.stamp}"
    return {
        "count": len(film.numbers),
        "numbers": film.numbers,
        "interval": FRAME_INTERVAL,
        "width": film.width,
        "height": film.height,
        "stamp": film.stamp,
        "sheets": {
            "url": address,
            "columns": COLUMNS,
            "rows": ROWS,
            "width": width,
            "height": height,
            "count": film.sheets,
        },
    }


def changing_view(document: Document, suggestions: Suggestions) -> dict[str, Any]:
    """What operations change."""
    offers = offer_frames(document)
    by_hand = {edited.action for edited in document.lists}
    ends = {end for flow in document.flows for end in (flow.start, flow.end)}
    return {
        "entities": [
            {"id": entity.id, **as_row(entity), "text": entity_text(document, entity)} for entity in document.entities
        ],
        "flows": [as_row(flow) for flow in document.flows],
        "objects": [
            {
                **as_row(pair),
                "key": pair.key,
                "object": pair.entity,
                "traced": pair.object in document.traced[action],
                "offer": offers.get(pair.key),
            }
            for action, listed in document.objects.items()
            for pair in listed
        ],
        "actions": [
            {"action": action, "linked": action not in by_hand, "traced": traced}
            for action, traced in document.traced.items()
        ],
        "unconnected": [entity.id for entity in document.entities if entity.id not in ends],
        "done": {step: step in document.done for step in STEPS},
        "notes": [as_row(note) for note in shown_notes(document)],
        **suggestions_view(document, suggestions),
    }


def suggestions_view(document: Document, suggestions: Suggestions) -> dict[str, Any]:
    """What is suggested, and the progress, which counts it."""
    return {"progress": progress(document, suggestions), "suggestions": _suggestion_views(document, suggestions)}


def progress(document: Document, suggestions: Suggestions) -> dict[str, Any]:
    """The progress of an annotation; manual work is counted separately."""
    pairs = [pair for listed in document.objects.values() for pair in listed]
    sides = [pair.origin for pair in pairs for frame in (pair.before, pair.after) if frame is not None]
    origins = Counter(
        [*(entity.origin for entity in document.entities), *(flow.origin for flow in document.flows), *sides]
    )
    ends = {end for flow in document.flows for end in (flow.start, flow.end)}
    listed = list(open_suggestions(document, suggestions))
    notes = shown_notes(document)
    return {
        "entities": len(document.entities),
        "flows": len(document.flows),
        "unconnected": len(document.entities_by_id.keys() - ends),
        "objects": len(pairs),
        "objects_set": sum(pair.before is not None and pair.after is not None for pair in pairs),
        "human": origins[None],
        "imported": origins[RELEASE],
        "accepted": origins.total() - origins[None] - origins[RELEASE],
        "rejected": sum(state == "rejected" for _, _, state in listed),
        "pending": sum(state == "pending" for _, _, state in listed),
        "notes": len(notes),
        "unsure": sum(note.unsure for note in notes),
        "done": {step: step in document.done for step in STEPS},
    }


def open_suggestions(document: Document, suggestions: Suggestions) -> list[tuple[str, Item, str]]:
    """The suggestions that the document does not have, each as ``(origin, item, "pending" or "rejected")``."""
    if not suggestions:
        return []
    have = list_items(document).keys()
    rejected = {(rejection.origin, rejection.key) for rejection in document.rejected}
    return [
        (origin, item, "rejected" if (origin, key) in rejected else "pending")
        for origin, items in suggestions.items()
        for key, item in items.items()
        if key not in have
    ]


def _suggestion_views(document: Document, suggestions: Suggestions) -> list[dict[str, Any]]:
    return [
        {**item.as_dict(document), "origin": origin, "state": state, "clash": _clash(document, item, origin)}
        for origin, item, state in open_suggestions(document, suggestions)
    ]


def _clash(document: Document, item: Item, origin: str) -> str | None:
    """Why a suggestion cannot be accepted at the moment."""
    try:
        accept_item(document, item, origin, False, Effects())
    except RefusedError as refusal:
        return refusal.code
    return None
