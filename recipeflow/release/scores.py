"""How sure a parser was of its predictions: ``recipes/<id>/scores.json``, beside a predicted recipe.

::

    {"entities": {"1-0-2": 0.98, …}, "flows": [{"start": "1-0-2", "end": "1-0-4", "label": "Targ", "score": 0.91}, …]}

Scores are from 0 to 1. The file is optional, and only who asks for scores reads it: a predicted release is otherwise
an ordinary one, whose ``release.json`` names its parser as ``predicted_by``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recipeflow.errors import BrokenJSONError, WrongTypeError, show
from recipeflow.release.recipe import Flow
from recipeflow.release.recipe_files import read_text, recipe_folder

SCORES = "scores.json"


@dataclass(frozen=True)
class Scores:
    """The scores of one recipe.

    Attributes:
        entities: By the entity's id.
        flows: By flow.
    """

    entities: Mapping[str, float] = field(default_factory=dict)
    flows: Mapping[Flow, float] = field(default_factory=dict)

    def to_json(self) -> str:
        """The text of ``scores.json``."""
        flows = [
            {"start": flow.start, "end": flow.end, "label": flow.label, "score": score}
            for flow, score in self.flows.items()
        ]
        return json.dumps({"entities": dict(self.entities), "flows": flows}, allow_nan=False) + "\n"


def read_scores(folder: str | Path, recipe_id: str) -> Scores | None:
    """The scores of a recipe of a release, or ``None`` if it has none.

    Raises:
        ReleaseProblem: If the file has another form.
    """
    path = recipe_folder(Path(folder), recipe_id) / SCORES
    if not path.is_file():
        return None
    name = f"recipes/{recipe_id}/{SCORES}"
    try:
        raw = json.loads(read_text(path, name, recipe_id))
    except ValueError as error:
        raise BrokenJSONError(f"expected JSON, found: {error}", file=name, recipe=recipe_id) from None
    try:
        entities = {str(entity): _score(score) for entity, score in raw["entities"].items()}
        flows = {Flow(row["start"], row["end"], row["label"]): _score(row["score"]) for row in raw["flows"]}
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        message = f"expected scores from 0 to 1 of entities and flows, found something else ({error})"
        hint = "remove the file, or let the parser write it again"
        raise WrongTypeError(message, file=name, recipe=recipe_id, hint=hint) from None
    return Scores(entities, flows)


def _score(value: Any) -> float:
    if type(value) not in (int, float) or not 0 <= value <= 1:
        raise ValueError(f"the score {show(value)}")
    return float(value)
