"""Training on one CPU or many GPUs: a lean loop on ``accelerate``.

No random state is kept between steps: the order of recipes depends on seed and epoch, negatives and augmentation on
seed and step, dropout on the process as well. So a run that was killed and resumes from its last checkpoint ends with
the same weights, and, without dropout, two processes with two recipes each take the same step as one with four.
"""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.tracking import LOGGER_TYPE_TO_CLASS, get_available_trackers
from accelerate.utils import LoggerType
from torch import nn
from torch.nn.functional import pad
from torch.optim.lr_scheduler import LambdaLR

from configuration_vrf import VRFConfig
from modeling_vrf import VRFModel, batch_loss
from package_vrf import CARD
from processing_vrf import VRFProcessor
from recipeflow.errors import (
    NoPairsError,
    OutputExistsError,
    TrainingDivergedError,
    TrainingInterruptedError,
    UsageError,
)
from recipeflow.evaluation.metrics import RetrievalMetrics, rank_targets, summarize_ranks
from recipeflow.evaluation.ranking import Embedded, EvaluationSet, embed_set
from recipeflow.files import StagedFolder, write_json
from recipeflow.pairs.batches import PairBatch, PairTensors, RecipeBatches
from recipeflow.processes import decide_in_main, join_processes
from recipeflow.progress import TrainingProgress
from recipeflow.training.checkpoints import Checkpoints, report_save_errors
from recipeflow.training.output_folder import ClaimedFolder, FolderKind
from recipeflow.training.saved_model import BEST, HISTORY, MODEL, SETTINGS
from recipeflow.training.settings import TrainingConfig

RUN = FolderKind("vrf train", marks=(SETTINGS,))


class PairEmbedder(nn.Module):
    """Embeds the rows of a batch. This is what accelerate wraps, so that every gradient passes through it.

    Args:
        model: The model.
    """

    def __init__(self, model: VRFModel) -> None:
        super().__init__()
        self.model = model

    def forward(
        self,
        images: torch.Tensor,
        post: torch.Tensor,
        pre: torch.Tensor | None,
        words: dict[str, torch.Tensor],
        pre_mask: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Embed queries and post-action images; an image that several rows share is embedded once."""
        features = images if images.ndim == 2 else self.model.get_features(images)
        distinct, position = post.unique(return_inverse=True)
        pre_features = None if pre is None else features[pre]
        output = self.model(
            **words,
            pre_features=pre_features,
            pre_mask=pre_mask,
            post_features=features[distinct],
            return_loss=False,
        )
        return output.query_embeds, output.image_embeds[position]

    def train(self, mode: bool = True) -> PairEmbedder:
        """Switch the mode; BatchNorm keeps its statistics, as a batch of few recipes is too small for new ones."""
        super().train(mode)
        for module in self.model.backbone.modules():
            if isinstance(module, nn.modules.batchnorm._BatchNorm):
                module.eval()
        return self


CardMaker = Callable[[VRFConfig, Mapping[str, int]], str]
"""Makes the text of a model's README. It is passed in: cards belong to the Hub, which training knows nothing of."""


@dataclass
class TrainingState:
    """The progress of a run; saved with every checkpoint."""

    step: int = 0
    epoch_loss: float = 0.0
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
        train_data: The rows to train on, with their images as features or as pixels.
        output: The run's folder: checkpoints, history and, at the end, the model. Nothing is written without it.
        eval_data: What to evaluate on; the best model by R@5 on it is kept.
        trackers: Names of accelerate's trackers to log to, such as ``tensorboard``.
        accelerator: To share one between runs.
        show_progress: A bar with loss and R@5, or occasional lines without a terminal.
        origin: What else the run depends on, such as dataset, fold and backbone: a run resumes only with equal ones.
        claim: The claim on ``output``, if it was taken already.
        make_card: Writes the README of a saved model, from its config and its vocabulary; without it there is none.
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
        origin: Mapping[str, Any] | None = None,
        claim: ClaimedFolder | None = None,
        make_card: CardMaker | None = None,
    ) -> None:
        self.config, self.processor, self.origin = config, processor, origin or {}
        self.make_card = make_card
        self.output = None if output is None else Path(output)
        self.accelerator = accelerator or make_accelerator(config, self.output, trackers)
        process = self.accelerator.process_index, self.accelerator.num_processes
        self.batches = RecipeBatches(train_data.recipes, config.recipes_per_batch, config.seed, *process)
        if not len(self.batches):
            raise NoPairsError(
                f"expected at least {max(2, self.accelerator.num_processes)} recipes to train on, so that each image "
                f"has negatives, found {len(self.batches.rows)}; add recipes"
            )
        self.data = train_data.to(self.accelerator.device)
        self.eval_data = None if eval_data is None else eval_data.to(self.accelerator.device)
        self.steps = config.epochs * len(self.batches)
        self.state = TrainingState()
        self.checkpoints = None if self.output is None else Checkpoints(self.output, self.accelerator)
        self.claim = None if self.output is None else claim or ClaimedFolder(self.output, RUN)
        self.show_progress = show_progress
        self.interrupted = False
        self.embedded: Embedded | None = None
        self._checkpoint_due = False
        self.trackers = trackers
        self._prepare(model)

    def _prepare(self, model: VRFModel) -> None:
        fused = self.accelerator.device.type in ("cpu", "cuda")
        optimizer = torch.optim.AdamW(
            self._parameter_groups(model),
            self.config.learning_rate,
            betas=(0.9, self.config.beta2),
            weight_decay=self.config.weight_decay,
            fused=fused,
        )
        updates = max(1, self.steps // self.config.accumulate)
        schedule = LambdaLR(optimizer, lambda step: self.config.rate_factor(step, updates))
        self.embedder, self.optimizer = self.accelerator.prepare(PairEmbedder(model), optimizer)
        self.schedule = schedule
        self.accelerator.register_for_checkpointing(self.schedule, self.state)

    def _parameter_groups(self, model: VRFModel) -> list[dict[str, Any]]:
        """The new parts at the full rate, and the backbone, if it is trained, at its own."""
        backbone = [weight for weight in model.backbone.parameters() if weight.requires_grad]
        inside = {id(weight) for weight in backbone}
        new = [weight for weight in model.parameters() if weight.requires_grad and id(weight) not in inside]
        slow = {"params": backbone, "lr": self.config.learning_rate * self.config.backbone_rate}
        return [{"params": new}, *([slow] if backbone else [])]

    @property
    def model(self) -> VRFModel:
        return self.accelerator.unwrap_model(self.embedder).model

    # The loop.

    def train(self, resume: bool = True) -> VRFModel:
        """Train to the end, from the last checkpoint if there is one, and return the bare model."""
        if self.checkpoints is None or self.claim is None:
            return self._train()
        decide_in_main(self.claim.take)
        try:
            self._check_settings()
            if resume:
                self.checkpoints.load_latest()
            return self._train()
        finally:
            self.claim.release()

    def _train(self) -> VRFModel:
        if self.trackers:
            self._start_trackers()
        self.embedder.train()
        restore = self._catch_interrupt()
        try:
            with TrainingProgress(self.steps, self.state.step, self._shows_progress()) as progress:
                for epoch in range(self.state.step // len(self.batches), self.config.epochs):
                    self._train_epoch(epoch, progress)
        finally:
            restore()
        self._finish()
        return self.model

    def _train_epoch(self, epoch: int, progress: TrainingProgress) -> None:
        for batch, images in self.load_epoch(epoch, done=self.state.step % len(self.batches)):
            loss = self.training_step(batch, images)
            self.state.step += 1
            self.state.epoch_loss += loss
            progress.step(loss)
            if self.state.step % len(self.batches) == 0:
                self._end_epoch(epoch + 1, progress)
            if self.accelerator.sync_gradients:  # a checkpoint during accumulation would lose gradients
                self._save_if_due()

    def load_epoch(self, epoch: int, done: int) -> Iterator[tuple[PairBatch, torch.Tensor]]:
        """The remaining batches of an epoch, each with the features or pixels of its images."""
        batches = [self.data.batch(rows) for rows in islice(self.batches.epoch(epoch), done, None)]
        source = self.data.images
        if isinstance(source, torch.Tensor):
            for batch in batches:
                yield batch, self.data.look(batch.frames, self.step_seed)
            return
        pixels = source.augmented([batch.frames for batch in batches], self.state.step, self.config.seed)
        for batch, images in zip(batches, pixels, strict=True):
            yield batch, images.to(self.accelerator.device, non_blocking=True)

    @property
    def step_seed(self) -> int:
        """The seed of everything random in this step."""
        return self.config.seed * 1_000_003 + self.state.step

    def training_step(self, batch: PairBatch, images: torch.Tensor) -> float:
        """One mini-batch: embed, gather over processes, loss, update."""
        state = self.accelerator
        torch.manual_seed(self.step_seed * state.num_processes + state.process_index)  # of dropout
        with self.accelerator.accumulate(self.embedder):
            queries, posts = self.embedder(images, batch.post, batch.pre, batch.words, batch.pre_mask)
            loss = batch_loss(
                *self.gather(queries, posts, batch.image_ids),
                config=self.model.config,
                generator=torch.Generator().manual_seed(self.step_seed),
            )
            self._check_loss(loss, batch)
            self.accelerator.backward(loss * self.accelerator.num_processes)
            if self.accelerator.sync_gradients and self.config.max_grad_norm:
                self.accelerator.clip_grad_norm_(self.embedder.parameters(), self.config.max_grad_norm)
            self.optimizer.step()
            if self.accelerator.sync_gradients:
                self.schedule.step()
            self.optimizer.zero_grad()
        return loss.item()

    def gather(
        self, queries: torch.Tensor, images: torch.Tensor, ids: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The rows of all processes, in their order: negatives come from the whole batch.

        Every process computes the same loss over all rows, and gradients flow back through its own. The wrapper around
        the model averages them over the processes, so the loss is multiplied by their number first.
        """
        state = self.accelerator
        if state.num_processes == 1:
            return queries, images, ids
        counts = state.gather(torch.tensor([len(ids)], device=ids.device)).tolist()
        gathered = []
        for tensor in (queries, images, ids[:, None]):
            padded = pad(tensor.detach(), (0, 0, 0, max(counts) - len(tensor)))
            parts = [part[:n] for part, n in zip(state.gather(padded).split(max(counts)), counts, strict=True)]
            parts[state.process_index] = tensor
            gathered.append(torch.cat(parts))
        return gathered[0], gathered[1], gathered[2][:, 0]

    # Between steps.

    def _end_epoch(self, epoch: int, progress: TrainingProgress) -> None:
        loss, self.state.epoch_loss = self.state.epoch_loss / len(self.batches), 0.0
        rate = float(self.schedule.get_last_lr()[0])
        row = {"epoch": epoch, "step": self.state.step, "loss": loss, "learning_rate": rate}
        every = self.config.evaluate_every
        if self.eval_data is not None and (epoch == self.config.epochs or (every and epoch % every == 0)):
            metrics = self.evaluate()
            progress.recall = metrics["recall_at_5"]
            row |= metrics
            self._keep_best(metrics["recall_at_5"])
        self.state.history.append(row)
        self.accelerator.log({key: value for key, value in row.items() if key != "step"}, step=self.state.step)
        every = self.config.checkpoint_every
        self._checkpoint_due |= bool(every) and epoch % every == 0 and epoch < self.config.epochs

    def evaluate(self) -> dict[str, float]:
        """The paper's metrics on the evaluation data; the same in every process. The embeddings are kept."""
        if self.eval_data is None:
            raise UsageError("expected data to evaluate on, found none; pass eval_data to the trainer")
        self.embedded = embed_set(self.model, self.eval_data)
        ranks = rank_targets(*self.embedded, self.eval_data.targets)
        return summarize_ranks(ranks, len(self.eval_data.candidates)).as_dict()

    def last_figures(self) -> dict[str, float]:
        """The metrics of the last evaluation; none if nothing was held out."""
        known = RetrievalMetrics.__dataclass_fields__
        return {name: value for name, value in self.state.history[-1].items() if name in known}

    def _keep_best(self, recall: float) -> None:
        if recall > self.state.best_recall:
            self.state.best_recall = recall
            if self.output is not None and self.config.evaluate_every:
                self.save_model(self.output / BEST)

    def _save_if_due(self) -> None:
        """Write a checkpoint if one is due; after Ctrl-C, write one and stop."""
        if self.checkpoints is None or not (self.interrupted or self._checkpoint_due):
            return
        self._checkpoint_due = False
        self.checkpoints.save(self.state.step)
        if self.interrupted:
            raise TrainingInterruptedError(
                f"stopped after step {self.state.step} of {self.steps}; run the same command again to resume"
            )

    def _check_loss(self, loss: torch.Tensor, batch: PairBatch) -> None:
        if torch.isfinite(loss):
            return
        epoch, number = divmod(self.state.step, len(self.batches))
        kept = "" if self.checkpoints is None else f"; the last checkpoint in {self.output} is kept"
        raise TrainingDivergedError(
            f"expected a finite loss, found {loss.item()} in epoch {epoch + 1}, batch {number + 1}, with the recipes "
            f"number {batch.recipes.unique().tolist()}{kept}; try a lower learning rate, or gradient clipping"
        )

    def _catch_interrupt(self) -> Callable[[], None]:
        """Let Ctrl-C finish the step, so that the checkpoint is clean; a second one stops at once."""
        if self.output is None or threading.current_thread() is not threading.main_thread():
            return lambda: None

        def note(number: int, frame: object) -> None:
            self.interrupted = True
            signal.signal(signal.SIGINT, previous)

        def restore() -> None:
            signal.signal(signal.SIGINT, previous)

        previous = signal.signal(signal.SIGINT, note)
        return restore

    def _start_trackers(self) -> None:
        settings: dict[str, Any] = asdict(self.config) | {"inputs": "+".join(self.config.inputs)}
        settings |= settings.pop("model")
        self.accelerator.init_trackers("vrf", config=settings)

    def _shows_progress(self) -> bool:
        return self.show_progress and self.accelerator.is_main_process

    # What a run leaves behind.

    def _check_settings(self) -> None:
        """Refuse to resume or overwrite a different run."""
        if (output := self.output) is None:
            return
        settings = {**asdict(self.config), "rows": len(self.data), "steps": self.steps, **self.origin}
        settings = json.loads(json.dumps(settings))
        refuse_finished(output)
        path = output / SETTINGS
        found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else settings
        if found != settings:
            names = sorted(name for name in found | settings if found.get(name) != settings.get(name))
            others = ", ".join(f"{name} {found.get(name)} and not {settings.get(name)}" for name in names)
            raise OutputExistsError(
                f"expected the run in {output} to have the same settings, found {others} in {path}; "
                "use those settings, delete the folder, or choose another"
            )
        if self.accelerator.is_main_process:
            write_json(path, settings)
        self.accelerator.wait_for_everyone()

    def _finish(self) -> None:
        for tracker in self.accelerator.trackers:
            tracker.finish()
        if self.output is None or self.checkpoints is None:
            return
        self.save_model(self.output / MODEL)
        if self.accelerator.is_main_process:
            write_json(self.output / HISTORY, self.state.history)
            self.checkpoints.clear()

    def save_model(self, folder: Path) -> None:
        """Write the model with its code and processor as a package for the Hub, atomically."""
        state = self.accelerator.get_state_dict(self.embedder)
        if self.accelerator.is_main_process:
            weights = {name.removeprefix("model."): tensor for name, tensor in state.items()}
            staged = StagedFolder(folder, marker="config.json", overwrite=True)
            with report_save_errors(folder), staged as aside:
                self.model.save_pretrained(aside, processor=self.processor, state_dict=weights)
                if self.make_card is not None:
                    card = self.make_card(self.model.config, self.processor.tokenizer.get_vocab())
                    (aside / CARD).write_text(card, encoding="utf-8")
        self.accelerator.wait_for_everyone()


def refuse_finished(output: Path) -> None:
    """Refuse the folder of a finished run."""
    if (output / MODEL).exists():
        raise OutputExistsError(
            f"expected an unfinished run, found a finished one in {output}; delete it, or choose another folder"
        )


def make_accelerator(config: TrainingConfig, output: Path | None, trackers: tuple[str, ...] = ()) -> Accelerator:
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
