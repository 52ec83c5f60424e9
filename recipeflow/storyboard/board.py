"""A storyboard: its panels, and the files that show them."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from PIL import Image, ImageOps

from flows_vrf import Script
from processing_vrf import ImageLike
from recipeflow.files import StagedFolder, write_aside, write_json
from recipeflow.graph.program import make_program
from recipeflow.graph.tracing import find_carriers
from recipeflow.images import save_picture
from recipeflow.release.recipe import Recipe
from recipeflow.tables import Table
from storyboard_vrf import Panel

PAGE, STRIP, DATA = "index.html", "strip.png", "storyboard.json"


@dataclass(frozen=True)
class Storyboard:
    """A recipe with a picture of every state.

    Args:
        recipe: The recipe.
        script: Its states.
        panels: One per state, in order.
        notes: What a reader should know before believing the pictures.
        glossary: English for its words, as far as known.
        truth: What really happens, drawn by the simulated kitchen, by the number of the panel.
    """

    recipe: Recipe
    script: Script
    panels: Sequence[Panel]
    notes: Sequence[str] = ()
    glossary: Mapping[str, str] = field(default_factory=dict)
    truth: Mapping[int, Image.Image] = field(default_factory=dict)

    @cached_property
    def trails(self) -> dict[str, set[str]]:
        """For every ingredient, all mentions and actions that contain it on its way to the dish."""
        return find_carriers(self.recipe, make_program(self.recipe).foods)

    def foods(self, panel: Panel) -> list[str]:
        """The ingredients that a panel's object contains."""
        return [food for food, found in self.trails.items() if panel.state.object in found]

    def table(self) -> Table:
        """One line per panel."""
        rows = [
            (
                panel.number,
                panel.action,
                panel.object,
                None if panel.state.before is None else panel.state.before + 1,
                "—" if panel.confidence is None else f"{panel.confidence:.0%}",
                "" if panel.sure else "not sure",
                str(panel.answers[0]["title"] or panel.answers[0]["recipe_id"]) if panel.answers else "",
            )
            for panel in self.panels
        ]
        columns = ("", "action", "object", "continues", "confidence", "", "picture from")
        return Table(self.recipe.title or self.recipe.id, columns, rows)

    def as_dict(self) -> dict[str, Any]:
        """Everything but the pictures, as JSON."""
        entities = self.recipe.entities
        return {
            "recipe_id": self.recipe.id,
            "title": self.recipe.title,
            "notes": list(self.notes),
            "panels": [self._panel_dict(panel) for panel in self.panels],
            "trails": [
                {
                    "ingredient": entities[food].text,
                    "panels": [panel.number for panel in self.panels if food in self.foods(panel)],
                }
                for food in self.trails
            ],
        }

    def _panel_dict(self, panel: Panel) -> dict[str, Any]:
        before = panel.state.before
        return {
            "number": panel.number,
            "action": panel.action,
            "action_id": panel.state.action,
            "object": panel.object,
            "object_id": panel.state.object,
            "depth": panel.state.depth,
            "continues": None if before is None else before + 1,
            "picture": picture_source(panel),
            "confidence": panel.confidence,
            "sure": panel.sure,
            "doubts": list(panel.doubts),
            "answers": [
                {name: value for name, value in answer.items() if name not in ("image", "fold")}
                for answer in panel.answers
            ],
        }

    def save(self, folder: str | Path, overwrite: bool = False) -> Path:
        """Write the page, the strip and the data into a folder that is complete or absent.

        Args:
            folder: The folder.
            overwrite: Replace an earlier storyboard.
        """
        from recipeflow.storyboard.page import render_page  # which need this module
        from recipeflow.storyboard.strip import draw_strip

        folder = Path(folder)
        with StagedFolder(folder, marker=DATA, overwrite=overwrite) as aside:
            write_aside(aside / PAGE, render_page(self))
            save_picture(draw_strip(self), aside / STRIP)
            write_json(aside / DATA, self.as_dict())
        return folder


def picture_source(panel: Panel) -> str:
    """Where a panel's picture comes from: ``own``, ``found`` or ``none``."""
    if panel.own is not None:
        return "own"
    return "found" if panel.answers else "none"


def panel_picture(panel: Panel) -> Image.Image | None:
    """The picture of a panel, if it has one."""
    if panel.own is not None:
        return open_picture(panel.own)
    return panel.answers[0]["image"].convert("RGB") if panel.answers else None


def open_picture(picture: ImageLike) -> Image.Image:
    """A user's own picture, upright."""
    if isinstance(picture, Image.Image):
        return ImageOps.exif_transpose(picture).convert("RGB")
    with Image.open(io.BytesIO(Path(str(picture)).read_bytes())) as opened:
        return ImageOps.exif_transpose(opened).convert("RGB")
