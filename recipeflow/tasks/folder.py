"""A folder of task sets: the only reader of its rows and its manifest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from recipeflow.errors import DatasetFolderError, UsageError
from recipeflow.tasks.material import SPLITS
from recipeflow.tasks.schema import MANIFEST, TASKS

Row = dict[str, Any]


class TasksFolder:
    """Task sets written by ``vrf tasks``.

    Args:
        path: The folder.

    Raises:
        DatasetFolderError: If it is not such a folder.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not (self.path / MANIFEST).is_file():
            raise DatasetFolderError(
                f"expected a folder written by `vrf tasks`, found no {MANIFEST} in {self.path}; make task sets with "
                "`vrf tasks vrf --out vrf-tasks`"
            )

    @cached_property
    def manifest(self) -> dict[str, Any]:
        try:
            manifest = json.loads((self.path / MANIFEST).read_text(encoding="utf-8"))
            if {"source", "has_images", "configs", "language"} <= manifest.keys():
                return manifest
            found: object = "other keys"
        except (OSError, ValueError, AttributeError) as error:
            found = error
        raise DatasetFolderError(
            f"expected {self.path / MANIFEST} as written by `vrf tasks`, found something else ({found}); make the "
            "task sets again"
        )

    def tasks(self, split: str) -> list[str]:
        """The tasks with questions in a split."""
        if split not in SPLITS:
            raise UsageError(f"expected a split of {', '.join(SPLITS)}, found {split!r}; choose one of them")
        return [task for task, config in self.manifest["configs"].items() if split in config["rows"]]

    def rows(self, task: str, split: str, *, with_pictures: bool = False) -> Iterator[Row]:
        """The rows of a task, a row group at a time; pictures only on request, as cells with their bytes."""
        left_out = () if with_pictures else TASKS[task].picture_columns
        columns = [name for name in TASKS[task].features if name not in left_out]
        path = self.path / task / f"{split}-00000-of-00001.parquet"
        try:
            with pq.ParquetFile(path) as file:
                for group in range(file.num_row_groups):
                    yield from file.read_row_group(group, columns=columns).to_pylist()
        except (OSError, pa.ArrowException) as error:
            raise DatasetFolderError(
                f"expected {path} as written by `vrf tasks`, found that it cannot be read: {error}; make the task "
                "sets again"
            ) from error


def pictures_of(task: str, row: Row) -> list[bytes]:
    """The pictures of a row, in the order of ``<image 1>``, ``<image 2>`` … in its question."""
    cells = [cell for name in TASKS[task].picture_columns for cell in _cells(row[name])]
    return [cell["bytes"] for cell in cells if cell is not None]


def _cells(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
