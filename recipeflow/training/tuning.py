"""Choose settings for a release before the run itself, on folds that the run is not tested on.

In some releases the pre-action images say nothing, and a model does best to ignore them. In all others, how much of a
picture's feature should be dropped depends on the pictures: much where scenes change, little where they stay the same.
So values are tried on the release, from the lowest up, until one is no better than the one before.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from recipeflow.files import write_json
from recipeflow.machines.processes import decide_in_main
from recipeflow.training.recorded_settings import refuse_other_settings
from recipeflow.training.saved_model import TUNING
from recipeflow.training.settings import CHECKPOINTING, TrainingConfig, complete_settings

SETTING, VALUES = "feature_dropout", (0.4, 0.55, 0.7)
"""What is chosen, and the values to try, in this order; the first is that of preset `best`."""

IGNORING = {"image_dropout": 1.0}
"""Settings of a model of words and an image that ignores the image. It is tried after the first value."""

MARGIN = 0.02
"""How much better by `JUDGED_BY` words alone must be: about what chance makes of a few hundred queries."""

JUDGED_BY = "mean_reciprocal_rank"
"""It depends on every rank, so that a few hundred queries tell two values apart better than a recall does."""

Record = dict[str, Any]
Attempt = Callable[[TrainingConfig], Mapping[str, float]]
"""Trains with these settings and returns the metrics on the inner fold."""


def tune(config: TrainingConfig, attempt: Attempt, announce: Callable[[str], None] = lambda line: None) -> Record:
    """What was tried and chosen, and how long it took, as results and models record it; ``announce`` gets lines."""
    started = time.perf_counter()
    tried: list[Record] = []

    def measure(settings: Record) -> float:
        metrics = attempt(apply_tuning(config, settings))
        tried.append(settings | {name: metrics[name] for name in (JUDGED_BY, "recall_at_5")})
        announce(f"tuning: {_in_words(settings)} has R@5 {metrics['recall_at_5']:.1f} on an inner fold")
        return metrics[JUDGED_BY]

    chosen: Record = {SETTING: VALUES[0]}
    best = measure(chosen)
    if "image" in config.inputs and len(config.inputs) > 1 and measure(chosen | IGNORING) > best + MARGIN:
        chosen |= IGNORING
    else:
        for value in VALUES[1:]:
            found = measure({SETTING: value})
            if found <= best:
                break
            chosen, best = {SETTING: value}, found
    announce(f"tuning: chose {_in_words(chosen)}")
    return chosen | {"tried": tried, "seconds": round(time.perf_counter() - started, 1)}


def _in_words(settings: Record) -> str:
    return f"{SETTING} {settings[SETTING]}{' without pre-action images' if _ignores(settings) else ''}"


def _ignores(settings: Record) -> bool:
    return settings.items() >= IGNORING.items()


def apply_tuning(config: TrainingConfig, record: Record | None) -> TrainingConfig:
    """The same settings with the chosen ones, if any were chosen; what ignores images has no use for mixed ones."""
    if record is None:
        return config
    chosen = {name: record[name] for name in (SETTING, *IGNORING) if name in record}
    mixed_share = 0.0 if _ignores(chosen) else config.mixed_share
    return replace(config, model=config.model | chosen, mixed_share=mixed_share)


def leave_out_choice(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of tuned training without what tuning chooses, which differs from model to model."""
    model = {name: value for name, value in settings["model"].items() if name not in (SETTING, *IGNORING)}
    return {**settings, "model": model, "mixed_share": None}


def settings_of_run(config: TrainingConfig) -> dict[str, Any]:
    """The settings that a choice depends on."""
    return {name: value for name, value in asdict(config).items() if name not in CHECKPOINTING}


def keep_tuning(output: Path, asked: Mapping[str, Any], choose: Callable[[], Record | None]) -> Record | None:
    """Choose, unless an earlier start of the same run in this folder did; all processes get the same answer.

    Raises:
        OutputExistsError: If a run with other settings was begun in this folder. It keeps its choice.
    """
    path, asked = output / TUNING, json.loads(json.dumps(asked))
    kept = decide_in_main(lambda: json.loads(path.read_text(encoding="utf-8")) if path.exists() else {})
    if kept and complete_settings(kept["asked"], asked) == asked:
        return kept["record"]
    if asked.get("tune"):
        decide_in_main(lambda: refuse_other_settings(output, asked, kept.get("asked")))
    record = choose()
    if record is not None:
        decide_in_main(lambda: write_json(path, {"asked": asked, "record": record}))
    return record
