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


def draw_recipes(recipes: Sequence[str], seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """For each value the number of its recipe, and for each draw with replacement how often each recipe is in it."""
    names = {recipe: number for number, recipe in enumerate(dict.fromkeys(recipes))}
    chances = np.full(len(names), 1 / len(names))
    weights = np.random.default_rng(seed).multinomial(len(names), chances, size=DRAWS)
    return np.array([names[recipe] for recipe in recipes]), weights


def interval(values: Sequence[float], recipes: Sequence[str], seed: int = 0) -> Interval:
    """The mean of values from 0 to 1, and its interval if recipes are drawn with replacement."""
    places, weights = draw_recipes(recipes, seed)
    sums = np.bincount(places, weights=np.array(values, float))
    counts = np.bincount(places).astype(float)
    means = (weights @ sums) / (weights @ counts)
    low, high = np.percentile(means, COVERED)
    return Interval(100 * float(sums.sum() / counts.sum()), 100 * float(low), 100 * float(high))
