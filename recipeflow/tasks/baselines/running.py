"""Run the baselines on task sets: a file of predictions each, and a table beside chance."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recipeflow.errors import UsageError
from recipeflow.files import write_aside
from recipeflow.progress import progress_bar
from recipeflow.tables import Table
from recipeflow.tasks.baselines.shortcuts import SHORTCUTS, answer_rows, half_of
from recipeflow.tasks.baselines.tracing import trace_answers
from recipeflow.tasks.baselines.writers import WRITERS, write_answers
from recipeflow.tasks.folder import TasksFolder
from recipeflow.tasks.looks import Looks
from recipeflow.tasks.schema import TASKS, WRITING
from recipeflow.tasks.scoring.predictions import Predictions
from recipeflow.tasks.scoring.results import Results, score

Row = dict[str, Any]
ENOUGH, ALLOWED = 1_000, 3.0
"""With so many questions, seeing only the answers may gain so many points over chance."""


@dataclass(frozen=True)
class BaselineResults:
    """The results of all baselines that were run."""

    split: str
    results: tuple[Results, ...]

    def table(self) -> Table:
        """A row per task and baseline: the main metric, with its interval, beside chance."""
        rows = []
        for task in TASKS:
            for each in self.results:
                for result in (result for result in each.tasks if result.task == task):
                    metric, found = next(iter(result.metrics.items()))
                    rows.append((task, each.model, metric, str(found), result.chance, result.questions))
        columns = ("task", "baseline", "metric", "95 % interval by recipe", "chance", "questions")
        return Table(f"Baselines on {self.split}", columns, rows)

    def shortcuts(self) -> list[str]:
        """Every task that the candidates alone solve too well, if there are enough questions to say so."""
        return [
            f"{result.task}: seeing only the answers reaches {found.mean:.1f}, {result.chance:.1f} is chance"
            for each in self.results
            if each.model == "answer_only"
            for result in each.tasks
            for found in [next(iter(result.metrics.values()))]
            if result.questions >= ENOUGH and found.mean - result.chance > ALLOWED
        ]


def run_baselines(
    tasks: str | Path,
    out: str | Path,
    *,
    split: str = "test",
    dataset: Path | None = None,
    models: Mapping[str, Mapping[str, Any]] | None = None,
) -> BaselineResults:
    """Write the predictions of every baseline as ``out/<name>.jsonl``, and score them.

    Args:
        tasks: A folder of task sets.
        out: The folder to write.
        split: The split to answer; all baselines are fitted on ``train``.
        dataset: The dataset of the task sets, whose flows are traced for the ceiling of the graph tasks.
        models: Answers of models that were run before, by name and question.
    """
    folder = TasksFolder(tasks)
    answers: dict[str, dict[str, Any]] = {name: {} for name in (*SHORTCUTS, *WRITERS)}
    names = folder.tasks(split)
    for task in progress_bar(names, len(names), "baselines"):
        if "train" not in folder.manifest["configs"][task]["rows"]:
            raise UsageError(f"expected {task} with a split train to fit on, found none; make it of more recipes")
        for name, found in _answer_task(folder, task, split):
            answers[name] |= found
    if dataset is not None:
        answers["tracing"] = trace_answers(folder, split, dataset)
    answers |= {name: dict(found) for name, found in (models or {}).items()}
    given = {name: found for name, found in answers.items() if found}
    for name, found in given.items():
        write_predictions(Path(out) / f"{name}.jsonl", found)
    scored = (score(folder, Predictions(name, found), split) for name, found in given.items())
    return BaselineResults(split, tuple(scored))


def write_predictions(path: Path, answers: Mapping[str, Any]) -> None:
    """Write answers as JSON lines."""
    lines = (json.dumps({"id": key, "answer": answer}, ensure_ascii=False) for key, answer in answers.items())
    write_aside(path, "".join(f"{line}\n" for line in lines))


def _answer_task(folder: TasksFolder, task: str, split: str) -> Iterator[tuple[str, dict[str, Any]]]:
    looks = Looks()
    rows = list(folder.rows(task, split, with_pictures=True))
    train = rows if split == "train" else list(folder.rows(task, "train", with_pictures=True))
    is_writing = TASKS[task].answered_by == WRITING
    for name in WRITERS if is_writing else SHORTCUTS:
        found: dict[str, Any] = {}
        for fitted, asked in _parts(train, rows, split):
            if not fitted or not asked:
                continue
            if is_writing:
                found |= write_answers(name, fitted, asked, looks)
            else:
                found |= answer_rows(task, name, fitted, asked, looks)
        yield name, found


def _parts(train: Sequence[Row], rows: Sequence[Row], split: str) -> Iterable[tuple[list[Row], list[Row]]]:
    """What to fit on and what to answer; within ``train``, each half of the questions is for the other."""
    if split != "train":
        return [(list(train), list(rows))]
    halves = [[row for row in rows if half_of(row) == half] for half in (0, 1)]
    return [(halves[0], halves[1]), (halves[1], halves[0])]
