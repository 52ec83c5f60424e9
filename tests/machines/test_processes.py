"""Processes of two machines that wait for each other, or should not work together: real ones, with gloo on the CPU."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import recipeflow
from recipeflow.errors import UsageError
from recipeflow.machines.code_version import code_version
from recipeflow.machines.processes import STEP_LIMIT, step_limit

SCRIPT = Path(__file__).with_name("processes_script.py")
HOST = socket.gethostname()


def start_two(folder: Path, limit: float) -> list[subprocess.Popen]:
    """Start the script as two machines with one process each, without a launcher that would end one with the other."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    common = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "1"}
    common |= {"LOCAL_RANK": "0", "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1", STEP_LIMIT: str(limit)}
    common |= {"PYTHONPATH": str(SCRIPT.parents[2])}
    command = [sys.executable, str(SCRIPT), str(folder)]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return [subprocess.Popen(command, env=os.environ | common | {"RANK": str(rank)}, **streams) for rank in (0, 1)]


@pytest.fixture(scope="module")
def told(tmp_path_factory) -> list[dict[str, str]]:
    """What either process has to say on each task; the second one dies in the last."""
    folder = tmp_path_factory.mktemp("machines")
    processes = start_two(folder, limit=3)  # a busy machine may need one or two for what takes no time
    results = [process.communicate(timeout=300) for process in processes]
    assert [process.returncode for process in processes] == [0, -9], results[0][1][-3000:]
    assert not list(folder.glob("**/*.joining"))
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in (0, 1)]


def test_work_of_one_process_may_take_longer_than_a_step_may_wait(told):
    assert [lines["main decides"] for lines in told] == ["no error: 'of 0'"] * 2
    assert [lines["all work"] for lines in told] == ["no error: 'of 0'", "no error: 'of 1'"]


def test_a_step_may_not_wait_longer(told):
    """Or the test above would show nothing."""
    assert told[0]["limit"].startswith("no error: 'gave up: ") and "3000ms" in told[0]["limit"]


def test_an_error_of_one_process_ends_all_of_them(told):
    assert [lines["main fails"] for lines in told] == [
        "UsageError: expected space on the disk of process 0, found none"
    ] * 2
    error = "expected space on the disk of process 1, found none"
    assert [lines["other fails"] for lines in told] == [
        f"LaunchError: process 1 on {HOST}: UsageError: {error}",
        f"UsageError: {error}",
    ]


def test_a_machine_with_another_dataset_is_named_everywhere(told):
    assert [lines["same"] for lines in told] == ["no error: {'dataset': 'abc'}"] * 2
    expected = (
        "LaunchError: expected the same on all machines, found differences: process 1 on HOST has dataset 'bc', "
        "process 0 on HOST has 'abc'. Use the same checkout, dataset, weights and options everywhere"
    )
    assert [lines["another dataset"] for lines in told] == [expected.replace("HOST", HOST)] * 2


def test_a_folder_that_is_not_shared_is_named_everywhere(told):
    assert [lines["shared"] for lines in told] == ["no error: None"] * 2
    for rank, lines in enumerate(told):
        assert lines["not shared"].endswith(
            f"machine-{rank} to be one folder that all processes share, found that what process 0 on {HOST} "
            f"wrote there is not seen by process 1 on {HOST}; pass a folder of a shared file system with --cache"
        )


def test_a_process_that_dies_is_named_and_nobody_waits_for_it(told):
    assert told[0]["death"].startswith(
        f"LaunchError: expected a sign of life from process 1 on {HOST}, found none for 5 seconds; its error, if"
    )
    assert "death" not in told[1]


@pytest.mark.parametrize("value", ["soon", "0", "-5", "inf", "nan"])
def test_a_limit_is_a_number_of_seconds(value, monkeypatch):
    monkeypatch.setenv(STEP_LIMIT, value)
    with pytest.raises(UsageError, match=f"expected a number of seconds in {STEP_LIMIT}, found '{value}'"):
        step_limit()


def test_two_checkouts_of_one_version_differ(tmp_path, monkeypatch):
    """Files of the package and those next to it count, wherever they are."""
    for name in ("one", "two", "edited"):
        (tmp_path / name / "recipeflow").mkdir(parents=True)
        (tmp_path / name / "recipeflow" / "__init__.py").write_text("")
        (tmp_path / name / "modeling_vrf.py").write_text(f"layers = {2 + (name == 'edited')}")
    versions = []
    for name in ("one", "two", "edited"):
        monkeypatch.setattr(recipeflow, "__file__", str(tmp_path / name / "recipeflow" / "__init__.py"))
        versions.append(code_version.__wrapped__())
    assert versions[0] == versions[1] != versions[2]
    assert all(version.startswith(recipeflow.__version__) for version in versions)
