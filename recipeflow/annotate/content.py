"""A recipe as stored in the database: the release's JSON, with the text that a release has in files."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from recipeflow.errors import DamagedDatabaseError, RefusedError
from recipeflow.language.japanese import normalise
from recipeflow.language.segmentation import Segmenter, load_segmenter, segment
from recipeflow.release.parsing import RecipeParser, id_problem, recipe_to_json
from recipeflow.release.recipe import Line, Recipe, Word


def recipe_to_row(recipe: Recipe) -> dict[str, Any]:
    """The recipe as JSON, including text."""
    texts = [[line.text for line in lines] for lines in recipe.sections]
    return {"title": recipe.title, "url": recipe.url, "texts": texts, "annotation": recipe_to_json(recipe)}


def recipe_from_row(recipe_id: str, row: dict[str, Any]) -> Recipe:
    """The inverse of ``recipe_to_row``.

    Raises:
        DamagedDatabaseError: If the row is invalid.
    """
    parser = RecipeParser(recipe_id)
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


def recipe_from_text(recipe_id: str, title: str, ingredients: str, instructions: str) -> Recipe:
    """A recipe without annotation from plain text: each line normalised like the release's, then split into words.

    Raises:
        RefusedError: If the id is not a folder name, or there is no text.
    """
    if (problem := id_problem(recipe_id)) is not None:
        raise RefusedError("recipe_id", f"{problem.message} ({problem.hint})", id=recipe_id)
    segmenter = load_segmenter()
    sections = []
    for text in (ingredients, instructions):
        lines = filter(None, (normalise(_checked(line)) for line in text.splitlines()))
        sections.append(tuple(Line(_untagged(line, segmenter), line) for line in lines))
    needed, steps = sections
    name = normalise(_checked(title))
    if not name or not steps:
        raise RefusedError("text", "expected a title and at least one line of instructions, found none")
    return Recipe(recipe_id, needed, steps, title=name)


def _untagged(line: str, segmenter: Segmenter) -> tuple[Word, ...]:
    return tuple(Word(start, end) for start, end in segment(line, segmenter))


def _checked(text: str) -> str:
    """Refuse half a surrogate pair, which JSON allows but files do not."""
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise RefusedError("text", "expected text, found half of a surrogate pair")
    return text
