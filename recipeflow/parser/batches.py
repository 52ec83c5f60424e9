"""Batches of recipes of similar length, so that little padding is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from recipeflow.errors import UsageError

POOL = 8
"""Batches whose recipes are sorted by length together: more would leave less to chance."""


class LengthBatches:
    """Mini-batches of recipes, drawn anew every epoch.

    The order depends only on the seed and the epoch, so that a resumed run continues exactly where it stopped. All
    recipes are used in every epoch: a rest that fills no batch is spread over the others. With several processes, each
    gets its share of the recipes of every batch.

    Args:
        lengths: The number of words of each recipe.
        per_batch: Recipes in a batch, over all processes, or a few more.
        seed: Fixes the order.
        rank: Which process this is.
        world: How many there are.
    """

    def __init__(self, lengths: Sequence[int], per_batch: int, seed: int, rank: int = 0, world: int = 1) -> None:
        if len(lengths) < world or per_batch < world:
            raise UsageError(
                f"expected at least one recipe per process in every batch, found {len(lengths)} recipes in batches of "
                f"{per_batch} for {world} processes; use more recipes, or fewer processes"
            )
        self.lengths, self.seed, self.rank, self.world = list(lengths), seed, rank, world
        self.count = max(1, len(lengths) // per_batch)

    def __len__(self) -> int:
        """Steps per epoch."""
        return self.count

    def epoch(self, number: int) -> Iterator[list[int]]:
        """The recipes of this process for each step of an epoch."""
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + number)
        order = torch.randperm(len(self.lengths), generator=generator).tolist()
        bounds = [len(order) * step // self.count for step in range(self.count + 1)]
        for first in range(0, self.count, POOL):
            last = min(first + POOL, self.count)
            pool = slice(bounds[first], bounds[last])
            order[pool] = sorted(order[pool], key=lambda recipe: self.lengths[recipe])
        for step in torch.randperm(self.count, generator=generator).tolist():
            yield self._share(order[bounds[step] : bounds[step + 1]])

    def _share(self, batch: list[int]) -> list[int]:
        """Every so many-th recipe, so that all processes get some of each length."""
        return batch[self.rank :: self.world]
