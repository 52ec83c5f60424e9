"""Tracing the flows: the ceiling of the tasks that the graph answers."""

from __future__ import annotations

import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import networkx as nx

from recipeflow.tasks.folder import TasksFolder
from recipeflow.tasks.frames import FrameStore
from recipeflow.tasks.material import read_material


def trace_answers(folder: TasksFolder, split: str, dataset: Path) -> dict[str, Any]:
    """Answer ``dependency`` and ``ingredient_trace`` from the flows of the dataset."""
    with tempfile.TemporaryDirectory() as scratch, closing(FrameStore(Path(scratch) / "frames")) as store:
        materials = {each.recipe_id: each for each in read_material(dataset, store)}
    found: dict[str, Any] = {}
    asked = set(folder.tasks(split))
    for row in folder.rows("dependency", split) if "dependency" in asked else ():
        order = materials[row["recipe_id"]].order
        leads = nx.has_path(order, row["first"], row["second"])
        path = nx.shortest_path(order, row["first"], row["second"]) if leads else []
        found[row["id"]] = {"answer": "yes" if leads else "no", "path": path}
    for row in folder.rows("ingredient_trace", split) if "ingredient_trace" in asked else ():
        foods = materials[row["recipe_id"]].steps[row["step"] - 1].foods
        found[row["id"]] = [name for name in row["choices"] if name in foods]
    return found
