"""A conditional logit: scores the candidates of a question by a weighted sum of their features."""

from __future__ import annotations

import numpy as np

STEPS = 150
RATE = 0.3
DECAY = 1e-4


def fit(features: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Weights that make the right candidate the most likely one.

    Args:
        features: Questions x candidates x features.
        right: The position of the right candidate of each question.
    """
    weights = np.zeros(features.shape[2], np.float32)
    squares = np.full_like(weights, 1e-6)
    truth = np.zeros(features.shape[:2], np.float32)
    truth[np.arange(len(right)), right] = 1
    for _ in range(STEPS):
        scores = features @ weights
        scores -= scores.max(1, keepdims=True)
        chances = np.exp(scores)
        chances /= chances.sum(1, keepdims=True)
        gradient = np.einsum("qc,qcf->f", chances - truth, features, optimize=True) / len(right) + DECAY * weights
        squares += gradient**2
        weights -= RATE * gradient / np.sqrt(squares)
    return weights


def choose(features: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The position of the best candidate of each question."""
    return (features @ weights).argmax(1)
