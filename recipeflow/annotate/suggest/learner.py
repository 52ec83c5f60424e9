"""Two small learners over named features: one names a thing, the other chooses among candidates.

Both are logistic regressions in NumPy alone. Twenty recipes take about a second, so they are trained again whenever
a recipe is finished. The same examples always give the same weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

BATCH, RATE, DECAY = 64, 0.3, 1e-3

Features = Sequence[str]


@dataclass(frozen=True)
class Classifier:
    """Says how likely each class is for an example.

    Args:
        rows: The row of each known feature in ``weights``.
        classes: The names of the columns.
        weights: One row per feature, and a last one of zeros for features that were never seen.
    """

    rows: dict[str, int]
    classes: tuple[str, ...]
    weights: np.ndarray

    @classmethod
    def train(cls, examples: Sequence[Features], answers: Sequence[str], epochs: int = 8) -> Classifier:
        """Learn the class of each example, in ``epochs`` rounds over all of them."""
        rows = _number_features(examples)
        classes = tuple(sorted(set(answers)))
        weights = np.zeros((len(rows) + 1, len(classes)), np.float32)
        squares = np.full_like(weights, 1e-6)
        indices = _find_rows(examples, rows)
        wanted = np.eye(len(classes), dtype=np.float32)[[classes.index(answer) for answer in answers]]
        random = np.random.default_rng(0)
        for _ in range(epochs):
            order = random.permutation(len(indices))
            for first in range(0, len(order), BATCH):
                batch = order[first : first + BATCH]
                wrong = _softmax(weights[indices[batch]].sum(axis=1)) - wanted[batch]
                used, places = np.unique(indices[batch], return_inverse=True)
                gradient = np.zeros((len(used), len(classes)), np.float32)
                np.add.at(gradient, places.reshape(len(batch), -1), wrong[:, None, :])
                _step(weights, squares, used, gradient)
        return cls(rows, classes, weights)

    def probabilities(self, examples: Sequence[Features]) -> np.ndarray:
        """A row per example with the probability of each class."""
        if not examples:
            return np.zeros((0, len(self.classes)), np.float32)
        return _softmax(self.weights[_find_rows(examples, self.rows)].sum(axis=1))


@dataclass(frozen=True)
class Chooser:
    """Says how likely each of some candidates is the one to choose; arguments as for ``Classifier``."""

    rows: dict[str, int]
    weights: np.ndarray

    @classmethod
    def train(cls, choices: Sequence[Sequence[Features]], chosen: Sequence[Sequence[int]], epochs: int = 5) -> Chooser:
        """Learn from choices that were made.

        Args:
            choices: The features of every candidate, for each choice.
            chosen: The numbers of the chosen candidates, at least one for each choice.
            epochs: How often each is seen.
        """
        rows = _number_features([features for candidates in choices for features in candidates])
        weights = np.zeros((len(rows) + 1, 1), np.float32)
        squares = np.full_like(weights, 1e-6)
        indices = [_find_rows(candidates, rows) for candidates in choices]
        random = np.random.default_rng(0)
        for _ in range(epochs):
            for number in random.permutation(len(indices)):
                found, right = indices[number], chosen[number]
                wrong = _softmax(weights[found].sum(axis=1).T)[0]
                wrong[list(right)] -= 1 / len(right)
                used, places = np.unique(found, return_inverse=True)
                shares = np.repeat(wrong, found.shape[1])
                gradient = np.bincount(places.ravel(), shares, len(used)).astype(np.float32)[:, None]
                _step(weights, squares, used, gradient)
        return cls(rows, weights)

    @classmethod
    def from_weights(cls, weights: Mapping[str, float]) -> Chooser:
        """One with fixed weights."""
        column = np.array([*weights.values(), 0.0], np.float32)[:, None]
        return cls({name: row for row, name in enumerate(weights)}, column)

    def probabilities(self, candidates: Sequence[Features]) -> np.ndarray:
        """How likely each candidate is; the sum is one."""
        return _softmax(self.weights[_find_rows(candidates, self.rows)].sum(axis=1).T)[0]


def _number_features(examples: Sequence[Features]) -> dict[str, int]:
    rows: dict[str, int] = {}
    for features in examples:
        for name in features:
            rows.setdefault(name, len(rows))
    return rows


def _find_rows(examples: Sequence[Features], rows: dict[str, int]) -> np.ndarray:
    """The rows of the features of each example; the row of zeros fills up."""
    found = np.full((len(examples), max(map(len, examples))), len(rows), np.int64)
    for number, features in enumerate(examples):
        found[number, : len(features)] = [rows.get(name, len(rows)) for name in features]
    return found


def _step(weights: np.ndarray, squares: np.ndarray, used: np.ndarray, gradient: np.ndarray) -> None:
    """A step downhill with a rate of its own per weight (AdaGrad), which suits rare features."""
    gradient += DECAY * weights[used]
    squares[used] += gradient**2
    weights[used] -= RATE * gradient / np.sqrt(squares[used])
    weights[-1] = 0


def _softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
