"""Calibrate a trained model on a fold that it has not seen, by kind of query, and save the result with its weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from configuration_vrf import VRFConfig, weights_digest
from modeling_vrf import VRFModel
from package_vrf import CALIBRATION
from recipeflow.errors import CalibrationError, ModelFolderError
from recipeflow.files import write_json
from recipeflow.search.confidence import (
    HOTTEST,
    PRIOR_QUERIES,
    Answered,
    Bin,
    Judged,
    Queries,
    answer_above,
    calibration_error,
    choose_threshold,
    fit_temperature,
    join_queries,
    judge,
    log_loss,
    reliability_bins,
    risk_coverage,
    steady_temperature,
)
from recipeflow.search.query_kinds import Asked
from recipeflow.tables import Table
from retrieval_vrf import CALIBRATION_FORMAT, COMPLETE, Kind, name_kind

PLOT = "calibration.png"
HALF = 0.5
"""The default target accuracy above the threshold."""

FEW = 50
"""With fewer queries to fit on, a temperature is unreliable."""

TYPICAL = 0.05
"""About what models with the triplet loss need for complete queries."""


@dataclass(frozen=True)
class Calibrated:
    """The temperature and threshold of one kind of query, fitted on half of the recipes and measured on the other.

    Args:
        kind: What these queries lack.
        temperature: What similarities are divided by.
        wanted: The target accuracy.
        fitted_on: The number of queries that both were fitted on.
        fitted: Coverage and accuracy there.
        data: The queries of the other half.
        judged: The model's confidence in them.
    """

    kind: Kind
    temperature: float
    wanted: float
    fitted_on: int
    fitted: Answered
    data: Queries
    judged: Judged

    @property
    def name(self) -> str:
        """The kind in words."""
        return name_kind(self.kind)

    @property
    def bins(self) -> list[Bin]:
        """The other half by confidence."""
        return reliability_bins(self.judged)

    @property
    def curve(self) -> list[Answered]:
        """Coverage and accuracy there, for every possible threshold."""
        return risk_coverage(self.judged)

    @property
    def answered(self) -> Answered:
        """Coverage and accuracy there."""
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
        """The figures and their settings, for JSON."""
        bins = [
            {"low": part.low, "high": part.high, "confidence": part.confidence}
            | {"right": part.share.hits, "queries": part.share.queries}
            for part in self.bins
        ]
        return {
            "temperature": self.temperature,
            "min_confidence": self.fitted.min_confidence,
            "fitted_on": {"queries": self.fitted_on, "answered": asdict(self.fitted)},
            "measured": self.figures(),
            "reliability": bins,
        }

    def column(self) -> list[str]:
        """The figures as a column of the table."""
        found = self.figures()
        answered = found["answered"]
        return [
            f"{self.fitted_on}",
            f"{found['queries']}",
            f"{self.temperature:.4f}",
            f"{found['accuracy']:.1%}",
            f"{found['mean_confidence']:.1%}",
            f"{found['expected_calibration_error']:.1%}",
            f"{found['expected_calibration_error_uncalibrated']:.1%}",
            f"{answered['min_confidence']:.3f}",
            f"{answered['coverage']:.1%}",
            "—" if answered["accuracy"] is None else f"{answered['accuracy']:.1%}",
        ]


FIGURES = (
    "queries fitted on",
    "queries measured on",
    "temperature",
    "accuracy (R@1)",
    "mean confidence",
    "calibration error",
    "… at temperature 1",
    "confidence threshold",
    "coverage",
    "accuracy above the threshold",
)
"""The row names of `Calibrated.column`."""


@dataclass(frozen=True)
class CalibratedModel:
    """A model's calibration for every kind of query that it can take, the complete ones first."""

    kinds: Sequence[Calibrated]

    @property
    def uncertain(self) -> list[Calibrated]:
        """Kinds with too few queries to fit on."""
        return [kind for kind in self.kinds if kind.fitted_on < FEW]

    @property
    def never_sure(self) -> list[Calibrated]:
        """Kinds in which no threshold reaches the wanted accuracy."""
        return [kind for kind in self.kinds if kind.fitted.min_confidence == 1]

    def as_dict(self) -> dict[str, Any]:
        """For JSON: complete queries at the top level, the other kinds in a list."""
        complete, *others = self.kinds
        rule = (
            f"the lowest threshold, of at least {complete.wanted:.0%}, above which at least {complete.wanted:.0%} "
            "of the fitting queries are right"
        )
        incomplete = [{"without": list(kind.kind)} | kind.as_dict() for kind in others]
        return complete.as_dict() | {"rule": rule, "prior_queries": PRIOR_QUERIES, "incomplete": incomplete}

    def table(self) -> Table:
        columns = [kind.column() for kind in self.kinds]
        title = f"Kinds of queries, among {len(self.kinds[0].data.candidates)} candidates"
        return Table(title, ("", *(kind.name for kind in self.kinds)), list(zip(FIGURES, *columns, strict=True)))


def expected_temperature(config: VRFConfig) -> float:
    """The prior of the temperature: a contrastive loss already divides by one in training."""
    return config.temperature if config.loss == "contrastive" else TYPICAL


def calibrate_kinds(asked: Mapping[Kind, Asked], expected: float, wanted: float = HALF) -> CalibratedModel:
    """Fit temperature and threshold of each kind on every second recipe, and measure them on the others.

    The temperature of a kind has a prior at that of all kinds together, which in turn has a prior at the expected one;
    each prior counts as much as `PRIOR_QUERIES`.

    Args:
        asked: Queries that the model was not trained on, by kind, as `ask_by_kind` makes them.
        expected: The temperature that would be used without any query.
        wanted: The target accuracy.

    Raises:
        CalibrationError: If there are too few recipes, or the model is no better than guessing.
    """
    if not 0 < wanted <= 1:
        raise CalibrationError(f"expected an accuracy above 0 and up to 1, found {wanted}")
    halves = _split_recipes(asked)
    together = join_queries([fitting for fitting, _ in halves.values()])
    distinct = max(len(fitting) for fitting, _ in halves.values())
    common = steady_temperature(fit_temperature(together), distinct, expected)
    return CalibratedModel([_calibrate(kind, *pair, common, wanted) for kind, pair in halves.items()])


def _split_recipes(asked: Mapping[Kind, Asked]) -> dict[Kind, tuple[Queries, Queries]]:
    """The queries of every second recipe, and those of the others; no recipe is on both sides, in whatever kind."""
    recipes = torch.cat([part.recipes for part in asked.values()]).unique()
    first = {kind: torch.isin(part.recipes, recipes[::2]) for kind, part in asked.items()}
    for kind, mask in first.items():
        if mask.all() or not mask.any():
            found = len(asked[kind].recipes.unique())
            raise CalibrationError(
                f"expected queries ({name_kind(kind)}) of at least two recipes, one to fit on and one to measure on, "
                f"found {found} of {len(recipes)}; choose another fold, or a larger dataset"
            )
    return {kind: (part.select(first[kind]), part.select(~first[kind])) for kind, part in asked.items()}


def _calibrate(kind: Kind, fitting: Queries, others: Queries, common: float, wanted: float) -> Calibrated:
    fitted = fit_temperature(fitting)
    if kind == COMPLETE and fitted == HOTTEST:
        raise CalibrationError(
            f"expected a model that finds right images nearer than others, found none better than guessing on "
            f"{len(fitting)} queries; calibrate on data like its training data, or train it further"
        )
    temperature = steady_temperature(fitted, len(fitting), common)
    threshold = choose_threshold(judge(fitting, temperature), wanted)
    return Calibrated(kind, temperature, wanted, len(fitting), threshold, others, judge(others, temperature))


def save_calibration(calibrated: CalibratedModel, model: VRFModel, folder: str | Path, about: dict[str, Any]) -> Path:
    """Write ``calibration.json`` next to the model's weights; it is pushed and pulled with them.

    Args:
        calibrated: The result.
        model: The model.
        folder: The folder of the saved model.
        about: The data it was calibrated on.

    Raises:
        ModelFolderError: If there is no saved model.
    """
    folder = Path(folder)
    if not (folder / "config.json").is_file():
        raise ModelFolderError(
            f"expected a saved model in {folder}, found no config.json; pass its folder, such as run/model"
        )
    head = {"format": CALIBRATION_FORMAT, "weights": weights_digest(model), "inputs": model.config.inputs, **about}
    write_json(folder / CALIBRATION, head | calibrated.as_dict())
    return folder / CALIBRATION
