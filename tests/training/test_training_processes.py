"""Several processes, for real: gloo on the CPU, started by accelerate's launcher."""

import pytest
import torch

from tests.training.launching import run_script


@pytest.fixture(scope="module")
def one_process(tmp_path_factory) -> dict:
    return take_step("step", tmp_path_factory.mktemp("one") / "step.pt", processes=1)


def take_step(task, output, processes) -> dict:
    done = run_script(task, output, processes)
    assert done.returncode == 0, done.stderr
    return torch.load(output)


@pytest.mark.parametrize("task", ["step", "sharded-step"], ids=["DDP", "FSDP"])
def test_two_processes_take_the_same_step_as_one(task, one_process, tmp_path):
    two = take_step(task, tmp_path / "step.pt", processes=2)
    assert (one_process["processes"], two["processes"]) == (1, 2)
    assert two["loss"] == pytest.approx(one_process["loss"], rel=1e-9)
    assert one_process["gradients"].keys() == two["gradients"].keys()
    for name, gradient in one_process["gradients"].items():
        torch.testing.assert_close(two["gradients"][name], gradient, rtol=1e-6, atol=1e-12)


def test_when_a_process_dies_the_launch_ends_with_its_error(tmp_path):
    done = run_script("SIGKILL", tmp_path / "run", processes=2)
    assert done.returncode != 0
    assert "SIGKILL" in done.stderr or "Signal 9" in done.stderr
    again = run_script("train", tmp_path / "run", processes=2)
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "run" / "model" / "model.safetensors").exists()
