"""Calibrate a trained model on a fold that it has not seen, and keep the result beside its weights."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from calibration_vrf import FILE, FORMAT
from configuration_vrf import weights_digest
from modeling_vrf import VRFModel
from processing_vrf import VRFProcessor
from recipeflow.batches import Pairs
from recipeflow.calibration import (
    Answered,
    Bin,
    Judged,
    Queries,
    answer_above,
    calibration_error,
    choose_threshold,
    fit_temperature,
    judge,
    log_loss,
    reliability_bins,
    risk_coverage,
)
from recipeflow.durable import write_json
from recipeflow.errors import CalibrationError, ModelFolderError
from recipeflow.evaluation import EvaluationSet, embed_set
from recipeflow.tables import Table

PLOT = "calibration.png"
HALF = 0.5
"""How often a model has to be right, where nobody says otherwise, to call itself sure."""


@dataclass(frozen=True)
class Calibrated:
    """A temperature and a threshold fitted on one half of the recipes, and how they do on the other half.

    Args:
        temperature: What similarities are divided by.
        wanted: How often answers should be right.
        fitted_on: How many queries both were fitted on.
        fitted: What the threshold gives there.
        data: The queries of the other half.
        judged: How sure the model is of them.
    """

    temperature: float
    wanted: float
    fitted_on: int
    fitted: Answered
    data: Queries
    judged: Judged

    @property
    def bins(self) -> list[Bin]:
        """The other half by confidence."""
        return reliability_bins(self.judged)

    @property
    def curve(self) -> list[Answered]:
        """What every other threshold would give there."""
        return risk_coverage(self.judged)

    @property
    def answered(self) -> Answered:
        """What the threshold gives there."""
        return answer_above(self.judged, self.fitted.min_confidence)

    def figures(self) -> dict[str, Any]:
        """What was measured on the other half; all shares as fractions."""
        plain = judge(self.data, 1.0)
        return {
            "queries": len(self.data),
            "candidates": len(self.data.candidates),
            "accuracy": self.judged.accuracy,
            "mean_confidence": self.judged.confidences.mean().item(),
            "expected_calibration_error": calibration_error(self.bins),
            "expected_calibration_error_uncalibrated": calibration_error(reliability_bins(plain)),
            "log_loss": log_loss(self.data, self.temperature),
            "log_loss_uncalibrated": log_loss(self.data, 1.0),
            "answered": asdict(self.answered),
        }

    def as_dict(self) -> dict[str, Any]:
        """The figures with what they rest on, for JSON."""
        bins = [
            {"low": part.low, "high": part.high, "confidence": part.confidence}
            | {"right": part.share.hits, "queries": part.share.queries}
            for part in self.bins
        ]
        rule = f"the lowest confidence from which on at least {self.wanted:.0%} of the fitting queries are right"
        return {
            "temperature": self.temperature,
            "min_confidence": self.fitted.min_confidence,
            "rule": rule,
            "fitted_on": {"queries": self.fitted_on, "answered": asdict(self.fitted)},
            "measured": self.figures(),
            "reliability": bins,
        }

    def table(self) -> Table:
        """The figures for a person."""
        found = self.figures()
        answered = found["answered"]
        rows = [
            ("temperature", f"{self.temperature:.4f}"),
            ("right at the first place (R@1)", f"{found['accuracy']:.1%}"),
            ("mean confidence", f"{found['mean_confidence']:.1%}"),
            ("expected calibration error", f"{found['expected_calibration_error']:.1%}"),
            ("the same without calibration", f"{found['expected_calibration_error_uncalibrated']:.1%}"),
            ("sure from a confidence of", f"{answered['min_confidence']:.3f}"),
            ("queries it is sure of", f"{answered['coverage']:.1%}"),
            ("right among these", "—" if answered["accuracy"] is None else f"{answered['accuracy']:.1%}"),
        ]
        title = f"{found['queries']} other queries, {found['candidates']} candidates"
        return Table(title, ("", ""), rows)


def calibrate_model(model: VRFModel, data: EvaluationSet, wanted: float = HALF) -> Calibrated:
    """Fit temperature and threshold on every second recipe of a fold, and measure them on the others.

    Both halves have all candidates of the fold.

    Args:
        model: A trained model.
        data: Queries and candidates that it was not trained on.
        wanted: How often answers should be right.

    Raises:
        CalibrationError: If there are too few recipes, or the model is no better than guessing.
    """
    if not 0 < wanted <= 1:
        raise CalibrationError(f"expected a share of right answers above 0 and up to 1, found {wanted}")
    embeds = [side.float().cpu() for side in embed_set(model, data)]
    every = Queries(*embeds, data.targets.cpu())
    recipes = data.queries.recipes.cpu().unique()
    if len(recipes) < 2:
        raise CalibrationError(
            f"expected queries of at least two recipes, one to fit on and one to measure on, found {len(recipes)}; "
            "choose another fold, or a larger dataset"
        )
    first = torch.isin(data.queries.recipes.cpu(), recipes[::2])
    fitting, held_out = every.select(first), every.select(~first)
    temperature = fit_temperature(fitting)
    threshold = choose_threshold(judge(fitting, temperature), wanted)
    return Calibrated(temperature, wanted, len(fitting), threshold, held_out, judge(held_out, temperature))


def words_of_fold_alone(pairs: Pairs, fold: int, processor: VRFProcessor) -> list[str]:
    """Words that the model knows although they stand in this fold only: then it was trained on it."""
    inside, outside = ({word for words in _phrases(pairs, fold, same) for word in words} for same in (True, False))
    unknown = processor.tokenizer.unk_token_id
    return sorted(word for word in inside - outside if unknown not in processor.tokenizer(word)["input_ids"])


def _phrases(pairs: Pairs, fold: int, same: bool) -> list[tuple[str, ...]]:
    return pairs.phrases(((pairs.folds == fold) == same).nonzero().flatten())


def save_calibration(calibrated: Calibrated, model: VRFModel, folder: str | Path, about: dict[str, Any]) -> Path:
    """Write ``calibration.json`` beside the model's weights, from where it travels with them.

    Args:
        calibrated: What was found.
        model: The model.
        folder: Where it is saved.
        about: Which data it was calibrated on.

    Raises:
        ModelFolderError: If there is no saved model.
    """
    folder = Path(folder)
    if not (folder / "config.json").is_file():
        raise ModelFolderError(
            f"expected a saved model in {folder}, found no config.json; name its folder, such as run/model"
        )
    head = {"format": FORMAT, "weights": weights_digest(model), "inputs": model.config.inputs, **about}
    write_json(folder / FILE, head | calibrated.as_dict())
    return folder / FILE
