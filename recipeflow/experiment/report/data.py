"""The data of an experiment's report: its results, the files of its jobs, and rows of its dataset."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from recipeflow.dataset.folder import PAIRS, RECIPES, DatasetFolder
from recipeflow.dataset.folds import split_folds
from recipeflow.dataset.frames import image_bytes
from recipeflow.errors import DatasetFolderError, ReportError
from recipeflow.experiment.answers import Answers, answers_file, job_file, read_answers
from recipeflow.experiment.folder import with_added_settings
from recipeflow.experiment.results import RESULTS, Results

COLUMNS = ("recipe_id", "fold", "action", "object", "pre_frame", "post_frame")
WITHOUT = ("object_tag", "instruction")
"""Optional columns; null if missing."""
SIDES = {"pre": "pre_image", "post": "post_image"}


@dataclass(frozen=True)
class JobResult:
    """One fold of one row of the table.

    Args:
        fold: The fold.
        figures: The job's file: ``ranks``, ``rows``, ``history``, ``metrics``.
        answers: Of its queries; ``None`` for random search and for jobs of earlier versions.
    """

    fold: int
    figures: Mapping[str, Any]
    answers: Answers | None

    @property
    def ranks(self) -> np.ndarray:
        """The rank of each query's own image."""
        return np.array(self.figures["ranks"])

    @property
    def rows(self) -> np.ndarray:
        """For each query, its row of ``image_pairs``."""
        return np.array(self.figures["rows"])


@dataclass(frozen=True)
class RowResult:
    """A row of the table, ``about`` as ``results.json`` has it, with its jobs in the order of their folds."""

    about: Mapping[str, Any]
    jobs: list[JobResult]

    @property
    def title(self) -> str:
        return self.about["title"]

    @property
    def folds(self) -> list[Mapping[str, Any]]:
        return [job.figures for job in self.jobs]

    @property
    def has_answers(self) -> bool:
        """Whether every job saved its answers."""
        return all(job.answers is not None for job in self.jobs)


@dataclass(frozen=True)
class ExperimentData:
    """An experiment's results and its rows."""

    results: Results
    rows: list[RowResult]

    @property
    def trained(self) -> list[RowResult]:
        """The rows that have a model, those with the most inputs last."""
        return sorted((row for row in self.rows if row.about["inputs"]), key=lambda row: len(row.about["inputs"]))


def read_experiment(folder: Path) -> ExperimentData:
    """Read an experiment's folder.

    Raises:
        ReportError: If there are no results, or some of their jobs are missing.
    """
    results = _read_json(folder / RESULTS, "run `vrf experiment VRF --out` with this folder first")
    try:
        rows = [
            RowResult(about, [_read_job(folder, about, int(fold), results) for fold in about["folds"]])
            for about in results["rows"]
        ]
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ReportError(
            f"expected the results of `vrf experiment` in {folder / RESULTS}, found something else ({error!r}); pass "
            "the folder of an experiment, or run it again"
        ) from error
    return ExperimentData(results, rows)


def _read_job(folder: Path, about: Mapping[str, Any], fold: int, results: Results) -> JobResult:
    path = folder / job_file(about["name"], fold)
    figures = _read_json(path, "run the same `vrf experiment` again: it runs only what is missing")
    if with_added_settings(figures.get("settings"), results["settings"]) != results["settings"]:
        raise ReportError(
            f"expected {path} to have the settings of {RESULTS}, found others; run `vrf experiment` again with one "
            "set of settings, which writes both"
        )
    digest = figures.get("answers_sha256")
    return JobResult(fold, figures, digest and read_answers(folder / answers_file(about["name"], fold), digest))


def _read_json(path: Path, advice: str) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ReportError(f"expected a file of an experiment at {path}, found: {error}; {advice}") from error


class DatasetRows:
    """Rows of a built dataset: their words at once, their images on demand.

    Args:
        folder: A dataset folder.

    Raises:
        DatasetFolderError: If it is not a dataset.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tables = DatasetFolder(folder)
        try:
            known = self.tables.schema().names
        except DatasetFolderError as error:
            advice = "name the dataset that the experiment was run on with --dataset"
            raise DatasetFolderError(f"{error}; {advice}") from error
        self.columns = self.tables.columns(PAIRS, [*COLUMNS, *(name for name in WITHOUT if name in known)])
        self.columns |= {name: [None] * len(self) for name in WITHOUT if name not in known}
        tags = list(self.tables.info.scheme.tags)
        numbers = self.columns["object_tag"]
        self.columns["object_tag"] = [None if number is None else tags[number] for number in numbers]

    def __len__(self) -> int:
        return len(self.columns["fold"])

    def __getitem__(self, row: int) -> dict[str, Any]:
        found = {name: values[row] for name, values in self.columns.items()}
        return found | {"title": self.titles.get(found["recipe_id"])}

    @cached_property
    def titles(self) -> dict[str, str | None]:
        """The recipes' titles by id, as far as they have one."""
        if not self.tables.has(RECIPES):
            return {}
        return dict(zip(*self.tables.columns(RECIPES, ["recipe_id", "title"]).values(), strict=True))

    def check_experiment(self, data: ExperimentData) -> None:
        """Make sure that the experiment was run on this dataset, as far as its rows show.

        Raises:
            ReportError: If a query is not a row of its fold with a post-action image.
        """
        advice = "pass the dataset that the experiment was run on with --dataset"
        if data.results["all_rows"] != len(self):
            raise ReportError(
                f"expected the {data.results['all_rows']} rows of image_pairs that the experiment was run on, found "
                f"{len(self)} in {self.folder}; {advice}"
            )
        inner = data.results["settings"].get("inner", False)
        for job in (job for row in data.rows for job in row.jobs):
            (tested,) = split_folds(job.fold, inner)[1]
            for number in job.rows.tolist():
                if self.columns["fold"][number] != tested or self.columns["post_frame"][number] is None:
                    raise ReportError(
                        f"expected row {number} of {self.folder} in fold {tested} with a post-action image, as in "
                        f"the experiment, found it different; {advice}"
                    )

    def images(self, wanted: Iterable[tuple[int, str]]) -> dict[tuple[int, str], bytes]:
        """The encoded images of some rows, each ``(row, "pre" or "post")``; those that are null are left out.

        Only row groups with some of them are read, one at a time.
        """
        places = sorted(set(wanted))
        found, first = {}, 0
        for path, group, size in self.tables.groups():
            here = [(row, side) for row, side in places if first <= row < first + size]
            if here:
                _, _, table = next(self.tables.row_groups(PAIRS, list(SIDES.values()), [(path, group)]))
                for row, side in here:
                    data = image_bytes(table[SIDES[side]], path, first)[row - first].as_py()
                    found |= {(row, side): data} if data is not None else {}
            first += size
        return found
