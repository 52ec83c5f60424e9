"""Example queries: the best, typical and worst answers of a model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from recipeflow.experiment.report.data import DatasetRows, RowResult

KINDS = {
    "best": "Best: the right image is first, with the largest margin over the second",
    "typical": "Typical: the right image is at about the median rank",
    "worst": "Worst: the right image has the lowest ranks among the candidates",
}


@dataclass(frozen=True)
class Query:
    """A query and its answers, by rows of ``image_pairs``.

    Args:
        row: Its own row.
        fold: The fold in which it was held out.
        rank: The rank of its own image.
        candidates: The number of candidates.
        target: Its own image.
        target_score: Its similarity.
        found: The nearest images, the best first, with their similarity.
    """

    row: int
    fold: int
    rank: float
    candidates: int
    target: int
    target_score: float
    found: tuple[tuple[int, float], ...]

    @property
    def lead(self) -> float:
        """The margin of the right image over the best of the others; negative if it is not first."""
        others = [score for row, score in self.found if row != self.target]
        return self.target_score - max(others, default=0.0)


def pick_queries(row: RowResult, dataset: DatasetRows, count: int) -> dict[str, list[Query]]:
    """Up to ``count`` queries of each kind, all of different recipes within a kind."""
    queries = list(_all_queries(row))
    median = float(np.median([query.rank for query in queries]))
    orders = {
        "best": sorted((query for query in queries if query.rank == 1), key=lambda query: -query.lead),
        "typical": sorted(queries, key=lambda query: abs(query.rank - median)),
        "worst": sorted((query for query in queries if query.rank > 1), key=lambda query: -query.rank),
    }
    return {kind: _of_different_recipes(order, dataset, count) for kind, order in orders.items()}


def _all_queries(row: RowResult) -> Iterable[Query]:
    for job in row.jobs:
        answers, candidates = job.answers, job.figures["metrics"]["candidates"]
        assert answers is not None  # queries are picked of rows that have answers
        columns = (answers.targets, answers.target_scores, answers.found, answers.found_scores)
        values = (job.rows.tolist(), job.ranks.tolist(), *(column.tolist() for column in columns))
        for number, rank, target, score, found, scores in zip(*values, strict=True):
            yield Query(number, job.fold, rank, candidates, target, score, tuple(zip(found, scores, strict=True)))


def _of_different_recipes(queries: Iterable[Query], dataset: DatasetRows, count: int) -> list[Query]:
    picked: dict[str, Query] = {}
    for query in queries:
        if len(picked) < count:
            picked.setdefault(dataset.columns["recipe_id"][query.row], query)
    return list(picked.values())
