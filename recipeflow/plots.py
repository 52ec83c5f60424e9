"""Figures of an experiment: how the models learnt, what they find, and where the right image stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from recipeflow.durable import write_png

COLOURS = ("#8a7f75", "#3f7cac", "#c8552f", "#4b8b5a", "#a06cd5", "#d9a441", "#2b2622")
LARGEST_K = 100

Folds = Sequence[Mapping[str, Any]]


def draw_plots(rows: Mapping[str, Folds], folder: Path) -> list[Path]:
    """Draw all figures.

    Args:
        rows: For each row of the table by its title, the results of its folds, as an experiment's jobs leave them.
        folder: Where to write them.
    """
    trained = {title: folds for title, folds in rows.items() if any(fold["history"] for fold in folds)}
    figures = {"recall.png": plot_recall(rows), "ranks.png": plot_ranks(rows)}
    if trained:
        figures["learning.png"] = plot_learning(trained)
    for name, figure in figures.items():
        write_png(folder / name, figure.savefig)
    return [folder / name for name in figures]


def plot_learning(rows: Mapping[str, Folds]) -> Figure:
    """The training loss over the epochs and, where it was measured on the way, R@5."""
    measured = any(
        "recall_at_5" in epoch for folds in rows.values() for fold in folds for epoch in fold["history"][:-1]
    )
    figure, axes = _figure(2 if measured else 1)
    for colour, (title, folds) in zip(COLOURS[1:], rows.items(), strict=False):
        _plot_epochs(axes[0], "loss", folds, title, colour)
        if measured:
            _plot_epochs(axes[1], "recall_at_5", folds, title, colour)
    axes[0].set(xlabel="epoch", ylabel="training loss of a batch", title="Learning", yscale="log")
    if measured:
        axes[1].set(xlabel="epoch", ylabel="R@5 on the held-out fold, %", title="R@5 on the way")
    for panel in axes:
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    _add_legend(figure, axes[0])
    return figure


def _plot_epochs(axes: Axes, key: str, folds: Folds, title: str, colour: str) -> None:
    """The mean of the folds as a line, and all of them as a band around it."""
    points = [[(epoch["epoch"], epoch[key]) for epoch in fold["history"] if key in epoch] for fold in folds]
    epochs = [epoch for epoch, _ in points[0]]
    values = np.array([[value for _, value in fold] for fold in points])
    axes.plot(epochs, values.mean(axis=0), color=colour, label=title, marker="o" if len(epochs) < 3 else None)
    axes.fill_between(epochs, values.min(axis=0), values.max(axis=0), color=colour, alpha=0.15, linewidth=0)


def plot_recall(rows: Mapping[str, Folds]) -> Figure:
    """How often the right image is among the first k, with the spread over the folds."""
    figure, (axes,) = _figure(1)
    k = np.arange(1, LARGEST_K + 1)
    for colour, (title, folds) in zip(COLOURS, rows.items(), strict=False):
        curves = np.array([(np.array(fold["ranks"])[:, None] <= k).mean(axis=0) * 100 for fold in folds])
        axes.plot(k, curves.mean(axis=0), color=colour, label=title)
        axes.fill_between(k, curves.min(axis=0), curves.max(axis=0), color=colour, alpha=0.15, linewidth=0)
    axes.axvline(5, color="#e4dccf", zorder=0)
    axes.set(xlabel="k", ylabel="R@k, %", title="The right image among the first k", xscale="log", ylim=(0, 100))
    axes.set_xticks([1, 2, 5, 10, 20, 50, 100], ["1", "2", "5", "10", "20", "50", "100"])
    _add_legend(figure, axes)
    return figure


def plot_ranks(rows: Mapping[str, Folds]) -> Figure:
    """Where the right image stands: half of all queries inside the box, nine tenths between the whiskers."""
    figure, (axes,) = _figure(1)
    ranks = [np.concatenate([fold["ranks"] for fold in folds]) for folds in rows.values()]
    boxes = axes.boxplot(
        ranks[::-1], orientation="horizontal", whis=(5, 95), showfliers=False, patch_artist=True, widths=0.6,
        medianprops={"color": "#2b2622", "linewidth": 2},
    )  # fmt: skip
    for box, colour in zip(boxes["boxes"], reversed(COLOURS[: len(ranks)]), strict=True):
        box.set(facecolor=colour, alpha=0.55)
    axes.set_yticks(range(1, len(ranks) + 1), list(rows)[::-1])
    axes.set(xlabel="rank of the right image", title="Ranks", xscale="log")
    axes.set_xticks([1, 3, 10, 30, 100, 300], ["1", "3", "10", "30", "100", "300"])
    return figure


def _figure(panels: int) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(5.2 * panels + 2.2, 4.2), dpi=120, layout="constrained", facecolor="#fbf8f2")
    axes = list(figure.subplots(1, panels, squeeze=False)[0])
    for panel in axes:
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(axis="y", color="#e4dccf", linewidth=0.8)
        panel.set_axisbelow(True)
    return figure, axes


def _add_legend(figure: Figure, axes: Axes) -> None:
    """Beside the panels, where it hides nothing."""
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper", frameon=False)
