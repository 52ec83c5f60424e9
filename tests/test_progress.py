"""What long work shows while it runs: a bar on a terminal, and a line now and then in a log."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import datasets
import pytest
import torch
from transformers.utils import logging
from typer.testing import CliRunner

from recipeflow import progress
from recipeflow.cli import app
from recipeflow.dataset.build import build_dataset
from recipeflow.download.report import DownloadProgress
from recipeflow.progress import TrainingProgress, duration, progress_bar
from recipeflow.training.runs import prepare_run
from recipeflow.training.settings import TrainingConfig
from recipeflow.training.trainer import VRFTrainer
from tests.features.test_features import BACKBONE, save_weights
from tests.making import make_release
from tests.pairs.pairing import OFFLINE, SMALL, make_pairs

ROOT = Path(__file__).parents[1]


@pytest.fixture
def chatty(monkeypatch) -> None:
    """Let a line be due all the time, where a person waits half a minute for it."""
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)


def test_a_log_gets_plain_lines_of_a_long_command(chatty, tmp_path):
    command = ["kitchen", str(tmp_path / "kitchen"), "--recipes", "3", "--used-only", "--workers", "1"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    first, second, last = result.stderr.splitlines()
    assert first.startswith("cooking recipes: 1 of 3, ") and first.endswith(" s left")
    assert second.startswith("cooking recipes: 2 of 3, ")
    assert last.startswith("cooking recipes: 3 of 3, done in ")
    assert not {"\r", "\x1b"} & set(result.stderr)
    assert result.stdout.splitlines() == [f"cooked 3 recipes into {tmp_path / 'kitchen'}"]


def test_a_log_gets_the_lines_of_a_training(chatty, capfd):
    torch.manual_seed(0)
    config = TrainingConfig(epochs=2, recipes_per_batch=4)
    run = prepare_run(make_pairs(recipes=8), config, None, **OFFLINE, **SMALL)
    VRFTrainer(run.model, run.processor, config, run.train_data).train()
    lines = [line for line in capfd.readouterr().err.splitlines() if line.startswith("training: ")]
    assert [line.split(",")[0] for line in lines] == [f"training: {step} of 4" for step in (1, 2, 3, 4)]
    assert all(", loss " in line for line in lines)
    assert " left, " in lines[0] and ", done in " in lines[-1]


def test_libraries_draw_no_bars_into_the_log_of_a_training(tmp_path):
    datasets.enable_progress_bars()
    logging.enable_progress_bar()
    built = build_dataset(make_release(tmp_path / "release"), tmp_path / "vrf").folder
    source = ["--backbone", BACKBONE, "--weights", str(save_weights(tmp_path / "tiny.pth"))]
    options = ["--cache", str(tmp_path / "cache"), "--epochs", "1", "--out", str(tmp_path / "run")]
    result = CliRunner().invoke(app, ["train", str(built), *source, *options])
    assert result.exit_code == 0, result.output
    frames, usable, steps = result.stderr.splitlines()
    assert frames.startswith("7 unique frames in 12 rows; 0 in the cache (") and frames.endswith("), 7 to compute")
    assert usable == "8 of 12 rows have what action + object + image needs, some without the image"
    assert steps == "training on 8 of them, in 1 steps" and "\r" not in result.stderr
    assert result.stdout == f"wrote {tmp_path / 'run'}/model\n"


def test_a_run_that_is_resumed_counts_from_where_it_was(chatty, capfd):
    with TrainingProgress(10, 8, shown=True) as training:
        training.watched = "R@5 12.3"
        training.step(0.5)
        training.step(0.5)
    first, last = capfd.readouterr().err.splitlines()
    assert first == "training: 9 of 10, 0 s left, loss 0.500  R@5 12.3"
    assert last.startswith("training: 10 of 10, done in ")


def test_a_download_says_how_much_has_arrived(chatty, capfd):
    with DownloadProgress(3) as download:
        download.add_bytes(2_500_000)
        download.advance()
    assert "fetching recipes: 1 of 3, 0 s left, 2.5 MB (" in capfd.readouterr().err


def test_without_a_total_the_time_that_it_took_is_shown(chatty, capfd):
    assert list(progress_bar("abc", None, "checking recipes")) == ["a", "b", "c"]
    assert "checking recipes: 2, 0 s\n" in capfd.readouterr().err


def test_short_work_and_work_that_is_not_shown_print_nothing(capfd):
    assert list(progress_bar("abc", 3, "checking recipes")) == ["a", "b", "c"]
    with TrainingProgress(10, 0, shown=False) as training:
        training.step(0.5)
    assert capfd.readouterr() == ("", "")


def test_lines_come_no_more_often_than_they_should(monkeypatch, capfd):
    now = 0.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    for _ in progress_bar(range(100), 100, "working"):
        now += 7
    lines = capfd.readouterr().err.splitlines()
    assert lines[0] == "working: 5 of 100, 11 min 5 s left"
    assert len(lines) == 20 and lines[-1] == "working: 100 of 100, done in 11 min 40 s"


def test_work_that_fails_is_not_said_to_be_done(chatty, capfd):
    with pytest.raises(ZeroDivisionError):
        list(progress_bar((1 // (2 - number) for number in range(5)), 5, "dividing"))
    assert "done" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.4, "0 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (130, "2 min 10 s"), (7_300, "2 h 1 min")]
)
def test_times_are_said_as_people_say_them(seconds, said):
    assert duration(seconds) == said


SCRIPT = (
    "from recipeflow import progress; progress.SECONDS_BETWEEN_LINES = 0.0; list(progress.progress_bar('abc', 3, 'w'))"
)


@pytest.mark.parametrize(
    "environment", [{"FORCE_COLOR": "1"}, {"TTY_COMPATIBLE": "1"}, {"COLUMNS": "40"}, {"NO_COLOR": "1"}]
)
def test_a_pipe_is_no_terminal_whatever_the_environment_says(environment):
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, env=os.environ | environment, cwd=ROOT
    )
    assert result.stderr.startswith(b"w: 1 of 3, ") and len(result.stderr.splitlines()) == 3
    assert not {b"\r", b"\x1b"} & set(result.stderr)


@pytest.mark.parametrize(("kind", "drawn"), [("xterm", True), ("dumb", False)])
def test_a_terminal_gets_a_bar_if_it_can_draw_one(kind, drawn):
    terminal, stderr = pty.openpty()
    subprocess.run(
        [sys.executable, "-c", SCRIPT], stderr=stderr, env=os.environ | {"TERM": kind}, cwd=ROOT, check=True
    )
    os.close(stderr)
    shown = os.read(terminal, 10_000)
    os.close(terminal)
    assert (b"\x1b[" in shown, b"w: 1 of 3, " in shown) == (drawn, not drawn)
