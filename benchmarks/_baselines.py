"""Baselines for training: a plain loop, and the stock Trainer. Not a benchmark by itself."""

import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from transformers import Trainer, TrainerCallback, TrainingArguments

from configuration_vrf import VRFConfig
from modeling_vrf import VRFModel
from recipeflow.features.rows import FeatureRows
from recipeflow.pairs.batches import PairBatch, PairTensors
from recipeflow.training.settings import TrainingConfig

Rows = dict[str, torch.Tensor]


def make_model(backbone: str, vocab_size: int, inputs: Sequence[str], seed: int = 0) -> VRFModel:
    """A new model; its backbone has random weights and is never run."""
    torch.manual_seed(seed)
    config = VRFConfig(
        backbone=backbone,
        vocab_size=vocab_size,
        use_action="action" in inputs,
        use_object="object" in inputs,
        use_image="image" in inputs,
    )
    return VRFModel(config)


def plain_batch(data: PairTensors, batch: PairBatch) -> Rows:
    """The rows of a batch as the arguments of the model, one post-action image per row."""
    assert isinstance(data.images, FeatureRows)  # and not pixels
    features = data.images.look(batch.frames)
    rows = batch.words | {"post_features": features[batch.post], "image_ids": batch.image_ids}
    return rows if batch.pre is None else rows | {"pre_features": features[batch.pre]}


def bare_loop(model: VRFModel, config: TrainingConfig, batches: Sequence[Rows]) -> Callable[[], None]:
    """Forward, backward, update, and nothing else."""
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=config.learning_rate, weight_decay=config.weight_decay, fused=True)
    model.train()

    def run() -> None:
        for batch in batches:
            loss = model(**batch).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            loss.item()

    return run


class _Clock(TrainerCallback):
    """Times all steps after the first, so that what the Trainer sets up once does not count."""

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step == 1:
            self.started = time.perf_counter()
        self.seconds = time.perf_counter() - self.started


def trainer_seconds(model: VRFModel, config: TrainingConfig, batches: Sequence[Rows]) -> float:
    """Seconds per step with ``transformers.Trainer``, with everything optional switched off."""
    clock = _Clock()
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder,
            max_steps=len(batches),
            per_device_train_batch_size=1,
            learning_rate=config.learning_rate,
            weight_decay=config.weight_decay,
            lr_scheduler_type="constant",
            optim="adamw_torch_fused",
            max_grad_norm=0.0,
            save_strategy="no",
            logging_strategy="no",
            report_to="none",
            disable_tqdm=True,
            remove_unused_columns=False,
            use_cpu=not torch.cuda.is_available(),
        )
        rows: Any = list(batches)  # the Trainer takes whatever has a length and items
        Trainer(model, arguments, train_dataset=rows, data_collator=lambda items: items[0], callbacks=[clock]).train()
    return clock.seconds / (len(batches) - 1)
