"""Queries about food that does not exist: two rows of one action, with their pictures mixed.

A kitchen has a few dozen foods, and a model learns what each of them looks like when it is cut. Mixed features are of
as many foods as there are pairs of rows, so that it rather learns what cutting does to any food.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from recipeflow.pairs.batches import PairBatch

LEAST = 0.25
"""The least share of either picture: with less, the mixture would hardly be another food."""


@dataclass(frozen=True)
class Mixes:
    """Pairs of rows of a batch, and the share that the first of each has.

    Args:
        first: Rows whose words are kept.
        second: Other rows of the same action, which show another image.
        share: The share of the first one's pictures.
    """

    first: torch.Tensor
    second: torch.Tensor
    share: torch.Tensor


def draw_mixes(batch: PairBatch, share: float, generator: torch.Generator) -> Mixes:
    """Draw mixtures for about this share of the rows; on the host, so that no device has to wait for their number."""
    verbs = batch.words["action_ids"].unique(dim=0, return_inverse=True)[1]
    rows = torch.randperm(len(verbs), generator=generator)
    if batch.pre_mask is not None:
        rows = rows[batch.pre_mask[rows]]
    rows = rows[verbs[rows].argsort(stable=True)]  # rows of one action follow each other, in any order
    first, second = rows, rows.roll(1)
    fits = (verbs[first] == verbs[second]) & (batch.post[first] != batch.post[second])
    fits &= torch.rand(len(rows), generator=generator) < share
    first, second = first[fits], second[fits]
    return Mixes(first, second, LEAST + (1 - 2 * LEAST) * torch.rand(len(first), 1, generator=generator))


def add_mixes(
    batch: PairBatch, features: torch.Tensor, mixes: Mixes, place: tuple[int, int] = (1, 0)
) -> tuple[PairBatch, torch.Tensor]:
    """The batch with a row more for each mixture, and its features with two images more.

    `place` is the number of processes and of this one: their new images need different numbers.
    """
    assert batch.pre is not None
    first, second, share = (each.to(features.device) for each in (mixes.first, mixes.second, mixes.share))
    mixed = [share * features[side[first]] + (1 - share) * features[side[second]] for side in (batch.pre, batch.post)]
    count, known = len(first), len(features)
    new = torch.arange(2 * count, device=features.device)
    numbers = -1 - (new * place[0] + place[1])  # no frame of the dataset has a number below 0
    mask = batch.pre_mask
    return replace(
        batch,
        recipes=torch.cat([batch.recipes, batch.recipes[first]]),
        words={name: torch.cat([ids, ids[first]]) for name, ids in batch.words.items()},
        frames=torch.cat([batch.frames, numbers]),
        pre=torch.cat([batch.pre, known + new[:count]]),
        post=torch.cat([batch.post, known + new[count:]]),
        pre_mask=None if mask is None else torch.cat([mask, mask[first]]),
    ), torch.cat([features, *mixed])
