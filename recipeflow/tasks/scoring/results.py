"""The results of models on task sets: a row per task and metric, by kind of candidate, by depth, and all problems."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from recipeflow.errors import PredictionsError
from recipeflow.tables import Cell, Table
from recipeflow.tasks.candidates import KINDS
from recipeflow.tasks.folder import TasksFolder
from recipeflow.tasks.schema import CHOICE, JOINT, TASKS, WRITING
from recipeflow.tasks.scoring.intervals import Interval, interval
from recipeflow.tasks.scoring.judging import MALFORMED, METRICS, MISSING, Judgement, chance, judge
from recipeflow.tasks.scoring.predictions import Predictions
from recipeflow.tasks.scoring.writing import score_texts

Row = dict[str, Any]
DEEPEST = 5
"""Questions at this depth or deeper are one group."""


@dataclass
class TaskResult:
    """What a model reached on a task.

    Attributes:
        task: The task.
        questions: How many there are.
        chance: What guessing reaches in the main metric, in percent.
        outcomes: How often each outcome happened.
        metrics: Means with intervals by recipe.
        by_depth: The main metric by depth.
        kinds: For each kind of candidate how often it was offered, and how often it was taken for the answer.
    """

    task: str
    questions: int
    chance: float
    outcomes: Counter[str]
    metrics: dict[str, Interval]
    by_depth: dict[str, Interval]
    kinds: dict[str, tuple[int, int]] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return {
            "questions": self.questions,
            "chance": self.chance,
            "outcomes": dict(self.outcomes),
            "metrics": {name: found._asdict() for name, found in self.metrics.items()},
            "by_depth": {depth: found._asdict() for depth, found in self.by_depth.items()},
            "kinds": {kind: {"offered": offered, "taken": taken} for kind, (offered, taken) in self.kinds.items()},
        }


@dataclass(frozen=True)
class Results:
    """The results of one model: those of the tasks it answered, and everything that was wrong with its answers."""

    model: str
    split: str
    tasks: tuple[TaskResult, ...]
    not_answered: tuple[str, ...]
    problems: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "split": self.split,
            "tasks": {result.task: result.as_dict() for result in self.tasks},
            "not_answered": list(self.not_answered),
            "problems": list(self.problems),
        }

    def tables(self) -> list[Table]:
        """All tables that have rows."""
        return [table for table in (self._main(), self._kinds(), self._depths()) if table.rows]

    def _main(self) -> Table:
        columns = ("task", "metric", "95 % interval by recipe", "chance", "questions", "missing", "malformed")
        rows: list[Sequence[Cell]] = []
        for result in self.tasks:
            counts = result.questions, result.outcomes[MISSING], result.outcomes[MALFORMED]
            for number, (metric, found) in enumerate(result.metrics.items()):
                rows.append((result.task, metric, str(found), None if number else result.chance, *counts))
        return Table(f"{self.model} on {self.split}", columns, rows)

    def _kinds(self) -> Table:
        rows = [
            (result.task, KINDS[kind], offered, taken, 100 * taken / offered)
            for result in self.tasks
            for kind, (offered, taken) in result.kinds.items()
        ]
        return Table("Wrong candidates", ("task", "kind", "offered", "taken", "%"), rows)

    def _depths(self) -> Table:
        rows = [(result.task, depth, str(found)) for result in self.tasks for depth, found in result.by_depth.items()]
        return Table("By depth", ("task", "depth", "main metric"), rows)


def score(folder: TasksFolder, predictions: Predictions, split: str = "test") -> Results:
    """Score one model on every task of which it answered at least one question.

    Raises:
        PredictionsError: If it answered no question of the split.
    """
    known: set[str] = set()
    results, skipped = [], []
    for task in folder.tasks(split):
        rows = list(folder.rows(task, split))
        known.update(row["id"] for row in rows)
        if any(row["id"] in predictions.answers for row in rows):
            results.append(_score_task(task, rows, predictions, folder.manifest["language"]))
        else:
            skipped.append(task)
    if not results:
        raise PredictionsError(
            f"expected answers to questions of {folder.path}, {split}, found none in {predictions.model}: none of its "
            f"{len(predictions.answers)} ids is there; score the task sets that it was asked from, or pass --split"
        )
    return Results(predictions.model, split, tuple(results), tuple(skipped), tuple(predictions.problems(known)))


def judge_all(task: str, rows: Iterable[Row], predictions: Predictions) -> list[Judgement]:
    """The judgement of every question."""
    kind, answers = TASKS[task].answered_by, predictions.answers
    return [judge(kind, row, answers.get(row["id"]), row["id"] in answers) for row in rows]


def _score_task(task: str, rows: list[Row], predictions: Predictions, language: str) -> TaskResult:
    kind = TASKS[task].answered_by
    judged = judge_all(task, rows, predictions)
    recipes = [row["recipe_id"] for row in rows]
    main = METRICS[kind][0]
    values = [each.values[main] for each in judged]
    metrics = {name: interval([each.values[name] for each in judged], recipes) for name in METRICS[kind]}
    guess = sum(chance(kind, row) for row in rows) / len(rows)
    if kind == JOINT:
        metrics, guess = _joint(rows, judged), guess**3
    if kind == WRITING:
        metrics = _written(rows, judged, predictions, language)
    return TaskResult(
        task,
        len(rows),
        100 * guess,
        Counter(each.outcome for each in judged),
        metrics,
        {} if kind == WRITING else _by_depth(rows, values),
        _taken(rows, judged) if kind in (CHOICE, JOINT) else {},
    )


def _joint(rows: list[Row], judged: list[Judgement]) -> dict[str, Interval]:
    """Right only if all three ways are; each way beside it."""
    groups: defaultdict[str, list[float]] = defaultdict(list)
    recipe_of = {row["group"]: row["recipe_id"] for row in rows}
    for row, each in zip(rows, judged, strict=True):
        groups[row["group"]].append(each.values["accuracy"])
    found = {"all three": interval([min(values) for values in groups.values()], [recipe_of[name] for name in groups])}
    for way in dict.fromkeys(row["way"] for row in rows):
        own = [(row, each) for row, each in zip(rows, judged, strict=True) if row["way"] == way]
        rights = [each.values["accuracy"] for _, each in own]
        found[f"which {way}"] = interval(rights, [row["recipe_id"] for row, _ in own])
    return found


def _written(rows: list[Row], judged: list[Judgement], predictions: Predictions, language: str) -> dict[str, Interval]:
    """The metrics of text, without and with the flow graph; what is missing or malformed is an empty text."""
    found = {}
    for with_graph, name in ((False, "pictures"), (True, "with graph")):
        own = [(row, each) for row, each in zip(rows, judged, strict=True) if row["with_graph"] == with_graph]
        texts = [predictions.answers[row["id"]] if each.values["written"] else "" for row, each in own]
        if any(texts):
            scores = score_texts([row for row, _ in own], texts, language)
            found |= {f"{metric}, {name}": score for metric, score in scores.items()}
    return found


def _by_depth(rows: list[Row], values: list[float]) -> dict[str, Interval]:
    groups: defaultdict[int, list[tuple[float, str]]] = defaultdict(list)
    for row, value in zip(rows, values, strict=True):
        groups[min(row["depth"], DEEPEST)].append((value, row["recipe_id"]))
    return {
        f"{depth}+" if depth == DEEPEST else str(depth): interval(
            [value for value, _ in groups[depth]], [recipe for _, recipe in groups[depth]]
        )
        for depth in sorted(groups)
    }


def _taken(rows: list[Row], judged: list[Judgement]) -> dict[str, tuple[int, int]]:
    offered = Counter(kind for row in rows for kind in set(row["kinds"]) - {"answer"})
    taken = Counter(each.outcome for each in judged)
    return {kind: (offered[kind], taken[kind]) for kind in KINDS if offered[kind]}
