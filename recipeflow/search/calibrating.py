"""Calibrate a trained model on recipes that it has not seen, by kind of query, among all candidates of an index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from configuration_vrf import weights_digest
from modeling_vrf import VRFModel
from package_vrf import CALIBRATION
from recipeflow.errors import CalibrationError, ModelFolderError
from recipeflow.evaluation.accuracy import Share
from recipeflow.files import write_json
from recipeflow.search.absence import Absence, measure_absence
from recipeflow.search.confidence import (
    PRIOR_QUERIES,
    Answered,
    Bin,
    Judged,
    Queries,
    calibration_error,
    chance_error,
    choose_threshold,
    fit_temperature,
    is_guessing,
    judge,
    log_loss,
    reliability_bins,
    risk_coverage,
    steady_temperature,
)
from recipeflow.search.query_kinds import Asked
from recipeflow.tables import Table
from retrieval_vrf import CALIBRATION_FORMAT, COMPLETE, Kind, VRFScale, name_kind

PLOT = "calibration.png"
HALF = 0.5
"""The default target accuracy above the threshold."""

FEW = 50
"""With fewer queries to fit on, a temperature is unreliable."""


@dataclass(frozen=True)
class Calibrated:
    """The temperature and threshold of one kind of query, fitted on all queries.

    How good they are is measured by fitting the same way on each half of the recipes, and judging the other half.

    Args:
        kind: What these queries lack.
        temperature: What similarities are divided by.
        wanted: The target accuracy.
        fitted: The threshold, with coverage and accuracy on the queries that it was fitted on.
        data: The queries.
        judged: The confidence in each of them, by the temperature of the other half.
        answered: Coverage and accuracy above the threshold of the other half.
        absence: How well a query without any right candidate is recognised; ``None`` where rows have no names.
    """

    kind: Kind
    temperature: float
    wanted: float
    fitted: Answered
    data: Queries
    judged: Judged
    answered: Answered
    absence: Absence | None

    @property
    def name(self) -> str:
        """The kind in words."""
        return name_kind(self.kind)

    @property
    def bins(self) -> list[Bin]:
        """The queries by confidence."""
        return reliability_bins(self.judged)

    @property
    def curve(self) -> list[Answered]:
        """Coverage and accuracy for every possible threshold."""
        return risk_coverage(self.judged)

    @property
    def sure(self) -> Share:
        """How many of the answers above the threshold are right."""
        count = round(self.answered.coverage * len(self.judged))
        return Share("sure", round((self.answered.accuracy or 0) * count), count)

    def figures(self) -> dict[str, Any]:
        """What was measured, with temperatures and thresholds of the other half; all shares as fractions."""
        plain = judge(self.data, 1.0)
        return {
            "queries": len(self.data),
            "candidates": len(self.data.candidates),
            "accuracy": self.judged.accuracy,
            "mean_confidence": self.judged.confidences.mean().item(),
            "expected_calibration_error": calibration_error(self.bins),
            "expected_calibration_error_by_chance": chance_error(self.bins),
            "expected_calibration_error_uncalibrated": calibration_error(reliability_bins(plain)),
            "log_loss": log_loss(self.judged),
            "log_loss_uncalibrated": log_loss(plain),
            "answered": asdict(self.answered) | {"queries": self.sure.queries, "right": self.sure.hits},
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
            "fitted_on": {"queries": len(self.data), "answered": asdict(self.fitted)},
            "absence": self.absence and self.absence.as_dict(),
            "measured": self.figures(),
            "reliability": bins,
        }

    def column(self) -> list[str]:
        """The figures as a column of the table."""
        found = self.figures()
        answered = found["answered"]
        return [
            f"{found['queries']}",
            f"{self.temperature:.4f}",
            f"{found['accuracy']:.1%}",
            f"{found['mean_confidence']:.1%}",
            f"{found['expected_calibration_error']:.1%}",
            f"{found['expected_calibration_error_by_chance']:.1%}",
            f"{found['expected_calibration_error_uncalibrated']:.1%}",
            f"{self.fitted.min_confidence:.3f}",
            f"{answered['coverage']:.1%}",
            _spell_share(self.sure),
            "—" if self.absence is None else f"{self.absence.auroc:.2f}",
        ]


def _spell_share(share: Share) -> str:
    """A share with its interval: of few answers it says little."""
    if not share.queries:
        return "—"
    low, high = share.interval
    return f"{share.hits / share.queries:.0%} of {share.queries} ({low:.0f}–{high:.0f}%)"


FIGURES = (
    "queries",
    "temperature",
    "accuracy (R@1)",
    "mean confidence",
    "calibration error",
    "… by chance alone",
    "… at temperature 1",
    "confidence threshold",
    "coverage",
    "accuracy above the threshold",
    "absence recognised (AUROC)",
)
"""The row names of `Calibrated.column`."""


@dataclass(frozen=True)
class CalibratedModel:
    """A model's calibration for every kind of query that it can take, the complete ones first."""

    kinds: Sequence[Calibrated]

    @property
    def uncertain(self) -> list[Calibrated]:
        """Kinds with too few queries to fit on."""
        return [kind for kind in self.kinds if len(kind.data) < FEW]

    @property
    def never_sure(self) -> list[Calibrated]:
        """Kinds in which no threshold reaches the wanted accuracy."""
        return [kind for kind in self.kinds if kind.fitted.min_confidence == 1]

    @property
    def scales(self) -> dict[Kind, VRFScale]:
        """What a search uses, by kind."""
        absences = [None if kind.absence is None else kind.absence.weights for kind in self.kinds]
        return {
            kind.kind: VRFScale(kind.temperature, kind.fitted.min_confidence, absence)
            for kind, absence in zip(self.kinds, absences, strict=True)
        }

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


def calibrate_kinds(asked: Mapping[Kind, Asked], expected: float, wanted: float = HALF) -> CalibratedModel:
    """Fit temperature and threshold of each kind of query, and measure them on recipes that they were not fitted on.

    The temperature of complete queries has a prior at the expected one, and that of other kinds at theirs; each
    prior counts as much as `PRIOR_QUERIES`.

    Args:
        asked: Queries that the model was not trained on, by kind, as `ask_by_kind` makes them.
        expected: The temperature that would be used without any query.
        wanted: The target accuracy.

    Raises:
        CalibrationError: If there are too few recipes, or the model is no better than guessing.
    """
    if not 0 < wanted <= 1:
        raise CalibrationError(f"expected an accuracy above 0 and up to 1, found {wanted}")
    first = _split_recipes(asked)
    queries = {kind: part.data for kind, part in asked.items()}
    if is_guessing(queries[COMPLETE]):
        raise CalibrationError(
            f"expected a model that finds right images nearer than others, found none better than guessing on "
            f"{len(queries[COMPLETE])} queries; calibrate on data like its training data, or train it further"
        )
    whole, *halves = (
        _fit_scales({kind: data.select(mask[kind]) for kind, data in queries.items()}, expected, wanted)
        for mask in ({kind: torch.ones_like(part) for kind, part in first.items()}, first, _negate(first))
    )
    found = []
    for kind, (temperature, threshold) in whole.items():
        judged, answered = _judge_halves(queries[kind], first[kind], [half[kind] for half in halves])
        evidence = asked[kind].evidence
        absence = None if evidence is None else measure_absence(evidence, first[kind])
        found.append(Calibrated(kind, temperature, wanted, threshold, queries[kind], judged, answered, absence))
    return CalibratedModel(found)


Scale = tuple[float, Answered]
"""A temperature and a threshold."""


def _split_recipes(asked: Mapping[Kind, Asked]) -> dict[Kind, torch.Tensor]:
    """Which queries are of every second recipe; no recipe is on both sides, in whatever kind."""
    recipes = torch.cat([part.recipes for part in asked.values()]).unique()
    first = {kind: torch.isin(part.recipes, recipes[::2]) for kind, part in asked.items()}
    for kind, mask in first.items():
        if mask.all() or not mask.any():
            found = len(asked[kind].recipes.unique())
            raise CalibrationError(
                f"expected queries ({name_kind(kind)}) of at least two recipes, one to fit on and one to measure on, "
                f"found {found} of {len(recipes)}; choose another fold, or a larger dataset"
            )
    return first


def _negate(masks: Mapping[Kind, torch.Tensor]) -> dict[Kind, torch.Tensor]:
    return {kind: ~mask for kind, mask in masks.items()}


def _fit_scales(queries: Mapping[Kind, Queries], expected: float, wanted: float) -> dict[Kind, Scale]:
    scales: dict[Kind, Scale] = {}
    for kind, part in queries.items():  # the complete ones first
        prior = scales[COMPLETE][0] if scales else expected
        temperature = steady_temperature(fit_temperature(part), len(part), prior)
        scales[kind] = temperature, choose_threshold(judge(part, temperature), wanted)
    return scales


def _judge_halves(data: Queries, first: torch.Tensor, halves: Sequence[Scale]) -> tuple[Judged, Answered]:
    """The confidence in all queries, each half by the scale of the other, and what both thresholds together give."""
    confidences = torch.zeros(len(data), dtype=torch.float64)
    right, sure = torch.zeros_like(first), torch.zeros_like(first)
    for (temperature, threshold), others in zip(halves, (~first, first), strict=True):
        part = judge(data.select(others), temperature)
        confidences[others], right[others] = part.confidences, part.right
        sure[others] = part.confidences >= threshold.min_confidence
    accuracy = right[sure].double().mean().item() if sure.any() else None
    lowest = min(threshold.min_confidence for _, threshold in halves)
    return Judged(confidences, right), Answered(lowest, sure.double().mean().item(), accuracy)


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
