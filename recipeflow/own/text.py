"""Plain text to a recipe without annotation: words split by the rules of the language, and an id from a name."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from itertools import count

from recipeflow.errors import RefusedError, SegmenterError
from recipeflow.language.languages import DEFAULT, Language, find_language
from recipeflow.release.parsing import id_problem
from recipeflow.release.recipe import Line, Recipe, Word

LONGEST_ID = 60


def recipe_from_text(
    recipe_id: str, title: str, ingredients: str, instructions: str, language: str = DEFAULT
) -> Recipe:
    """A recipe without annotation from plain text: each line normalised by its language, then split into words.

    Raises:
        RefusedError: If the id is not a folder name, there is no text, or it cannot be split into words.
    """
    if (problem := id_problem(recipe_id)) is not None:
        raise RefusedError("recipe_id", f"{problem.message} ({problem.hint})", id=recipe_id)
    try:
        known = find_language(language)
        needed, steps = (tuple(_lines(text, known)) for text in (ingredients, instructions))
        name = known.normalise(_checked(title))
    except SegmenterError as error:
        raise RefusedError("text", str(error)) from None
    if not name or not steps:
        raise RefusedError("text", "expected a title and at least one line of instructions, found none")
    return Recipe(recipe_id, needed, steps, title=name)


def _lines(text: str, language: Language) -> Iterator[Line]:
    for line in filter(None, (language.normalise(_checked(line)) for line in text.splitlines())):
        yield Line(tuple(Word(*span) for span in language.segment(line)), line)


def _checked(text: str) -> str:
    """Refuse half a surrogate pair, which JSON allows but files do not."""
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise RefusedError("text", "expected text, found half of a surrogate pair")
    return text


def make_id(name: str, taken: Container[str] = ()) -> str:
    """An id from the name of a file or a title: a plain folder name that is not taken yet."""
    plain = re.sub(r"[^\w.-]+", "-", name)[:LONGEST_ID].strip("-.") or "recipe"
    if plain not in taken:
        return plain
    return next(other for number in count(2) if (other := f"{plain}-{number}") not in taken)
