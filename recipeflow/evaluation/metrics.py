"""Ranks of the right image among the candidates, and the metrics of the paper's table.

The tie rule: candidates that are exactly as similar as the right one count half. So a model that gives every image the
same score gets the rank of random guessing, neither the first nor the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate

import torch

CHUNK, CANDIDATES = 512, 16_384
"""Queries and candidates compared at a time; they bound the memory of the similarity matrix, whatever the numbers."""

RECALLS = (1, 5, 10)


@dataclass(frozen=True)
class RetrievalMetrics:
    """Retrieval metrics over one set of queries; recalls are in percent, as in the paper.

    Args:
        recall_at_1: How often the right image comes first.
        recall_at_5: How often it is among the first five.
        recall_at_10: How often it is among the first ten.
        median_rank: The median of its ranks; the first rank is 1.
        mean_reciprocal_rank: The mean of one over its rank.
        queries: How many queries there were.
        candidates: The number of distinct images that each was ranked among.
    """

    recall_at_1: float
    recall_at_5: float
    recall_at_10: float
    median_rank: float
    mean_reciprocal_rank: float
    queries: int
    candidates: int

    def as_dict(self) -> dict[str, float | int]:
        return asdict(self)


def rank_targets(
    queries: torch.Tensor,
    candidates: torch.Tensor,
    targets: torch.Tensor,
    chunk: int = CHUNK,
    candidates_chunk: int = CANDIDATES,
) -> torch.Tensor:
    """The rank of each query's own image among all candidates, by inner product, counted from 1.

    Args:
        queries: One row per query.
        candidates: One row per distinct image.
        targets: For each query, the row of its own image.
        chunk: Queries compared at a time.
        candidates_chunk: Candidates that they are compared with at a time.
    """
    ranks = torch.empty(len(queries), dtype=torch.float64)
    for start in range(0, len(queries), chunk):
        rows = slice(start, start + chunk)
        ranks[rows] = _rank(queries[rows], candidates.split(candidates_chunk), targets[rows])
    return ranks


def _rank(queries: torch.Tensor, parts: Sequence[torch.Tensor], targets: torch.Tensor) -> torch.Tensor:
    """The ranks of some queries.

    The similarity to the own image is taken from the same product as all others: computed in another way it would be
    rounded in another way, and would not be equal to itself. Parts with an own image are multiplied twice for it.
    """
    targets = targets.to(queries.device)
    first = queries @ parts[0].T if len(parts) == 1 else None
    own = queries.new_empty(len(queries), 1)
    starts = list(accumulate((len(part) for part in parts), initial=0))
    for start, part in zip(starts, parts, strict=False):
        inside = (targets >= start) & (targets < start + len(part))
        if not inside.any():
            continue
        similarity = queries @ part.T if first is None else first
        nearest = similarity.gather(1, (targets - start).clamp(0, len(part) - 1)[:, None])
        own = torch.where(inside[:, None], nearest, own)
    better, equal = (torch.zeros(len(queries), dtype=torch.long, device=queries.device) for _ in range(2))
    for part in parts:
        similarity = queries @ part.T if first is None else first
        better += (similarity > own).sum(1)
        equal += (similarity == own).sum(1)
    return 1 + better.cpu() + (equal.cpu() - 1).double() / 2  # on the host: not every accelerator has float64


def random_ranks(queries: int, candidates: int, seed: int) -> torch.Tensor:
    """Ranks of random guessing, for the paper's first row."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(1, candidates + 1, (queries,), generator=generator).double()


def summarize_ranks(ranks: torch.Tensor | Sequence[float], candidates: int) -> RetrievalMetrics:
    """The paper's metrics of a set of ranks."""
    ranks = torch.as_tensor(ranks, dtype=torch.float64)
    if not len(ranks):
        raise ValueError("expected at least one query to summarise, found none")
    recalls = [100 * (ranks <= k).double().mean().item() for k in RECALLS]
    return RetrievalMetrics(
        *recalls,
        median_rank=ranks.quantile(0.5).item(),
        mean_reciprocal_rank=(1 / ranks).mean().item(),
        queries=len(ranks),
        candidates=candidates,
    )
