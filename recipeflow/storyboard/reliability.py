"""How often panels are right, by their confidence: fitted and measured on recipes that a model has not seen.

A panel is right if its picture shows the action and the object that were asked for, by their names. Chains are
imagined from no picture at all, among all images of the dataset, as an index has them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from imagination_vrf import Imagined, Questions, imagine_states
from modeling_vrf import VRFModel
from processing_vrf import VRFProcessor
from recipeflow.dataset.folds import FOLDS
from recipeflow.evaluation.ranking import features_of_images
from recipeflow.pairs.loading import Pairs
from recipeflow.search.absence import Names
from recipeflow.search.confidence import Bin, Judged, calibration_error, reliability_bins
from recipeflow.search.logistic import fit_logistic
from recipeflow.storyboard.chains import Chains, embed_candidates, read_chains
from recipeflow.tables import Cell, Table
from retrieval_vrf import Kind, VRFScale, kind_of, name_codes
from storyboard_vrf import ENOUGH, LIKELY_ABSENT, PanelScale, SameState, panel_evidence, unknown_words, word_tensors

BINS = 5
"""A fold has a few hundred panels: ten bins would have twenty each."""

DEPTHS = ((1, 1), (2, 2), (3, 4), (5, 7), (8, None))
"""Depths that are counted together, from and to."""


@dataclass(frozen=True)
class Shown:
    """Panels as they would be shown, but for the scale of their confidence.

    Args:
        chances: The probability of what each one shows.
        absent: The probability that no picture shows what was asked for.
        right: Whether it shows that.
        depths: In the flow graph.
        recipes: The number of each panel's recipe.
    """

    chances: np.ndarray
    absent: np.ndarray
    right: np.ndarray
    depths: np.ndarray
    recipes: np.ndarray


def show_panels(
    model: VRFModel,
    processor: VRFProcessor,
    pairs: Pairs,
    dataset: Path,
    folds: Sequence[int],
    scales: Mapping[Kind, VRFScale],
) -> Shown:
    """Imagine all recipes of these folds from no picture, among all images of the dataset.

    Args:
        model: It must not have been trained on these folds.
        processor: Its processor.
        pairs: The dataset with its images.
        dataset: Its folder.
        folds: The folds.
        scales: The calibration of the model's queries, by kind.
    """
    chains = read_chains(dataset, pairs, folds, model, processor)
    images = pairs.images.post[pairs.rows((), range(FOLDS))].unique()
    candidates = embed_candidates(model, features_of_images(model, pairs, images), images)
    lost = frozenset(number for number, query in enumerate(chains.queries) if unknown_words(query, processor))
    parts = model.config.read_parts
    temperatures = [
        [scales[kind_of({**query, "image": image}, parts)].temperature for image in (True, None)]
        for query in chains.queries
    ]
    asked = Questions(chains.states, word_tensors(chains.queries, processor), torch.tensor(temperatures), unasked=lost)
    imagined = imagine_states(model, asked, candidates)
    names, wanted = Names(pairs, images), name_codes(chains.queries, processor)
    kinds = [
        kind_of({**query, "image": has or None}, parts)
        for query, has in zip(chains.queries, imagined.has_picture.tolist(), strict=True)
    ]
    evidence = names.look(imagined.queries @ candidates.embeds.T, wanted)
    absences = [scales[kind].absence for kind in kinds]
    absent = np.array(
        [
            0.0 if absence is None else absence.probability(row[None])[0]
            for absence, row in zip(absences, evidence, strict=True)
        ]
    )
    return _judge_pictures(chains, imagined, names, wanted, absent, sorted(set(range(len(kinds))) - lost))


def _judge_pictures(
    chains: Chains, imagined: Imagined, names: Names, wanted: np.ndarray, absent: np.ndarray, asked: Sequence[int]
) -> Shown:
    """What the likeliest picture of each state shows; states without a picture are left out."""
    same = SameState([(candidate["action"], candidate["objects"]) for candidate in names.candidates])
    first = imagined.chances.argmax(1).tolist()
    shown = [names.candidates[first[number]] for number in asked]
    right = [
        candidate["action"] == action and thing in candidate["objects"]
        for candidate, (action, thing) in zip(shown, wanted[asked].tolist(), strict=True)
    ]
    return Shown(
        np.array([float(imagined.chances[number, same.rows(first[number])].sum()) for number in asked]),
        absent[asked],
        np.array(right, bool),
        np.array([chains.states[number].depth for number in asked]),
        chains.recipes.numpy()[asked],
    )


def fit_scale(shown: Shown, chosen: np.ndarray | None = None) -> PanelScale:
    """The scale of some panels, by default of all; its prior is a normal one around what changes nothing."""
    chosen = np.ones(len(shown.right), bool) if chosen is None else chosen
    if not chosen.any():
        return PanelScale()
    inputs = panel_evidence(shown.chances[chosen], shown.depths[chosen])
    around = np.array([*asdict(PanelScale()).values()])
    prior = np.full(len(around), 1 / chosen.sum())
    return PanelScale(*fit_logistic(inputs, shown.right[chosen].astype(float), prior, around).tolist())


@dataclass(frozen=True)
class Reliability:
    """Panels with the confidence that recipes other than their own gave them.

    Args:
        confidences: Of each panel, by the scale of the other half of its fold's recipes.
        unscaled: The probabilities that the scale was applied to.
        right: Whether it shows the right action on the right object.
        sure: Whether it would be shown as sure.
        depths: In the flow graph.
    """

    confidences: torch.Tensor
    unscaled: torch.Tensor
    right: torch.Tensor
    sure: torch.Tensor
    depths: torch.Tensor

    def bins(self) -> list[Bin]:
        return reliability_bins(Judged(self.confidences, self.right), BINS)

    def as_dict(self) -> dict[str, Any]:
        """Everything as JSON; all shares as fractions."""
        plain = reliability_bins(Judged(self.unscaled, self.right), BINS)
        return {
            "panels": len(self.right),
            "expected_calibration_error": calibration_error(self.bins()),
            "expected_calibration_error_unscaled": calibration_error(plain),
            "all": self._part(torch.ones_like(self.right)),
            "sure": self._part(self.sure),
            "reliability": [{"low": low, "high": high, **self._part(inside)} for low, high, inside in self._by_bin()],
            "depths": {name: self._part(inside) for name, inside in self._by_depth() if inside.any()},
        }

    def _by_bin(self) -> list[tuple[float, float, torch.Tensor]]:
        numbers = (self.confidences * BINS).long().clamp(max=BINS - 1)
        return [(number / BINS, (number + 1) / BINS, numbers == number) for number in numbers.unique().tolist()]

    def _by_depth(self) -> list[tuple[str, torch.Tensor]]:
        return [
            (
                f"{low}+" if high is None else f"{low}" if low == high else f"{low}–{high}",
                (self.depths >= low) & (self.depths <= (high or self.depths.max())),
            )
            for low, high in DEPTHS
        ]

    def _part(self, inside: torch.Tensor) -> dict[str, Any]:
        some = bool(inside.any())
        return {
            "panels": int(inside.sum()),
            "confidence": self.confidences[inside].mean().item() if some else None,
            "right": self.right[inside].double().mean().item() if some else None,
        }

    def table(self) -> Table:
        """Mean confidence and share of right panels, by confidence and by depth."""
        found = self.as_dict()
        rows: list[tuple[str, dict[str, Any]]] = [
            *((f"confidence {row['low']:.0%} to {row['high']:.0%}", row) for row in found["reliability"]),
            *((f"depth {name}", row) for name, row in found["depths"].items()),
            ("sure", found["sure"]),
            ("all", found["all"]),
        ]
        title = (
            f"Panels from no picture, calibration error {found['expected_calibration_error']:.1%} "
            f"(unscaled {found['expected_calibration_error_unscaled']:.1%})"
        )
        lines: list[tuple[Cell, ...]] = [
            (name, row["panels"], _percent(row["confidence"]), _percent(row["right"])) for name, row in rows
        ]
        return Table(title, ("panels", "number", "mean confidence", "right action on the right object"), lines)


def _percent(share: float | None) -> str:
    return "—" if share is None else f"{share:.1%}"


def measure_panels(shown: Shown) -> Reliability:
    """Measure panels on each half of the recipes with a scale that was fitted on the other."""
    first = np.isin(shown.recipes, np.unique(shown.recipes)[::2])
    confidences = np.zeros(len(shown.right))
    for fitting, others in ((first, ~first), (~first, first)):
        scale = fit_scale(shown, fitting)
        confidences[others] = scale.probability(shown.chances[others], shown.depths[others])
    sure = (confidences >= ENOUGH) & (shown.absent < LIKELY_ABSENT)
    parts = (confidences, shown.chances, shown.right, sure, shown.depths)
    return Reliability(*(torch.from_numpy(part) for part in parts))


def merge_reliability(parts: Sequence[Reliability]) -> Reliability:
    """Several folds as one."""
    names = Reliability.__dataclass_fields__
    return Reliability(*(torch.cat([getattr(part, name) for part in parts]) for name in names))
