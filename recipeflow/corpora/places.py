"""Problems of a recipe that came from another format, named by that format's file and line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from recipeflow.errors import CycleError, ReleaseProblem
from recipeflow.release import CheckedRecipe, Recipe
from recipeflow.release.parsing import RecipeParser, recipe_to_json
from recipeflow.release.recipe import word_id
from recipeflow.release.scheme import Scheme

_WORD = re.compile(r"'?\b(\d+-\d+-\d+)\b'?")
_PLACE = re.compile(r"(word|flow|state change) ([\d-]+)")


@dataclass
class Places:
    """The lines of a file that a recipe was read from, by what each became.

    Attributes:
        file: The file's name in messages.
        start: The recipe's first line, for problems of the recipe as a whole.
        words: The line of each word, by its id.
        flows: The line of each flow, in order.
        changes: The line of each state change, in order.
        files: The names of other files in the same folder, by what they have lines of: of words, one per section.
    """

    file: str
    start: int = 1
    words: Mapping[str, int] = field(default_factory=dict)
    flows: Sequence[int] = ()
    changes: Sequence[int] = ()
    files: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def file_of(self, problem: ReleaseProblem) -> str:
        """The file that a problem of the parsed recipe is about."""
        found = _PLACE.match(problem.place or "")
        names = self.files.get(found[1], ()) if found else ()
        if not found or not names:
            return self.file
        folder = self.file.rpartition("/")[0]
        return f"{folder}/{names[int(found[2].partition('-')[0]) if len(names) > 1 else 0]}"

    def line_of(self, problem: ReleaseProblem) -> int:
        """The line that a problem of the parsed recipe is about."""
        if isinstance(problem, CycleError):
            return self.words.get(str(problem.value).split(" ")[0], self.start)
        found = _PLACE.match(problem.place or "")
        if found is None:
            return self.start
        kind, name = found.groups()
        if kind == "word":
            return self.words.get(name, self.start)
        lines = self.flows if kind == "flow" else self.changes
        return lines[int(name)] if int(name) < len(lines) else self.start


@dataclass(frozen=True)
class FoundRecipe(CheckedRecipe):
    """A recipe with its problems, also as it was found in spite of them."""

    found: Recipe | None = None


def check_recipe(recipe: Recipe, scheme: Scheme, places: Places) -> FoundRecipe:
    """Check a recipe as if a release had it; problems name the line they come from, and words by their text."""
    parser = RecipeParser(recipe.id, scheme)
    parser.parse(recipe_to_json(recipe))
    tokens = {
        word_id(section, number, position): token
        for section, lines in enumerate(recipe.sections)
        for number, line in enumerate(lines)
        for position, token in enumerate(line.tokens or ())
    }

    def named(match: re.Match[str]) -> str:
        word = match[1]
        known = word in tokens and word in places.words
        return f"“{tokens[word]}” (line {places.words[word]})" if known else match[0]

    for problem in parser.problems:
        place = f"line {places.line_of(problem)}"
        problem.message = _WORD.sub(named, problem.message)
        problem.file, problem.place = places.file_of(problem), place
    return FoundRecipe(recipe.id, None if parser.problems else recipe, tuple(parser.problems), recipe)
