"""Plots of an experiment: learning curves, R@k, and ranks of the right image.

Colours are those of Okabe and Ito (2008), which colour-blind readers can distinguish; lines differ in dashes and
markers too, so that they can be read without colour.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.ticker import MaxNLocator

from recipeflow.drawing.lettering import japanese_font
from recipeflow.drawing.palette import INK, LINE, PAPER
from recipeflow.evaluation.accuracy import Share
from recipeflow.files import write_png


class Style(NamedTuple):
    """How a row of the table is drawn."""

    colour: str
    dashes: Any
    marker: str
    hatch: str


STYLES = (
    Style("#6b6b6b", ":", "x", ""),
    Style("#0072b2", "-", "o", "//"),
    Style("#e69f00", "--", "s", "\\\\"),
    Style("#009e73", "-.", "^", ".."),
    Style("#cc79a7", (0, (6, 1)), "D", "xx"),
    Style("#d55e00", (0, (3, 1, 1, 1)), "v", "--"),
    Style("#000000", (0, (1, 1)), "P", "++"),
)
"""Grey dots for the first row, which has no model, then one style per row of the table."""

FIRST_K = (1, 2, 3, 4, 5, 7, 10, 14, 20, 30, 50, 70, 100)
EDGES = (1, 2, 3, 5, 9, 17, 33, 65, 129, 257, 513)
"""Where the bars of a rank histogram begin: single ranks first, then wider and wider."""

Folds = Sequence[Mapping[str, Any]]


def draw_plots(rows: Mapping[str, Folds], folder: Path) -> list[Path]:
    """Draw all plots.

    Args:
        rows: For each row of the table by its title, the results of its folds, as written by the jobs.
        folder: Where to write them.
    """
    figures = {"recall.png": plot_recall(rows), "ranks.png": plot_ranks(rows)}
    if trained := trained_rows(rows):
        figures["learning.png"] = plot_learning(trained)
    for name, figure in figures.items():
        write_png(folder / name, figure.savefig)
    return [folder / name for name in figures]


def trained_rows(rows: Mapping[str, Folds]) -> dict[str, Folds]:
    """The rows that have a learning curve."""
    return {title: folds for title, folds in rows.items() if any(fold["history"] for fold in folds)}


def to_svg(figure: Figure) -> str:
    """A plot as SVG: it looks the same everywhere, and the same plot has the same bytes."""
    buffer = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "path", "svg.hashsalt": "recipeflow"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None}, facecolor="white")
    return buffer.getvalue()


def plot_learning(rows: Mapping[str, Folds]) -> Figure:
    """The training loss over the epochs and, where it was measured on the way, R@5."""
    measured = any(
        "recall_at_5" in epoch for folds in rows.values() for fold in folds for epoch in fold["history"][:-1]
    )
    figure, axes = new_figure(2 if measured else 1)
    for style, (title, folds) in zip(STYLES[1:], rows.items(), strict=False):
        _plot_epochs(axes[0], "loss", folds, title, style)
        if measured:
            _plot_epochs(axes[1], "recall_at_5", folds, title, style)
    axes[0].set(xlabel="epoch", ylabel="training loss of a batch", title="Learning", yscale="log")
    if measured:
        axes[1].set(xlabel="epoch", ylabel="R@5 on the held-out fold, %", title="R@5 during training")
    for panel in axes:
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    add_legend(figure, axes[0])
    return figure


def _plot_epochs(axes: Axes, key: str, folds: Folds, title: str, style: Style) -> None:
    """The mean of the folds as a line, and all of them as a band around it."""
    points = [[(epoch["epoch"], epoch[key]) for epoch in fold["history"] if key in epoch] for fold in folds]
    epochs = [epoch for epoch, _ in points[0]]
    _plot_spread(axes, epochs, np.array([[value for _, value in fold] for fold in points]), title, style)


def _plot_spread(axes: Axes, x: Sequence[int], curves: np.ndarray, title: str, style: Style) -> None:
    axes.plot(
        x,
        curves.mean(axis=0),
        color=style.colour,
        linestyle=style.dashes,
        marker=style.marker,
        markevery=max(1, len(x) // 8),
        markersize=4.5,
        label=title,
    )
    axes.fill_between(x, curves.min(axis=0), curves.max(axis=0), color=style.colour, alpha=0.15, linewidth=0)


def plot_recall(rows: Mapping[str, Folds]) -> Figure:
    """How often the right image is among the first k, with the spread over the folds."""
    figure, (axes,) = new_figure(1)
    for style, (title, folds) in zip(STYLES, rows.items(), strict=False):
        curves = np.array([(np.array(fold["ranks"])[:, None] <= FIRST_K).mean(axis=0) * 100 for fold in folds])
        _plot_spread(axes, FIRST_K, curves, title, style)
    axes.axvline(5, color=LINE, zorder=0)
    axes.set(xlabel="k", ylabel="R@k, %", title="The right image among the first k", xscale="log", ylim=(0, 100))
    axes.set_xticks([1, 2, 5, 10, 20, 50, 100], ["1", "2", "5", "10", "20", "50", "100"])
    add_legend(figure, axes)
    return figure


def plot_ranks(rows: Mapping[str, Folds]) -> Figure:
    """The rank of the right image: half of all queries inside the box, nine tenths between the whiskers."""
    figure, (axes,) = new_figure(1)
    ranks = [np.concatenate([fold["ranks"] for fold in folds]) for folds in rows.values()]
    boxes = axes.boxplot(
        ranks[::-1], orientation="horizontal", whis=(5, 95), showfliers=False, patch_artist=True, widths=0.6,
        medianprops={"color": INK, "linewidth": 2},
    )  # fmt: skip
    for box, style in zip(boxes["boxes"], reversed(STYLES[: len(ranks)]), strict=True):
        box.set(facecolor=style.colour, alpha=0.55)
    axes.set_yticks(range(1, len(ranks) + 1), list(rows)[::-1])
    axes.set(xlabel="rank of the right image", title="Ranks", xscale="log")
    axes.set_xticks([1, 3, 10, 30, 100, 300], ["1", "3", "10", "30", "100", "300"])
    return figure


def plot_rank_histograms(rows: Mapping[str, Folds]) -> Figure:
    """How many queries have their right image at which rank, all folds together, a panel for each row."""
    ranks = {title: np.concatenate([fold["ranks"] for fold in folds]) for title, folds in rows.items()}
    largest = max(values.max() for values in ranks.values())
    edges = [edge for edge in EDGES if edge <= largest]
    labels = [_bar_name(first, after) for first, after in zip(edges, [*edges[1:], None], strict=True)]
    figure = Figure(figsize=(7.4, 0.4 + 1.45 * len(ranks)), dpi=120, layout="constrained", facecolor=PAPER)
    panels = figure.subplots(len(ranks), 1, squeeze=False, sharex=True, sharey=True)[:, 0]
    for panel, style, (title, values) in zip(panels, STYLES, ranks.items(), strict=False):
        counts, _ = np.histogram(values, bins=[*edges, np.inf])
        share = 100 * counts / len(values)
        panel.bar(range(len(edges)), share, color=style.colour, hatch=style.hatch, edgecolor="white", linewidth=0.6)
        for place, (height, count) in enumerate(zip(share, counts, strict=True)):
            panel.text(place, height, f"{count:,}", ha="center", va="bottom", fontsize=7.5, color=INK)
        panel.set_title(f"{title}: {len(values):,} queries", fontsize=9, loc="left")
        _clean(panel)
        panel.margins(y=0.22)
    panels[-1].set_xticks(range(len(edges)), labels)
    panels[-1].set_xlabel("rank of the right image")
    figure.supylabel("share of queries, %", fontsize=9)
    return figure


def _bar_name(first: int, after: int | None) -> str:
    if after is None:
        return f"{first}+"
    return str(first) if after == first + 1 else f"{first}–{after - 1}"


def plot_shares(shares: Sequence[Share], names: Mapping[str, str], title: str) -> Figure:
    """The share of each group with its 95 % interval and number of queries.

    Args:
        shares: From top to bottom.
        names: The label of each group, in any language.
        title: The title.
    """
    figure = Figure(figsize=(7.4, 1.1 + 0.24 * len(shares)), dpi=120, layout="constrained", facecolor=PAPER)
    axes = figure.subplots()
    places = np.arange(len(shares))[::-1]
    values = np.array([share.percent for share in shares])
    low, high = np.array([share.interval for share in shares]).T
    axes.errorbar(
        values, places, xerr=(values - low, high - values), fmt="o", color=STYLES[1].colour, ecolor=INK,
        elinewidth=1, capsize=2.5, markersize=5, clip_on=False,
    )  # fmt: skip
    for place, share in zip(places, shares, strict=True):
        axes.text(102, place, f"n = {share.queries:,}", va="center", fontsize=7.5, color=INK)
    letters = FontProperties(fname=japanese_font(), size=9)
    axes.set_yticks(places, [names.get(share.name, share.name) for share in shares], fontproperties=letters)
    axes.set(xlim=(0, 100), ylim=(-0.7, len(shares) - 0.3), xlabel="R@5, %, and its 95 % interval", title=title)
    _clean(axes, "x")
    return figure


def new_figure(panels: int) -> tuple[Figure, list[Axes]]:
    """A figure with panels side by side, in the style of all plots."""
    figure = Figure(figsize=(5.2 * panels + 2.2, 4.2), dpi=120, layout="constrained", facecolor=PAPER)
    axes = list(figure.subplots(1, panels, squeeze=False)[0])
    for panel in axes:
        _clean(panel)
    return figure, axes


def _clean(axes: Axes, grid: Literal["x", "y"] = "y") -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis=grid, color=LINE, linewidth=0.8)
    axes.set_axisbelow(True)


def add_legend(figure: Figure, axes: Axes) -> None:
    """Put the legend next to the panels, where it hides nothing."""
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper", frameon=False, handlelength=3.2)
