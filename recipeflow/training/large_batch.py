"""The loss of batches of many thousand pairs, without a matrix of all pairs anywhere.

``modeling_vrf.batch_loss`` compares every query with every image at once, in every process: with 16,384 pairs each of
its matrices has 1 GB. Here a process computes the terms of its own rows only, a few rows at a time, and computes them
again in the backward pass. The terms of all processes add up to the same loss, with the same gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from accelerate import PartialState
from accelerate.utils import gather, reduce
from torch.nn.functional import cross_entropy, pad
from torch.utils.checkpoint import checkpoint

from configuration_vrf import VRFConfig

LARGE_BATCH = 2048
"""Up to this number of pairs, over all processes, the whole matrix is computed: it has 16 MB, and is faster."""

ROWS_AT_A_TIME = 256


class _GatherRows(torch.autograd.Function):
    """The rows of all processes, in their order; the gradient of a row is the sum over all processes."""

    @staticmethod
    def forward(ctx: Any, rows: torch.Tensor, counts: Sequence[int]) -> torch.Tensor:
        ctx.counts = counts
        return gather_uneven(rows, counts)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        own = own_rows(ctx.counts)
        total: Any = reduce(gradients[0].contiguous(), "sum")
        return total[own.start : own.stop], None


def gather_uneven(rows: torch.Tensor, counts: Sequence[int]) -> torch.Tensor:
    """Rows of processes that have different numbers of them, without gradients."""
    if len(counts) == 1:
        return rows
    padded = pad(rows.detach(), (0, 0, 0, max(counts) - len(rows)))
    gathered: Any = gather(padded)
    parts = gathered.split(max(counts))
    return torch.cat([part[:count] for part, count in zip(parts, counts, strict=True)])


def own_rows(counts: Sequence[int]) -> range:
    """Where the rows of this process are among those of all."""
    number = PartialState().process_index if len(counts) > 1 else 0
    start = sum(counts[:number])
    return range(start, start + counts[number])


def large_batch_loss(
    queries: torch.Tensor,
    images: torch.Tensor,
    image_ids: torch.Tensor,
    counts: Sequence[int],
    config: VRFConfig,
    seed: int,
) -> torch.Tensor:
    """The loss over the rows of all processes; gradients flow to the rows of this one, from the terms of all.

    Args:
        queries: One row per query of this process.
        images: One row per post-action image of this process.
        image_ids: Which image each row shows, by number.
        counts: The number of rows of each process.
        config: Of the model.
        seed: Samples negatives, the same for any number of processes.
    """
    ids = gather_uneven(image_ids[:, None], counts)[:, 0]
    sides = torch.cat([queries, images], dim=1)
    if len(counts) > 1:
        sides = _GatherRows.apply(sides, counts)
    sides = sides.to(torch.promote_types(sides.dtype, torch.float32)).chunk(2, dim=1)
    own = own_rows(counts)
    lots = torch.rand(2, len(ids), generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(ids.device)
    share = sides[0].new_zeros(())
    for start in range(own.start, own.stop, ROWS_AT_A_TIME):
        rows = slice(start, min(start + ROWS_AT_A_TIME, own.stop))
        share = share + checkpoint(
            _terms, *sides, ids, lots, rows, config, use_reentrant=False, preserve_rng_state=False
        )
    if len(counts) == 1:
        return share
    total: Any = reduce(share.detach(), "sum")
    return share + (total - share.detach())


def _terms(
    queries: torch.Tensor,
    images: torch.Tensor,
    ids: torch.Tensor,
    lots: torch.Tensor,
    rows: slice,
    config: VRFConfig,
) -> torch.Tensor:
    """The terms of some rows: their queries among all images, and their images among all queries."""
    different = ids[rows, None] != ids[None, :]
    own = torch.arange(rows.start, rows.stop, device=ids.device)
    loss = queries.new_zeros(())
    with torch.autocast(queries.device.type, enabled=False):  # it would multiply in half precision
        for (side, others), lot in zip(((queries, images), (images, queries)), lots, strict=True):
            if config.loss == "contrastive":
                similarity = side[rows] @ others.T / config.temperature
                negative = different.scatter(1, own[:, None], True)  # its own is what has to be found
                similarity = similarity.masked_fill(~negative, torch.finfo(similarity.dtype).min)
                loss = loss + cross_entropy(similarity, own, reduction="sum") / (2 * len(ids))
            else:
                distance = torch.cdist(side[rows], others, compute_mode="donot_use_mm_for_euclid_dist")
                weight = _negative_weights(distance, different, lot[rows], config.negatives)
                positive = distance.gather(1, own[:, None])
                loss = loss + (weight * (positive - distance + config.margin).clamp(min=0)).sum()
    return loss


def _negative_weights(
    distance: torch.Tensor, different: torch.Tensor, lots: torch.Tensor, negatives: str
) -> torch.Tensor:
    """The weight of each column as a negative of each row, as in ``modeling_vrf.triplet_loss``.

    Of the allowed columns, the one at ``lots``, from 0 to 1, is sampled: one number per row, whoever computes it.
    """
    count = different.sum(dim=1, keepdim=True)
    if negatives == "all":
        return different.to(distance.dtype) / count.clamp(min=1)
    if negatives == "hardest":
        chosen = distance.detach().masked_fill(~different, torch.inf).argmin(dim=1, keepdim=True)
    else:
        wanted = (lots[:, None] * count).long()
        chosen = (different.cumsum(dim=1) > wanted).int().argmax(dim=1, keepdim=True)
    return torch.zeros_like(distance).scatter(1, chosen, 1.0) * different
