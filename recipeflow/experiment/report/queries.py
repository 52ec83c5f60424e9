"""Queries worth a look: those a model answers best, as usual, and worst."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from recipeflow.experiment.report.data import DatasetRows, RowResult

KINDS = {
    "best": "Right, and the clearest: the right image is first, with the widest lead over the second",
    "typical": "Typical: the right image stands at about the median rank",
    "worst": "Wrong, and the farthest: the right image comes last among the candidates",
}


@dataclass(frozen=True)
class Query:
    """A query and its answers, by rows of ``image_pairs``.

    Args:
        row: Its own row.
        fold: In which it was held out.
        rank: The rank of its own image.
        candidates: Among how many.
        target: Its own image.
        target_score: The similarity of that.
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
        """How much nearer the right image is than the best of the others; below 0 where it is not first."""
        others = [score for row, score in self.found if row != self.target]
        return self.target_score - max(others, default=0.0)


def pick_queries(row: RowResult, dataset: DatasetRows, count: int) -> dict[str, list[Query]]:
    """So many queries of each kind, all of different recipes within a kind, as far as there are so many."""
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
