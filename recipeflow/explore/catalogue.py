"""The data of a recipe: for the gallery and its search, and for the recipe's page."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from recipeflow.explore.graph_view import graph_views
from recipeflow.graph import pair_objects
from recipeflow.graph.program import STANDS_FOR, Argument, Mention, Program, is_input, make_program
from recipeflow.graph.program_text import format_program
from recipeflow.graph.tracing import find_carriers, follow_ingredients, light_actions
from recipeflow.language.languages import DEFAULT
from recipeflow.release.recipe import LABELS, Recipe
from recipeflow.web.views import recipe_view

HasPicture = Callable[[int], bool]
"""Whether a frame of a recipe exists, by its number."""


@dataclass(frozen=True)
class Entry:
    """A recipe in the index: title, ingredients, actions and cover picture."""

    id: str
    title: str | None
    english: str | None
    cover: int | None
    ingredients: list[str]
    verbs: list[str]
    labels: list[str]
    actions: int
    objects: int

    def packed(self, places: Mapping[str, int]) -> list[Any]:
        """The fields in order, as JSON, with words as their places in a list that many entries share."""
        fields = (getattr(self, field.name) for field in dataclasses.fields(self))
        return [[places[word] for word in value] if isinstance(value, list) else value for value in fields]

    @property
    def words(self) -> list[str]:
        """All words that ``packed`` needs places for."""
        return [*self.ingredients, *self.verbs, *self.labels]


def catalogue_entry(
    recipe: Recipe, glossary: Mapping[str, str], has_picture: HasPicture, labels: Iterable[str] = LABELS
) -> Entry:
    """A recipe in the index; ``labels`` are all labels, in order."""
    uses: defaultdict[str, list[str]] = defaultdict(list)
    for flow in recipe.flows:
        uses[flow.start].append(flow.label)
    used = {flow.label for flow in recipe.flows}
    named_before = {flow.end for flow in recipe.flows if flow.label in STANDS_FOR}
    # Without an ingredient list, the ingredients are the foods that are mentioned for the first time.
    inputs = (
        (each for each in recipe.entities.values() if is_input(each, uses[each.id]))
        if recipe.ingredients
        else (each for each in recipe.entities.values() if each.tag == "F" and each.id not in named_before)
    )
    return Entry(
        id=recipe.id,
        title=recipe.title,
        english=glossary.get(recipe.title or ""),
        cover=find_cover(recipe, has_picture),
        ingredients=_texts(each.text for each in inputs),
        verbs=_texts(action.text for action in recipe.actions),
        labels=[label for label in labels if label in used],
        actions=len(recipe.actions),
        objects=len(recipe.state_changes),
    )


def _texts(texts: Iterable[str | None]) -> list[str]:
    return list(dict.fromkeys(text for text in texts if text is not None))


def find_cover(recipe: Recipe, has_picture: HasPicture) -> int | None:
    """The last existing frame of a result: usually the finished dish."""
    numbers = [number for change in reversed(recipe.state_changes) for number in (change.after, change.before)]
    return next((number for number in numbers if number is not None and has_picture(number)), None)


def recipe_page(
    recipe: Recipe, glossary: Mapping[str, str], has_picture: HasPicture, language: str = DEFAULT
) -> dict[str, Any]:
    """Everything on a recipe's page, in addition to the common format."""
    program = make_program(recipe)
    carriers = find_carriers(recipe, program.foods)
    texts = [recipe.title, *(entity.text for entity in recipe.entities.values())]
    english = {text: glossary[text] for text in texts if text is not None and text in glossary}
    return {
        "view": recipe_view(recipe, language),
        # Pairs, because a word may be anything, even a special property name of objects.
        "english": [list(pair) for pair in english.items()],
        "pictures": [number for number in recipe.used_frames if has_picture(number)],
        "lights": light_actions(recipe, carriers),
        "trails": follow_ingredients(recipe, program, carriers, pair_objects(recipe)),
        "graph": graph_views(recipe),
        "program": format_program(program),
        "english_program": format_program(translate(program, english)) if english else None,
        "results": [program.variables[name].id for name in program.results],
    }


def translate(program: Program, english: Mapping[str, str]) -> Program:
    """The same program with English words, where they are known."""

    def put(mention: Mention) -> Mention:
        arguments = tuple(
            Argument(argument.label, value if isinstance(value := argument.value, str) else put(value))
            for argument in mention.arguments
        )
        return replace(mention, text=english.get(mention.text or "", mention.text), arguments=arguments)

    variables = {name: put(mention) for name, mention in program.variables.items()}
    return replace(program, title=english.get(program.title or "", program.title), variables=variables)
