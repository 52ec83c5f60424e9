"""Questions about the flow graph: `dependency` and `ingredient_trace`."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import networkx as nx

from recipeflow.tasks import questions
from recipeflow.tasks.frames import FrameStore
from recipeflow.tasks.material import Material, Step
from recipeflow.tasks.split import Split, common

Row = dict[str, Any]
MOST_INGREDIENTS = 3
"""Offered per side: as many that are in the object as are not."""


def dependency(split: Split, store: FrameStore) -> Iterator[Row]:
    """Two questions per action, about two earlier ones: one whose result it needs, and one about as far away."""
    for material in split.materials:
        needed = {number: nx.ancestors(material.order, number) for number in material.order}
        for step in material.steps:
            rng = split.rng("dependency", material.recipe_id, step.number)
            earlier = range(1, step.number)
            yes = [number for number in earlier if number in needed[step.number]]
            no = [number for number in earlier if number not in needed[step.number]]
            if yes and no:
                distant = rng.choice(no)
                # As near in the text as the other one, so that the distance says nothing.
                near = min(yes, key=lambda number: (abs(number - distant), rng.random()))
                for first in rng.sample([near, distant], 2):
                    yield _dependency(split, material, first, step)


def _dependency(split: Split, material: Material, first: int, step: Step) -> Row:
    steps = [each.text for each in material.steps]
    has_path = nx.has_path(material.order, first, step.number)
    path = nx.shortest_path(material.order, first, step.number) if has_path else []
    return {
        **common(
            split, "dependency", material.recipe_id, max(len(path) - 1, 0), material.recipe_id, first, step.number
        ),
        "question": questions.dependency(material, steps, first, step.number),
        "steps": steps,
        "first": first,
        "second": step.number,
        "needs": [{"start": start, "end": end} for start, end in sorted(material.order.edges)],
        "answer": "yes" if has_path else "no",
        "path": path,
    }


def ingredient_trace(split: Split, store: FrameStore) -> Iterator[Row]:
    """One question per action whose result has foods that another one lacks, and the other way round.

    Half of the offered ingredients are in one, half in the other, and which of both is asked about is drawn: no
    ingredient is in the answer more often than not.
    """
    for material in split.materials:
        pictures = {moment.step: moment.after for moment in material.moments if moment.after}
        for step in material.steps:
            rng = split.rng("ingredient_trace", material.recipe_id, step.number)
            others = [other for other in material.steps if step.foods - other.foods and other.foods - step.foods]
            if others:
                asked, other = rng.sample([step, rng.choice(others)], 2)
                yield _trace(split, store, material, step, asked, other, pictures.get(asked.number), rng)


def _trace(
    split: Split,
    store: FrameStore,
    material: Material,
    step: Step,
    asked: Step,
    other: Step,
    picture: str | None,
    rng: Random,
) -> Row:
    inside, outside = sorted(asked.foods - other.foods), sorted(other.foods - asked.foods)
    count = min(len(inside), len(outside), MOST_INGREDIENTS)
    answer = rng.sample(inside, count)
    choices = rng.sample([*answer, *rng.sample(outside, count)], 2 * count)
    return {
        **common(split, "ingredient_trace", material.recipe_id, asked.depth, material.recipe_id, step.number),
        "question": questions.ingredient_trace(material, asked.number, choices, picture is not None),
        "step": asked.number,
        "image": None if picture is None else store.image(picture),
        "choices": choices,
        "answer": [name for name in choices if name in answer],
    }
