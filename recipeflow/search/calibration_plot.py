"""The plot of a calibration: reliability, and accuracy vs coverage, by kind of query."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from recipeflow.drawing.palette import INK, LINE, PAPER, SOFT
from recipeflow.experiment.plots import STYLES, Style
from recipeflow.files import write_png
from recipeflow.search.calibrating import Calibrated, CalibratedModel
from recipeflow.search.confidence import calibration_error

KINDS = STYLES[1:5]
"""One style per kind of query; a model has at most four."""


def save_plot(calibrated: CalibratedModel, path: Path) -> None:
    write_png(path, plot_calibration(calibrated).savefig)


def plot_calibration(calibrated: CalibratedModel) -> Figure:
    """For each kind, accuracy by confidence above a histogram; below them, accuracy vs coverage."""
    kinds = list(zip(calibrated.kinds, KINDS, strict=False))
    figure = Figure(figsize=(max(7.0, 3.2 * len(kinds)), 8.4), dpi=110, layout="constrained", facecolor=PAPER)
    grid = figure.add_gridspec(3, len(kinds), height_ratios=(3, 1.1, 3))
    for number, (kind, style) in enumerate(kinds):
        top = figure.add_subplot(grid[0, number])
        _plot_reliability(top, kind, style)
        counts = figure.add_subplot(grid[1, number], sharex=top)
        _plot_counts(counts, kind, style)
        if number == 0:
            top.set_ylabel("accuracy (R@1)")
            counts.set_ylabel("queries")
    _plot_coverage(figure.add_subplot(grid[2, :]), kinds)
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside upper center", ncol=3,
                  frameon=False, fontsize=9)  # fmt: skip
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color=LINE, linewidth=0.8)
        axes.set_axisbelow(True)
    return figure


def _plot_reliability(axes: Axes, kind: Calibrated, style: Style) -> None:
    bins = kind.bins
    right = [part.share.hits / part.share.queries for part in bins]
    low, high = zip(*(part.share.interval for part in bins), strict=True)
    spread = (
        [max(0.0, value - end / 100) for value, end in zip(right, low, strict=True)],
        [max(0.0, end / 100 - value) for value, end in zip(right, high, strict=True)],
    )
    axes.plot([0, 1], [0, 1], color=SOFT, linestyle=":", label="perfect calibration")
    axes.errorbar(
        [part.confidence for part in bins], right, yerr=spread, color=style.colour, marker=style.marker,
        linestyle="none", ecolor=INK, elinewidth=1, capsize=3, label="accuracy per bin, with 95 % interval",
    )  # fmt: skip
    axes.axvline(kind.fitted.min_confidence, color=SOFT, linewidth=1, label="confidence threshold")
    axes.set(xlim=(0, 1), ylim=(0, 1.02))
    title = f"{kind.name}: T = {kind.temperature:.3f}\ncalibration error {calibration_error(bins):.1%}"
    axes.set_title(title, fontsize=10.5)
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.tick_params(labelbottom=False)


def _plot_counts(axes: Axes, kind: Calibrated, style: Style) -> None:
    for part in kind.bins:
        axes.bar(part.low, part.share.queries, part.high - part.low, align="edge", color=style.colour,
                 hatch=style.hatch, edgecolor="white", linewidth=0.6)  # fmt: skip
        middle = (part.low + part.high) / 2
        axes.text(middle, part.share.queries, f"{part.share.queries:,}", ha="center", va="bottom", fontsize=8)
    axes.margins(y=0.25)
    axes.set(xlabel="confidence in the first answer")
    axes.xaxis.set_major_formatter(PercentFormatter(1))


def _plot_coverage(axes: Axes, kinds: list[tuple[Calibrated, Style]]) -> None:
    """One curve per kind, with a mark at its threshold."""
    for kind, style in kinds:
        curve, answered = kind.curve, kind.answered
        label = f"{kind.name}, {len(kind.judged):,} queries: threshold {kind.fitted.min_confidence:.2f}"
        axes.plot([point.coverage for point in curve], [point.accuracy for point in curve], color=style.colour,
                  linestyle=style.dashes, label=label)  # fmt: skip
        if answered.accuracy is not None:
            axes.plot(answered.coverage, answered.accuracy, color=style.colour, marker=style.marker, markersize=9,
                      markeredgecolor=INK, linestyle="none")  # fmt: skip
    wanted = kinds[0][0].wanted
    axes.axhline(wanted, color=SOFT, linestyle=":", label=f"wanted accuracy: {wanted:.0%}")
    axes.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="coverage: share of queries answered, highest confidence first")
    axes.set_ylabel("accuracy")
    axes.set_title("Accuracy vs coverage; marks show the confidence thresholds", fontsize=10.5)
    axes.xaxis.set_major_formatter(PercentFormatter(1))
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.legend(frameon=False, fontsize=8.5, loc="upper right", ncol=2)
