"""Files by which evaluation harnesses run the task sets: ``eval.yaml`` for the Hub, ``lmms_eval/`` for lmms-eval."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from recipeflow.tasks.schema import TASKS

TEMPLATES = Path(__file__).parent / "templates"
EVAL, LMMS = "eval.yaml", "lmms_eval"

YES_OR_NO = r'"answer"\s*:\s*"(yes|no)"'
RUNS: dict[str, dict[str, Any]] = {
    "missing_step": {"choices": "choices", "solvers": ["multiple_choice"], "scorer": "choice", "pattern": None},
    "dependency": {"choices": None, "solvers": ["generate"], "scorer": "pattern", "pattern": YES_OR_NO},
}
"""The tasks that ``eval.yaml`` can express: its questions have one picture at most, and one right answer."""


def _templates() -> Environment:
    loader = FileSystemLoader(TEMPLATES)
    return Environment(
        loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False
    )


def write_harness_files(folder: Path, path: str, tasks: Sequence[str]) -> None:
    """Write the files for harnesses next to the task sets.

    Args:
        folder: Where the task sets are.
        path: What ``load_dataset`` finds them by.
        tasks: Those that were made.
    """
    (folder / LMMS).mkdir()
    for name, text in harness_files(path, tasks):
        (folder / name).write_text(text, encoding="utf-8")


def harness_files(path: str, tasks: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The names and contents of all files for harnesses, for a dataset that is found by this path."""
    tasks = list(tasks)
    templates = _templates()
    runs = [{"id": f"vrf_{task}", "config": task, **RUNS[task]} for task in tasks if task in RUNS]
    if runs:
        yield EVAL, templates.get_template("eval.yaml.jinja").render(runs=runs)
    yield f"{LMMS}/utils.py", (TEMPLATES / "lmms_utils.py.jinja").read_text(encoding="utf-8")
    for task in tasks:
        text = templates.get_template("lmms_task.yaml.jinja").render(
            task=task, path=path, kind=TASKS[task].answered_by, longest=1024 if task == "instruction_writing" else 128
        )
        yield f"{LMMS}/vrf_{task}.yaml", text
