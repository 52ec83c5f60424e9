"""Whether what was asked for is among the candidates at all, learned from queries whose answers were taken away.

For each query all candidates that show the same object after the same action are removed, as in a collection that has
none. What the first answers show then, compared with what they show otherwise, is what a logistic model learns. A
single missing picture cannot be recognised where others show the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from recipeflow.evaluation.metrics import CHUNK
from recipeflow.pairs.columns import NONE, PhraseColumn
from recipeflow.pairs.loading import Pairs
from recipeflow.search.confidence import Queries
from recipeflow.search.logistic import fit_logistic
from retrieval_vrf import LOOKED_AT, VRFAbsence, absence_evidence, name_code

RIDGE = 1e-2
"""The weight of the penalty on large weights; without it, evidence that decides alone would have an infinite one."""


@dataclass(frozen=True)
class Evidence:
    """What the first answers show with and without the right ones, both queries x 4; see `absence_evidence`."""

    present: np.ndarray
    absent: np.ndarray

    def select(self, mask: torch.Tensor) -> Evidence:
        chosen = mask.numpy()
        return Evidence(self.present[chosen], self.absent[chosen])


class Names:
    """The names of actions and objects as codes: of every row, and of the candidates that show them.

    Args:
        pairs: The rows.
        candidates: For each candidate, the number of its image.
    """

    def __init__(self, pairs: Pairs, candidates: torch.Tensor) -> None:
        self.rows = np.column_stack([_codes(pairs.actions), _codes(pairs.objects)])
        shown = (pairs.images.post >= 0).numpy()
        images, found = pairs.images.post.numpy()[shown], self.rows[shown]
        places = np.searchsorted(candidates.numpy(), images)
        self.candidates: list[dict[str, Any]] = [{"action": 0, "objects": set()} for _ in candidates]
        self.states: dict[tuple[int, int], list[int]] = defaultdict(list)
        for place, (action, object) in zip(places.tolist(), found.tolist(), strict=True):
            self.candidates[place]["action"] = self.candidates[place]["action"] or action  # as an index has it
            self.candidates[place]["objects"].add(object)
            self.states[action, object].append(place)
        for place, candidate in enumerate(self.candidates):  # as a search sees it: one action, all objects
            for object in candidate["objects"]:
                self.states[candidate["action"], object].append(place)

    @property
    def known(self) -> bool:
        """Whether there are names: official annotations without text have none."""
        return bool(self.rows.any())

    def collect(self, data: Queries, rows: torch.Tensor, parts: Sequence[str]) -> Evidence:
        """The evidence of these queries.

        Args:
            data: The queries, of which each is one of the rows.
            rows: Those rows.
            parts: What a query consists of: a model that is not asked with names cannot compare them.
        """
        names = self.rows[rows.numpy()]
        asked = names * [part in parts for part in ("action", "object")]
        present, absent = [], []
        for start in range(0, len(data), CHUNK):
            part = slice(start, start + CHUNK)
            similarity = data.queries[part] @ data.candidates.T
            present.append(self.look(similarity, asked[part]))
            for row, (name, target) in enumerate(zip(names[part].tolist(), data.targets[part].tolist(), strict=True)):
                similarity[row, [*self.states[tuple(name)], target]] = -torch.inf
            absent.append(self.look(similarity, asked[part]))
        return Evidence(np.concatenate(present), np.concatenate(absent))

    def look(self, similarity: torch.Tensor, asked: np.ndarray) -> np.ndarray:
        """What the first answers show: see `absence_evidence`.

        Args:
            similarity: Queries x candidates.
            asked: The codes of each query's action and object.
        """
        first = similarity.topk(min(LOOKED_AT, similarity.shape[1]), dim=1)
        scores = first.values.clamp(min=-1).double().numpy()  # removed candidates, where hardly any others are left
        answers = [[self.candidates[place] for place in places] for places in first.indices.tolist()]
        return absence_evidence(scores, answers, asked)


def _codes(phrases: PhraseColumn) -> np.ndarray:
    """The code of the phrase of each row."""
    distinct = np.array([*(name_code(words) for words in phrases.distinct), 0], np.int64)
    assert NONE == -1  # so that rows without a phrase get the last code
    return distinct[phrases.codes]


def fit_absence(evidence: Evidence) -> VRFAbsence:
    """The weights that best tell queries without a right candidate from the same queries with one."""
    rows = np.concatenate([evidence.absent, evidence.present])
    labels = np.repeat([1.0, 0.0], len(evidence.present))
    mean, spread = rows.mean(0), rows.std(0)
    spread[spread == 0] = 1
    inputs = np.column_stack([np.ones(len(rows)), (rows - mean) / spread])
    weights = fit_logistic(inputs, labels, RIDGE * np.array([0.0, 1, 1, 1, 1]), np.zeros(inputs.shape[1]))
    slopes = weights[1:] / spread
    return VRFAbsence(float(weights[0] - slopes @ mean), *slopes.tolist())


@dataclass(frozen=True)
class Absence:
    """The fitted weights, and how well absence was recognised on recipes that they were not fitted on.

    Args:
        weights: Fitted on all queries.
        auroc: The chance that a query without a right candidate has a higher probability of absence than one with.
    """

    weights: VRFAbsence
    auroc: float

    def as_dict(self) -> dict[str, Any]:
        return {"weights": asdict(self.weights), "auroc": self.auroc}


def measure_absence(evidence: Evidence, first: torch.Tensor) -> Absence:
    """Fit on all queries; measure on each half of the recipes with weights that were fitted on the other.

    Args:
        evidence: Of all queries.
        first: Which of them are of the first half.
    """
    chances: Mapping[str, list[np.ndarray]] = {"present": [], "absent": []}
    for fitting, others in ((first, ~first), (~first, first)):
        fitted, measured = fit_absence(evidence.select(fitting)), evidence.select(others)
        for name, found in chances.items():
            found.append(fitted.probability(getattr(measured, name)))
    absent, present = (np.concatenate(chances[name]) for name in ("absent", "present"))
    return Absence(fit_absence(evidence), area_under_curve(absent, present))


def area_under_curve(higher: np.ndarray, lower: np.ndarray) -> float:
    """The share of pairs in which the first is higher than the second; a tie counts half."""
    ordered = np.sort(lower)
    below, up_to = np.searchsorted(ordered, higher, "left"), np.searchsorted(ordered, higher, "right")
    return float((below + up_to).mean() / 2 / len(lower))
