"""A machine that does not fit the first one is refused by name before any work, by the commands that are launched."""

import shutil
import socket
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import timm
import torch

from tests.building import all_files
from tests.model_helpers import BACKBONE
from tests.parser.reading import few_recipes
from tests.search.searching import Table, make_table
from tests.training.launching import run_vrf

HOST = socket.gethostname()


@pytest.fixture(scope="module")
def table(tmp_path_factory) -> Table:
    return make_table(tmp_path_factory.mktemp("first"), recipes=2)


@pytest.fixture(scope="module")
def other(table, tmp_path_factory) -> Table:
    """Another machine's files: a dataset without the last row, and a network with other weights."""
    folder = tmp_path_factory.mktemp("other")
    shutil.copytree(table.folder, folder / "vrf")
    (path,) = (folder / "vrf" / "image_pairs").glob("*.parquet")
    rows = pq.read_table(path)
    pq.write_table(rows.slice(0, len(rows) - 1), path)
    torch.manual_seed(6)
    torch.save(timm.create_model(BACKBONE).state_dict(), folder / "backbone.pth")
    return Table(folder / "vrf", folder / "backbone.pth")


def command(name: str, dataset: Path, weights: Path, cache: Path, *options: object) -> list[object]:
    return [name, dataset, "--backbone", BACKBONE, "--weights", weights, "--cache", cache, *options]


def train(folder: Path, *files: Path) -> list[object]:
    return command("train", *files, "--out", folder / "run", "--recipes-per-batch", 2)


def assert_refused(commands: list[list[object]], *found: str, versions: tuple[str | None, ...] = (None, None)) -> str:
    """Both machines name the second one, and what is different there."""
    ended = run_vrf(*commands, versions=versions)
    assert ended.codes == [1, 1], ended.stderr
    for printed in ended.printed:
        assert "LaunchError: expected" in printed and "Traceback" not in printed
        for part in found:
            assert part in printed
    return ended.stderr


def test_other_weights_and_another_version_of_the_code(table, other, tmp_path):
    cache = tmp_path / "cache"
    found = f"process 1 on {HOST} has code '9.9", f"process 1 on {HOST} has weights 'backbone.pth, SHA-256 "
    for start in (lambda *files: train(tmp_path, *files), lambda *files: command("features", *files)):
        commands = [start(table.folder, source.weights, cache) for source in (table, other)]
        printed = assert_refused(commands, *found, versions=(None, "9.9"))
        assert printed.count("imported for nothing: []") == 2
    assert all_files(tmp_path) == {}, "nothing was begun"


def test_another_dataset(table, other, tmp_path):
    cache = tmp_path / "cache"
    datasets = table.folder, other.folder
    assert_refused(
        [train(tmp_path, dataset, table.weights, cache) for dataset in datasets], f"process 1 on {HOST} has dataset '"
    )
    assert_refused(
        [command("features", dataset, table.weights, cache) for dataset in datasets],
        f"process 1 on {HOST} has image_pairs/train-00000-of-00001.parquet ",
    )
    assert not list(cache.rglob("*.rows")), "no feature was computed"


def test_another_release_for_a_parser(tmp_path):
    """It may have other words, and so a network of another size."""
    releases = [few_recipes(tmp_path / str(count), count) for count in (12, 2)]
    commands = [["parser", "train", release, "--out", tmp_path / "run"] for release in releases]
    assert_refused(commands, f"process 1 on {HOST} has release '")
    assert all_files(tmp_path / "run") == {}, "nothing was begun"


def test_a_cache_that_is_not_shared(table, tmp_path):
    """Fine-tuning needs no features, but the rows are there, too."""
    caches = [tmp_path / f"cache-{rank}" for rank in (0, 1)]
    commands = [[*train(tmp_path, table.folder, table.weights, cache), "--finetune"] for cache in caches]
    assert_refused(commands, f"is not seen by process 1 on {HOST}; pass a folder of a shared file system with --cache")
    assert not any(all_files(cache) for cache in caches), "nothing was begun"
