"""Rows of task sets, with pictures as bytes."""

from pathlib import Path

import pyarrow.parquet as pq

SPLITS = ("train", "validation", "test")
CHOICES = ("state_choice", "action_choice", "same_change", "missing_step")


def rows_of(folder: Path, task: str, splits=SPLITS) -> list[dict]:
    paths = [folder / task / f"{split}-00000-of-00001.parquet" for split in splits]
    return [row for path in paths if path.exists() for row in pq.read_table(path).to_pylist()]


def pictures_of(row: dict) -> list[bytes]:
    """Every picture of a row, in the order of the columns."""
    cells = [cell for value in row.values() for cell in (value if isinstance(value, list) else [value])]
    return [cell["bytes"] for cell in cells if isinstance(cell, dict) and "bytes" in cell]
