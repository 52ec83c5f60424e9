"""The folder of an experiment: one file per finished job, all with the same settings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recipeflow.dataset.folds import FOLDS
from recipeflow.errors import OutputExistsError, short
from recipeflow.experiment.answers import JOBS, answers_file, checksum, job_file
from recipeflow.experiment.results import RESULTS
from recipeflow.files import write_aside, write_json
from recipeflow.training.output_folder import FolderKind
from recipeflow.training.settings import complete_settings

EXPERIMENT = FolderKind("vrf experiment", marks=(JOBS, RESULTS))

SHOWN = 4
"""The number of differences in a message; another preset has many."""


@dataclass(frozen=True)
class Job:
    """One fold of one row."""

    row: str
    fold: int

    @property
    def file(self) -> Path:
        """The path of its result, below the experiment's folder."""
        return job_file(self.row, self.fold)


def write_result(out: Path, job: Job, settings: dict[str, Any], result: dict[str, Any]) -> None:
    """Write a job's answers first, then its metrics, which contain their checksum and mark the job as finished."""
    answers = result.pop("answers", None)
    if answers is not None:
        write_aside(out / answers_file(job.row, job.fold), answers)
        result["answers_sha256"] = checksum(answers)
    write_json(out / job.file, {"settings": settings, **result})


def read_result(out: Path, job: Job, settings: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a finished job with these settings."""
    result = _read(out / job.file)
    return result if result and with_added_settings(result.get("settings"), settings) == settings else None


def finished_jobs(out: Path, settings: dict[str, Any], rows: Sequence[str]) -> list[Job]:
    """All jobs with these settings, in the order of these rows and of their folds."""
    jobs = (Job(row, fold) for row in rows for fold in range(FOLDS))
    return [job for job in jobs if read_result(out, job, settings) is not None]


def refuse_others(out: Path, settings: Mapping[str, Any]) -> None:
    """Refuse a folder with results of other settings; ``settings`` may be a subset.

    Raises:
        OutputExistsError: With the differences.
    """
    for path in (out / RESULTS, *sorted(out.glob(f"{JOBS}/*/*.json"))):
        found = with_added_settings(_read(path).get("settings"), settings)
        if found is not None and (others := list(_differences(found, settings))):
            more = f" and {len(others) - SHOWN} other differences" if len(others) > SHOWN else ""
            raise OutputExistsError(
                f"expected the experiment in {out} to have the same settings, found {', '.join(others[:SHOWN])}{more} "
                f"in {path}; choose another --out, which keeps both, or use the settings of that experiment"
            )


def with_added_settings(found: Any, settings: Mapping[str, Any]) -> Any:
    """Settings of a result, with those of training that an earlier version did not record."""
    if not isinstance(found, Mapping) or "training" not in found or "training" not in settings:
        return found
    return {**found, "training": complete_settings(found["training"], settings["training"])}


def _differences(found: Mapping[str, Any], settings: Mapping[str, Any]) -> Iterator[str]:
    """What has changed, by name; of nested settings only those that differ."""
    for name, value in settings.items():
        before = found.get(name)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            missing = dict.fromkeys(before.keys() - value.keys())
            yield from _differences(before, {**value, **missing})
        elif before != value:
            yield f"{name} {short(before)} and not {short(value)}"


def _read(path: Path) -> dict[str, Any]:
    """A result; empty if there is none or it is incomplete."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        return {}
    return content if isinstance(content, dict) else {}
