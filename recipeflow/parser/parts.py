"""Parts of recipes: a few hundred recipes are soon known by heart, but their parts are new texts."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from processing_rfg import SENTENCE_ENDS, RFGRecipe
from recipeflow.parser.examples import Example

FEWEST = 2
"""A part has at least this many sentences."""


def random_part(example: Example, random: Random) -> Example:
    """Some sentences of a recipe that follow each other, at least half of them, rounded down.

    Entities keep their words and flows their ends, as far as both are inside.
    """
    bounds = sentence_bounds(example.recipe)
    count = len(bounds) - 1
    if count <= FEWEST:
        return example
    kept = random.randint(max(FEWEST, count // 2), count)
    first = random.randint(0, count - kept)
    return cut_words(example, bounds[first], bounds[first + kept])


def sentence_bounds(recipe: RFGRecipe) -> list[int]:
    """Where sentences begin, and where the last one ends: at full stops, and at the ends of lines."""
    bounds, position = [0], 0
    for line in recipe.lines:
        for word in line.words:
            position += 1
            if word in SENTENCE_ENDS:
                bounds.append(position)
        if position > bounds[-1]:
            bounds.append(position)
    return bounds


def cut_words(example: Example, first: int, end: int) -> Example:
    """The words from one place up to another, with all entities and flows in them."""
    lines, position = [], 0
    for line in example.recipe.lines:
        words = slice(max(first - position, 0), max(end - position, 0))
        if line.words[words]:
            lines.append(replace(line, words=line.words[words], spans=line.spans[words]))
        position += len(line.words)
    kept = [number for number, (start, stop, _) in enumerate(example.spans) if first <= start and stop <= end]
    numbers = {number: place for place, number in enumerate(kept)}
    spans = [example.spans[number] for number in kept]
    return Example(
        example.recipe_id,
        RFGRecipe(tuple(lines)),
        tuple((start - first, stop - first, tag) for start, stop, tag in spans),
        tuple((numbers[a], numbers[b], label) for a, b, label in example.edges if a in numbers and b in numbers),
    )
