"""Rows of ``image_pairs`` to mini-batches of recipes, as the paper trains on them.

Everything but pixels is put into tensors once; a batch is then a few index operations, so that a step takes only the
model's time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from processing_vrf import VRFProcessor
from recipeflow.errors import NoPairsError, UsageError
from recipeflow.features.compute import FeatureTable
from recipeflow.features.pixels import FramePixels
from recipeflow.pairs.context import Context, Words
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


@dataclass(frozen=True)
class PairTensors:
    """A choice of rows with what the inputs need.

    Args:
        recipes: For each row, its recipe.
        post: For each row, the number of its post-action image.
        images: What the numbers refer to: rows of a feature matrix, or pixels.
        views: Several such matrices, of other views of the same images, to train on.
        pre: The number of the pre-action image, if that is an input; -1 where a row has none.
        words: The word ids of the inputs that are words, and of the context.
    """

    recipes: torch.Tensor
    post: torch.Tensor
    images: torch.Tensor | FramePixels
    pre: torch.Tensor | None
    words: dict[str, torch.Tensor]
    views: torch.Tensor | None = None

    def __len__(self) -> int:
        return len(self.recipes)

    def look(self, frames: torch.Tensor, seed: int) -> torch.Tensor:
        """Features of these images; with several views, a random one of each image, drawn with a seed.

        It is drawn for all images at once, so that processes that share a batch draw the same views as one process.
        """
        if self.views is None or len(self.views) == 1:
            assert isinstance(self.images, torch.Tensor)  # pixels are looked at by `FramePixels.augmented`
            return self.images[frames]
        number, images, _ = self.views.shape
        drawn = torch.randint(number, (images,), generator=torch.Generator().manual_seed(seed))
        return self.views[drawn.to(frames.device)[frames], frames]

    def batch(self, rows: torch.Tensor) -> PairBatch:
        pre, mask = self.pre_of(rows)
        used = self.post[rows] if pre is None else torch.cat([self.post[rows], pre])
        frames, position = used.unique(return_inverse=True)
        post, *pre = position.split(len(rows))
        return PairBatch(self.recipes[rows], self.words_of(rows), frames, post, pre[0] if pre else None, mask)

    def pre_of(self, rows: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        """The pre-action images of these rows, and which rows have one; the others get any image, to be masked."""
        if self.pre is None:
            return None, None
        pre = self.pre[rows]
        mask = pre >= 0
        return (pre, None) if mask.all() else (pre.clamp(min=0), mask)

    def words_of(self, rows: torch.Tensor) -> dict[str, torch.Tensor]:
        """The word ids of these rows, without columns of padding only."""
        chosen = {name: ids[rows] for name, ids in self.words.items()}
        return {name: ids[:, : max(1, int((ids != 0).sum(1).max()))] for name, ids in chosen.items()}

    def to(self, device: torch.device | str) -> PairTensors:
        """Move to another device; pixels stay where they are read."""
        words = {name: ids.to(device) for name, ids in self.words.items()}
        moved = {name: value.to(device) for name, value in vars(self).items() if isinstance(value, torch.Tensor)}
        return replace(self, words=words, **moved)


def make_tensors(
    pairs: Pairs,
    rows: torch.Tensor,
    inputs: Sequence[str],
    processor: VRFProcessor,
    context: str = "none",
) -> PairTensors:
    """Put these rows into tensors with the processor's vocabulary.

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
    words = {
        f"{name}_ids": _word_ids([column[row] for row in rows.tolist()], processor)
        for name, column in columns.items()
        if name in inputs
    }
    if context != "none":
        words |= processor(contexts=[_by_role(pairs.contexts[row]) for row in rows.tolist()], as_written=True)
    images = pairs.images
    source = images.features if isinstance(images, FeatureTable) else images
    pre = (pairs.seen if context == "history" else images.pre)[rows] if "image" in inputs else None
    views = images.views if isinstance(images, FeatureTable) else None
    return PairTensors(pairs.recipes[rows], images.post[rows], source, pre, words, views)


def _by_role(context: Context) -> dict[str, list[str]]:
    words: dict[str, list[str]] = {}
    for role, word in context:
        words.setdefault(role, []).append(word)
    return words


def _word_ids(phrases: Sequence[Words], processor: VRFProcessor) -> torch.Tensor:
    """Encode each distinct phrase once: thousands of rows share a few hundred."""
    distinct = list(dict.fromkeys(phrases))
    encoded = processor(actions=distinct, as_written=True)["action_ids"]
    position = {phrase: number for number, phrase in enumerate(distinct)}
    return encoded[[position[phrase] for phrase in phrases]]


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
        if per_batch < 1 or per_batch % world:
            raise UsageError(
                f"expected a number of recipes per batch that {world} processes can share equally, found {per_batch}; "
                f"try {max(1, round(per_batch / world)) * world}"
            )
        self.per_batch, self.seed, self.rank, self.world = per_batch, seed, rank, world
        order = recipes.argsort(stable=True)
        _, counts = recipes.unique(return_counts=True)
        self.rows = order.split(counts.tolist())

    def __len__(self) -> int:
        """Steps per epoch. A last batch with too few recipes for all processes is left out."""
        full, rest = divmod(len(self.rows), self.per_batch)
        return full + (rest >= max(2, self.world))

    def epoch(self, number: int) -> Iterator[torch.Tensor]:
        """The rows of this process for each step of an epoch."""
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + number)
        order = torch.randperm(len(self.rows), generator=generator).tolist()
        for step in range(len(self)):
            chosen = order[step * self.per_batch : (step + 1) * self.per_batch]
            share = _share(chosen, self.rank, self.world)
            yield torch.cat([self.rows[recipe] for recipe in share])


def _share(items: Sequence[Any], rank: int, world: int) -> Sequence[Any]:
    """A contiguous part of the items; all parts in the order of their ranks are the items again."""
    bounds = [len(items) * part // world for part in range(world + 1)]
    return items[bounds[rank] : bounds[rank + 1]]
