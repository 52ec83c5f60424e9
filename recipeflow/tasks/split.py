"""The recipes of one split, with the draws that depend on nothing but the seed and the question."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any

from recipeflow.tasks.material import Material


@dataclass(frozen=True)
class Split:
    """The recipes of ``train``, ``validation`` or ``test``; candidates never come from another split."""

    name: str
    materials: tuple[Material, ...]
    seed: int

    @cached_property
    def by_id(self) -> dict[str, Material]:
        return {material.recipe_id: material for material in self.materials}

    def rng(self, task: str, recipe_id: str, number: int) -> Random:
        """The draws of one question: the same whatever else is asked."""
        return Random(f"{self.seed}/{task}/{recipe_id}/{number}")


def common(split: Split, task: str, recipe_id: str, depth: int, *key: object) -> dict[str, Any]:
    """The columns of every row. An id is a hash of the task and its key: it says nothing about the answer's place."""
    name = "/".join(map(str, (split.seed, task, *key)))
    return {"id": hashlib.sha256(name.encode()).hexdigest()[:16], "recipe_id": recipe_id, "depth": depth}
