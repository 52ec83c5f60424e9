"""The page of a scoring: questions with their pictures and what each model answered, in one file without a network."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader

from recipeflow.files import write_aside
from recipeflow.images import thumbnail
from recipeflow.tasks.candidates import KINDS
from recipeflow.tasks.folder import TasksFolder, pictures_of
from recipeflow.tasks.schema import TASKS
from recipeflow.tasks.scoring.judging import Judgement, judge
from recipeflow.tasks.scoring.predictions import Predictions
from recipeflow.tasks.scoring.results import Results

TEMPLATES = Path(__file__).parent / "templates"
SIDE = 112
"""Pixels of a picture on the page."""

IMAGE = re.compile(r"<image (\d+)>")
OUTCOMES = {**KINDS, "right": "right", "wrong": "wrong", "missing": "no answer", "malformed": "malformed answer"}

Row = dict[str, Any]


def write_page(
    path: Path, folder: TasksFolder, models: Sequence[Predictions], results: Sequence[Results], most: int
) -> None:
    """Write the page.

    Args:
        path: The HTML file.
        folder: The task sets.
        models: The predictions of each model.
        results: Its results, in the same order.
        most: Questions shown per task: an even choice by their ids, the same for every model.
    """
    split = results[0].split
    tasks = [task for task in folder.tasks(split) if any(task in (r.task for r in each.tasks) for each in results)]
    shown = [card for task in tasks for card in _cards(folder, task, split, models, most)]
    outcomes = dict.fromkeys(outcome for card in shown for outcome in card["outcomes"])
    templates = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True)
    html = templates.get_template("score.html.jinja").render(
        title=f"{folder.path.resolve().name}, {split}",
        results=results,
        tasks=tasks,
        models=[model.model for model in models],
        outcomes={name: _meaning(name) for name in outcomes},
        cards=shown,
    )
    write_aside(path, html)


def _cards(
    folder: TasksFolder, task: str, split: str, models: Sequence[Predictions], most: int
) -> Iterator[dict[str, Any]]:
    """The questions to show, read a row group at a time."""
    ids = sorted((row["id"] for row in folder.rows(task, split)), key=_drawn)[:most]
    wanted = set(ids)
    for row in folder.rows(task, split, with_pictures=True):
        if row["id"] in wanted:
            judged = [_judge(task, row, model) for model in models]
            yield {
                "task": task,
                "id": row["id"],
                "parts": list(_parts(task, row)),
                "answer": _show(row["answer"] if task != "dependency" else [row["answer"], row["path"]]),
                "answers": [
                    (model.model, _show(model.answers.get(row["id"])), each.outcome, _meaning(each.outcome))
                    for model, each in zip(models, judged, strict=True)
                ],
                "found": [(model.model, each.outcome) for model, each in zip(models, judged, strict=True)],
                "outcomes": sorted({each.outcome for each in judged}),
            }


def _meaning(outcome: str) -> str:
    return OUTCOMES.get(outcome, outcome)


def _drawn(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def _judge(task: str, row: Row, model: Predictions) -> Judgement:
    return judge(TASKS[task].answered_by, row, model.answers.get(row["id"]), row["id"] in model.answers)


def _parts(task: str, row: Row) -> Iterator[tuple[str, str]]:
    """The question as pieces of text and pictures, in order."""
    pictures = pictures_of(task, row)
    for number, part in enumerate(IMAGE.split(row["question"])):
        if number % 2:
            yield "image", thumbnail(pictures[int(part) - 1], SIDE) or ""
        elif part:
            yield "text", part


def _show(answer: Any) -> str:
    return "—" if answer is None else answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
