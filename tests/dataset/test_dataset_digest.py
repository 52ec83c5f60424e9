"""One number for what a dataset holds, whatever its files are called and where they lie."""

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from recipeflow.dataset import digest as digest_module
from recipeflow.dataset.build import build_dataset
from recipeflow.dataset.digest import compute_digest, dataset_digest
from recipeflow.dataset.folder import MANIFEST, DatasetFolder
from recipeflow.errors import DatasetFolderError


@pytest.fixture
def dataset(release, tmp_path) -> Path:
    build_dataset(release, tmp_path / "vrf")
    return tmp_path / "vrf"


def rewrite(folder: Path, config: str, change) -> None:
    (path,) = (folder / config).glob("*.parquet")
    rows = pq.read_table(path)
    content = rows.to_pylist()
    change(content)
    pq.write_table(type(rows).from_pylist(content, rows.schema), path)


def test_the_same_content_is_the_same_wherever_it_lies(dataset, release, tmp_path):
    build_dataset(release, tmp_path / "again")
    rewrite(tmp_path / "again", "image_pairs", lambda rows: None)
    moved = shutil.copytree(dataset, tmp_path / "elsewhere")
    (moved / "README.md").write_text("another card")
    assert dataset_digest(dataset) == dataset_digest(tmp_path / "again") == dataset_digest(moved)


CHANGES = {
    "a fold": ("image_pairs", lambda rows: rows[0].update(fold=(rows[0]["fold"] + 1) % 10)),
    "an image": ("image_pairs", lambda rows: _other_image(rows)),
    "a row less": ("image_pairs", lambda rows: rows.pop()),
    "a word": ("recipes", lambda rows: rows[0]["instructions"][0]["tokens"].__setitem__(0, "別")),
    "a flow": ("flow_graphs", lambda rows: rows[0]["edges"].pop()),
}


def _other_image(rows: list[dict]) -> None:
    row = next(row for row in rows if row["post_image"])
    row["post_image"] = row["post_image"] | {"bytes": b"another"}


@pytest.mark.parametrize("name", CHANGES)
def test_every_change_of_what_training_reads_changes_it(dataset, name):
    before = dataset_digest(dataset)
    rewrite(dataset, *CHANGES[name])
    assert dataset_digest(dataset) != before


def test_what_is_no_dataset_is_reported(tmp_path):
    with pytest.raises(DatasetFolderError, match="vrf build"):
        dataset_digest(tmp_path)


def test_a_build_records_it_so_that_no_image_is_read_again(dataset, monkeypatch):
    recorded = json.loads((dataset / MANIFEST).read_text())["content"]["digest"]
    assert recorded == compute_digest(DatasetFolder(dataset))
    monkeypatch.setattr(digest_module, "index_frames", lambda folder: pytest.fail("an image was read"))
    assert dataset_digest(dataset) == recorded


def test_an_older_build_has_the_same(dataset):
    recorded = dataset_digest(dataset)
    manifest = json.loads((dataset / MANIFEST).read_text())
    del manifest["content"]
    (dataset / MANIFEST).write_text(json.dumps(manifest))
    assert dataset_digest(dataset) == recorded
