"""The accuracy of a group of queries, with its confidence interval."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

NORMAL_95 = 1.959964
"""Standard deviations on either side that cover 95 % of a normal distribution."""


@dataclass(frozen=True)
class Share:
    """The share of right answers in a group of queries.

    Args:
        name: The group.
        hits: The number of right answers.
        queries: The number of queries.
    """

    name: str
    hits: int
    queries: int

    @property
    def percent(self) -> float:
        return 100 * self.hits / self.queries

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval in percent."""
        low, high = wilson_interval(self.hits, self.queries)
        return 100 * low, 100 * high


def wilson_interval(hits: int, queries: int, deviations: float = NORMAL_95) -> tuple[float, float]:
    """Wilson's score interval of a share (1927), which stays inside 0 and 1 and is valid for few queries too.

    It assumes independent queries. Those of one recipe are not quite independent, so the true interval is wider.
    """
    if not 0 <= hits <= queries or not queries:
        raise ValueError(f"expected hits from 0 to a number of queries above 0, found {hits} of {queries}")
    share, z2 = hits / queries, deviations**2
    middle = (share + z2 / (2 * queries)) / (1 + z2 / queries)
    half = deviations / (1 + z2 / queries) * math.sqrt(share * (1 - share) / queries + z2 / (4 * queries**2))
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))  # despite rounding


def share_by_name(names: Iterable[str | None], ranks: Iterable[float], k: int) -> list[Share]:
    """How often the right image is among the first k, by group, those with the most queries first.

    Args:
        names: The group of each query; ``None`` leaves it out.
        ranks: The rank of each query's own image.
        k: How many count as found.
    """
    counts: dict[str, list[int]] = {}
    for name, rank in zip(names, ranks, strict=True):
        if name is not None:
            count = counts.setdefault(name, [0, 0])
            count[0] += rank <= k
            count[1] += 1
    shares = [Share(name, *count) for name, count in counts.items()]
    return sorted(shares, key=lambda share: (-share.queries, share.name))
