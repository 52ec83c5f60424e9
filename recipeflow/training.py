"""Training on one CPU or many GPUs: a lean loop on ``accelerate``.

Nothing random is kept between steps: the order of recipes depends on seed and epoch, the negatives on seed and step.
So a run that was killed and goes on from its last checkpoint ends with the same weights, and two processes with two
recipes each take the same step as one process with four.
"""

from __future__ import annotations

import json
import math
import signal
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
import torch.distributed.nn.functional as collectives
from accelerate import Accelerator, DistributedDataParallelKwargs
from torch.nn.functional import pad
from torch.optim.lr_scheduler import LambdaLR

from modeling_vrf import VRFModel, triplet_loss
from processing_vrf import VRFProcessor
from recipeflow.batches import INPUTS, PairTensors, RecipeBatches
from recipeflow.checkpoints import Checkpoints, write_json
from recipeflow.errors import OutputExistsError, TrainingDivergedError, TrainingInterruptedError, UsageError
from recipeflow.evaluation import EvaluationSet, evaluate
from recipeflow.progress import TrainingProgress
from recipeflow.staging import StagedFolder

HISTORY = "history.json"
SETTINGS = "training.json"
MODEL = "model"
BEST = "best"


@dataclass(frozen=True)
class TrainingConfig:
    """How to train; the defaults are the paper's settings.

    Args:
        inputs: What a query is made of: any of ``action``, ``object`` and ``image``.
        epochs: Passes over the training recipes.
        recipes_per_batch: Recipes in a mini-batch, over all processes together.
        learning_rate: The highest rate of AdamW.
        weight_decay: Of AdamW; the paper names none, this is PyTorch's default.
        schedule: What becomes of the rate: it stays, or falls to zero along a line or a cosine.
        warmup: The share of steps over which the rate rises from zero.
        margin: The margin of the triplet loss.
        negatives: Which negatives the loss takes; the paper samples one a side.
        accumulate: Mini-batches a step of the optimiser.
        max_grad_norm: Clip gradients to this length, or not at all.
        mixed_precision: ``no``, ``bf16`` or ``fp16``.
        evaluate_every: Epochs between evaluations; 0 evaluates only at the end.
        checkpoint_every: Epochs between checkpoints; 0 writes one only on Ctrl-C.
        seed: Fixes initial weights, batches and negatives.
    """

    inputs: tuple[str, ...] = INPUTS
    epochs: int = 350
    recipes_per_batch: int = 4
    learning_rate: float = 1e-5
    weight_decay: float = 0.01
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    warmup: float = 0.0
    margin: float = 0.1
    negatives: Literal["one", "all", "hardest"] = "one"
    accumulate: int = 1
    max_grad_norm: float | None = None
    mixed_precision: Literal["no", "bf16", "fp16"] = "no"
    evaluate_every: int = 0
    checkpoint_every: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        checks = {
            "inputs": bool(self.inputs) and set(self.inputs) <= set(INPUTS),
            "epochs": self.epochs >= 1,
            "recipes_per_batch": self.recipes_per_batch >= 1,
            "learning_rate": math.isfinite(self.learning_rate) and self.learning_rate > 0,
            "weight_decay": self.weight_decay >= 0,
            "schedule": self.schedule in ("constant", "linear", "cosine"),
            "warmup": 0 <= self.warmup < 1,
            "negatives": self.negatives in ("one", "all", "hardest"),
            "accumulate": self.accumulate >= 1,
            "max_grad_norm": self.max_grad_norm is None or self.max_grad_norm > 0,
            "mixed_precision": self.mixed_precision in ("no", "bf16", "fp16"),
            "evaluate_every": self.evaluate_every >= 0,
            "checkpoint_every": self.checkpoint_every >= 0,
        }
        for name, is_right in checks.items():
            if not is_right:
                raise UsageError(f"expected a valid {name}, found {getattr(self, name)!r}; see TrainingConfig")

    def rate_factor(self, step: int, total: int) -> float:
        """What the learning rate is multiplied with at a step of the optimiser."""
        warmup = round(self.warmup * total)
        if step < warmup:
            return (step + 1) / (warmup + 1)
        done = (step - warmup) / max(1, total - warmup)
        return {"constant": 1.0, "linear": 1 - done, "cosine": (1 + math.cos(math.pi * done)) / 2}[self.schedule]


PRESETS = {
    "paper": TrainingConfig(),
    "fast": TrainingConfig(epochs=20, learning_rate=1e-4, schedule="cosine", checkpoint_every=0),
}
"""``paper``: exactly its settings. ``fast``: same model and loss, a shorter schedule that reaches at least as much."""


@dataclass
class TrainingState:
    """How far a run is; saved with every checkpoint."""

    step: int = 0
    best_recall: float = -1.0
    history: list[dict[str, float]] = field(default_factory=list)

    def state_dict(self) -> dict[str, Any]:
        """For accelerate."""
        return asdict(self)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """For accelerate."""
        vars(self).update(state)


class VRFTrainer:
    """Trains a ``VRFModel`` on pairs.

    Args:
        model: The model; its config says which inputs it uses.
        processor: Saved with the model.
        config: How to train.
        train_data: The rows to train on.
        output: The run's folder: checkpoints, history and, at the end, the model. Nothing is written without it.
        eval_data: What to evaluate on; the best model by R@5 on it is kept.
        trackers: Names of accelerate's trackers to log to, such as ``tensorboard``.
        accelerator: To share one between runs.
        show_progress: A bar with loss and R@5.
    """

    def __init__(
        self,
        model: VRFModel,
        processor: VRFProcessor,
        config: TrainingConfig,
        train_data: PairTensors,
        output: str | Path | None = None,
        *,
        eval_data: EvaluationSet | None = None,
        trackers: tuple[str, ...] = (),
        accelerator: Accelerator | None = None,
        show_progress: bool = True,
    ) -> None:
        self.config, self.processor, self.eval_data = config, processor, eval_data
        self.output = None if output is None else Path(output)
        self.accelerator = accelerator or make_accelerator(config, self.output, trackers)
        process = self.accelerator.process_index, self.accelerator.num_processes
        self.batches = RecipeBatches(train_data.recipes, config.recipes_per_batch, config.seed, *process)
        self.data = train_data.to(self.accelerator.device)
        self.steps = config.epochs * len(self.batches)
        self.state = TrainingState()
        self.checkpoints = None if self.output is None else Checkpoints(self.output, self.accelerator)
        self.show_progress = show_progress
        self.interrupted = False
        self._prepare(model, trackers)

    def _prepare(self, model: VRFModel, trackers: tuple[str, ...]) -> None:
        weights = [parameter for parameter in model.parameters() if parameter.requires_grad]
        fused = self.accelerator.device.type in ("cpu", "cuda")
        rate, decay = self.config.learning_rate, self.config.weight_decay
        optimizer = torch.optim.AdamW(weights, lr=rate, weight_decay=decay, fused=fused)
        updates = math.ceil(self.steps / self.config.accumulate)
        schedule = LambdaLR(optimizer, lambda step: self.config.rate_factor(step, updates))
        self.model, self.optimizer = self.accelerator.prepare(model, optimizer)
        self.schedule = schedule
        self.accelerator.register_for_checkpointing(self.schedule, self.state)
        if trackers:
            settings = asdict(self.config) | {"inputs": "+".join(self.config.inputs)}
            self.accelerator.init_trackers("vrf", config=settings)

    # The loop.

    def train(self, resume: bool = True) -> VRFModel:
        """Train to the end, from the last checkpoint if there is one, and return the bare model."""
        if self.checkpoints is not None:
            self._claim_output()
            if resume:
                self.checkpoints.load_latest()
        self.model.train()
        restore = self._catch_interrupt()
        try:
            with TrainingProgress(self.steps, self.state.step, self._shows_progress()) as progress:
                for epoch in range(self.state.step // len(self.batches), self.config.epochs):
                    self._train_epoch(epoch, progress)
        finally:
            restore()
        self._finish()
        return self.accelerator.unwrap_model(self.model)

    def _claim_output(self) -> None:
        """Refuse to go on with, or to write over, a run that is not this one."""
        settings = json.loads(json.dumps({**asdict(self.config), "rows": len(self.data), "steps": self.steps}))
        if (self.output / MODEL).exists():
            raise OutputExistsError(f"{self.output} holds a finished run; delete it, or choose another folder")
        path = self.output / SETTINGS
        if path.exists() and json.loads(path.read_text(encoding="utf-8")) != settings:
            raise OutputExistsError(
                f"expected the run in {self.output} to have the same settings, found others in {path}; "
                "go on with those, delete the folder, or choose another"
            )
        if self.accelerator.is_main_process:
            write_json(path, settings)
        self.accelerator.wait_for_everyone()

    def _train_epoch(self, epoch: int, progress: TrainingProgress) -> None:
        first = epoch * len(self.batches)
        losses = []
        for number, rows in enumerate(self.batches.epoch(epoch)):
            if first + number < self.state.step:
                continue  # done before the run was resumed
            losses.append(self.training_step(rows))
            self.state.step += 1
            progress.advance(losses[-1])
            if self.interrupted:
                self._stop_here()
        self._end_epoch(epoch + 1, sum(losses) / len(losses), progress)

    def training_step(self, rows: torch.Tensor) -> float:
        """One mini-batch: embed, gather over processes, triplet loss, update."""
        batch = self.data.batch(rows)
        images, position = batch.pop("image_ids").unique(return_inverse=True)
        batch["post_features"] = self.data.features[images]  # an image that several rows share is embedded once
        with self.accelerator.accumulate(self.model):
            output = self.model(**batch, return_loss=False)
            queries, posts, ids = self.gather(output.query_embeds, output.image_embeds[position], images[position])
            loss = triplet_loss(
                queries,
                posts,
                ids,
                margin=self.config.margin,
                negatives=self.config.negatives,
                generator=torch.Generator().manual_seed(self.config.seed * 1_000_003 + self.state.step),
            )
            self._check_loss(loss, rows)
            self.accelerator.backward(loss)
            if self.accelerator.sync_gradients and self.config.max_grad_norm:
                self.accelerator.clip_grad_norm_(self.model.parameters(), self.config.max_grad_norm)
            self.optimizer.step()
            if self.accelerator.sync_gradients:
                self.schedule.step()
            self.optimizer.zero_grad()
        return loss.item()

    def gather(
        self, queries: torch.Tensor, images: torch.Tensor, ids: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The rows of all processes, in their order and with gradients: negatives come from the whole batch.

        Each process computes the same loss over all rows. The gather adds up the gradients of all processes and the
        wrapper around the model divides by their number, so the update is that of a single process.
        """
        world = self.accelerator.num_processes
        if world == 1:
            return queries, images, ids
        counts = self.accelerator.gather(torch.tensor([len(ids)], device=ids.device)).tolist()
        gathered = []
        for tensor in (queries, images, ids[:, None]):
            padded = pad(tensor, (0, 0, 0, max(counts) - len(tensor)))
            parts = collectives.all_gather(padded)
            gathered.append(torch.cat([part[:count] for part, count in zip(parts, counts, strict=True)]))
        return gathered[0], gathered[1], gathered[2][:, 0]

    # Between steps.

    def _end_epoch(self, epoch: int, loss: float, progress: TrainingProgress) -> None:
        row = {"epoch": epoch, "step": self.state.step, "loss": loss, "learning_rate": self.schedule.get_last_lr()[0]}
        every = self.config.evaluate_every
        if self.eval_data is not None and (epoch == self.config.epochs or (every and epoch % every == 0)):
            metrics = self.evaluate()
            progress.recall = metrics["recall_at_5"]
            row |= metrics
            self._keep_best(metrics["recall_at_5"])
        self.state.history.append(row)
        self.accelerator.log({key: value for key, value in row.items() if key != "step"}, step=self.state.step)
        every = self.config.checkpoint_every
        if self.checkpoints is not None and every and epoch % every == 0 and epoch < self.config.epochs:
            self.checkpoints.save(self.state.step)

    def evaluate(self) -> dict[str, float]:
        """The paper's figures on the evaluation data; the same in every process."""
        model = self.accelerator.unwrap_model(self.model)
        return evaluate(model, self.eval_data.to(self.accelerator.device)).as_dict()

    def _keep_best(self, recall: float) -> None:
        if recall > self.state.best_recall:
            self.state.best_recall = recall
            if self.output is not None and self.config.evaluate_every:
                self.save_model(self.output / BEST)

    def _check_loss(self, loss: torch.Tensor, rows: torch.Tensor) -> None:
        if torch.isfinite(loss):
            return
        epoch, number = divmod(self.state.step, len(self.batches))
        recipes = self.data.recipes[rows].unique().tolist()
        kept = "" if self.checkpoints is None else f"; the last checkpoint in {self.output} is kept"
        raise TrainingDivergedError(
            f"expected a finite loss, found {loss.item()} in epoch {epoch + 1}, batch {number + 1}, with the recipes "
            f"number {recipes}{kept}; try a lower learning rate, or gradient clipping"
        )

    def _catch_interrupt(self) -> Callable[[], None]:
        """Let Ctrl-C finish the step, so that the checkpoint is clean; a second one stops at once."""
        if self.output is None or threading.current_thread() is not threading.main_thread():
            return lambda: None

        def note(number: int, frame: object) -> None:
            self.interrupted = True
            signal.signal(signal.SIGINT, previous)

        previous = signal.signal(signal.SIGINT, note)
        return lambda: signal.signal(signal.SIGINT, previous)

    def _stop_here(self) -> None:
        self.checkpoints.save(self.state.step)
        raise TrainingInterruptedError(
            f"stopped after step {self.state.step} of {self.steps}; run the same command again to go on from there"
        )

    def _shows_progress(self) -> bool:
        return self.show_progress and self.accelerator.is_main_process

    # What a run leaves behind.

    def _finish(self) -> None:
        self.accelerator.end_training()
        if self.output is None:
            return
        self.save_model(self.output / MODEL)
        if self.accelerator.is_main_process:
            write_json(self.output / HISTORY, self.state.history)
            self.checkpoints.clear()

    def save_model(self, folder: Path) -> None:
        """Write the model with its code and processor as a package for the Hub, aside and then in place."""
        state = self.accelerator.get_state_dict(self.model)
        if self.accelerator.is_main_process:
            with StagedFolder(folder, marker="config.json", overwrite=True) as aside:
                model = self.accelerator.unwrap_model(self.model)
                model.save_pretrained(aside, processor=self.processor, state_dict=state)
        self.accelerator.wait_for_everyone()


def make_accelerator(config: TrainingConfig, output: Path | None, trackers: tuple[str, ...] = ()) -> Accelerator:
    """An accelerator with the run's precision, accumulation and trackers."""
    return Accelerator(
        mixed_precision=config.mixed_precision,
        gradient_accumulation_steps=config.accumulate,
        log_with=list(trackers) or None,
        project_dir=None if output is None else str(output),
        # Nothing but the frozen backbone has buffers, and features come ready: nothing to broadcast.
        kwargs_handlers=[DistributedDataParallelKwargs(broadcast_buffers=False)],
    )
