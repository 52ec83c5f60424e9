"""The training loop, for any model: on one CPU or many GPUs, with ``accelerate``.

No random state is kept between steps: the order of batches depends on seed and epoch, negatives and augmentation on
seed and step, dropout on the process as well. So a run that was killed and resumes from its last checkpoint ends with
the same weights, and, without dropout and mixed rows, two processes with half a batch each take the same step as one
with all of it.

A subclass says what is trained: its batches, its loss, its figures, and how its model is written.
"""

from __future__ import annotations

import math
import signal
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import torch
from accelerate import Accelerator
from accelerate.tracking import LOGGER_TYPE_TO_CLASS, get_available_trackers
from accelerate.utils import DistributedType, LoggerType
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim.lr_scheduler import LambdaLR

from recipeflow.errors import TrainingDivergedError, TrainingInterruptedError, UsageError
from recipeflow.files import StagedFolder, write_json
from recipeflow.machines.processes import (
    decide_in_main,
    join_processes,
    reporting_lost_processes,
    watching_processes,
)
from recipeflow.progress import TrainingProgress
from recipeflow.training.checkpoints import Checkpoints, report_save_errors
from recipeflow.training.output_folder import ClaimedFolder, FolderKind
from recipeflow.training.recorded_settings import record_settings
from recipeflow.training.saved_model import BEST, HISTORY, MODEL
from recipeflow.training.settings import LoopConfig
from recipeflow.training.sharding import ShardedState
from recipeflow.training.stopping import SAVE, SIGNALS, CheckpointClock, catching_signals, read_with_wish

Batch = TypeVar("Batch")


class Batches(Protocol):
    """What the loop has to know of the batches: how many there are in an epoch."""

    def __len__(self) -> int: ...


@dataclass
class TrainingState:
    """The progress of a run; saved with every checkpoint."""

    step: int = 0
    epoch_loss: float = 0.0
    best: float = -1.0
    history: list[dict[str, float]] = field(default_factory=list)

    def state_dict(self) -> dict[str, Any]:
        """For accelerate."""
        return asdict(self)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """For accelerate."""
        vars(self).update(state)


class TrainingLoop(ABC, Generic[Batch]):
    """Trains a model: claims the run's folder, resumes, steps, evaluates, and writes checkpoints and the model.

    Args:
        module: What is trained. Accelerate wraps it, so every gradient has to pass through its ``forward``.
        config: How to train.
        batches: The batches of an epoch, for their number.
        output: The run's folder: checkpoints, history and, at the end, the model. Nothing is written without it.
        trackers: Names of accelerate's trackers to log to, such as ``tensorboard``.
        accelerator: To share one between runs.
        show_progress: A bar with the loss and the figure to watch, or occasional lines without a terminal.
        origin: What else the run depends on, such as dataset and fold: a run resumes only with equal ones.
        claim: The claim on ``output``, if it was taken already.
    """

    kind: ClassVar[FolderKind]
    """The kind of folder that a run writes."""
    watched: ClassVar[tuple[str, str]]
    """The figure by which the best model is kept: its name in the history, and what people call it."""

    def __init__(
        self,
        module: nn.Module,
        config: LoopConfig,
        batches: Batches,
        output: str | Path | None = None,
        *,
        trackers: tuple[str, ...] = (),
        accelerator: Accelerator | None = None,
        show_progress: bool = True,
        origin: Mapping[str, Any] | None = None,
        claim: ClaimedFolder | None = None,
    ) -> None:
        self.config, self.origin = config, origin or {}
        self.output = None if output is None else Path(output)
        self.accelerator = accelerator or make_accelerator(config, self.output, trackers)
        self.batches = batches
        self.steps = config.epochs * len(batches)
        self.state = TrainingState()
        self.claim = None if self.output is None else claim or ClaimedFolder(self.output, self.kind)
        self.show_progress = show_progress
        self.interrupted = False
        self._signal = signal.SIGINT
        self._clock = CheckpointClock(config.checkpoint_minutes)
        self._agreed = 0
        self._checkpoint_due = False
        self.trackers = trackers
        self._prepare(module)
        self.checkpoints = self._make_checkpoints()

    # What a subclass defines.

    @abstractmethod
    def load_epoch(self, epoch: int, done: int) -> Iterator[Batch]:
        """The batches of an epoch for this process, without those already done, on its device."""

    @abstractmethod
    def compute_loss(self, batch: Batch) -> torch.Tensor:
        """The loss of this step over all processes.

        Its gradient in this process comes from this process's rows only: the gradient of the step is the sum over
        all processes.
        """

    @abstractmethod
    def can_evaluate(self) -> bool:
        """Whether something is held out to evaluate on."""

    @abstractmethod
    def evaluate(self) -> dict[str, float]:
        """The figures on what is held out; the same in every process."""

    @abstractmethod
    def write_model(self, folder: Path, weights: dict[str, torch.Tensor]) -> None:
        """Write the model with its code, processor and card as a package for the Hub. Only the main process does.

        Args:
            folder: Where; it exists and is empty.
            weights: Of the whole wrapped module, gathered from all processes.
        """

    def describe_batch(self, batch: Batch) -> str:
        """What a batch contains, for the error about a loss that is not finite."""
        return ""

    def settings(self) -> dict[str, Any]:
        """What a resumed run has to have in common with this one."""
        return {**asdict(self.config), "steps": self.steps, **self.origin}

    def tracked_settings(self) -> dict[str, Any]:
        """The settings that trackers record: numbers and texts only."""
        return asdict(self.config)

    def parameter_groups(self, module: nn.Module) -> list[dict[str, Any]]:
        """The weights to train, in groups with their own rates."""
        return [{"params": [weight for weight in module.parameters() if weight.requires_grad]}]

    # The loop.

    def _prepare(self, module: nn.Module) -> None:
        fused = self.accelerator.device.type in ("cpu", "cuda")
        optimizer = torch.optim.AdamW(
            self.parameter_groups(module),
            self.config.learning_rate,
            betas=(0.9, self.config.beta2),
            weight_decay=self.config.weight_decay,
            fused=fused,
        )
        updates = max(1, self.steps // self.config.accumulate)
        schedule = LambdaLR(optimizer, lambda step: self.config.rate_factor(step, updates))
        self.wrapped, self.optimizer = self.accelerator.prepare(module, optimizer)
        if isinstance(self.wrapped, DistributedDataParallel):
            # No step changes a buffer, and a backbone has hundreds to send in each step.
            self.wrapped.forward_sync_buffers = False
        self.schedule = schedule
        self.accelerator.register_for_checkpointing(self.schedule, self.state)

    def _make_checkpoints(self) -> Checkpoints | None:
        if self.output is None:
            return None
        if self.accelerator.distributed_type != DistributedType.FSDP:
            return Checkpoints(self.output, self.accelerator)
        scalers = [] if self.accelerator.scaler is None else [self.accelerator.scaler]  # of fp16
        shards = ShardedState(self.wrapped, self.optimizer.optimizer, [self.schedule, self.state, *scalers])
        return Checkpoints(self.output, self.accelerator, shards)

    def run(self, resume: bool = True) -> None:
        """Train to the end, from the last checkpoint if there is one, and write the model."""
        if self.output is None or self.checkpoints is None or self.claim is None:
            self._run()
            return
        decide_in_main(self.claim.take)
        try:
            with reporting_lost_processes(), watching_processes():
                self._run_in(self.output, self.checkpoints, resume)
        finally:
            self.claim.release()

    def _run_in(self, output: Path, checkpoints: Checkpoints, resume: bool) -> None:
        self._check_settings()
        if resume:
            checkpoints.load_latest()
        with catching_signals(self._note_signal):
            self._run()
        self._finish(output, checkpoints)

    def _run(self) -> None:
        if self.trackers:
            self._start_trackers()
        self.wrapped.train()
        self._clock.restart()
        with TrainingProgress(self.steps, self.state.step, self._shows_progress()) as progress:
            for epoch in range(self.state.step // len(self.batches), self.config.epochs):
                self._train_epoch(epoch, progress)
        for tracker in self.accelerator.trackers:
            tracker.finish()

    def _train_epoch(self, epoch: int, progress: TrainingProgress) -> None:
        for batch in self.load_epoch(epoch, done=self.state.step % len(self.batches)):
            loss = self.training_step(batch)
            self.state.step += 1
            self.state.epoch_loss += loss
            progress.step(loss)
            if self.state.step % len(self.batches) == 0:
                self._end_epoch(epoch + 1, progress)
            if self.accelerator.sync_gradients:  # a checkpoint during accumulation would lose gradients
                self._save_if_due()

    @property
    def step_seed(self) -> int:
        """The seed of everything random in this step."""
        return self.config.seed * 1_000_003 + self.state.step

    def training_step(self, batch: Batch) -> float:
        """One batch: loss, gradients, update."""
        state = self.accelerator
        torch.manual_seed(self.step_seed * state.num_processes + state.process_index)  # of dropout
        with state.accumulate(self.wrapped):
            loss = self.compute_loss(batch)
            # The wrapper averages gradients over the processes, but their sum is what is wanted.
            state.backward(loss * state.num_processes)
            if state.sync_gradients and self.config.max_grad_norm:
                state.clip_grad_norm_(self.wrapped.parameters(), self.config.max_grad_norm)
            self.optimizer.step()
            if state.sync_gradients:
                self.schedule.step()
            self.optimizer.zero_grad()
        # Read only now, when all work of the step is queued: a GPU would otherwise idle before the backward pass.
        value, self._agreed = read_with_wish(loss, self._wish(), state.num_processes if state.sync_gradients else 1)
        self._check_loss(value, batch)
        return value

    # Between steps.

    def _end_epoch(self, epoch: int, progress: TrainingProgress) -> None:
        loss, self.state.epoch_loss = self.state.epoch_loss / len(self.batches), 0.0
        rate = float(self.schedule.get_last_lr()[0])
        row = {"epoch": epoch, "step": self.state.step, "loss": loss, "learning_rate": rate}
        every = self.config.evaluate_every
        if self.can_evaluate() and (epoch == self.config.epochs or (every and epoch % every == 0)):
            figures = self.evaluate()
            name, label = self.watched
            progress.watched = f"{label} {figures[name]:.1f}"
            row |= figures
            self._keep_best(figures[name])
        self.state.history.append(row)
        self.accelerator.log({key: value for key, value in row.items() if key != "step"}, step=self.state.step)
        every = self.config.checkpoint_every
        self._checkpoint_due |= bool(every) and epoch % every == 0 and epoch < self.config.epochs

    def _keep_best(self, figure: float) -> None:
        if figure > self.state.best:
            self.state.best = figure
            if self.output is not None and self.config.evaluate_every:
                self.save_model(self.output / BEST)

    def _note_signal(self, number: signal.Signals) -> None:
        """Let the current step be finished, so that the checkpoint is clean."""
        self.interrupted, self._signal = True, number

    def _wish(self) -> int:
        """What this process wants after this step: to stop, a checkpoint, or nothing. The main one has the clock."""
        if self.interrupted:
            return self._signal
        return SAVE if self.accelerator.is_main_process and self._clock.is_due() else 0

    def _save_if_due(self) -> None:
        """Write a checkpoint if one is due; if any process got a signal to stop, write one and stop."""
        if self.checkpoints is None or not (self._agreed or self._checkpoint_due):
            return
        self._checkpoint_due = False
        self.checkpoints.save(self.state.step)
        self._clock.restart()
        if self._agreed > SAVE:
            reason = SIGNALS[signal.Signals(self._agreed)]
            raise TrainingInterruptedError(
                f"stopped by {reason} after step {self.state.step} of {self.steps}; run the same command again to "
                "resume",
                self._agreed,
            )

    def _check_loss(self, loss: float, batch: Batch) -> None:
        if math.isfinite(loss):
            return
        epoch, number = divmod(self.state.step, len(self.batches))
        kept = "" if self.checkpoints is None else f"; the last checkpoint in {self.output} is kept"
        raise TrainingDivergedError(
            f"expected a finite loss, found {loss} in epoch {epoch + 1}, batch {number + 1}"
            f"{self.describe_batch(batch)}{kept}; try a lower learning rate, or gradient clipping"
        )

    def _start_trackers(self) -> None:
        self.accelerator.init_trackers("vrf", config=self.tracked_settings())

    def _shows_progress(self) -> bool:
        return self.show_progress and self.accelerator.is_main_process

    # What a run leaves behind.

    def _check_settings(self) -> None:
        """Refuse to resume or overwrite a different run."""
        if self.output is not None:
            record_settings(self.output, self.settings())

    def _finish(self, output: Path, checkpoints: Checkpoints) -> None:
        decide_in_main(lambda: write_json(output / HISTORY, self.state.history))
        self.save_model(output / MODEL)
        decide_in_main(checkpoints.clear)

    def save_model(self, folder: Path) -> None:
        """Write the model as a package for the Hub, atomically; if that fails, all processes raise why."""
        weights = self.accelerator.get_state_dict(self.wrapped)

        def write() -> None:
            staged = StagedFolder(folder, marker="config.json", overwrite=True)
            with report_save_errors(folder), staged as aside:
                self.write_model(aside, weights)

        decide_in_main(write)


def make_accelerator(config: LoopConfig, output: Path | None, trackers: tuple[str, ...] = ()) -> Accelerator:
    """An accelerator with the run's precision, accumulation and trackers."""
    join_processes()
    check_trackers(trackers)
    try:
        return Accelerator(
            mixed_precision=config.mixed_precision,
            gradient_accumulation_steps=config.accumulate,
            log_with=list(trackers) or None,
            project_dir=None if output is None else str(output),
        )
    except ValueError as error:
        raise UsageError(
            f"expected an accelerator with precision {config.mixed_precision} and trackers {list(trackers)}, found: "
            f"{error}; was another precision used before in this process?"
        ) from error


def check_trackers(names: Sequence[str]) -> None:
    """Refuse a tracker that does not exist or is not installed; accelerate would continue without it.

    Raises:
        UsageError: With the package to install.
    """
    for name in names:
        if name not in LOGGER_TYPE_TO_CLASS:
            known = ", ".join(LOGGER_TYPE_TO_CLASS)
            raise UsageError(f"expected a tracker among {known}, found {name!r}; choose one of them")
        if name in LoggerType.list() and name not in map(str, get_available_trackers()):
            package = name.replace("_", "-")
            raise UsageError(
                f"expected the tracker {name} to be installed, found no package {package}; install it with "
                f"`pip install {package}`, or omit --tracker {name}"
            )
