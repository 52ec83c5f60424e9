"""Rows in files that all processes map: the same rows as from the dataset, checked, and without them the same too."""

import json
import shutil
from pathlib import Path

import pytest
import torch

from recipeflow.dataset.build import build_dataset
from recipeflow.dataset.folder import MANIFEST
from recipeflow.errors import SaveError, UsageError
from recipeflow.features.pixels import FramePixels
from recipeflow.kitchen import cook_release
from recipeflow.pairs.loading import Pairs, load_pairs
from recipeflow.pairs.mapped import ROWS, MappedRows, open_pairs


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rows")
    cook_release(folder / "kitchen", recipes=4, seed=5, used_only=True, workers=1)
    build_dataset(folder / "kitchen", folder / "vrf")
    return folder / "vrf"


@pytest.fixture(scope="module")
def images(dataset: Path) -> FramePixels:
    return FramePixels.open(dataset, "test_resnet", workers=0)


@pytest.fixture(scope="module")
def expected(dataset: Path, images: FramePixels) -> Pairs:
    return load_pairs(dataset, images)


def same(one: Pairs, other: Pairs) -> bool:
    """Whether two sets of rows are equal in everything."""
    columns = all(
        tuple(getattr(one, name)) == tuple(getattr(other, name)) for name in ("actions", "objects", "contexts")
    )
    numbers = all(torch.equal(getattr(one, name), getattr(other, name)) for name in ("recipes", "folds", "seen"))
    return columns and numbers and (one.digest(), one.context_digest()) == (other.digest(), other.context_digest())


def file_of(cache: Path, name: str) -> Path:
    """One of the files of the only rows in a cache."""
    (found,) = cache.glob(f"{ROWS}/*/{name}")
    return found


def test_mapped_rows_are_those_of_the_dataset_and_are_prepared_once(dataset, images, expected, tmp_path, monkeypatch):
    assert same(open_pairs(dataset, images, tmp_path), expected)
    monkeypatch.setattr("recipeflow.pairs.mapped.load_pairs", None)  # whoever prepares them again fails
    again = open_pairs(dataset, images, tmp_path)
    assert same(again, expected)
    mapped = [again.actions.codes, again.contexts.words, again.images.index.post]
    assert not any(column.flags.owndata for column in mapped), "in memory, not mapped"


@pytest.mark.parametrize("name", ["context_words.npy", "rows.json", "seen.npy"])
@pytest.mark.parametrize("damage", ["changed", "cut", "removed"])
def test_damaged_files_are_prepared_again(dataset, images, expected, tmp_path, name, damage):
    open_pairs(dataset, images, tmp_path)
    path = file_of(tmp_path, name)
    content = bytearray(path.read_bytes())
    if damage == "removed":
        path.unlink()
    elif damage == "cut":
        path.write_bytes(content[: len(content) // 2])
    else:
        content[-3] ^= 1
        path.write_bytes(content)
    assert same(open_pairs(dataset, images, tmp_path), expected)
    assert file_of(tmp_path, name).stat().st_size


def test_without_room_the_rows_are_in_memory_and_a_line_says_so(dataset, images, expected, tmp_path, monkeypatch):
    def refuse(*_: object) -> None:
        raise SaveError("no space left")

    monkeypatch.setattr(MappedRows, "write", refuse)
    lines: list[str] = []
    assert same(open_pairs(dataset, images, tmp_path, announce=lines.append), expected)
    assert lines == ["no file of the rows to share between processes, each one has them in memory: no space left"]
    assert not list(tmp_path.iterdir())


def test_an_unwritable_folder_is_no_reason_to_fail(dataset, images, expected, tmp_path):
    (tmp_path / "cache").write_text("a file where the folder should be", encoding="utf-8")
    lines: list[str] = []
    assert same(open_pairs(dataset, images, tmp_path / "cache", announce=lines.append), expected)
    assert len(lines) == 1


def test_rows_of_another_dataset_or_other_meanings_of_its_numbers_are_not_taken(dataset, images, tmp_path):
    cache, folder = tmp_path / "cache", shutil.copytree(dataset, tmp_path / "vrf")
    names = {MappedRows.of(folder, digest, cache).folder for digest in ("one", "other")}
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    manifest["release"]["labels"] = {"Agent": "who does it", "Targ": "what it is done to"}
    (folder / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    names |= {MappedRows.of(folder, "one", cache).folder}
    assert len(names) == 3
    fewer = FramePixels(
        images.dataset, images.backbone, type(images.index)(**{**vars(images.index), "post": images.index.post[:-1]})
    )
    open_pairs(dataset, images, cache)
    with pytest.raises(UsageError, match=r"found .* rows; compute them for this dataset"):
        open_pairs(dataset, fewer, cache)


def test_a_dataset_whose_digest_is_out_of_date_is_read_by_every_process(dataset, images, expected, tmp_path):
    folder = shutil.copytree(dataset, tmp_path / "vrf")
    (folder / MANIFEST).touch()
    assert same(open_pairs(folder, images, tmp_path / "one"), expected) and (tmp_path / "one").exists()
    next((folder / "image_pairs").glob("*.parquet")).touch()
    assert same(open_pairs(folder, images, tmp_path / "other"), expected) and not (tmp_path / "other").exists()
    assert same(open_pairs(folder, images, tmp_path / "other", digest="known"), expected)
    assert (tmp_path / "other").exists()
