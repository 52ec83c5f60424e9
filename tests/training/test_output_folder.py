"""Where training and experiments write: never into something else, and never two of them at once."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from recipeflow.cli import app
from recipeflow.dataset.build import build_dataset
from recipeflow.errors import FolderInUseError, LaunchError, OutputExistsError, SaveError, VRFError
from recipeflow.experiment.folder import EXPERIMENT
from recipeflow.training.output_folder import ClaimedFolder
from recipeflow.training.trainer import RUN
from tests.making import make_release
from tests.training.launching import launch_vrf

ROOT = Path(__file__).parents[2]
FOREVER = "100000"


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    """A folder with a release, and a dataset of three recipes built from it, with a feature cache."""
    folder = tmp_path_factory.mktemp("data")
    make_release(folder / "kitchen")
    build_dataset(folder / "kitchen", folder / "vrf")
    return folder


def arguments(command: str, data: Path, out: Path, *more: str) -> list[str]:
    return [command, str(data / "vrf"), "--cache", str(data / "cache"), "--out", str(out), *more]


def refusal(*command: str) -> VRFError:
    """How a command refuses in this process."""
    result = CliRunner().invoke(app, list(command))
    assert isinstance(result.exception, VRFError), result.output
    return result.exception


def wait_for(path: Path, process: subprocess.Popen) -> None:
    deadline = time.monotonic() + 300
    while not (path.exists() and path.stat().st_size):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("command", "kind", "more", "started"),
    [
        ("train", RUN, ["--epochs", FOREVER], "training.json"),
        ("experiment", EXPERIMENT, ["--preset", "paper", "--rows", "both", "--folds", "0"], ".vrf-experiment.lock"),
    ],
)
def test_of_two_in_one_folder_the_second_is_refused_until_the_first_is_gone(
    command, kind, more, started, data, tmp_path
):
    call = arguments(command, data, tmp_path / "out", *more)
    process = subprocess.Popen([sys.executable, "-m", "recipeflow.cli", *call], cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        wait_for(tmp_path / "out" / started, process)
        second = refusal(*call)
        assert isinstance(second, FolderInUseError) and f"found process {process.pid}; wait" in str(second)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    claim = ClaimedFolder(tmp_path / "out", kind)
    claim.take()
    claim.release()


@pytest.mark.parametrize("command", ["train", "experiment"])
def test_nothing_is_written_into_what_is_something_else(command, data, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "todo.txt").write_text("cook")
    for folder, found in (
        (data / "kitchen", "a release"),
        (data / "vrf", "a built dataset"),
        (tmp_path / "notes", "todo.txt"),
    ):
        before = sorted(folder.rglob("*"))
        error = refusal(*arguments(command, data, folder))
        assert isinstance(error, OutputExistsError) and found in str(error) and "another --out" in str(error)
        assert sorted(folder.rglob("*")) == before
    error = refusal(*arguments(command, data, tmp_path / "notes" / "todo.txt"))
    assert isinstance(error, SaveError) and "todo.txt, found: Not a directory" in str(error)


def test_a_folder_of_another_kind_is_refused_too(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "training.json").write_text("{}")
    with pytest.raises(OutputExistsError, match=r"one of `vrf experiment`, found .* with training\.json"):
        ClaimedFolder(tmp_path / "run", EXPERIMENT).take()


def test_a_claim_ends_when_it_is_released(tmp_path):
    first, second = (ClaimedFolder(tmp_path / "run", RUN) for _ in range(2))
    first.take()
    first.take()
    with pytest.raises(FolderInUseError, match=f"process {os.getpid()}"):
        second.take()
    first.release()
    second.take()
    second.release()
    assert not (tmp_path / "run").exists(), "nothing came into it"


# Launched processes, for real.


def test_a_launch_that_does_not_become_one_is_refused(data, tmp_path):
    """Two processes for two GPUs, on a machine that has none."""
    call = ["train", data / "vrf", "--cache", tmp_path / "cache", "--out", tmp_path / "run"]
    launched = launch_vrf(*call, config="one_machine", cpu=False)
    assert launched.returncode != 0
    assert "LaunchError: expected the 2 launched processes to work together" in launched.stderr
    assert "ACCELERATE_USE_CPU=true" in launched.stderr
    assert not (tmp_path / "run").exists() and not (tmp_path / "cache").exists()


def test_features_are_refused_in_processes_that_do_not_work_together(data, tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    error = refusal("features", str(data / "vrf"), "--cache", str(tmp_path / "cache"))
    assert isinstance(error, LaunchError) and "found this one in a group of 1" in str(error)
    assert not (tmp_path / "cache").exists()


def test_launched_processes_all_learn_that_the_folder_is_in_use(data, tmp_path):
    claim = ClaimedFolder(tmp_path / "run", RUN)
    claim.take()
    launched = launch_vrf(*arguments("train", data, tmp_path / "run"), config="two_cpu_processes", cpu=True)
    assert launched.returncode != 0
    assert launched.stderr.count("error: FolderInUseError") == 2, launched.stderr
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [RUN.lock]
    claim.release()


@pytest.mark.parametrize("command", ["experiment", "evaluate", "index", "calibrate"])
def test_commands_that_share_no_work_are_not_launched(command, data, tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    error = refusal(command, str(data / "vrf"))
    assert isinstance(error, LaunchError) and f"`vrf {command}` in one process, found 2" in str(error)


def test_a_file_system_without_locks_is_reported(tmp_path, without_locks):
    with pytest.warns(UserWarning, match=r"has no locks \(No locks available\): make sure that no other"):
        claim = ClaimedFolder(tmp_path / "run", RUN)
        claim.take()
    claim.release()
