"""A flow graph as a picture: from the ingredients on the left to the dish on the right."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Patch

from recipeflow.drawing.lettering import japanese_font, with_english
from recipeflow.files import write_png
from recipeflow.graph.flow_graph import build_graph
from recipeflow.graph.layout import Place, lay_out
from recipeflow.release.recipe import TAGS, Entity, Recipe

COLOURS = {
    "F": "#f6c9a8",
    "T": "#c9d8ef",
    "D": "#e3d3f0",
    "Q": "#ecebe6",
    "Ac": "#c8552f",
    "Af": "#e58f6b",
    "Sf": "#cfe6c5",
    "St": "#b9dfe0",
    "Ac2": "#d98a70",
    "At": "#a8c4c9",
}
"""One per tag; actions stand out, because everything leads to them. The last two are the English corpus's."""

OTHER = "#dddddd"
"""Of tags that a corpus has besides."""

DARK = ("Ac",)
INK, EDGE, MAIN_EDGE = "#2b2622", "#a89d92", "#c8552f"
MAIN_LABELS = ("Targ", "Dest")
"""The flows of food itself, drawn darker than what modifies it."""

COLUMN, ROW = 1.35, 0.44
"""Inches between two layers and between two neighbours in a layer."""

LONGEST = 12
"""Characters of a line inside a node."""


def draw_graph(
    recipe: Recipe,
    path: str | Path,
    glossary: Mapping[str, str] = MappingProxyType({}),
    tags: Mapping[str, str] = MappingProxyType(TAGS),
) -> None:
    """Draw the flow graph of a recipe as a PNG file.

    A node shows its tag and its words, or its word id where the recipe has no text.

    Args:
        recipe: With or without text.
        path: The file, written atomically.
        glossary: English for words, shown next to them.
        tags: The release's tags with their meanings.
    """
    graph = build_graph(recipe)
    places = lay_out(graph)
    columns = 1 + max((x for x, _ in places.values()), default=0)
    rows = 1 + max((y for _, y in places.values()), default=0)
    figure = Figure(figsize=(COLUMN * columns + 0.6, ROW * rows + 1.1), layout="constrained")
    axes = figure.add_subplot()
    axes.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.3, -0.7))
    axes.axis("off")
    shown = with_english([recipe.title, *(entity.text for entity in recipe.entities.values())], glossary)
    axes.set_title(shown.get(recipe.title) or recipe.id, loc="left", color=INK, fontproperties=_font(13))
    boxes = {id: _draw_node(axes, entity, places[id], shown) for id, entity in recipe.entities.items()}
    figure.draw_without_rendering()  # gives the boxes their sizes, so that arrows can end at them
    for start, end, label in graph.edges(keys=True):
        _draw_edge(axes, label, (places[start], places[end]), (boxes[start], boxes[end]))
    _draw_legend(figure, recipe, tags)
    write_png(Path(path), figure.savefig, dpi=120, facecolor="white")


def _draw_node(axes: Axes, entity: Entity, place: Place, shown: Mapping[str, str]) -> Patch:
    text = entity.id if entity.text is None else shown[entity.text]
    label = f"{textwrap.fill(text, LONGEST)}\n{entity.tag}"
    box = {"boxstyle": "round,pad=0.25", "facecolor": COLOURS.get(entity.tag, OTHER), "edgecolor": "white", "lw": 0.8}
    style: dict[str, Any] = {"ha": "center", "va": "center", "linespacing": 1.0, "zorder": 3, "bbox": box}
    ink = "white" if entity.tag in DARK else INK
    patch = axes.text(*place, label, color=ink, fontproperties=_font(8), **style).get_bbox_patch()
    assert patch is not None  # it was drawn with a box
    return patch


def _draw_edge(axes: Axes, label: str, places: tuple[Place, Place], boxes: tuple[Patch, Patch]) -> None:
    (x0, y0), (x1, y1) = places
    colour = MAIN_EDGE if label in MAIN_LABELS else EDGE
    arrow = {"arrowstyle": "-|>", "color": colour, "lw": 1.1, "patchA": boxes[0], "patchB": boxes[1]}
    axes.annotate("", (x1, y1), (x0, y0), arrowprops=arrow, zorder=1)
    box = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
    style: dict[str, Any] = {"fontsize": 6, "color": colour, "ha": "center", "va": "center", "bbox": box, "zorder": 2}
    # Nearer to the start: many edges share an end.
    axes.text(x0 + min(0.5, 0.45 * (x1 - x0)), y0 + min(0.5 / (x1 - x0), 0.45) * (y1 - y0), label, **style)


def _draw_legend(figure: Figure, recipe: Recipe, tags: Mapping[str, str]) -> None:
    used = {entity.tag for entity in recipe.entities.values()}
    names = ", ".join(f"{tag} {meaning.lower()}" for tag, meaning in tags.items() if tag in used)
    figure.supxlabel(names, fontsize=8, color=EDGE, x=0.01, ha="left")


def _font(size: int) -> FontProperties:
    return FontProperties(fname=japanese_font(), size=size)
