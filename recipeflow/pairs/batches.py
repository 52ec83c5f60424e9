"""Rows of ``image_pairs`` to mini-batches of recipes, as the paper trains on them.

Every distinct phrase and word is encoded once; a batch is then a few index operations on the host, so that a step
takes only the model's time. Rows and features are gathered batch by batch: their tables may not fit into memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from processing_vrf import VRFProcessor
from recipeflow.errors import NoPairsError, UsageError
from recipeflow.features.compute import FeatureTable
from recipeflow.features.pixels import FramePixels
from recipeflow.features.rows import FeatureRows
from recipeflow.pairs.columns import ContextColumn, PhraseColumn, ranges
from recipeflow.pairs.loading import Pairs


@dataclass(frozen=True)
class PairBatch:
    """A mini-batch with every distinct image once, however many rows show it.

    Args:
        recipes: For each row, its recipe.
        words: The word ids of the inputs that are words, as the model takes them.
        frames: The distinct images, by number.
        post: For each row, the position of its post-action image among them.
        pre: For each row, the position of its pre-action image, if that is an input.
        pre_mask: False for the rows without one, if such rows are used.
    """

    recipes: torch.Tensor
    words: dict[str, torch.Tensor]
    frames: torch.Tensor
    post: torch.Tensor
    pre: torch.Tensor | None
    pre_mask: torch.Tensor | None = None

    @property
    def image_ids(self) -> torch.Tensor:
        """For each row, the number of its post-action image."""
        return self.frames[self.post]

    def to(self, device: torch.device | str) -> PairBatch:
        words = {name: ids.to(device) for name, ids in self.words.items()}
        moved = {name: value.to(device) for name, value in vars(self).items() if isinstance(value, torch.Tensor)}
        return replace(self, words=words, **moved)


@dataclass(frozen=True)
class PhraseIds:
    """The word ids of phrases; each distinct phrase is encoded once.

    Args:
        codes: For each row of the dataset, the number of its phrase.
        encoded: For each phrase its ids, filled up with 0.
    """

    codes: np.ndarray
    encoded: torch.Tensor

    @classmethod
    def of(cls, column: PhraseColumn, rows: np.ndarray, processor: VRFProcessor) -> PhraseIds:
        """With the phrases of these rows."""
        used = np.unique(column.codes[rows])
        ids = processor(actions=[column.distinct[code] for code in used.tolist()], as_written=True)["action_ids"]
        encoded = torch.zeros(len(column.distinct), ids.shape[1], dtype=torch.long)
        encoded[torch.from_numpy(used).long()] = ids
        return cls(column.codes, encoded)

    def ids(self, rows: np.ndarray) -> torch.Tensor:
        """The ids of these rows of the dataset."""
        return self.encoded[torch.from_numpy(self.codes[rows]).long()]


@dataclass(frozen=True)
class ContextIds:
    """The words of every context in one row, by role, and the number of each word's role, as the processor has them.

    Args:
        column: All contexts.
        lengths: Of each distinct word the number of its ids: several if it has a space inside.
        encoded: These ids, of one word after the other.
    """

    column: ContextColumn
    lengths: np.ndarray
    encoded: np.ndarray

    @classmethod
    def of(cls, column: ContextColumn, processor: VRFProcessor) -> ContextIds:
        """Each distinct word is encoded once."""
        words = processor.tokenizer(list(column.distinct))["input_ids"] if column.distinct else []
        lengths = np.array([len(ids) for ids in words], np.int64)
        return cls(column, lengths, np.array([number for ids in words for number in ids], np.int64))

    def ids_and_roles(self, rows: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        """Of these rows of the dataset, both filled up with 0."""
        owner, places = self.column.select(rows)
        order = np.lexsort((self.column.roles[places], owner))  # stable: words of one role stay in their order
        owner, places = owner[order], places[order]
        words = self.column.words[places]
        repeats = self.lengths[words]
        owner = np.repeat(owner, repeats)
        ids = self.encoded[ranges((np.cumsum(self.lengths) - self.lengths)[words], repeats)]
        counts = np.bincount(owner, minlength=len(rows))
        place = ranges(np.zeros(len(rows), np.int64), counts)
        width = max(int(self.lengths.any()), counts.max())  # nothing only if there is no context in the whole dataset
        found = np.zeros((2, len(rows), width), np.int64)
        found[0, owner, place] = ids
        found[1, owner, place] = np.repeat(self.column.roles[places] + 1, repeats)
        return tuple(torch.from_numpy(found))


@dataclass(frozen=True)
class PairTensors:
    """A choice of rows with what the inputs need. All columns are the dataset's: a batch reads a few of their rows.

    Args:
        rows: The rows of the dataset that are chosen.
        owners: For each row of the dataset, its recipe.
        posts: For each row of the dataset, the number of its post-action image.
        images: What the numbers refer to: features, or pixels.
        pres: The number of the pre-action image, if that is an input; -1 where a row has none.
        phrases: The words of the inputs that are words, by name.
        context: The words of the context, if it is read.
    """

    rows: torch.Tensor
    owners: torch.Tensor
    posts: torch.Tensor
    images: FeatureRows | FramePixels
    pres: torch.Tensor | None
    phrases: dict[str, PhraseIds]
    context: ContextIds | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def recipes(self) -> torch.Tensor:
        """For each chosen row, its recipe."""
        return self.owners[self.rows]

    @property
    def post(self) -> torch.Tensor:
        """For each chosen row, the number of its post-action image."""
        return self.posts[self.rows]

    @property
    def pre(self) -> torch.Tensor | None:
        """For each chosen row, the number of its pre-action image, if that is an input."""
        return None if self.pres is None else self.pres[self.rows]

    def batch(self, rows: torch.Tensor) -> PairBatch:
        """Some of the chosen rows."""
        chosen = self.rows[rows]
        pre, mask = self.pre_of(rows)
        posts = self.posts[chosen]
        used = posts if pre is None else torch.cat([posts, pre])
        frames, position = used.unique(return_inverse=True)
        post, *pre = position.split(len(rows))
        return PairBatch(self.owners[chosen], self.words_of(rows), frames, post, pre[0] if pre else None, mask)

    def pre_of(self, rows: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        """The pre-action images of these rows, and which rows have one; the others get any image, to be masked."""
        if self.pres is None:
            return None, None
        pre = self.pres[self.rows[rows]]
        mask = pre >= 0
        return (pre, None) if mask.all() else (pre.clamp(min=0), mask)

    def words_of(self, rows: torch.Tensor) -> dict[str, torch.Tensor]:
        """The word ids of these rows, without columns of padding only."""
        chosen = self.rows[rows].numpy()
        words = {f"{name}_ids": phrases.ids(chosen) for name, phrases in self.phrases.items()}
        if self.context is not None:
            words["context_ids"], words["context_roles"] = self.context.ids_and_roles(chosen)
        return {name: ids[:, : max(1, int((ids != 0).sum(1).max()))] for name, ids in words.items()}


def make_tensors(
    pairs: Pairs,
    rows: torch.Tensor,
    inputs: Sequence[str],
    processor: VRFProcessor,
    context: str = "none",
) -> PairTensors:
    """Choose these rows, and encode their words with the processor's vocabulary.

    Args:
        pairs: The dataset.
        rows: Which rows; all of them have the words that the inputs need.
        inputs: The parts of a query.
        processor: Has the vocabulary.
        context: How much of the flow graph the model reads. With ``history``, a missing pre-action image is replaced
            by the one in which the object was last seen.
    """
    if not len(rows):
        raise NoPairsError(
            f"expected at least one row with a post-action image and {', '.join(inputs)}, found none; "
            "`vrf stats` shows how many objects have images"
        )
    columns = {"action": pairs.actions, "object": pairs.objects}
    images = pairs.images
    return PairTensors(
        rows,
        pairs.recipes,
        images.post,
        images.rows if isinstance(images, FeatureTable) else images,
        (pairs.seen if context == "history" else images.pre) if "image" in inputs else None,
        {name: PhraseIds.of(column, rows.numpy(), processor) for name, column in columns.items() if name in inputs},
        None if context == "none" else ContextIds.of(pairs.contexts, processor),
    )


def check_share(per_batch: int, world: int) -> None:
    """Refuse a batch that the processes cannot share equally.

    Args:
        per_batch: Recipes in a batch, over all processes.
        world: The number of processes.

    Raises:
        UsageError: With the nearest number that they can share.
    """
    if per_batch < 1 or per_batch % world:
        nearest = max(1, round(per_batch / world)) * world
        raise UsageError(
            f"expected a number of recipes per batch that {world} processes can share equally, found {per_batch}; "
            f"pass --recipes-per-batch {nearest}, or start fewer processes"
        )


class RecipeBatches:
    """Mini-batches of whole recipes, shuffled every epoch.

    The order depends only on the seed and the epoch, so that a resumed run continues exactly where it stopped. With
    several processes, each gets its share of the recipes of every batch.

    Args:
        recipes: For each row, its recipe.
        per_batch: Recipes in a batch, over all processes.
        seed: Fixes the order.
        rank: Which process this is.
        world: How many there are.
    """

    def __init__(self, recipes: torch.Tensor, per_batch: int, seed: int, rank: int = 0, world: int = 1) -> None:
        check_share(per_batch, world)
        self.per_batch, self.seed, self.rank, self.world = per_batch, seed, rank, world
        self.order = recipes.argsort(stable=True)
        _, counts = recipes.unique(return_counts=True)
        self.ends = counts.cumsum(0)
        self.starts = self.ends - counts

    @property
    def recipes(self) -> int:
        """How many recipes there are."""
        return len(self.ends)

    def rows_of(self, recipe: int) -> torch.Tensor:
        """The rows of a recipe."""
        return self.order[self.starts[recipe] : self.ends[recipe]]

    def __len__(self) -> int:
        """Steps per epoch. A last batch with too few recipes for all processes is left out."""
        full, rest = divmod(self.recipes, self.per_batch)
        return full + (rest >= max(2, self.world))

    def epoch(self, number: int) -> Iterator[torch.Tensor]:
        """The rows of this process for each step of an epoch."""
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + number)
        order = torch.randperm(self.recipes, generator=generator).tolist()
        for step in range(len(self)):
            chosen = order[step * self.per_batch : (step + 1) * self.per_batch]
            share = _share(chosen, self.rank, self.world)
            yield torch.cat([self.rows_of(recipe) for recipe in share])


def _share(items: Sequence[Any], rank: int, world: int) -> Sequence[Any]:
    """A contiguous part of the items; all parts in the order of their ranks are the items again."""
    bounds = [len(items) * part // world for part in range(world + 1)]
    return items[bounds[rank] : bounds[rank + 1]]
