"""A storyboard as one HTML page that runs no script and loads nothing.

Words, flow graph and panels light up together by style rules alone: one per ingredient and one per panel. The template
escapes all words, and the page's own policy forbids scripts and every URL outside it.
"""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

import jinja2
from PIL import Image

from recipeflow.graph import build_graph
from recipeflow.graph.drawing import COLOURS, DARK, OTHER
from recipeflow.graph.folding import fold_modifiers
from recipeflow.graph.layout import lay_out
from recipeflow.images import data_address, encode
from recipeflow.storyboard.board import Storyboard, open_picture, panel_picture, picture_source
from recipeflow.storyboard.strip import describe_certainty
from storyboard_vrf import Panel

TEMPLATES = Path(__file__).parent / "templates"
COLUMN, ROW, BOX_WIDTH, BOX_HEIGHT, MARGIN = 138, 42, 114, 32, 14
"""Pixels of the drawn graph."""

SIDE = 320
"""The longest side of a picture on the page."""

LONGEST = 8
"""Characters of a word in a box of the graph, full-width ones."""


def render_page(board: Storyboard) -> str:
    """The page of a storyboard."""
    foods = {food: number for number, food in enumerate(board.trails)}
    nodes, edges, size = _draw_graph(board, foods)
    style = (TEMPLATES / "storyboard.css").read_text(encoding="utf-8") + _lighting(len(foods), len(board.panels))
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    return environment.get_template("storyboard.html.jinja").render(
        title=board.recipe.title or board.recipe.id,
        english=board.glossary.get(board.recipe.title or ""),
        style=style,
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        notes=board.notes,
        foods=[
            {"number": number, "text": board.recipe.entities[food].text, "english": _english(board, food)}
            for food, number in foods.items()
        ],
        panels=[_show_panel(board, panel, foods) for panel in board.panels],
        has_truth=bool(board.truth),
        nodes=nodes,
        edges=edges,
        size=size,
        box=(BOX_WIDTH, BOX_HEIGHT),
    )


def _lighting(foods: int, panels: int) -> str:
    """The rules that light a trail: what belongs to an ingredient, or to a panel, when the pointer is on it."""
    rules = ["body:has(.lights:is(:hover, :focus)) .can-dim { opacity: 0.22; }"]
    for letter, count in (("f", foods), ("p", panels)):
        for number in range(count):
            rules.append(
                f"body:has(.on-{letter}{number}:is(:hover, :focus)) .{letter}{number} {{ opacity: 1 !important; }}"
            )
    return "\n".join(rules) + "\n"


def _english(board: Storyboard, node: str) -> str | None:
    return board.glossary.get(board.recipe.entities[node].text or "")


def _show_panel(board: Storyboard, panel: Panel, foods: dict[str, int]) -> dict[str, Any]:
    answer = panel.answers[0] if panel.answers else None
    before = panel.state.before
    return {
        "panel": panel,
        "action_english": _english(board, panel.state.action),
        "object_english": _english(board, panel.state.object),
        "is_result": board.recipe.entities[panel.state.object].tag == "Ac",
        "picture": _address(panel_picture(panel)),
        "source": picture_source(panel),
        "answer": answer,
        "certainty": describe_certainty(panel),
        "own_before": _address(None if panel.before is None else open_picture(panel.before)),
        "truth": _address(board.truth.get(panel.number)),
        "continues": None if before is None else before + 1,
        "classes": " ".join(
            [f"p{panel.number - 1}", f"on-p{panel.number - 1}"]
            + [f"p{other.number - 1}" for other in board.panels if other.state.before == panel.number - 1]
            + [f"f{foods[food]}" for food in board.foods(panel)]
        ),
    }


def _address(picture: Image.Image | None) -> str | None:
    if picture is None:
        return None
    small = picture.convert("RGB")
    small.thumbnail((SIDE, SIDE))
    return data_address("image/jpeg", encode(small, quality=82))


def _draw_graph(
    board: Storyboard, foods: dict[str, int]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], tuple[int, int]]:
    """Boxes and lines of the flow graph in pixels; quantities and the like are inside what they modify."""
    graph = build_graph(board.recipe)
    notes = fold_modifiers(graph)
    folded = graph.subgraph([node for node in graph if node not in notes])
    corners = {
        node: (round(MARGIN + column * COLUMN), round(MARGIN + row * ROW))
        for node, (column, row) in lay_out(folded).items()
    }
    panels = _panels_of_nodes(board)
    nodes = []
    for node, (x, y) in corners.items():
        entity = board.recipe.entities[node]
        trails = [f"f{foods[food]}" for food, found in board.trails.items() if node in found]
        lit = [f"p{number}" for number in panels.get(node, ())]
        own = [f"on-f{foods[node]}"] if node in foods else [f"on-{name}" for name in lit]
        text = entity.text or entity.id
        modifiers = "、".join(board.recipe.entities[note].text or "" for note, owner in notes.items() if owner == node)
        english = _english(board, node)
        nodes.append(
            {
                "x": x,
                "y": y,
                "text": text if len(text) <= LONGEST else text[: LONGEST - 1] + "…",
                "title": " · ".join(part for part in (text, english, modifiers) if part),
                "colour": COLOURS.get(entity.tag, OTHER),
                "ink": "white" if entity.tag in DARK else "#2b2622",
                "classes": " ".join([*trails, *lit, *own]),
                "panel": min(panels[node]) + 1 if entity.tag == "Ac" and node in panels else None,
            }
        )
    edges = [
        {
            "label": label,
            "start": (corners[start][0] + BOX_WIDTH, corners[start][1] + BOX_HEIGHT // 2),
            "end": (corners[end][0], corners[end][1] + BOX_HEIGHT // 2),
            "classes": " ".join(
                [f"f{foods[food]}" for food, found in board.trails.items() if start in found and end in found]
                + [f"p{n}" for n in panels.get(end, ()) if n in panels.get(start, ())]
            ),
        }
        for start, end, label in folded.edges(keys=True)
    ]
    size = (
        max((x for x, _ in corners.values()), default=0) + BOX_WIDTH + MARGIN,
        max((y for _, y in corners.values()), default=0) + BOX_HEIGHT + MARGIN,
    )
    return nodes, edges, size


def _panels_of_nodes(board: Storyboard) -> dict[str, list[int]]:
    """For every action and object, the places of the panels that are about it."""
    found: dict[str, list[int]] = {}
    for place, panel in enumerate(board.panels):
        for node in (panel.state.action, panel.state.object):
            found.setdefault(node, []).append(place)
    return found
