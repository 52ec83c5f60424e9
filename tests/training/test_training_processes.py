"""Several processes, for real: gloo on the CPU, by themselves or started by accelerate's launcher."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from modeling_vrf import VRFModel
from recipeflow.evaluation.ranking import evaluate
from recipeflow.training import trainer
from recipeflow.training.runs import prepare_run
from tests.pairs.pairing import OFFLINE, make_pairs
from tests.training import training_script
from tests.training.launching import SCRIPT, run_script, start_launcher
from tests.training.training_script import BEST

LOAD = """
import sys, torch
from transformers import AutoModel
model = AutoModel.from_pretrained(sys.argv[1], trust_remote_code=True)
assert "modeling_vrf" not in sys.modules, "the code has to come from the package"
torch.save(model.state_dict(), sys.argv[2])
"""


@pytest.fixture(scope="module")
def one_process(tmp_path_factory) -> dict:
    return take_step("step", tmp_path_factory.mktemp("one") / "step.pt", processes=1)


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory) -> Path:
    """A run of two processes that nothing disturbed."""
    return finish("train", tmp_path_factory.mktemp("whole") / "run")


@pytest.fixture(scope="module")
def sharded_run(tmp_path_factory) -> Path:
    """The same with FSDP and preset ``best``, evaluated after each epoch."""
    return finish("sharded-train", tmp_path_factory.mktemp("sharded") / "run")


def finish(task: str, output: Path) -> Path:
    done = run_script(task, output, processes=2)
    assert done.returncode == 0, done.stderr
    return output


def take_step(task, output, processes) -> dict:
    done = run_script(task, output, processes)
    assert done.returncode == 0, done.stderr
    return torch.load(output)


def checkpoints(run: Path) -> list[str]:
    return sorted(path.name for path in run.glob("checkpoint-*[0-9]"))


def assert_same_weights(first: Path, second: Path) -> None:
    expected, found = (load_file(run / "model" / "model.safetensors") for run in (first, second))
    assert expected.keys() == found.keys()
    assert all(expected[name].equal(found[name]) for name in expected)


@pytest.mark.parametrize("task", ["step", "sharded-step"], ids=["DDP", "FSDP"])
def test_two_processes_take_the_same_step_as_one(task, one_process, tmp_path):
    two = take_step(task, tmp_path / "step.pt", processes=2)
    assert (one_process["processes"], two["processes"]) == (1, 2)
    assert two["loss"] == pytest.approx(one_process["loss"], rel=1e-9)
    assert one_process["gradients"].keys() == two["gradients"].keys()
    for name, gradient in one_process["gradients"].items():
        torch.testing.assert_close(two["gradients"][name], gradient, rtol=1e-6, atol=1e-12)
    assert two["broadcasts"] == [], "the buffers of a frozen backbone stay as they are"
    assert two["unneeded"] == []


def test_what_ends_one_process_ends_all_and_nothing_is_lost(whole_run, tmp_path):
    run = tmp_path / "run"
    for task, code, messages, saved in (
        ("SIGINT@2:1", 130, ["stopped by Ctrl-C after step 4 of 15; run the same command again"] * 2, 4),
        ("full-disk", 1, ["SaveError: expected to be able to write"] * 2, 4),
        ("SIGTERM@5:0", 143, ["stopped by SIGTERM after step 7 of 15; run the same command again"] * 2, 7),
        ("SIGKILL@11:1", 1, ["LaunchError: expected all processes to work to the end", ""], 10),
        ("SIGKILL@12:0", -signal.SIGKILL, ["", "LaunchError: expected all processes to work to the end"], 10),
        (
            "other-seed",
            1,
            ["LaunchError: expected the same settings in all processes, found seed 1 and not 0"] * 2,
            10,
        ),
        ("other-folder", 1, ["LaunchError: expected process 1 on "] * 2, 10),
    ):
        ended = run_script(task, run, processes=2)
        assert ended.returncode == code, ended.stderr
        for message, printed in zip(messages, ended.printed, strict=True):
            assert message in printed and "Traceback" not in printed
        assert checkpoints(run) == [f"checkpoint-{saved:08d}"]
    assert_same_weights(whole_run, finish("train", run))


def test_a_sharded_model_is_saved_as_what_it_is(sharded_run, tmp_path):
    """In the documented configuration FSDP wraps the model itself, and gives it a class of its own."""
    gathered = torch.load(sharded_run / "gathered.pt")
    assert gathered["class"] == "FSDPVRFModel"
    environment = {**os.environ, "HF_MODULES_CACHE": str(tmp_path / "modules"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", LOAD, str(sharded_run / "model"), str(tmp_path / "loaded.pt")]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    loaded = torch.load(tmp_path / "loaded.pt")
    expected = {name.removeprefix("model."): tensor for name, tensor in gathered["weights"].items()}
    assert loaded.keys() == expected.keys()
    assert all(tensor.equal(loaded[name]) for name, tensor in expected.items())
    saved = {path.name for path in (sharded_run / "model").glob("*.py")}
    assert "modeling_vrf.py" in saved and all(name.endswith(("_vrf.py", "_hub.py")) for name in saved)


def test_a_sharded_model_is_evaluated_as_the_saved_one(sharded_run):
    history = json.loads((sharded_run / "history.json").read_text())
    data = prepare_run(make_pairs(), BEST, 0, **OFFLINE).eval_data
    figures = evaluate(VRFModel.from_pretrained(sharded_run / "model"), data).as_dict()
    assert {name: history[-1][name] for name in figures} == pytest.approx(figures)
    assert "recall_at_5" in history[0]


def test_a_sharded_run_that_was_stopped_ends_with_the_same_weights_however_slow_the_disk_is(sharded_run, tmp_path):
    """The first process takes longer for a checkpoint than a collective operation of the others waits for it."""
    stopped = run_script("sharded-slow-SIGTERM@3:1", tmp_path / "run", processes=2)
    assert stopped.returncode == 143 and checkpoints(tmp_path / "run") == ["checkpoint-00000005"], stopped.stderr
    assert_same_weights(sharded_run, finish("sharded-slow-train", tmp_path / "run"))


def test_two_processes_share_the_terms_of_a_large_batch(tmp_path, monkeypatch):
    monkeypatch.setattr(trainer, "LARGE_BATCH", 1)
    training_script.take_step(tmp_path / "one.pt", sharded=False)
    one = torch.load(tmp_path / "one.pt")
    two = take_step("large-step", tmp_path / "two.pt", processes=2)
    assert (one["processes"], two["processes"]) == (1, 2)
    assert two["loss"] == pytest.approx(one["loss"], rel=1e-9)
    for name, gradient in one["gradients"].items():
        torch.testing.assert_close(two["gradients"][name], gradient, rtol=1e-6, atol=1e-12)


def test_a_full_disk_ends_all_processes_of_a_sharded_run_with_that_message(tmp_path):
    ended = run_script("sharded-full-disk", tmp_path / "run", processes=2)
    assert ended.returncode == 1 and checkpoints(tmp_path / "run") == []
    for printed in ended.printed:
        assert "SaveError: expected to be able to write" in printed and "Traceback" not in printed


@pytest.mark.parametrize("frozen", [0, 1])
def test_a_process_that_is_dead_though_its_connections_are_open_is_named_and_not_waited_for(frozen, tmp_path):
    """As that of a machine without power or network: it neither ends nor answers, and gloo would wait half an hour."""
    ended = run_script(f"SIGSTOP@7:{frozen}", tmp_path / "run", processes=2, frozen=frozen)
    printed = ended.printed[1 - frozen]
    assert (
        f"LaunchError: expected a sign of life from process {frozen} on {socket.gethostname()}, found none" in printed
    )
    assert "Traceback" not in ended.stderr
    assert checkpoints(tmp_path / "run") == ["checkpoint-00000005"]


# The launcher.


def test_when_a_process_dies_the_launch_ends_with_its_error(tmp_path):
    launcher = start_launcher(SCRIPT, "SIGKILL@7:1", tmp_path / "run", config="two_cpu_processes")
    _, printed = launcher.communicate(timeout=200)
    assert launcher.returncode != 0
    assert "SIGKILL" in printed or "Signal 9" in printed
    assert checkpoints(tmp_path / "run") == ["checkpoint-00000005"]


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        # The terminal signals the launcher and its processes, and the launcher signals them once more.
        (lambda launcher: os.killpg(launcher, signal.SIGINT), "stopped by Ctrl-C"),
        (lambda launcher: os.kill(launcher, signal.SIGKILL), "stopped by SIGTERM"),
    ],
    ids=["Ctrl-C", "kill -9 of the launcher alone"],
)
def test_what_ends_the_launcher_stops_its_processes_with_a_checkpoint(end, reason, tmp_path):
    launcher = start_launcher(SCRIPT, "long", tmp_path / "run", config="two_cpu_processes")
    try:
        deadline = time.monotonic() + 200
        while len(list(tmp_path.glob("*.stepping"))) < 2:
            assert launcher.poll() is None and time.monotonic() < deadline
            time.sleep(0.1)
        end(launcher.pid)
        _, printed = launcher.communicate(timeout=120)  # until the last process closes it
    finally:
        for left in (launcher.pid, *(int(path.stem) for path in tmp_path.glob("*.stepping"))):
            with suppress(ProcessLookupError):
                os.kill(left, signal.SIGKILL)
    assert printed.count(reason) == printed.count("run the same command again to resume") == 2, printed
    assert len(checkpoints(tmp_path / "run")) == 1
