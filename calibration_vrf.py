"""How sure a model is that an answer is the right one, once it was calibrated on queries that it had not seen.

A confidence is the softmax over all candidates of their similarity divided by one temperature. `calibration.json`
beside the weights of a model holds that temperature, the confidence below which the model says that it is not sure,
and what both were measured on.

This file travels with every saved model that has an index and imports nothing of the project.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

FILE = "calibration.json"
FORMAT = 1


@dataclass(frozen=True)
class VRFCalibration:
    """What turns similarities into confidences.

    Args:
        temperature: What similarities are divided by.
        min_confidence: Below it, the model is not sure of its first answer.
        weights: The digest of the model's weights; another model needs another temperature.
        about: All of the file: what the numbers rest on.
    """

    temperature: float
    min_confidence: float
    weights: str
    about: dict[str, Any]

    @classmethod
    def load(cls, folder: str | Path) -> "VRFCalibration | None":
        """Read the calibration of a model's folder; None where it has none.

        Raises:
            ValueError: If there is one that cannot be read.
        """
        path = Path(folder) / FILE
        if not path.is_file():
            return None
        try:
            about = json.loads(path.read_text(encoding="utf-8"))
            if about["format"] != FORMAT:
                raise ValueError(f"format {about['format']}, where this code reads {FORMAT}")
            numbers = float(about["temperature"]), float(about["min_confidence"])
            if not (math.isfinite(numbers[0]) and numbers[0] > 0 and 0 <= numbers[1] <= 1):
                raise ValueError(f"temperature {numbers[0]}, min_confidence {numbers[1]}")
            return cls(*numbers, str(about["weights"]), about)
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

    def confidences(self, scores: np.ndarray, log_totals: np.ndarray) -> np.ndarray:
        """The probability of each answer to be the right one, given that one of the candidates is.

        Args:
            scores: Similarities, queries x answers.
            log_totals: For each query, the logarithm of the sum over all candidates of exp(similarity / temperature).
        """
        return np.exp(np.minimum(scores.astype(np.float64) / self.temperature - log_totals[:, None], 0.0))


__all__ = ["VRFCalibration"]
