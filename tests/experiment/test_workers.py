"""Which GPU each worker process gets; no GPU is needed to see what CUDA would read."""

from functools import partial

import pytest

from recipeflow.experiment.workers import run_in_workers, usable_gpus, worker_environment
from tests.experiment.seeing import report


@pytest.mark.parametrize(
    ("visible", "count", "gpus"),
    [
        (None, 0, []),
        (None, 2, ["0", "1"]),
        ("", 0, []),
        ("-1", 0, []),
        ("2,3", 2, ["2", "3"]),
        ("3, 1", 2, ["3", "1"]),
        ("1,-1,0", 1, ["1"]),  # CUDA stops at the first one that does not exist
        ("GPU-8f2a,GPU-11bc", 2, ["GPU-8f2a", "GPU-11bc"]),
        ("MIG-8f2a,MIG-11bc", 1, ["MIG-8f2a", "MIG-11bc"]),  # CUDA shows one part to each process
    ],
)
def test_the_users_own_list_is_respected(visible, count, gpus):
    assert usable_gpus(visible, count) == gpus


def test_more_workers_than_gpus_share_them():
    found = [worker_environment(number, ["2", "GPU-8f2a"]) for number in range(4)]
    assert [environment["CUDA_VISIBLE_DEVICES"] for environment in found] == ["2", "GPU-8f2a", "2", "GPU-8f2a"]
    assert worker_environment(3, []) == {}


def test_a_worker_sees_its_gpu_before_torch_is_imported(tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,7")
    gpus = usable_gpus("5,7", 2)
    found = dict(run_in_workers(partial(report, tmp_path, 2), range(4), workers=2, gpus=gpus))
    assert sorted(found) == [0, 1, 2, 3] and all(seen["item"] == item for item, seen in found.items())
    assert not any(seen["torch"] for seen in found.values())
    by_process = {seen["process"]: seen["visible"] for seen in found.values()}
    assert sorted(by_process.values()) == ["5", "7"], "one GPU each"
    for path in tmp_path.iterdir():
        path.unlink()
    without = dict(run_in_workers(partial(report, tmp_path, 1), [0], workers=1))
    assert without[0]["visible"] == "5,7", "without a GPU nothing is changed"
