"""What the tests of the report share: a small experiment that was really run, and changes to a dataset."""

import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from recipeflow.experiment.jobs import Experiment, run_experiment
from recipeflow.training.settings import PRESETS
from tests.model_helpers import BACKBONE
from tests.search.searching import make_table

EVIL = "<script>document.title='ran'</script><img src=x onerror=\"document.title='ran'\">"


@dataclass
class Reported:
    """An experiment's folder and the dataset that it was run on."""

    folder: Path
    dataset: Path

    def copy(self, target: Path) -> Path:
        """The experiment once more, free to be damaged."""
        shutil.copytree(self.folder, target)
        return target


def make_experiment(folder: Path, rows=("random", "text", "both"), folds=(0, 1)) -> Reported:
    """One epoch over timm's network for tests: real files in a few seconds."""
    table = make_table(folder, recipes=8)
    config = replace(PRESETS["fast"], epochs=1)
    experiment = Experiment(str(table.folder), BACKBONE, str(table.weights), str(table.cache), "fast", config)
    run_experiment(experiment, folder / "experiment", rows, folds, workers=1)
    return Reported(folder / "experiment", table.folder)


def change_columns(dataset: Path, target: Path, config: str, **values) -> Path:
    """A copy of a dataset with other values in some columns of a config; a value goes into every row that has one."""
    if not target.exists():
        shutil.copytree(dataset, target)
    (path,) = (target / config).glob("*.parquet")
    table = pq.read_table(path)
    for name, value in values.items():
        field = table.schema.field(name)
        column = [None if old is None else value for old in table[name].to_pylist()]
        table = table.set_column(table.schema.get_field_index(name), field, pa.array(column, field.type))
    pq.write_table(table, path, row_group_size=16)
    return target
