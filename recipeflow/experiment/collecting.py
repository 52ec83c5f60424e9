"""What the jobs of an experiment found, put together: means and deviations over folds, for every row of the table.

Rows need different inputs, so they ask different queries: words are known where a pre-action image is missing. Rows
can be compared only on the queries that all of them ask, so one that asks more is summarised on the common ones too.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

import recipeflow
from recipeflow.errors import ReportError
from recipeflow.evaluation.metrics import RetrievalMetrics, summarize_ranks
from recipeflow.experiment.folder import Job, read_result
from recipeflow.experiment.paper import ROWS
from recipeflow.pairs.loading import Pairs

LIBRARIES = ("torch", "transformers", "timm", "accelerate", "datasets")

JobResults = dict[str, dict[int, dict[str, Any]]]
"""The results of jobs, by the name of their row and by fold."""


def read_results(out: Path, jobs: Sequence[Job], settings: dict[str, Any]) -> JobResults:
    """The results of finished jobs.

    Raises:
        ReportError: If one is missing.
    """
    found: JobResults = {}
    for job in jobs:
        if (result := read_result(out, job, settings)) is None:
            raise ReportError(f"expected the result of a finished job in {out / job.file}, found none; run it again")
        found.setdefault(job.row, {})[job.fold] = result
    return found


def collect_results(done: JobResults, settings: dict[str, Any], pairs: Pairs, source: str | None) -> dict[str, Any]:
    """Mean and standard deviation over folds for every row, with what is needed to interpret them."""
    common = common_queries(done)
    trained = [pairs.usable(ROWS[name].inputs) for name in done if ROWS[name].inputs]
    usable = int(torch.stack(trained).all(0).sum()) if trained else 0
    rows = []
    for name, folds in done.items():
        row = ROWS[name]
        rows.append(
            {
                "name": name,
                "title": row.title,
                "inputs": row.inputs,
                "paper": row.paper and {"recall_at_5": row.paper[0], "median_rank": row.paper[1]},
                "usable_rows": int(pairs.usable(row.inputs).sum()),
                **_summary({fold: result["metrics"] for fold, result in folds.items()}),
                "folds": {fold: {**r["metrics"], "train_rows": r["train_rows"]} for fold, r in folds.items()},
                "common": common_summary(folds, common, usable) if row.inputs else None,
                "tuning": {fold: r["tuning"] for fold, r in folds.items() if r.get("tuning")},
                "unseen": _mean_metrics([r["unseen"] for r in folds.values() if r.get("unseen")]),
            }
        )
    return {
        "settings": settings,
        "questions": pairs.questions_digest(),
        "versions": {"recipeflow": recipeflow.__version__} | {name: version(name) for name in LIBRARIES},
        "metrics": list(RetrievalMetrics.__dataclass_fields__),
        "source": source,
        "all_rows": len(pairs.folds),
        "rows": rows,
    }


def common_queries(done: JobResults) -> dict[int, set[int]]:
    """For each fold that all trained rows of the table have, the queries that they share: rows of ``image_pairs``."""
    trained = [folds for name, folds in done.items() if ROWS[name].inputs]
    if not trained:
        return {}
    folds = set.intersection(*(set(folds) for folds in trained))
    return {fold: set.intersection(*(set(row[fold]["rows"]) for row in trained)) for fold in sorted(folds)}


def common_summary(
    done: Mapping[int, dict[str, Any]], common: Mapping[int, set[int]], usable: int
) -> dict[str, Any] | None:
    """The metrics of a row on the common queries, from the ranks of its jobs; ``None`` if it asks no others."""
    shared = {fold: rows for fold, rows in common.items() if rows}
    if not shared or all(len(done[fold]["rows"]) == len(rows) for fold, rows in shared.items()):
        return None
    folds = {}
    for fold, rows in shared.items():
        result = done[fold]
        ranks = [rank for rank, row in zip(result["ranks"], result["rows"], strict=True) if row in rows]
        folds[fold] = summarize_ranks(torch.tensor(ranks), result["metrics"]["candidates"]).as_dict()
    return {"usable_rows": usable, "folds": folds, **_summary(folds)}


def _summary(folds: Mapping[int, Mapping[str, float]]) -> dict[str, dict[str, float | None]]:
    metrics = list(folds.values())
    return {
        "mean": {key: statistics.fmean(m[key] for m in metrics) for key in metrics[0]},
        "std": {key: _deviation([m[key] for m in metrics]) for key in metrics[0]},
    }


def _mean_metrics(metrics: Sequence[dict[str, float]]) -> dict[str, float] | None:
    return {key: statistics.fmean(m[key] for m in metrics) for key in metrics[0]} if metrics else None


def _deviation(values: Sequence[float]) -> float | None:
    return statistics.stdev(values) if len(values) > 1 else None


def results_by_title(done: JobResults) -> dict[str, list[dict[str, Any]]]:
    """The results of every row's jobs by its title, for plots."""
    return {ROWS[name].title: list(folds.values()) for name, folds in done.items()}
