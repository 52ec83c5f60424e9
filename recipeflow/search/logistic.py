"""A small logistic regression, by Newton's method."""

from __future__ import annotations

import numpy as np

STEPS = 30
SHORTEST = 1e-4
"""The least share of a step that is tried."""

SMALLEST = 1e-9
"""Added to the curvature, so that it can always be inverted."""


def fit_logistic(inputs: np.ndarray, labels: np.ndarray, penalty: np.ndarray, around: np.ndarray) -> np.ndarray:
    """The weights with the least mean log-loss and penalty.

    Args:
        inputs: Rows x weights; a column of ones for the bias.
        labels: 0 or 1 for each row.
        penalty: For each weight, what its squared distance costs.
        around: The weights that cost nothing.
    """

    def loss(weights: np.ndarray) -> float:
        odds = inputs @ weights
        return float((np.logaddexp(0, odds) - labels * odds).mean() + penalty @ (weights - around) ** 2 / 2)

    weights = around.astype(float)
    for _ in range(STEPS):
        chances = np.exp(-np.logaddexp(0, -inputs @ weights))
        slope = inputs.T @ (chances - labels) / len(labels) + penalty * (weights - around)
        curvature = (inputs.T * (chances * (1 - chances))) @ inputs / len(labels) + np.diag(penalty + SMALLEST)
        step, share = np.linalg.solve(curvature, slope), 1.0
        while share > SHORTEST and loss(weights - share * step) > loss(weights):
            share /= 2  # far from the minimum, a whole step may go too far
        weights = weights - share * step
    return weights
