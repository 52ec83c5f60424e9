"""A recipe as JSON for the pages: one format for the explorer and the annotation interface.

Ids, not positions, connect its parts, so that a page finds an entity from a flow or from the object of an action. What
a release does not have is null: text, titles, images, and the object of a surplus state change.
"""

from __future__ import annotations

from typing import Any

from recipeflow.graph import pair_objects
from recipeflow.language.languages import DEFAULT
from recipeflow.release.recipe import SECTIONS, Entity, Line, Recipe, word_id


def recipe_view(recipe: Recipe, language: str = DEFAULT) -> dict[str, Any]:
    """The recipe as JSON-ready objects: its words by line, entities, flows, and the objects of its actions."""
    return {
        "id": recipe.id,
        "title": recipe.title,
        "url": recipe.url,
        "language": language,
        "sections": [
            {"name": name, "lines": [_line_view(line, section, number) for number, line in enumerate(lines)]}
            for section, (name, lines) in enumerate(zip(SECTIONS, recipe.sections, strict=True))
        ],
        "entities": [_entity_view(entity) for entity in recipe.entities.values()],
        "flows": [{"start": flow.start, "end": flow.end, "label": flow.label} for flow in recipe.flows],
        "objects": [
            {
                "action": pair.action.id,
                "object": None if pair.object is None else pair.object.id,
                "before": pair.change.before,
                "after": pair.change.after,
            }
            for pair in pair_objects(recipe)
        ],
    }


def _line_view(line: Line, section: int, number: int) -> dict[str, Any]:
    texts = line.tokens or [None] * len(line.words)
    words = [
        {"id": word_id(section, number, position), "text": text, "start": word.start, "end": word.end}
        for position, (word, text) in enumerate(zip(line.words, texts, strict=True))
    ]
    return {"text": line.text, "words": words}


def _entity_view(entity: Entity) -> dict[str, Any]:
    return {
        "id": entity.id,
        "tag": entity.tag,
        "section": entity.section,
        "line": entity.line,
        "start": entity.start_word,
        "end": entity.end_word,
        "text": entity.text,
    }
