"""A picture of a calibration: whether confidences hold what they promise, and what silence buys."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from recipeflow.calibrating import Calibrated
from recipeflow.calibration import calibration_error
from recipeflow.durable import write_png
from recipeflow.plots import STYLES
from recipeflow.report import INK, LINE, PAPER, SOFT

MODEL, THRESHOLD = STYLES[1], STYLES[5]


def save_plot(calibrated: Calibrated, path: Path) -> None:
    """Draw it into a PNG file."""
    write_png(path, plot_calibration(calibrated).savefig)


def plot_calibration(calibrated: Calibrated) -> Figure:
    """On the left accuracy by confidence over a histogram, on the right accuracy by the share that is answered."""
    figure = Figure(figsize=(10.4, 5.0), dpi=120, layout="constrained", facecolor=PAPER)
    grid = figure.add_gridspec(2, 2, height_ratios=(3, 1))
    top = figure.add_subplot(grid[0, 0])
    _plot_reliability(top, calibrated)
    _plot_counts(figure.add_subplot(grid[1, 0], sharex=top), calibrated)
    _plot_coverage(figure.add_subplot(grid[:, 1]), calibrated)
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color=LINE, linewidth=0.8)
        axes.set_axisbelow(True)
    return figure


def _plot_reliability(axes: Axes, calibrated: Calibrated) -> None:
    bins = calibrated.bins
    right = [part.share.hits / part.share.queries for part in bins]
    low, high = zip(*(part.share.interval for part in bins), strict=True)
    spread = (
        [max(0.0, value - end / 100) for value, end in zip(right, low, strict=True)],
        [max(0.0, end / 100 - value) for value, end in zip(right, high, strict=True)],
    )
    axes.plot([0, 1], [0, 1], color=SOFT, linestyle=":", label="as sure as right")
    axes.errorbar(
        [part.confidence for part in bins], right, yerr=spread, color=MODEL.colour, marker=MODEL.marker,
        linestyle="none", ecolor=INK, elinewidth=1, capsize=3, label="queries in a bin, and their 95 % interval",
    )  # fmt: skip
    error = calibration_error(bins)
    axes.set(xlim=(0, 1), ylim=(0, 1.02), ylabel="right at the first place")
    axes.set_title(f"Reliability: expected calibration error {error:.1%}", fontsize=11)
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.tick_params(labelbottom=False)
    axes.legend(frameon=False, fontsize=8.5, loc="lower right")


def _plot_counts(axes: Axes, calibrated: Calibrated) -> None:
    for part in calibrated.bins:
        axes.bar(part.low, part.share.queries, part.high - part.low, align="edge", color=MODEL.colour,
                 hatch=MODEL.hatch, edgecolor="white", linewidth=0.6)  # fmt: skip
        middle = (part.low + part.high) / 2
        axes.text(middle, part.share.queries, f"{part.share.queries:,}", ha="center", va="bottom", fontsize=8)
    axes.margins(y=0.25)
    axes.set(xlabel="confidence in the first answer", ylabel="queries")
    axes.xaxis.set_major_formatter(PercentFormatter(1))


def _plot_coverage(axes: Axes, calibrated: Calibrated) -> None:
    curve, answered = calibrated.curve, calibrated.answered
    axes.plot(
        [point.coverage for point in curve], [point.accuracy for point in curve], color=MODEL.colour,
        label=f"the surest first, of {len(calibrated.judged):,} queries",
    )  # fmt: skip
    axes.axhline(calibrated.wanted, color=SOFT, linestyle=":", label=f"wanted: {calibrated.wanted:.0%} right")
    if answered.accuracy is not None:
        label = f"sure from a confidence of {answered.min_confidence:.2f}"
        axes.plot(answered.coverage, answered.accuracy, color=THRESHOLD.colour, marker=THRESHOLD.marker,
                  markersize=9, linestyle="none", label=label)  # fmt: skip
    axes.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="share of queries that are answered", ylabel="right among them")
    axes.set_title("What silence buys", fontsize=11)
    axes.xaxis.set_major_formatter(PercentFormatter(1))
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.legend(frameon=False, fontsize=8.5, loc="lower left")
