"""The rows of ``image_pairs`` as training needs them: words, images, folds and context from the flow graph."""

from __future__ import annotations

import hashlib
import json
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch

from configuration_vrf import READ_ROLES
from recipeflow.dataset.folder import FLOW_GRAPHS, PAIRS, RECIPES, DatasetFolder
from recipeflow.dataset.folds import FOLDS
from recipeflow.errors import DatasetFolderError, UsageError
from recipeflow.features.compute import FeatureTable
from recipeflow.features.pixels import FramePixels
from recipeflow.machines.processes import release_memory
from recipeflow.pairs.columns import NONE, ContextColumn, ContextMaker, PhraseColumn, PhraseMaker
from recipeflow.pairs.context import Picture, RecipeHistory, Words, describe_row, last_seen

UNKNOWN_FRAME = 0
"""Frames count from 1. Nothing is earlier than an image of unknown time."""

RECIPES_AT_A_TIME = 500
"""Recipes that are Python objects at a time; everything else stays in columns."""

HASHED_AT_A_TIME = 10_000
"""Rows that are hashed at a time, so that no copy of a table is made."""


@dataclass(frozen=True)
class Pairs:
    """The rows of ``image_pairs`` that training needs, as columns.

    Args:
        recipes: For each row, the number of its recipe, in the order of the dataset.
        folds: For each row, its fold.
        actions: The words of the action; ``None`` where the release has no text. Any sequence becomes a column.
        objects: The words of the object; ``None`` where there is no object or no text.
        images: The images, as cached features or as pixels.
        contexts: What the flow graph says about the action and the object's history.
        seen: The image in which the object was last seen: its pre-action image or, where that is missing, the
            result of what was done to it before; -1 where it was never seen.
    """

    recipes: torch.Tensor
    folds: torch.Tensor
    actions: PhraseColumn
    objects: PhraseColumn
    images: FeatureTable | FramePixels
    contexts: ContextColumn
    seen: torch.Tensor

    def __post_init__(self) -> None:
        for name, kind in (("actions", PhraseColumn), ("objects", PhraseColumn), ("contexts", ContextColumn)):
            object.__setattr__(self, name, kind.of(getattr(self, name)))

    def usable(self, inputs: Sequence[str], incomplete: bool = False) -> torch.Tensor:
        """Which rows have a post-action image and everything that these inputs need.

        Args:
            inputs: The parts of a query.
            incomplete: Whether a row without its pre-action image is allowed, as long as it has words.
        """
        mask = self.images.post >= 0
        if "action" in inputs:
            mask = mask & torch.from_numpy(self.actions.codes != NONE)
        if "object" in inputs:
            mask = mask & torch.from_numpy(self.objects.codes != NONE)
        if "image" in inputs and not (incomplete and len(inputs) > 1):
            mask = mask & (self.images.pre >= 0)
        return mask

    def rows(self, inputs: Sequence[str], folds: Sequence[int], incomplete: bool = False) -> torch.Tensor:
        """The positions of the usable rows of these folds."""
        in_folds = torch.isin(self.folds, torch.tensor(list(folds)))
        return (self.usable(inputs, incomplete) & in_folds).nonzero().flatten()

    def phrases(self, rows: torch.Tensor, context: str = "none") -> Counter[Words]:
        """Every action and object of these rows, and the words read from their context, each with its number.

        It is what a vocabulary is built from.
        """
        chosen = rows.numpy()
        phrases = self.actions.tally(chosen)
        phrases.update(self.objects.tally(chosen))
        phrases.update(self.contexts.tally(chosen, READ_ROLES[context]))
        return phrases

    def digest(self) -> str:
        """A digest of images, words, recipes and folds: what queries, answers and metrics depend on."""
        images = self.images
        if isinstance(images, FeatureTable):
            parts = images.features.split(HASHED_AT_A_TIME)
            shown = (memoryview(rows.contiguous().numpy()).cast("B") for rows in parts)
        else:
            shown = iter([images.index.digests.tobytes()])
        return self._digest(shown)

    def questions_digest(self) -> str:
        """A digest of the same without what the images look like: equal for every backbone and kind of features."""
        return self._digest(iter(()))

    def _digest(self, shown: Iterator[bytes | memoryview]) -> str:
        rows = (self.images.pre, self.images.post, self.recipes, self.folds)
        numbers = (memoryview(tensor.contiguous().numpy()).cast("B") for tensor in rows)
        content = hashlib.sha256()
        for part in chain(_json_lists(self.actions, self.objects), shown, numbers):
            content.update(part)
        return content.hexdigest()

    def context_digest(self) -> str:
        """A digest of the contexts, for results of models that read them."""
        content = hashlib.sha256()
        for part in _json_lists(self.contexts, self.seen.tolist()):
            content.update(part)
        return content.hexdigest()


def _json_lists(*columns: Sequence[Any]) -> Iterator[bytes]:
    """The JSON of a list of these columns, in parts of a bounded number of rows."""
    for number, column in enumerate(columns):
        yield b", [" if number else b"[["
        for start in range(0, len(column), HASHED_AT_A_TIME):
            items = json.dumps(column[start : start + HASHED_AT_A_TIME])[1:-1]
            yield (", " if start else "").encode() + items.encode()
        yield b"]"
    yield b"]"


def load_pairs(dataset: str | Path, images: FeatureTable | FramePixels) -> Pairs:
    """Read the columns of a dataset folder and join them with its images.

    Without flow graphs there is no context, and the words are those of ``image_pairs``, split at spaces.
    """
    tables = DatasetFolder(dataset)
    has_graphs = tables.has(FLOW_GRAPHS)
    names = ["action_id", "object_id", "post_frame"] if has_graphs else ["action", "object"]
    table = tables.table(PAIRS, ["recipe_id", "fold", *names])
    _check_rows(table, images, dataset)
    recipe_ids, recipes = _encode(table["recipe_id"])
    known: dict[str, Any] = {"recipes": torch.from_numpy(recipes), "images": images}
    known["folds"] = torch.from_numpy(table["fold"].to_numpy().astype(np.int64))
    if not has_graphs:
        actions, objects = (_cut_column(table[name]) for name in ("action", "object"))
        contexts = ContextColumn.empty(len(recipes))
        return Pairs(actions=actions, objects=objects, contexts=contexts, seen=images.pre.clone(), **known)
    reader = _RecipeReader(tables, recipe_ids)
    found = _Found()
    order = np.argsort(recipes, kind="stable")  # rows of a recipe need not be next to each other
    ends = np.searchsorted(recipes[order], np.arange(len(recipe_ids)), side="right")
    for first in range(0, len(recipe_ids), RECIPES_AT_A_TIME):
        last = min(first + RECIPES_AT_A_TIME, len(recipe_ids))
        start = int(ends[first - 1]) if first else 0
        rows = order[start : int(ends[last - 1])]
        content = _Rows.of(table, rows, images)
        limits = (ends[first:last] - start).tolist()
        for graph, begin, end in zip(reader.read(first, last), [0, *limits], limits, strict=False):
            found.add_recipe(*graph, content.part(begin, end))
    columns = found.columns(np.argsort(order, kind="stable"))
    del reader, found, content
    release_memory()
    return Pairs(**columns, **known)


def _check_rows(table: pa.Table, images: FeatureTable | FramePixels, dataset: str | Path) -> None:
    if len(table) != len(images.post):
        raise UsageError(
            f"expected images of the {len(table)} rows of {dataset}, found {len(images.post)} rows; "
            "compute them for this dataset with `vrf features`"
        )
    if wrong := set(pc.unique(table["fold"]).to_pylist()) - set(range(FOLDS)):
        raise DatasetFolderError(
            f"expected a fold from 0 to {FOLDS - 1} in every row of {dataset}, found {sorted(map(str, wrong))}; "
            "assign a fold to each recipe, as `vrf build` does"
        )


def _encode(column: pa.ChunkedArray) -> tuple[list[str], np.ndarray]:
    """The distinct values of a column in their order, and for each row the number of its own."""
    encoded = column.combine_chunks().dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy().astype(np.int64)


def _cut_column(column: pa.ChunkedArray) -> PhraseColumn:
    """Text as phrases; each distinct text is split once."""
    encoded = column.combine_chunks().dictionary_encode()
    phrases = PhraseColumn.of([_cut(text) for text in encoded.dictionary.to_pylist()])
    codes = encoded.indices.fill_null(len(phrases)).to_numpy()
    return PhraseColumn(np.append(phrases.codes, np.int32(NONE))[codes], phrases.distinct)


def _cut(text: str | None) -> Words | None:
    """Split text into words; ``None`` stays ``None``."""
    return tuple(text.split()) or None if text is not None else None


class _RecipeReader:
    """The flow graph and the words of each recipe, a few recipes at a time."""

    def __init__(self, tables: DatasetFolder, recipe_ids: Sequence[str]) -> None:
        self.has_text, self.scheme = tables.has(RECIPES), tables.info.scheme
        fields = ("section", "line", "start_word", "end_word") if self.has_text else ("text",)
        nodes = [f"nodes.{name}" for name in ("id", "tag", *fields)]
        self.graphs = tables.table(FLOW_GRAPHS, ["recipe_id", *nodes, "edges"])
        places = [_places(self.graphs)]
        if self.has_text:
            self.texts = tables.table(RECIPES, ["recipe_id", "ingredients.tokens", "instructions.tokens"])
            places.append(_places(self.texts))
        lost = sorted(recipe for recipe in recipe_ids if not all(recipe in known for known in places))
        if lost:
            raise DatasetFolderError(
                f"expected every recipe of {PAIRS} in the other tables too, found {len(lost)} that are not in all of "
                f"them, the first {lost[0]!r}; pass whole tables"
            )
        self.rows = [np.array([known[recipe] for recipe in recipe_ids]) for known in places]

    def read(self, first: int, last: int) -> Iterator[tuple[RecipeHistory, dict[str, Words]]]:
        """The history of each of these recipes, and the words of its r-NEs by their ids."""
        graphs = self.graphs.take(self.rows[0][first:last]).to_pylist()
        texts = self.texts.take(self.rows[1][first:last]).to_pylist() if self.has_text else [None] * len(graphs)
        for graph, text in zip(graphs, texts, strict=True):
            nodes = graph["nodes"]
            if text is None:
                words = {node["id"]: words for node in nodes if (words := _cut(node["text"]))}
            else:
                words = _entity_words(nodes, (text["ingredients"], text["instructions"]))
            yield RecipeHistory(nodes, graph["edges"], self.scheme), words


def _places(table: pa.Table) -> dict[str, int]:
    return {recipe_id: row for row, recipe_id in enumerate(table["recipe_id"].to_pylist())}


def _entity_words(nodes: Sequence[dict[str, Any]], sections: Sequence[Any]) -> dict[str, Words]:
    """The words of every r-NE by its id: only ``recipes`` has segmented text."""
    found: dict[str, Words] = {}
    for node in nodes:
        tokens = sections[node["section"]][node["line"]]["tokens"]
        if tokens is not None:
            found[node["id"]] = tuple(tokens[node["start_word"] : node["end_word"]])
    return found


@dataclass(frozen=True)
class _Rows:
    """Some rows of ``image_pairs``: ids, the number of the post-action frame in the film, and images."""

    actions: list[str]
    objects: list[str | None]
    frames: list[int | None]
    pre: list[int]
    post: list[int]

    @classmethod
    def of(cls, table: pa.Table, rows: np.ndarray, images: FeatureTable | FramePixels) -> _Rows:
        columns = [table[name].take(rows).to_pylist() for name in ("action_id", "object_id", "post_frame")]
        return cls(*columns, images.pre[rows].tolist(), images.post[rows].tolist())

    def part(self, begin: int, end: int) -> _Rows:
        return _Rows(*(column[begin:end] for column in vars(self).values()))


@dataclass
class _Found:
    """Columns that grow recipe by recipe."""

    actions: PhraseMaker = field(default_factory=PhraseMaker)
    objects: PhraseMaker = field(default_factory=PhraseMaker)
    contexts: ContextMaker = field(default_factory=ContextMaker)
    seen: array = field(default_factory=lambda: array("q"))

    def add_recipe(self, history: RecipeHistory, words: dict[str, Words], rows: _Rows) -> None:
        companions: dict[str, list[str | None]] = defaultdict(list)
        for action, entity in zip(rows.actions, rows.objects, strict=True):
            companions[action].append(entity)
        for action, entity in zip(rows.actions, rows.objects, strict=True):
            self.actions.add(words.get(action))
            self.objects.add(None if entity is None else words.get(entity))
            self.contexts.add(describe_row(history, action, entity, companions[action], words))
        self.seen.extend(_last_seen(history, rows))

    def columns(self, places: np.ndarray) -> dict[str, Any]:
        """The columns in the order of the dataset, whose rows are in these places here."""
        return {
            "actions": self.actions.finish().take(places),
            "objects": self.objects.finish().take(places),
            "contexts": self.contexts.finish().take(places),
            "seen": torch.from_numpy(np.array(self.seen, np.int64)[places]),
        }


def _last_seen(history: RecipeHistory, rows: _Rows) -> list[int]:
    """For each row of a recipe its pre-action image, or the one in which the object was last seen."""
    if all(image >= 0 for image in rows.pre):
        return rows.pre
    results = [
        Picture(entity, frame or UNKNOWN_FRAME, image) if image >= 0 else None
        for entity, frame, image in zip(rows.objects, rows.frames, rows.post, strict=True)
    ]
    pictures: dict[str, list[Picture]] = defaultdict(list)
    for action, result in zip(rows.actions, results, strict=True):
        if result is not None and result.frame != UNKNOWN_FRAME:
            pictures[action].append(result)
    found = zip(rows.pre, rows.actions, rows.objects, results, strict=True)
    return [
        image if image >= 0 else last_seen(history, action, entity, pictures, result)
        for image, action, entity, result in found
    ]
