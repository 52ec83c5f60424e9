"""What a model's card is based on: the dataset it was trained on, its run, and an experiment with models like it.

Metrics come from the ``results.json`` of an experiment, or from the history of the run that trained the model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from configuration_vrf import VRFConfig
from recipeflow.dataset.card import SOURCES
from recipeflow.errors import ModelFolderError
from recipeflow.training.saved_model import HISTORY, SETTINGS
from recipeflow.training.settings import CHECKPOINTING
from recipeflow.training.tuning import leave_out_choice

WITHOUT_EFFECT = ("evaluate_every", *CHECKPOINTING)
"""Settings of a run that do not change its model."""


@dataclass(frozen=True)
class TrainedOn:
    """The dataset of a model.

    Attributes:
        repo_id: Its name on the Hub, if it is there.
        source: What its release says about its source.
        doubt: Why it was not verified that the model was trained on it; ``None`` if it was.
    """

    repo_id: str | None = None
    source: str | None = None
    doubt: str | None = None

    def describe_source(self) -> str:
        """Where the data come from, for the card."""
        origin = f"a release that calls its source “{self.source}”" if self.source else "a release of unnamed source"
        return SOURCES.get(self.source, f"The data are {origin}.")


@dataclass(frozen=True)
class Evidence:
    """What was measured.

    Attributes:
        results: The ``results.json`` of an experiment with models like this one.
        row: The row of these results whose models take the same inputs as this one.
        training: How this model was trained, as its run recorded it.
        figures: This model's own metrics on the held-out fold.
    """

    results: dict[str, Any] | None = None
    row: Mapping[str, Any] | None = None
    training: Mapping[str, Any] | None = None
    figures: Mapping[str, float] | None = None


def read_evidence(config: VRFConfig, run: Path | None, results: Path | None) -> Evidence:
    """What an experiment and a run say about a model.

    Raises:
        ModelFolderError: If the results are of other models than this one.
    """
    training = _read_json(run / SETTINGS) if run and (run / SETTINGS).is_file() else None
    history = _read_json(run / HISTORY) if run and (run / HISTORY).is_file() else []
    measured = [row for row in history if "recall_at_5" in row]
    figures = measured[-1] if measured else None
    if results is None:
        return Evidence(training=training, figures=figures)
    experiment = _read_json(results)
    row = _find_like(experiment, config, training or {}, results)
    return Evidence(experiment, row, training, figures)


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        message = (
            f"expected JSON in {path}, found none that can be read ({error}); run the command that writes it again"
        )
        raise ModelFolderError(message) from error


def _find_like(results: Any, config: VRFConfig, training: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
    """The row of models that are like this one in everything but seed and fold: a card may show no other results."""
    try:
        theirs = {"backbone": results["settings"]["backbone"], **results["settings"]["training"]}
        row = next((row for row in results["rows"] if set(row["inputs"]) == set(config.inputs)), None)
    except (KeyError, TypeError) as error:
        message = f"expected the results.json of `vrf experiment`, found another file in {path}; pass that file"
        raise ModelFolderError(message) from error
    ours = {"backbone": config.backbone, "margin": config.margin, "negatives": config.negatives, **training}
    if ours.get("tune") and theirs.get("tune"):
        ours, theirs = leave_out_choice(ours), leave_out_choice(theirs)
    compared = (ours.keys() & theirs.keys()) - {"seed", *WITHOUT_EFFECT}
    differing = [name for name in sorted(compared) if ours[name] != theirs[name]]
    found = [f"{name} {theirs[name]} and not {ours[name]}" for name in differing]
    if row is None:
        found.append(f"no row with {' + '.join(config.inputs)}")
    if row is None or found:
        raise ModelFolderError(
            f"expected results of models like this one in {path}, found {', '.join(found)}; pass the results of an "
            "experiment with its settings"
        )
    return row
