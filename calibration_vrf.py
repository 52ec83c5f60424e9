"""How sure a model is that an answer is the right one, once it was calibrated on queries that it had not seen.

A confidence is the softmax over all candidates of their similarity divided by a temperature. A query that lacks its
picture or its context knows less, so each kind of query has a temperature of its own, and a confidence below which the
model says that it is not sure. `calibration.json` beside the weights of a model holds both for every kind, and what
they were measured on.

This file travels with every saved model that has an index and imports nothing of the project.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

FILE = "calibration.json"
FORMAT = 2

Kind = tuple[str, ...]
"""A kind of query: the parts that it lacks; none of them for a complete one."""

COMPLETE: Kind = ()


def optional_parts(parts: Sequence[str]) -> list[str]:
    """Which parts of a query may be missing: a picture where there are words, and always the context.

    Args:
        parts: What a model's queries are made of, `model.config.query_parts`.
    """
    has_words = "action" in parts or "object" in parts
    return [name for name in parts if name == "context" or (name == "image" and has_words)]


def query_kinds(parts: Sequence[str]) -> list[Kind]:
    """All kinds of queries that a model can take, the complete ones first."""
    optional = optional_parts(parts)
    return [kind for size in range(len(optional) + 1) for kind in combinations(optional, size)]


def kind_of(query: Mapping[str, Any], parts: Sequence[str]) -> Kind:
    """The kind of one query. A context in which no part has words is none."""
    context = query.get("context")
    given = {"image": query.get("image") is not None, "context": bool(context) and any(context.values())}
    return tuple(name for name in optional_parts(parts) if not given[name])


def name_kind(kind: Kind) -> str:
    """A kind for a person: `complete`, `no image`, `no image or context`."""
    return f"no {' or '.join(kind)}" if kind else "complete"


@dataclass(frozen=True)
class VRFScale:
    """What turns the similarities of one kind of query into confidences.

    Args:
        temperature: What similarities are divided by.
        min_confidence: Below it, the model is not sure of its first answer.
    """

    temperature: float
    min_confidence: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature > 0 and 0 < self.min_confidence <= 1):
            raise ValueError(f"temperature {self.temperature}, min_confidence {self.min_confidence}")


@dataclass(frozen=True)
class VRFCalibration:
    """The scales of a model.

    Args:
        scales: One for each kind of query that the model can take.
        weights: The digest of the model's weights; another model needs other scales.
        about: All of the file: what the numbers rest on.
    """

    scales: Mapping[Kind, VRFScale]
    weights: str
    about: dict[str, Any]

    @classmethod
    def load(cls, folder: str | Path) -> "VRFCalibration | None":
        """Read the calibration of a model's folder; None where it has none.

        Raises:
            ValueError: If there is one that cannot be read, or one of an older format.
        """
        path = Path(folder) / FILE
        if not path.is_file():
            return None
        try:
            about = json.loads(path.read_text(encoding="utf-8"))
            if about["format"] != FORMAT:
                raise ValueError(f"format {about['format']}, where this code reads {FORMAT}")
            rows = {COMPLETE: about} | {tuple(row["without"]): row for row in about["incomplete"]}
            scales = {
                kind: VRFScale(float(row["temperature"]), float(row["min_confidence"])) for kind, row in rows.items()
            }
            return cls(scales, str(about["weights"]), about)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"expected a calibration in {path}, found: {type(error).__name__}: {error}; make it again with "
                "`vrf calibrate`, or delete the file to go without"
            ) from error

    def check_weights(self, digest: str) -> None:
        """Make sure that it is the calibration of the model with these weights.

        Raises:
            ValueError: If it is another's.
        """
        if digest != self.weights:
            raise ValueError(
                f"expected the calibration of this model's weights ({digest[:12]}…), found that of others "
                f"({self.weights[:12]}…); run `vrf calibrate` again, or delete {FILE} to go without"
            )

    def scale(self, kind: Kind) -> VRFScale:
        """The scale of a kind of query.

        Raises:
            ValueError: If that kind was not calibrated.
        """
        if kind not in self.scales:
            raise ValueError(
                f"expected a calibration of queries with {name_kind(kind)}, found only those of: "
                f"{', '.join(map(name_kind, self.scales))}; run `vrf calibrate` again"
            )
        return self.scales[kind]


def confidences(scores: np.ndarray, log_totals: np.ndarray, temperatures: np.ndarray) -> np.ndarray:
    """The probability of each answer to be the right one, given that one of the candidates is.

    Args:
        scores: Similarities, queries x answers.
        log_totals: For each query, the logarithm of the sum over all candidates of exp(similarity / temperature).
        temperatures: For each query, that of its kind.
    """
    return np.exp(np.minimum(scores.astype(np.float64) / temperatures[:, None] - log_totals[:, None], 0.0))


__all__ = ["VRFCalibration", "VRFScale", "confidences", "kind_of", "name_kind", "optional_parts", "query_kinds"]
