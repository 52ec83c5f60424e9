"""Make the task sets of a dataset: a second dataset repository with one config per task.

::

    vrf-tasks/README.md   vrf_tasks.json   eval.yaml   <task>/{train,validation,test}-00000-of-00001.parquet

Rows are written while they are made, so that memory does not grow with their number.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import recipeflow
from recipeflow.dataset.folder import DatasetFolder
from recipeflow.dataset.folds import FOLDS
from recipeflow.errors import NoQuestionsError, UsageError
from recipeflow.files import StagedFolder, write_json
from recipeflow.progress import ProgressDisplay
from recipeflow.tables import Table
from recipeflow.tasks import graph_tasks, picture_tasks, text_tasks
from recipeflow.tasks.card import make_card
from recipeflow.tasks.frames import FrameStore
from recipeflow.tasks.harness import write_harness_files
from recipeflow.tasks.material import SPLITS, Material, read_material
from recipeflow.tasks.schema import MANIFEST, TASKS
from recipeflow.tasks.split import Split

Row = dict[str, Any]
WORK = ".work"
GROUP_BYTES = 8_000_000
"""Pictures per row group of a Parquet file: what is in memory at once, here and in a reader."""

MAKERS: dict[str, Callable[[Split, FrameStore], Iterator[Row]]] = {
    "state_choice": picture_tasks.state_choice,
    "action_choice": picture_tasks.action_choice,
    "state_order": picture_tasks.state_order,
    "same_change": picture_tasks.same_change,
    "dependency": graph_tasks.dependency,
    "ingredient_trace": graph_tasks.ingredient_trace,
    "missing_step": text_tasks.missing_step,
    "instruction_writing": text_tasks.instruction_writing,
}


@dataclass(frozen=True)
class TaskSets:
    """What was made: the folder and its manifest."""

    folder: Path
    manifest: dict[str, Any]

    def table(self) -> Table:
        """Questions per task and split."""
        configs = self.manifest["configs"].items()
        rows = [(name, *(row["rows"].get(split, 0) for split in SPLITS), row["bytes"]) for name, row in configs]
        return Table(str(self.folder), ("task", *SPLITS, "bytes"), rows)

    def left_out(self) -> list[str]:
        """Every task and split without questions, with the reason."""
        return [f"{name}: {reason}" for name, reason in self.manifest["left_out"].items()]


def make_tasks(
    dataset: str | Path, out: str | Path, *, seed: int = 0, test_fold: int = 0, overwrite: bool = False
) -> TaskSets:
    """Write the task sets of a built dataset into a folder, which appears when it is complete.

    Args:
        dataset: A folder written by ``vrf build``.
        out: The folder to write.
        seed: The same seed gives the same questions.
        test_fold: The fold that becomes ``test``; the next one is ``validation``.
        overwrite: Replace earlier task sets.

    Raises:
        NoQuestionsError: If not a single question can be made.
    """
    dataset, out = Path(dataset), Path(out)
    if not 0 <= test_fold < FOLDS:
        raise UsageError(f"expected a fold from 0 to {FOLDS - 1}, found {test_fold}")
    if dataset.resolve().is_relative_to(out.resolve()):
        raise UsageError(f"expected an output outside the dataset, found {dataset} inside {out}; choose another --out")
    with StagedFolder(out, MANIFEST, overwrite) as folder:
        (folder / WORK).mkdir()
        with closing(FrameStore(folder / WORK / "frames")) as store:
            materials = list(read_material(dataset, store, test_fold))
            rows = _write_all(folder, materials, store, seed)
        shutil.rmtree(folder / WORK)
        manifest = _manifest(dataset, folder, rows, materials, seed, test_fold)
        write_json(folder / MANIFEST, manifest)
        write_harness_files(folder, out.resolve().name, list(manifest["configs"]))
        make_card(out.resolve().name, manifest, DatasetFolder(dataset).info).save(folder / "README.md")
    return TaskSets(out, manifest)


def _write_all(folder: Path, materials: list[Material], store: FrameStore, seed: int) -> dict[str, dict[str, int]]:
    """Write every task and split that has questions; the number of rows of each."""
    splits = [Split(name, tuple(m for m in materials if m.split == name), seed) for name in SPLITS]
    rows: dict[str, dict[str, int]] = {task: {} for task in TASKS}
    with ProgressDisplay("making questions", len(TASKS) * len(splits)) as display:
        for task, make in MAKERS.items():
            for split in splits:
                path = folder / task / f"{split.name}-00000-of-00001.parquet"
                rows[task][split.name] = write_rows(path, TASKS[task].features.arrow_schema, make(split, store))
                display.advance()
    return rows


def write_rows(path: Path, schema: pa.Schema, rows: Iterator[Row]) -> int:
    """Write rows as they come, a row group at a time; no file without rows, which `datasets` could not read."""
    count, held, size = 0, [], 0
    writer: pq.ParquetWriter | None = None
    try:
        for row in rows:
            held.append(row)
            size += _size(row)
            if size >= GROUP_BYTES:
                writer = writer or _open(path, schema)
                writer.write_table(pa.Table.from_pylist(held, schema))
                count, held, size = count + len(held), [], 0
        if held:
            writer = writer or _open(path, schema)
            writer.write_table(pa.Table.from_pylist(held, schema))
    finally:
        if writer is not None:
            writer.close()
    return count + len(held)


def _open(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    path.parent.mkdir(exist_ok=True)
    return pq.ParquetWriter(path, schema)


def _size(row: Row) -> int:
    """About how many bytes a row takes: its pictures, and something for the rest."""
    cells = [cell for value in row.values() for cell in (value if isinstance(value, list) else [value])]
    return 2_000 + sum(len(cell["bytes"]) for cell in cells if isinstance(cell, dict) and "bytes" in cell)


def _manifest(
    dataset: Path,
    folder: Path,
    rows: dict[str, dict[str, int]],
    materials: list[Material],
    seed: int,
    test_fold: int,
) -> dict[str, Any]:
    source = DatasetFolder(dataset)
    left_out = {
        task if not any(counts.values()) else f"{task}, {split}": reason
        for task, counts in rows.items()
        for split, count in counts.items()
        if count == 0 and (reason := _reason(task, split, materials))
    }
    made = {task: counts for task, counts in rows.items() if any(counts.values())}
    if not made:
        reasons = "; ".join(f"{task}: {reason}" for task, reason in left_out.items())
        raise NoQuestionsError(f"expected a dataset to make questions of, found none in {dataset}: {reasons}")
    return {
        "builder": f"recipeflow {recipeflow.__version__}",
        "source": source.source,
        "language": source.info.scheme.language,
        "license": source.info.licence,
        "seed": seed,
        "test_fold": test_fold,
        "recipes": dict(Counter(material.split for material in materials)),
        "has_images": any(moment.after or moment.before for m in materials for moment in m.moments),
        "captioned_frames": _captioned(materials),
        "configs": {
            task: {
                "rows": {split: count for split, count in counts.items() if count},
                "bytes": sum(path.stat().st_size for path in (folder / task).iterdir()),
            }
            for task, counts in made.items()
        },
        "left_out": left_out,
    }


def _captioned(materials: list[Material]) -> int | None:
    """How many frames are in no question, because their caption names what is asked; ``None`` if that is not known."""
    counts = [material.captioned for material in materials]
    return None if None in counts else sum(count or 0 for count in counts)


def _reason(task: str, split: str, materials: list[Material]) -> str:
    """Why a task has no question in a split: the first thing that is missing, in the whole dataset or there."""
    has_text = any(material.has_text for material in materials)
    moments = [moment for material in materials for moment in material.moments]
    here = [material for material in materials if material.split == split]
    if not has_text:
        return "the dataset has no text"
    if TASKS[task].needs.startswith("text and image") or task == "state_order":
        if not moments:
            return "the dataset has no image pairs"
        if not any(moment.is_complete for moment in moments):
            return "the dataset has no object with a picture before and another one after"
    if not here:
        return f"no recipe is in the fold of {split}: the dataset has {len(materials)}"
    if task == "state_order":
        return "no ingredient has four different pictures there"
    if TASKS[task].answered_by in ("choice", "joint"):
        return f"no five candidates differ enough there, in {len(here)} recipes"
    return "no recipe there has what it asks about"
