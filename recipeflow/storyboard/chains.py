"""The states of a dataset's recipes, one after the other, and the pictures that they are imagined with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from flows_vrf import Script, State
from imagination_vrf import Candidates
from modeling_vrf import VRFModel
from processing_vrf import VRFProcessor
from recipeflow.dataset.recipes import DatasetSource
from recipeflow.errors import DatasetFolderError, StoryboardError
from recipeflow.evaluation.ranking import CHUNK
from recipeflow.features.rows import FeatureRows
from recipeflow.graph import pair_objects
from recipeflow.pairs.loading import Pairs
from recipeflow.release.recipe import Recipe
from recipeflow.storyboard.scripts import script_of
from storyboard_vrf import make_queries
from words_vrf import Translator


@dataclass(frozen=True)
class Chains:
    """The states of the recipes of some folds, with their annotated pictures.

    Args:
        states: Of all recipes, one after the other.
        queries: What is asked about each.
        rows: For each state its row of ``image_pairs``; -1 where it has none.
        recipes: For each state the number of its recipe.
    """

    states: Sequence[State]
    queries: Sequence[Mapping[str, Any]]
    rows: torch.Tensor
    recipes: torch.Tensor


def read_chains(dataset: Path, pairs: Pairs, folds: Sequence[int], model: VRFModel, processor: VRFProcessor) -> Chains:
    """Trace the states of every recipe of these folds."""
    states: list[State] = []
    queries: list[Mapping[str, Any]] = []
    rows: list[int] = []
    recipes: list[int] = []
    for number, (recipe, first) in enumerate(_recipes_in(dataset, pairs, folds)):
        script = script_of(recipe)
        start = len(states)
        states += [
            replace(state, before=None if state.before is None else state.before + start) for state in script.states
        ]
        queries += make_queries(script, model, Translator({}, processor))
        rows += _rows_of(script, recipe, first)
        recipes += [number] * len(script.states)
    if not states:
        raise StoryboardError(
            f"expected recipes with actions in fold {', '.join(map(str, folds))} of {dataset}, found none; choose "
            "another fold"
        )
    return Chains(states, queries, torch.tensor(rows), torch.tensor(recipes))


def _recipes_in(dataset: Path, pairs: Pairs, folds: Sequence[int]) -> Iterator[tuple[Recipe, int]]:
    """The recipes of these folds, each with the number of its first row of ``image_pairs``."""
    row = 0
    for checked in DatasetSource(dataset).recipes():
        if checked.recipe is None:
            raise DatasetFolderError(f"{checked.problems[0]}; build the dataset again")
        count = len(checked.recipe.state_changes)
        if count and int(pairs.folds[row]) in folds:
            yield checked.recipe, row
        row += count


def _rows_of(script: Script, recipe: Recipe, first: int) -> list[int]:
    found = {
        (pair.action.id, pair.object.id): first + number
        for number, pair in enumerate(pair_objects(recipe))
        if pair.object is not None
    }
    return [found.get((state.action, state.object), -1) for state in script.states]


def image_of(images: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """The image of each row; -1 where the row is missing."""
    return torch.where(rows >= 0, images[rows.clamp(min=0)], -1)


@torch.no_grad()
def embed_candidates(model: VRFModel, features: FeatureRows, images: torch.Tensor) -> Candidates:
    """These images of a dataset as candidates."""
    parts = (features.look(part, model.device) for part in images.split(CHUNK))
    embeds = torch.cat([model.eval().get_image_embeds(post_features=part).float().cpu() for part in parts])
    return Candidates(embeds, lambda rows: features.look(images[rows]))
