"""A map of an embedding space: both sides of it in two dimensions, with pictures where there is room."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from recipeflow.experiment.plots import STYLES

WIDTH, HEIGHT, MARGIN, PICTURE = 960, 640, 34, 44
SHAPES = {
    "o": "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z",
    "s": "M-4.5-4.5h9v9h-9z",
    "^": "M0-6L6 4.5H-6z",
    "D": "M0-6L6 0L0 6L-6 0z",
    "v": "M0 6L6-4.5H-6z",
    "P": "M-2-6h4v4h4v4h-4v4h-4v-4h-4v-4h4z",
}
"""Matplotlib's markers as SVG paths around their middle."""

NAMED = len(SHAPES)
"""Groups with their own colour and shape; the rest share one."""

OTHER = "#6b6b6b", SHAPES["o"]


@dataclass(frozen=True)
class Mark:
    """One image, or one query, on the map.

    Args:
        row: Its row of ``image_pairs``.
        x: From the left.
        y: From the top.
        has_picture: Whether there is room for its picture.
    """

    row: int
    x: float
    y: float
    has_picture: bool = False


@dataclass(frozen=True)
class EmbeddingMap:
    """The marks of a map.

    Args:
        images: All of them.
        queries: Those that fall inside.
        outside: How many do not.
        kept: The share of the images' variance that the two dimensions keep.
    """

    images: list[Mark]
    queries: list[Mark]
    outside: int
    kept: float


def project(embeds: torch.Tensor, others: torch.Tensor) -> tuple[np.ndarray, np.ndarray, float]:
    """The first two principal components, by torch's singular value decomposition.

    The sign of a component is arbitrary; here its largest entry is positive, so that the same data gives one map.

    Args:
        embeds: The data of the components.
        others: Projected onto the same plane.

    Returns:
        Both as points, and the share of the variance of ``embeds`` that is kept.
    """
    mean = embeds.double().mean(0)
    _, values, directions = torch.linalg.svd(embeds.double() - mean, full_matrices=False)
    axes = torch.zeros(2, embeds.shape[1], dtype=torch.float64)
    axes[: len(directions)] = directions[:2]
    axes *= axes.gather(1, axes.abs().argmax(1, keepdim=True)).sign()
    variance = values.square()
    kept = float(variance[:2].sum() / variance.sum()) if variance.sum() > 0 else 1.0
    return *(((part.double() - mean) @ axes.T).numpy() for part in (embeds, others)), kept


def draw_map(
    image_rows: Sequence[int], image_embeds: torch.Tensor, query_rows: Sequence[int], query_embeds: torch.Tensor
) -> EmbeddingMap:
    """Place images, and the queries among them; an image gets its picture if that covers no earlier one."""
    image_points, query_points, kept = project(image_embeds, query_embeds)
    low, high = image_points.min(0), image_points.max(0)
    size = np.array([WIDTH, HEIGHT])
    scale = (size - 2 * MARGIN) / np.maximum(high - low, 1e-9)

    def place(points: np.ndarray) -> list[list[float]]:
        places = ((points - low) * scale + MARGIN).round(1)
        places[:, 1] = HEIGHT - places[:, 1]
        return places.tolist()

    images, taken = [], []
    for row, (x, y) in zip(image_rows, place(image_points), strict=True):
        is_free = all(max(abs(x - left), abs(y - top)) > PICTURE + 4 for left, top in taken)
        taken += [(x, y)] if is_free else []
        images.append(Mark(row, x, y, is_free))
    queries = [Mark(row, x, y) for row, (x, y) in zip(query_rows, place(query_points), strict=True)]
    inside = [mark for mark in queries if 0 < mark.x < WIDTH and 0 < mark.y < HEIGHT]
    return EmbeddingMap(images, inside, len(queries) - len(inside), kept)


def group_styles(names: Sequence[str | None]) -> Mapping[str, tuple[str, str]]:
    """A colour and a shape for each of the most frequent names, in that order."""
    frequent = [name for name, _ in Counter(name for name in names if name is not None).most_common(NAMED)]
    return {name: (style.colour, SHAPES[style.marker]) for name, style in zip(frequent, STYLES[1:], strict=False)}
