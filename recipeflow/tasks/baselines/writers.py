"""Writers that learn nothing or little: a training recipe, the nearest training instructions, the graph in words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np

from recipeflow.tasks.baselines import views
from recipeflow.tasks.looks import Looks

Row = dict[str, Any]
WRITERS = ("random", "most_frequent", "question_only", "nearest_instruction", "template")
STEP = re.compile(r"^\d+\. (.*?) ← (.*)$", re.MULTILINE)


def write_answers(name: str, train: Sequence[Row], rows: Sequence[Row], looks: Looks) -> dict[str, str]:
    """The texts of a writer: of a random training recipe, of frequent lines, of the recipe with the nearest title, of
    the training instructions with the nearest pictures, or the graph as sentences, where it is given."""
    if name == "template":
        return {row["id"]: from_graph(row["graph"]) for row in rows if row["graph"]}
    if name == "nearest_instruction":
        return _nearest(train, rows, looks)
    if name == "question_only":
        titles = np.stack([views.text_vector(row["title"] or "") for row in train])
        best = {row["id"]: int((titles @ views.text_vector(row["title"] or "")).argmax()) for row in rows}
        return {key: train[place]["answer"] for key, place in best.items()}
    if name == "most_frequent":
        lines = Counter(line for row in train for line in row["answer"].splitlines())
        return dict.fromkeys((row["id"] for row in rows), "\n".join(line for line, _ in lines.most_common(5)))
    return {row["id"]: train[Random(row["id"]).randrange(len(train))]["answer"] for row in rows}


def from_graph(graph: str) -> str:
    """A sentence per action: its objects as they are written, and the action. Results need no words."""
    lines = []
    for action, objects in STEP.findall(graph):
        words = [word for word in objects.split(", ") if not word.startswith("result of ") and word != "—"]
        named = [word for word in words if word not in action]
        lines.append(f"{'と'.join(named)}を{action}ます。" if named else f"{action}ます。")
    return "\n".join(lines)


def _changes(row: Row, looks: Looks) -> list[np.ndarray]:
    seen = [looks.vector(cell["bytes"]) for cell in row["pictures"]]
    return [np.concatenate([seen[pair["before"]], seen[pair["after"]]]) for pair in row["pairs"]]


def _nearest(train: Sequence[Row], rows: Sequence[Row], looks: Looks) -> dict[str, str]:
    """For each pair of pictures the instruction of the nearest pair in training, each once."""
    fitted = [row for row in train if not row["with_graph"]]
    known = np.stack([change for row in fitted for change in _changes(row, looks)])
    lines = [row["answer"].splitlines()[pair["instruction"]] for row in fitted for pair in row["pairs"]]
    found = {}
    for row in rows:
        places = [int(((known - change) ** 2).sum(1).argmin()) for change in _changes(row, looks)]
        found[row["id"]] = "\n".join(dict.fromkeys(lines[place] for place in places))
    return found
