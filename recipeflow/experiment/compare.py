"""Compare two experiments fold by fold, with a paired test.

Folds are the unit: queries of one recipe are not independent of each other, and every fold is tested once by each
side. The test is the exact sign-flip permutation test: if the two were equally good, each fold's difference could
equally have had the other sign, so the p-value is the share of all sign patterns whose mean is at least as far from
zero. That assumes independent folds, but any two share eight ninths of their training recipes: the differences vary
less than with separate training data, and p-values come out too small (Nadeau and Bengio, 2003).
"""

from __future__ import annotations

import itertools
import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from recipeflow.errors import UsageError
from recipeflow.tables import Table

METRICS = {"recall_at_1": "R@1", "recall_at_5": "R@5", "recall_at_10": "R@10", "median_rank": "MedR"}
LOWER_IS_BETTER = ("median_rank",)
OPTIMISTIC = (
    "Folds share most of their training data, so these p-values are optimistic: take a small one as an indication, "
    "and confirm it on another dataset."
)
UNTESTED = "One fold cannot be tested: compare experiments with more."
PAPER_METRICS = ("recall_at_5", "median_rank")
"""The paper's two metrics, which fit on a terminal."""


@dataclass(frozen=True)
class Comparison:
    """One metric of one row in two experiments.

    Args:
        row: The name of the row.
        metric: The name of the metric.
        folds: The folds that both have.
        first: The metric of each fold in the first experiment.
        second: The metric of each fold in the second.
    """

    row: str
    metric: str
    folds: tuple[int, ...]
    first: tuple[float, ...]
    second: tuple[float, ...]

    @property
    def differences(self) -> tuple[float, ...]:
        """Second minus first, fold by fold."""
        return tuple(b - a for a, b in zip(self.first, self.second, strict=True))

    @property
    def ratio(self) -> float | None:
        """The second mean divided by the first, unless that is zero."""
        first = statistics.fmean(self.first)
        return statistics.fmean(self.second) / first if first else None

    @property
    def p_value(self) -> float | None:
        """Of the exact two-sided sign-flip test over folds; a single one cannot be tested."""
        return sign_flip_test(self.differences) if len(self.folds) > 1 else None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            **asdict(self),
            "differences": self.differences,
            "mean_difference": statistics.fmean(self.differences),
            "ratio": self.ratio,
            "p_value": self.p_value,
        }


def sign_flip_test(differences: Sequence[float]) -> float:
    """The share of all sign patterns of these differences whose sum is at least as far from zero as theirs.

    With ten folds there are 1,024 patterns, so no p-value is below 0.002; two folds can never show anything.
    """
    observed = abs(sum(differences)) * (1 - 1e-12)  # sums that differ only by rounding count as equal
    patterns = itertools.product((1, -1), repeat=len(differences))
    sums = [abs(sum(sign * value for sign, value in zip(signs, differences, strict=True))) for signs in patterns]
    return sum(total >= observed for total in sums) / len(sums)


def compare_experiments(first: str | Path, second: str | Path, row: str = "both") -> list[Comparison]:
    """Compare a row of two experiments on the folds that both have.

    Args:
        first: The folder of an experiment, or its ``results.json``.
        second: The other one; differences are this one minus the first.
        row: The name of the row.

    Raises:
        UsageError: If they are not of the same images, or have no fold of this row in common.
    """
    results = [read_results(path) for path in (first, second)]
    # Results of earlier versions have only a digest that includes the features.
    known = all("questions" in result for result in results)
    asked = [result["questions"] if known else result["settings"].get("data") for result in results]
    held_out = [result["settings"].get("inner", False) for result in results]
    for found, meaning in ((asked, "images and folds"), (held_out, "way of holding folds out")):
        if found[0] != found[1]:
            raise UsageError(
                f"expected two experiments with the same {meaning}, found different ones in {second} and {first}; "
                "run both on one dataset"
            )
    folds = [_folds_of(result, row, path) for result, path in zip(results, (first, second), strict=True)]
    common = sorted(folds[0].keys() & folds[1].keys(), key=int)
    if not common:
        raise UsageError(f"expected folds of the row {row} that both have, found none in {first} and {second}")
    return [
        Comparison(
            row,
            metric,
            tuple(map(int, common)),
            tuple(folds[0][fold][metric] for fold in common),
            tuple(folds[1][fold][metric] for fold in common),
        )
        for metric in METRICS
    ]


def read_results(path: str | Path) -> dict[str, Any]:
    """The results of an experiment, by its folder or its file."""
    file = Path(path) / "results.json" if Path(path).is_dir() else Path(path)
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(
            f"expected the results of an experiment in {file}, found: {error}; run `vrf experiment` first"
        ) from error


def _folds_of(results: dict[str, Any], row: str, path: str | Path) -> dict[str, dict[str, float]]:
    rows = {found["name"]: found["folds"] for found in results["rows"]}
    if row not in rows:
        raise UsageError(f"expected the row {row} in {path}, found {', '.join(rows)}; add it with --rows {row}")
    return rows[row]


def comparison_table(comparisons: Sequence[Comparison], names: tuple[str, str]) -> Table:
    """Every fold's metrics and differences, their mean, ratio and test."""
    first, second = names
    columns = ["fold", *(f"{METRICS[c.metric]} {part}" for c in comparisons for part in (first, second, "change"))]
    folds = comparisons[0].folds
    rows = [
        (
            str(fold),
            *(text for c in comparisons for text in _cells(c.first[i], c.second[i], c.differences[i])),
        )
        for i, fold in enumerate(folds)
    ]
    means = [[statistics.fmean(values) for values in (c.first, c.second, c.differences)] for c in comparisons]
    rows.append(("mean", *(text for mean in means for text in _cells(*mean))))
    number = f"{len(folds)} fold{'s' if len(folds) > 1 else ''}"
    return Table(f"{second} against {first}, row {comparisons[0].row}, {number}", columns, rows)


def comparison_notes(comparisons: Sequence[Comparison]) -> str:
    """Ratio and p-value of each metric, and how far to trust them."""
    parts = [
        f"{METRICS[c.metric]} x {'—' if c.ratio is None else format(c.ratio, '.2f')}, "
        f"p = {'–' if c.p_value is None else format(c.p_value, '.3f')}"
        + (" (lower is better)" if c.metric in LOWER_IS_BETTER else "")
        for c in comparisons
    ]
    folds = len(comparisons[0].folds)
    test = f"Exact two-sided sign-flip test over {folds} folds. {OPTIMISTIC}" if folds > 1 else UNTESTED
    return f"{'; '.join(parts)}. {test}"


def _cells(first: float, second: float, difference: float) -> tuple[str, str, str]:
    return f"{first:.1f}", f"{second:.1f}", f"{difference:+.1f}"
