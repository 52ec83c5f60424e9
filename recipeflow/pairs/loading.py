"""The rows of ``image_pairs`` as training needs them: words, images, folds and context from the flow graph."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from configuration_vrf import READ_ROLES
from recipeflow.dataset.folder import FLOW_GRAPHS, PAIRS, RECIPES, DatasetFolder
from recipeflow.dataset.folds import FOLDS
from recipeflow.errors import DatasetFolderError, UsageError
from recipeflow.features.compute import FeatureTable
from recipeflow.features.pixels import FramePixels
from recipeflow.pairs.context import Context, Picture, RecipeHistory, Words, describe_row, last_seen

UNKNOWN_FRAME = 0
"""Frames count from 1. Nothing is earlier than an image of unknown time."""


@dataclass(frozen=True)
class Pairs:
    """The rows of ``image_pairs`` that training needs, as columns.

    Args:
        recipes: For each row, the number of its recipe, in the order of the dataset.
        folds: For each row, its fold.
        actions: The words of the action; ``None`` where the release has no text.
        objects: The words of the object; ``None`` where there is no object or no text.
        images: The images, as cached features or as pixels.
        contexts: What the flow graph says about the action and the object's history.
        seen: The image in which the object was last seen: its pre-action image or, where that is missing, the
            result of what was done to it before; -1 where it was never seen.
    """

    recipes: torch.Tensor
    folds: torch.Tensor
    actions: tuple[Words | None, ...]
    objects: tuple[Words | None, ...]
    images: FeatureTable | FramePixels
    contexts: tuple[Context, ...]
    seen: torch.Tensor

    def usable(self, inputs: Sequence[str], incomplete: bool = False) -> torch.Tensor:
        """Which rows have a post-action image and everything that these inputs need.

        Args:
            inputs: The parts of a query.
            incomplete: Whether a row without its pre-action image is allowed, as long as it has words.
        """
        mask = self.images.post >= 0
        if "action" in inputs:
            mask = mask & torch.tensor([words is not None for words in self.actions])
        if "object" in inputs:
            mask = mask & torch.tensor([words is not None for words in self.objects])
        if "image" in inputs and not (incomplete and len(inputs) > 1):
            mask = mask & (self.images.pre >= 0)
        return mask

    def rows(self, inputs: Sequence[str], folds: Sequence[int], incomplete: bool = False) -> torch.Tensor:
        """The positions of the usable rows of these folds."""
        in_folds = torch.isin(self.folds, torch.tensor(list(folds)))
        return (self.usable(inputs, incomplete) & in_folds).nonzero().flatten()

    def phrases(self, rows: torch.Tensor, context: str = "none") -> list[Words]:
        """Every action and object of these rows, and the words read from their context, to build a vocabulary."""
        chosen = rows.tolist()
        columns = (self.actions, self.objects)
        phrases = [words for column in columns for row in chosen if (words := column[row]) is not None]
        read = READ_ROLES[context]
        return phrases + [(word,) for row in chosen for role, word in self.contexts[row] if role in read]

    def digest(self) -> str:
        """A digest of images, words, recipes and folds: what queries, answers and metrics depend on."""
        content = hashlib.sha256(json.dumps([self.actions, self.objects]).encode())
        images = self.images
        if isinstance(images, FeatureTable):
            content.update(images.features.numpy().tobytes())
        else:
            content.update(b"".join(images.index.digests))
        for tensor in (images.pre, images.post, self.recipes, self.folds):
            content.update(tensor.numpy().tobytes())
        return content.hexdigest()

    def context_digest(self) -> str:
        """A digest of the contexts, for results of models that read them."""
        return hashlib.sha256(json.dumps([self.contexts, self.seen.tolist()]).encode()).hexdigest()


def load_pairs(dataset: str | Path, images: FeatureTable | FramePixels) -> Pairs:
    """Read the columns of a dataset folder and join them with its images.

    Without flow graphs there is no context, and the words are those of ``image_pairs``, split at spaces.
    """
    columns = ["recipe_id", "fold", "action_id", "object_id", "post_frame"]
    tables = DatasetFolder(dataset)
    has_graphs = tables.has(FLOW_GRAPHS)
    table = tables.columns(PAIRS, columns + ([] if has_graphs else ["action", "object"]))
    if len(table["fold"]) != len(images.post):
        raise UsageError(
            f"expected images of the {len(table['fold'])} rows of {dataset}, found {len(images.post)} rows; "
            "compute them for this dataset with `vrf features`"
        )
    if wrong := set(table["fold"]) - set(range(FOLDS)):
        raise DatasetFolderError(
            f"expected a fold from 0 to {FOLDS - 1} in every row of {dataset}, found {sorted(map(str, wrong))}; "
            "assign a fold to each recipe, as `vrf build` does"
        )
    order: dict[str, int] = {}
    recipes = [order.setdefault(recipe_id, len(order)) for recipe_id in table["recipe_id"]]
    known: dict[str, Any] = {"recipes": torch.tensor(recipes), "folds": torch.tensor(table["fold"]), "images": images}
    if not has_graphs:
        actions, objects = (tuple(map(_cut, table[name])) for name in ("action", "object"))
        contexts = ((),) * len(recipes)
        return Pairs(actions=actions, objects=objects, contexts=contexts, seen=images.pre.clone(), **known)
    rows = list(zip(table["recipe_id"], table["action_id"], table["object_id"], strict=True))
    graphs = _read_graphs(tables)
    words = _entity_words(tables, graphs)
    if lost := sorted(order.keys() - words.keys()):
        raise DatasetFolderError(
            f"expected every recipe of {PAIRS} in the other tables too, found {len(lost)} that are not in all of "
            f"them, the first {lost[0]!r}; pass whole tables"
        )
    histories = {recipe_id: RecipeHistory(*graph) for recipe_id, graph in graphs.items()}
    return Pairs(
        actions=tuple(words[recipe_id].get(action) for recipe_id, action, _ in rows),
        objects=tuple(words[recipe_id].get(entity) for recipe_id, _, entity in rows),
        contexts=_contexts(rows, histories, words),
        seen=_last_seen(rows, table["post_frame"], histories, images),
        **known,
    )


def _cut(text: str | None) -> Words | None:
    """Split text into words; ``None`` stays ``None``."""
    return tuple(text.split()) or None if text is not None else None


Graph = tuple[list[dict[str, Any]], list[dict[str, Any]]]
RowIds = tuple[str, str, str | None]


def _read_graphs(tables: DatasetFolder) -> dict[str, Graph]:
    graphs = tables.columns(FLOW_GRAPHS, ["recipe_id", "nodes", "edges"])
    return {recipe_id: (nodes, edges) for recipe_id, nodes, edges in zip(*graphs.values(), strict=True)}


def _entity_words(tables: DatasetFolder, graphs: dict[str, Graph]) -> dict[str, dict[str, Words]]:
    """The words of every r-NE by recipe and id: only ``recipes`` has segmented text."""
    if not tables.has(RECIPES):
        return {
            recipe_id: {node["id"]: words for node in nodes if (words := _cut(node["text"]))}
            for recipe_id, (nodes, _) in graphs.items()
        }
    recipes = tables.columns(RECIPES, ["recipe_id", "ingredients", "instructions"])
    words: dict[str, dict[str, Words]] = {}
    for recipe_id, *sections in zip(*recipes.values(), strict=True):
        if recipe_id not in graphs:
            continue
        found = words.setdefault(recipe_id, {})
        for node in graphs[recipe_id][0]:
            tokens = sections[node["section"]][node["line"]]["tokens"]
            if tokens is not None:
                found[node["id"]] = tuple(tokens[node["start_word"] : node["end_word"]])
    return words


def _contexts(
    rows: Sequence[RowIds], histories: dict[str, RecipeHistory], words: dict[str, dict[str, Words]]
) -> tuple[Context, ...]:
    companions: dict[tuple[str, str], list[str | None]] = defaultdict(list)
    for recipe_id, action, entity in rows:
        companions[recipe_id, action].append(entity)
    return tuple(
        describe_row(histories[recipe_id], action, entity, companions[recipe_id, action], words[recipe_id])
        for recipe_id, action, entity in rows
    )


def _last_seen(
    rows: Sequence[RowIds],
    frames: Sequence[int | None],
    histories: dict[str, RecipeHistory],
    images: FeatureTable | FramePixels,
) -> torch.Tensor:
    results = [
        Picture(entity, frame or UNKNOWN_FRAME, image) if image >= 0 else None
        for (_, _, entity), frame, image in zip(rows, frames, images.post.tolist(), strict=True)
    ]
    pictures: dict[str, dict[str, list[Picture]]] = defaultdict(lambda: defaultdict(list))
    for (recipe_id, action, _), result in zip(rows, results, strict=True):
        if result is not None and result.frame != UNKNOWN_FRAME:
            pictures[recipe_id][action].append(result)
    seen = images.pre.clone()
    for number in (seen < 0).nonzero().flatten().tolist():
        recipe_id, action, entity = rows[number]
        seen[number] = last_seen(histories[recipe_id], action, entity, pictures[recipe_id], results[number])
    return seen
