"""A recipe as stored in the database: the release's JSON, with the text that a release has in files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from recipeflow.annotate.document import Note, from_rows, to_rows
from recipeflow.errors import DamagedDatabaseError
from recipeflow.release.parsing import RecipeParser, recipe_to_json
from recipeflow.release.recipe import Recipe
from recipeflow.release.scheme import PAPER, Scheme


def recipe_to_row(recipe: Recipe, scheme: Scheme = PAPER, notes: Sequence[Note] = ()) -> dict[str, Any]:
    """The recipe as JSON, including text and notes, and what it is tagged with unless that is the paper's scheme."""
    texts = [[line.text for line in lines] for lines in recipe.sections]
    row = {"title": recipe.title, "url": recipe.url, "texts": texts, "annotation": recipe_to_json(recipe)}
    if notes:
        row["notes"] = to_rows(notes)
    return row if scheme == PAPER else row | {"scheme": asdict(scheme)}


def notes_from_row(row: dict[str, Any]) -> tuple[Note, ...]:
    """The notes that a stored recipe was imported with."""
    return from_rows("notes", row.get("notes", ()))


def scheme_from_row(row: dict[str, Any]) -> Scheme:
    """What a stored recipe is tagged with."""
    return Scheme(**row.get("scheme", {}))


def recipe_from_row(recipe_id: str, row: dict[str, Any]) -> Recipe:
    """The inverse of ``recipe_to_row``.

    Raises:
        DamagedDatabaseError: If the row is invalid.
    """
    parser = RecipeParser(recipe_id, scheme_from_row(row))
    recipe = parser.parse(row["annotation"])
    if recipe is None or parser.problems:
        found = f"found {parser.problems[0].message}"
        raise DamagedDatabaseError(f"recipe {recipe_id}: expected it as it was imported, {found}; restore a backup")
    ingredients, instructions = (
        tuple(replace(line, text=text) for line, text in zip(lines, texts, strict=True))
        for lines, texts in zip(recipe.sections, row["texts"], strict=True)
    )
    return replace(recipe, ingredients=ingredients, instructions=instructions, title=row["title"], url=row["url"])


def words_of(recipe: Recipe) -> list:
    """Everything that must be equal for two annotations of the same words."""
    return [[(line.text, *((word.start, word.end) for word in line.words)) for line in s] for s in recipe.sections]
