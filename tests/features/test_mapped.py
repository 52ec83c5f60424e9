"""Features in one file per host: what a process maps is not in its own memory, and is on a GPU once."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
import torch

from recipeflow.dataset.frames import DIGEST
from recipeflow.errors import SaveError
from recipeflow.features import rows as rows_module
from recipeflow.features.cache import CacheKey, FeatureCache
from recipeflow.features.mapped import ABOUT, MappedTable, read_table
from recipeflow.features.rows import FeatureRows
from recipeflow.training.runs import prepare_run
from recipeflow.training.settings import TrainingConfig
from tests.features.test_features import compute, picture, save_weights, write_pairs
from tests.pairs.pairing import OFFLINE, SMALL, make_pairs

FRAMES, WIDTH = 8000, 2048


def make_cache(folder: Path, frames: int, width: int) -> tuple[FeatureCache, np.ndarray, torch.Tensor]:
    """A cache with features in two files, the digests of its frames in another order, and the features in that."""
    digests = [hashlib.sha256(bytes([number % 256, number // 256])).digest() for number in range(frames)]
    features = torch.randn(frames, width, generator=torch.Generator().manual_seed(0))
    cache = FeatureCache(folder, CacheKey("tiny", "made up", "fp32", {}))
    cache.begin(width, "made up")
    for part in (slice(0, frames // 3), slice(frames // 3, None)):
        with cache.writer() as writer:
            writer.add(digests[part], features[part])
    order = torch.randperm(frames, generator=torch.Generator().manual_seed(1))
    shuffled = np.frombuffer(b"".join(digests[number] for number in order), DIGEST)
    return cache, shuffled, features[order]


def own_memory() -> int:
    """MB of this process that are not a mapped file."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) // 1024


def test_a_table_has_the_rows_of_all_files_in_the_order_of_the_frames(tmp_path):
    cache, digests, expected = make_cache(tmp_path, 50, 6)
    found = cache.look_up(digests)
    table = MappedTable.of([cache], digests)
    assert not table.is_current()
    table.write([cache], [found])
    assert table.is_current() and torch.equal(table.open(), expected[None])
    assert torch.equal(read_table([cache], [found]), expected[None])
    assert not MappedTable.of([cache], digests[::-1].copy()).is_current()
    next(cache.folder.glob("*.rows")).touch()
    assert not table.is_current(), "a file that was written since may have other features"
    (table.folder / ABOUT).unlink()  # as a deletion that was interrupted leaves it
    table.write([cache], [found])
    assert table.is_current() and torch.equal(table.open(), expected[None])


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux to measure memory")
def test_a_process_has_only_the_rows_that_it_reads(tmp_path):
    cache, digests, expected = make_cache(tmp_path, FRAMES, WIDTH)
    table = MappedTable.of([cache], digests)
    wanted = torch.arange(0, FRAMES, 100)
    expected = expected[wanted].clone()
    before = own_memory()
    table.write([cache], [cache.look_up(digests)])
    found = FeatureRows(table.open()).look(wanted)
    grown = own_memory() - before
    assert torch.equal(found, expected)
    assert grown < 45, f"the table of 62 MB is in the memory of the process, which grew by {grown} MB"


def test_without_room_for_a_table_the_features_are_read_and_a_line_says_so(tmp_path, monkeypatch):
    weights = save_weights(tmp_path / "tiny.pth")
    images = [picture(number) for number in range(4)]
    dataset = write_pairs(tmp_path / "vrf", images[:2], images[2:])
    expected = compute(dataset, weights, tmp_path / "cache")

    def refuse(*_: object) -> None:
        raise SaveError("no space left")

    monkeypatch.setattr(MappedTable, "is_current", lambda table: False)
    monkeypatch.setattr(MappedTable, "write", refuse)
    lines: list[str] = []
    found = compute(dataset, weights, tmp_path / "cache", announce=lines.append)
    assert torch.equal(found.views, expected.views)
    assert any("into memory: no space left" in line for line in lines)


def test_training_and_evaluation_share_one_copy_on_an_accelerator(monkeypatch):
    """On torch's device without numbers, in place of a GPU."""
    pairs = make_pairs()
    run = prepare_run(pairs, TrainingConfig(), 0, **OFFLINE, **SMALL)
    rows = run.train_data.images
    assert rows is run.eval_data.queries.images
    meta = torch.device("meta")
    monkeypatch.setattr(rows_module, "free_memory", lambda device: 3 * rows.views.nbytes)
    assert rows.look(torch.arange(3), meta).device == meta
    assert rows.placed == {meta: None}, "a table of more than a quarter of the memory stays on the host"
    rows.placed.clear()
    monkeypatch.setattr(rows_module, "free_memory", lambda device: 4 * rows.views.nbytes)
    for source in (run.train_data.images, run.eval_data.queries.images):
        assert source.look(torch.arange(3), meta, seed=1).shape == (3, rows.width)
    assert [place for place, table in rows.placed.items() if table is not None] == [meta]
