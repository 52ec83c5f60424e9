"""Read predictions: JSON lines with ``id`` and ``answer``; whatever is wrong with a line is counted and named."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recipeflow.errors import PredictionsError, short

SHOWN = 5
"""Lines or ids that a message names of each kind of problem."""


@dataclass
class Predictions:
    """The answers of one model by the id of the question, and the trouble with its file.

    Attributes:
        model: The name of the file, without its extension.
        answers: The first answer to each question.
        bad_lines: Numbers of lines that are not an object with an id and an answer, with what is wrong.
        repeated: How many further answers there were to a question.
    """

    model: str
    answers: dict[str, Any] = field(default_factory=dict)
    bad_lines: dict[int, str] = field(default_factory=dict)
    repeated: Counter[str] = field(default_factory=Counter)

    def problems(self, known: set[str]) -> list[str]:
        """One sentence per kind of problem, with its count and the first few."""
        unknown = [name for name in self.answers if name not in known]
        lines = [f"line {number} ({reason})" for number, reason in self.bad_lines.items()]
        kinds = {
            "malformed lines, left out": lines,
            "repeated answers, of which the first counts": list(self.repeated),
            "answers to unknown questions, left out": unknown,
        }
        return [f"{len(found)} {kind}: {_few(found)}" for kind, found in kinds.items() if found]


def _few(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")


def read_predictions(path: str | Path) -> Predictions:
    """Read a file of predictions.

    Raises:
        PredictionsError: If the file cannot be read, or has not a single answer.
    """
    path = Path(path)
    found = Predictions(path.stem)
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    _read_line(found, number, line)
    except (OSError, UnicodeDecodeError) as error:
        raise PredictionsError(f"expected a file of predictions, found that {path} cannot be read: {error}") from error
    if not found.answers:
        bad = next((f"line {number}: {reason}" for number, reason in found.bad_lines.items()), "no line")
        raise PredictionsError(
            f'expected one object per line in {path}, such as {{"id": "…", "answer": "A"}}, found none ({bad}); write '
            "an answer per question"
        )
    return found


def _read_line(found: Predictions, number: int, line: str) -> None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        found.bad_lines[number] = "no JSON"
        return
    if not isinstance(row, dict) or not isinstance(row.get("id"), str) or "answer" not in row:
        found.bad_lines[number] = f"no id and answer: {short(row)}"
    elif row["id"] in found.answers:
        found.repeated[row["id"]] += 1
    else:
        found.answers[row["id"]] = row["answer"]
