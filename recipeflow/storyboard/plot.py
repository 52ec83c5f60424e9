"""A plot of how errors grow along a chain: R@5 by depth in the flow graph, a line per way of asking."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from recipeflow.experiment.plots import STYLES, add_legend, new_figure
from recipeflow.files import write_png
from recipeflow.storyboard.evaluation import DEEPEST, WAYS, Measured


def draw_depths(measured: Measured, path: str | Path) -> None:
    """Draw the plot as a PNG file."""
    figure, (axes,) = new_figure(1)
    depths = sorted(set(measured.depths.tolist()))
    for style, (way, title) in zip(STYLES, WAYS.items(), strict=False):
        found = [(depth, one.recall_at_5) for depth in depths if (one := measured.metrics(way, depth)) is not None]
        line: dict[str, Any] = {
            "color": style.colour,
            "linestyle": style.dashes,
            "marker": style.marker,
            "markersize": 4.5,
        }
        axes.plot(*zip(*found, strict=True), **line, label=title)
    counts = [int((measured.depths == depth).sum()) for depth in depths]
    names = [f"{depth}+" if depth == DEEPEST else str(depth) for depth in depths]
    axes.set_xticks(depths, [f"{name}\nn = {count}" for name, count in zip(names, counts, strict=True)], fontsize=8)
    axes.set(ylim=(0, 102), xlabel="depth in the flow graph", ylabel="R@5, %")
    add_legend(figure, axes)
    write_png(Path(path), figure.savefig)
