"""Trains a tiny model in a process of its own: ``python tests/training/training_script.py TASK OUT``.

A task is ``train``, a fault on the way, or ``SIGNAL@STEP:PROCESS``, where only that process gets the signal after that
step. ``sharded-`` in front trains with FSDP, as accelerate does it on GPUs, and ``slow-`` on a slow disk.
"""

import os
import resource
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

import torch
import yaml
from accelerate.state import AcceleratorState, PartialState
from accelerate.utils import DistributedType, FullyShardedDataParallelPlugin
from torch.distributed.tensor import DTensor
from torch.profiler import ProfilerActivity, profile

from recipeflow.errors import StoppedError, VRFError
from recipeflow.machines import silence, waiting
from recipeflow.machines.processes import STEP_LIMIT
from recipeflow.training import large_batch
from recipeflow.training import trainer as trainer_module
from recipeflow.training.loop import make_accelerator
from recipeflow.training.runs import prepare_run
from recipeflow.training.settings import PRESETS, TrainingConfig
from recipeflow.training.trainer import VRFTrainer
from tests.pairs.pairing import OFFLINE, SMALL, make_pairs
from tests.training.launching import UNNEEDED

FSDP = Path(__file__).parents[2] / "docs" / "accelerate" / "fsdp.yaml"
CONFIG = TrainingConfig(epochs=3, learning_rate=1e-3, schedule="cosine", warmup=0.1, checkpoint_every=1)
BEST = replace(
    PRESETS["best"],
    epochs=2,
    recipes_per_batch=6,
    evaluate_every=1,
    # Without dropout, which differs between processes; rows are mixed in each by itself.
    model=PRESETS["best"].model
    | dict.fromkeys(("dropout", "feature_dropout", "image_dropout", "word_dropout"), 0.0)
    | {"image_features": "pooled"},  # as wide as the features of `make_pairs`
)

LIMIT = 8
"""Seconds that a collective operation may wait if the disk is slow; a busy machine may need some for a step."""


class KilledTrainer(VRFTrainer):
    """One of its processes gets a signal after a step."""

    number, last, process = signal.SIGKILL, 7, 0

    def training_step(self, batch):
        loss = super().training_step(batch)
        if self.state.step == self.last and self.accelerator.process_index == self.process:
            os.kill(os.getpid(), self.number)
        return loss


class LongTrainer(VRFTrainer):
    """Takes more steps than anyone waits for, and leaves a file with the id of its process when it takes them."""

    def training_step(self, batch):
        loss = super().training_step(batch)
        self.output.with_name(f"{os.getpid()}.stepping").touch()
        return loss


def make_trainer(output, kind=VRFTrainer, config=CONFIG, double=False, sharded=False):
    torch.set_num_threads(1)
    accelerator = make_accelerator(config, output)
    if sharded:
        shard_on_cpu()
    run = prepare_run(make_pairs(), config, 0, **OFFLINE, **({} if "word_dim" in config.model else SMALL))
    model = run.model.double() if double else run.model
    options = {"eval_data": run.eval_data, "accelerator": accelerator}
    return kind(model, run.processor, config, run.train_data, output, **options)


def shard_on_cpu() -> None:
    """Let accelerate believe that it can shard here, with the documented settings: it offers that only on GPUs."""
    settings = yaml.safe_load(FSDP.read_text(encoding="utf-8"))["fsdp_config"]
    os.environ.update({name.upper(): str(value) for name, value in settings.items()})
    AcceleratorState().fsdp_plugin = FullyShardedDataParallelPlugin()
    for state in (AcceleratorState, PartialState):
        state._shared_state["distributed_type"] = DistributedType.FSDP


def take_step(output: Path, sharded: bool) -> None:
    """Save loss and gradients of one step, in double precision and without an update."""
    trainer = make_trainer(None, config=replace(CONFIG, learning_rate=1e-12), double=True, sharded=sharded)
    trainer.optimizer.zero_grad = lambda: None
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        loss = trainer.training_step(next(trainer.load_epoch(0, done=0)))
    weights = trainer.model.named_parameters()
    gradients = {name: full(weight.grad) for name, weight in weights if weight.requires_grad}
    if trainer.accelerator.is_main_process:
        messages = [event.key for event in profiled.key_averages() if "broadcast" in event.key.lower()]
        processes = trainer.accelerator.num_processes
        found = {"processes": processes, "loss": loss, "gradients": gradients, "broadcasts": messages}
        found["unneeded"] = sorted(UNNEEDED & set(sys.modules))
        torch.save(found, output)


def take_large_step(output: Path) -> None:
    """The same where every batch counts as a large one, of which a few rows are compared at a time."""
    trainer_module.LARGE_BATCH, large_batch.ROWS_AT_A_TIME = 1, 3
    take_step(output, sharded=False)


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


def slow_down_the_disk() -> None:
    """From now on to write or read a checkpoint takes longer than a collective operation may wait."""

    def slowly(work):
        def do(*arguments, **options):
            if any(isinstance(argument, str | Path) for argument in arguments):  # and not a message to another process
                time.sleep(LIMIT + 1)
            return work(*arguments, **options)

        return do

    torch.save, torch.load = slowly(torch.save), slowly(torch.load)


def main(task: str, output: Path) -> None:
    if task == "large-step":
        take_large_step(output)
        return
    sharded = task.startswith("sharded-")
    task = task.removeprefix("sharded-")
    if task == "step":
        take_step(output, sharded)
        return
    kind, config = VRFTrainer, BEST if sharded else CONFIG
    is_slow = task.startswith("slow-")
    task = task.removeprefix("slow-")
    if is_slow:
        os.environ[STEP_LIMIT] = str(LIMIT)
    if "@" in task:
        name, _, place = task.partition("@")
        kind = KilledTrainer
        KilledTrainer.number = getattr(signal, name)
        KilledTrainer.last, KilledTrainer.process = map(int, place.split(":"))
    if task.startswith("SIGSTOP"):
        waiting.BEAT, silence.LOOK, silence.SILENCE = 0.5, 0.5, 8.0
    is_second = os.environ.get("RANK") == "1"
    if task == "long":
        kind, config = LongTrainer, replace(config, epochs=100_000, checkpoint_every=0)
    if task == "other-seed" and is_second:
        config = replace(config, seed=1)
    if task == "other-folder" and is_second:
        output = output.with_name("elsewhere")
    if task == "full-disk":
        config = replace(config, evaluate_every=0, checkpoint_every=1)  # the first thing that is written
    trainer = make_trainer(output, kind, config, sharded=sharded)
    if task == "die-while-saving":
        die_while_saving(trainer)
    if task == "full-disk" and not is_second:
        fill_the_disk()
    if sharded:
        trainer.evaluate()  # the first use of the shards
    if is_slow and not is_second:
        slow_down_the_disk()
    trainer.train()
    if sharded:
        weights = trainer.accelerator.get_state_dict(trainer.wrapped)
        if trainer.accelerator.is_main_process:
            torch.save({"class": type(trainer.model).__name__, "weights": weights}, output / "gathered.pt")


def run(task: str, output: Path) -> None:
    """Do a task, and end as ``vrf`` does."""
    try:
        main(task, output)
    except StoppedError as error:
        print(error, file=sys.stderr)
        sys.exit(128 + error.number)
    except VRFError as error:
        sys.exit(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    run(sys.argv[1], Path(sys.argv[2]))
