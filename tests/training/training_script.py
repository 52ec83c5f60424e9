"""Trains a tiny model in a process of its own: ``python tests/training/training_script.py TASK OUT``."""

import os
import resource
import signal
import sys
from dataclasses import replace
from pathlib import Path

import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

from recipeflow.errors import VRFError
from recipeflow.training.runs import prepare_run
from recipeflow.training.settings import TrainingConfig
from recipeflow.training.trainer import PairEmbedder, VRFTrainer
from tests.pairs.pairing import OFFLINE, SMALL, make_pairs

CONFIG = TrainingConfig(epochs=3, learning_rate=1e-3, schedule="cosine", warmup=0.1, checkpoint_every=1)


class KilledTrainer(VRFTrainer):
    """Dies, or is interrupted, after a step; of several processes only the last one."""

    last = 7
    signal = signal.SIGKILL

    def training_step(self, batch, images):
        loss = super().training_step(batch, images)
        if self.state.step == self.last and self.accelerator.is_last_process:
            os.kill(os.getpid(), self.signal)
        return loss


def make_trainer(output, kind=VRFTrainer, config=CONFIG, double=False):
    torch.set_num_threads(1)
    run = prepare_run(make_pairs(), config, 0, **OFFLINE, **SMALL)
    model = run.model.double() if double else run.model
    return kind(model, run.processor, config, run.train_data, output, eval_data=run.eval_data)


def take_step(output: Path, shard: bool) -> None:
    """Save loss and gradients of one step, in double precision and without an update."""
    trainer = make_trainer(None, config=replace(CONFIG, learning_rate=1e-12), double=True)
    if shard:
        # What accelerate does for FSDP on accelerators; on a CPU it has no FSDP, but torch has.
        trainer.embedder = fully_shard(PairEmbedder(trainer.model), mesh=init_device_mesh("cpu", (2,)))
        trainer.optimizer.step = lambda: None
    trainer.optimizer.zero_grad = lambda: None
    loss = trainer.training_step(*next(trainer.load_epoch(0, done=0)))
    weights = trainer.model.named_parameters()
    gradients = {name: full(weight.grad) for name, weight in weights if weight.requires_grad}
    if trainer.accelerator.is_main_process:
        processes = trainer.accelerator.num_processes
        torch.save({"processes": processes, "loss": loss, "gradients": gradients}, output)


def full(gradient: torch.Tensor) -> torch.Tensor:
    return gradient.full_tensor() if isinstance(gradient, DTensor) else gradient


def die_while_saving(trainer: VRFTrainer) -> None:
    """Let the second checkpoint be written, and die before it gets its name."""
    save = trainer.accelerator.save_state

    def save_and_die(folder: str) -> None:
        save(folder)
        if trainer.checkpoints.complete():
            os.kill(os.getpid(), signal.SIGKILL)

    trainer.accelerator.save_state = save_and_die


def fill_the_disk() -> None:
    """From now on no file can grow past 100 kB: a write fails as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))


def main(task: str, output: Path) -> None:
    if task in ("step", "sharded-step"):
        take_step(output, shard=task == "sharded-step")
    elif task in signal.Signals.__members__:
        KilledTrainer.signal = getattr(signal, task)
        make_trainer(output, KilledTrainer).train()
    else:
        trainer = make_trainer(output)
        if task == "die-while-saving":
            die_while_saving(trainer)
        if task == "full-disk":
            fill_the_disk()
        trainer.train()


if __name__ == "__main__":
    try:
        main(sys.argv[1], Path(sys.argv[2]))
    except VRFError as error:
        sys.exit(str(error))
