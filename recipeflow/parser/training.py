"""Training the parser, on the training loop that every model here is trained with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import torch
from accelerate import Accelerator
from torch import nn

from configuration_rfg import RFGConfig
from modeling_rfg import RFGModel
from package_hub import CARD
from processing_rfg import RFGProcessor
from recipeflow.errors import UsageError
from recipeflow.parser.batches import LengthBatches
from recipeflow.parser.evaluation import FIGURES, ParserScores, evaluate_parser
from recipeflow.parser.examples import Example, make_batch
from recipeflow.parser.parts import random_part
from recipeflow.parser.settings import ParserConfig
from recipeflow.training.loop import TrainingLoop, make_accelerator
from recipeflow.training.output_folder import FolderKind
from recipeflow.training.saved_model import SETTINGS

PARSER_RUN = FolderKind("vrf parser train", marks=(SETTINGS,))

CardMaker = Callable[[RFGConfig], str]
"""Makes the text of a model's README. It is passed in: cards belong to the Hub, which training knows nothing of."""


@dataclass(frozen=True)
class ParserBatch:
    """Recipes with all tensors that the model takes in training."""

    recipes: tuple[str, ...]
    inputs: dict[str, torch.Tensor]


class ParserTrainer(TrainingLoop[ParserBatch]):
    """Trains an ``RFGModel`` on annotated recipes.

    Args:
        model: The model.
        processor: Saved with the model.
        config: How to train.
        train_data: The recipes to train on.
        output: The run's folder: checkpoints, history and, at the end, the model. Nothing is written without it.
        eval_data: Recipes to evaluate on; the best model by labelled edges from text is kept.
        accelerator: To share one between runs.
        trackers: Names of accelerate's trackers to log to, such as ``tensorboard``.
        make_card: Writes the README of a saved model; without it there is none.
        **options: Of `TrainingLoop`.
    """

    kind = PARSER_RUN
    watched = ("edges_text", "edges F")
    config: ParserConfig

    def __init__(
        self,
        model: RFGModel,
        processor: RFGProcessor,
        config: ParserConfig,
        train_data: Sequence[Example],
        output: str | Path | None = None,
        *,
        eval_data: Sequence[Example] = (),
        accelerator: Accelerator | None = None,
        trackers: tuple[str, ...] = (),
        make_card: CardMaker | None = None,
        **options: Any,
    ) -> None:
        accelerator = accelerator or make_accelerator(config, None if output is None else Path(output), trackers)
        self.processor, self.make_card = processor, make_card
        if accelerator.device.type == "cpu" and accelerator.mixed_precision == "bf16":
            model.use_plain_attention()
        self.data, self.eval_data = train_data, eval_data
        self.scores: ParserScores | None = None
        lengths = [len(example.recipe.words) for example in train_data]
        process = accelerator.process_index, accelerator.num_processes
        batches = LengthBatches(lengths, config.recipes_per_batch, config.seed, *process)
        super().__init__(model, config, batches, output, accelerator=accelerator, trackers=trackers, **options)
        self.batches: LengthBatches = batches

    @property
    def model(self) -> RFGModel:
        return self.accelerator.unwrap_model(self.wrapped)

    def train(self, resume: bool = True) -> RFGModel:
        """Train to the end, from the last checkpoint if there is one, and return the bare model."""
        self.run(resume)
        return self.model

    def parameter_groups(self, module: nn.Module) -> list[dict[str, Any]]:
        assert isinstance(module, RFGModel)
        config = self.config
        return module.parameter_groups(
            config.learning_rate, config.encoder_learning_rate, config.weight_decay, config.layer_decay
        )

    def load_epoch(self, epoch: int, done: int) -> Iterator[ParserBatch]:
        for rows in islice(self.batches.epoch(epoch), done, None):
            chosen = [self._read(row, epoch) for row in rows]
            inputs = make_batch(chosen, self.processor, self.model.config, self.accelerator.device)
            yield ParserBatch(tuple(example.recipe_id for example in chosen), inputs)

    def _read(self, row: int, epoch: int) -> Example:
        """A recipe, or a part of it; which one depends on nothing else, so that a resumed run reads the same."""
        random = Random(f"{self.config.seed} {epoch} {row}")
        is_part = random.random() < self.config.part_share
        return random_part(self.data[row], random) if is_part else self.data[row]

    def compute_loss(self, batch: ParserBatch) -> torch.Tensor:
        """The mean over processes, each by its share of the words."""
        loss = self.wrapped(**batch.inputs).loss
        state = self.accelerator
        if state.num_processes == 1:
            return loss
        words = batch.inputs["word_mask"].sum().float()
        own = loss * (words / state.reduce(words, "sum"))
        others = state.reduce(own.detach(), "sum") - own.detach()  # for the report: a value without a gradient
        return own + others

    def describe_batch(self, batch: ParserBatch) -> str:
        return f", with the recipes {', '.join(batch.recipes)}"

    def can_evaluate(self) -> bool:
        return bool(self.eval_data)

    def evaluate(self) -> dict[str, float]:
        """The F-measures on the evaluation data; the same in every process. All scores are kept."""
        if not self.eval_data:
            raise UsageError("expected recipes to evaluate on, found none; pass eval_data to the trainer")
        self.scores = evaluate_parser(self.model, self.processor, self.eval_data)
        self.wrapped.train()
        return self.scores.figures()

    def last_figures(self) -> dict[str, float]:
        """The F-measures of the last evaluation; none if nothing was held out."""
        return {name: value for name, value in self.state.history[-1].items() if name in FIGURES}

    def settings(self) -> dict[str, Any]:
        return super().settings() | {"recipes": len(self.data)}

    def tracked_settings(self) -> dict[str, Any]:
        settings: dict[str, Any] = super().tracked_settings()
        return settings | settings.pop("model")

    def write_model(self, folder: Path, weights: dict[str, torch.Tensor]) -> None:
        self.model.save_pretrained(folder, processor=self.processor, state_dict=weights)
        if self.make_card is not None:
            (folder / CARD).write_text(self.make_card(self.model.config), encoding="utf-8")
