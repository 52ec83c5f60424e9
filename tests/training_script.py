"""Trains a tiny model, for tests that need processes of their own: ``python tests/training_script.py TASK OUT``."""

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import torch

from recipeflow.errors import VRFError
from recipeflow.runs import prepare_run
from recipeflow.training import TrainingConfig, VRFTrainer
from tests.pairing import OFFLINE, SMALL, make_pairs

CONFIG = TrainingConfig(epochs=3, learning_rate=1e-3, schedule="cosine", warmup=0.1, checkpoint_every=1)


class KilledTrainer(VRFTrainer):
    """Dies, or is interrupted, after a step."""

    last = 7
    signal = signal.SIGKILL

    def training_step(self, rows):
        loss = super().training_step(rows)
        if self.state.step == self.last:
            os.kill(os.getpid(), self.signal)
        return loss


def make_trainer(output, kind=VRFTrainer, config=CONFIG, double=False):
    torch.set_num_threads(1)
    run = prepare_run(make_pairs(), config, 0, **OFFLINE, **SMALL)
    model = run.model.double() if double else run.model
    return kind(model, run.processor, config, run.train_data, output, eval_data=run.eval_data)


def take_step(output: Path) -> None:
    """Save loss and gradients of one step, in double precision and without an update."""
    trainer = make_trainer(None, config=replace(CONFIG, learning_rate=1e-12), double=True)
    trainer.optimizer.zero_grad = lambda: None
    loss = trainer.training_step(next(trainer.batches.epoch(0)))
    model = trainer.accelerator.unwrap_model(trainer.model)
    gradients = {name: weight.grad for name, weight in model.named_parameters() if weight.requires_grad}
    if trainer.accelerator.is_main_process:
        processes = trainer.accelerator.num_processes
        torch.save({"processes": processes, "loss": loss, "gradients": gradients}, output)


def main(task: str, output: Path) -> None:
    if task == "step":
        take_step(output)
    elif task == "train":
        make_trainer(output).train()
    else:
        KilledTrainer.signal = getattr(signal, task)
        make_trainer(output, KilledTrainer).train()


if __name__ == "__main__":
    try:
        main(sys.argv[1], Path(sys.argv[2]))
    except VRFError as error:
        sys.exit(str(error))
