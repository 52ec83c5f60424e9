"""Means with an interval by recipe: questions about one recipe are alike, so whole recipes are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

DRAWS = 1_000
COVERED = (2.5, 97.5)


class Interval(NamedTuple):
    """A mean in percent, and the bootstrap interval that covers 95 %."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.1f} [{self.low:.1f}, {self.high:.1f}]"


def interval(values: Sequence[float], recipes: Sequence[str], seed: int = 0) -> Interval:
    """The mean of values from 0 to 1, and its interval if recipes are drawn with replacement."""
    names = {recipe: number for number, recipe in enumerate(dict.fromkeys(recipes))}
    places = np.array([names[recipe] for recipe in recipes])
    sums = np.bincount(places, weights=np.array(values, float), minlength=len(names))
    counts = np.bincount(places, minlength=len(names)).astype(float)
    rng = np.random.default_rng(seed)
    weights = rng.multinomial(len(names), np.full(len(names), 1 / len(names)), size=DRAWS)
    means = (weights @ sums) / (weights @ counts)
    low, high = np.percentile(means, COVERED)
    return Interval(100 * float(sums.sum() / counts.sum()), 100 * float(low), 100 * float(high))
