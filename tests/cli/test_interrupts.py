"""Ctrl-C: one line and one exit code from every command, workers included."""

import os
import signal
import subprocess
import sys
import time

import pyarrow as pa
import pytest
from datasets.exceptions import DatasetGenerationError

from recipeflow.errors import TrainingInterruptedError
from tests.building import environment, many_recipes
from tests.cli.commanding import vrf
from tests.making import make_release
from tests.model_helpers import BACKBONE
from tests.search.searching import make_table, own_cache  # noqa: F401  (autouse)


def interrupt(folder, *arguments, when) -> str:
    """Start ``vrf``, press Ctrl-C as a terminal does it, for the whole group, and return what it prints."""
    command = [sys.executable, "-m", "recipeflow.cli", *map(str, arguments)]
    options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    process = subprocess.Popen(command, cwd=folder, env=environment(folder) | {"OMP_NUM_THREADS": "1"}, **options)
    deadline = time.monotonic() + 300
    while not when():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    _, printed = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in printed
    return printed.strip().splitlines()[-1]


def test_workers_of_the_kitchen_leave_it_to_their_parent(tmp_path):
    def cooking():
        return any(tmp_path.glob(".out.*.partial/recipes/*"))

    printed = interrupt(tmp_path, "kitchen", "out", "--recipes", 100, "--workers", 2, when=cooking)
    assert printed == "interrupted; what was there before is intact"
    assert list(tmp_path.glob("*out*")) == []


def test_workers_of_a_build_leave_it_to_their_parent(tmp_path):
    make_release(tmp_path / "release", many_recipes(400))

    def building():
        return any(tmp_path.glob(".vrf.*.partial/recipes/*"))

    printed = interrupt(tmp_path, "build", "release", "--num-proc", 2, when=building)
    assert printed == "interrupted; what was there before is intact"
    assert list(tmp_path.glob("*vrf*")) == []


def test_an_experiment_says_how_to_resume(tmp_path):
    table = make_table(tmp_path / "data", recipes=12)
    source = ("--backbone", BACKBONE, "--weights", table.weights, "--cache", table.cache)

    def working():
        return any((tmp_path / "exp").rglob("*.json"))

    printed = interrupt(
        tmp_path, "experiment", table.folder, "--out", "exp", "--rows", "text", "--workers", 2, *source, when=working
    )
    assert printed == "interrupted; finished jobs are kept in exp: run the same command again to resume"


@pytest.fixture
def stopping(monkeypatch):
    """Let a command meet an error where its work would begin."""

    def stop(error: BaseException) -> None:
        def work(*arguments, **options):
            raise error

        monkeypatch.setattr("recipeflow.dataset.build.build_dataset", work)

    return stop


def wrapped(error: BaseException, cause: BaseException) -> BaseException:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    "error",
    [
        KeyboardInterrupt(),
        pa.ArrowCancelled("Operation cancelled", signal.SIGINT),
        wrapped(DatasetGenerationError("while generating"), pa.ArrowCancelled("Operation cancelled", signal.SIGINT)),
        wrapped(TimeoutError(), KeyboardInterrupt()),
    ],
    ids=repr,
)
def test_whatever_a_library_makes_of_it_is_one_line(stopping, release, error):
    stopping(error)
    answer = vrf("build", release)
    assert (answer.code, answer.stderr.strip()) == (130, "interrupted; what was there before is intact")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_training_that_stops_at_a_checkpoint_has_the_code_of_its_signal(stopping, release, number):
    stopping(TrainingInterruptedError("stopped after step 7 of 9; run the same command again", number))
    answer = vrf("build", release)
    assert (answer.code, answer.stderr.strip()) == (
        128 + number,
        "interrupted; stopped after step 7 of 9; run the same command again",
    )


def test_a_bug_is_still_seen_as_one(stopping, release):
    stopping(FileNotFoundError(2, "No such file or directory", "forgotten.txt"))
    with pytest.raises(FileNotFoundError, match="forgotten"):
        vrf("build", release)
