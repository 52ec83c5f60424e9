"""Training the retrieval model on pairs of images."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, tee
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from torch import nn

from configuration_vrf import VRFConfig
from modeling_vrf import VRFModel, batch_loss, take_rows
from package_vrf import CARD
from processing_vrf import VRFProcessor
from recipeflow.errors import NoPairsError, UsageError
from recipeflow.evaluation.metrics import RetrievalMetrics, rank_targets, summarize_ranks
from recipeflow.evaluation.ranking import Embedded, EvaluationSet, embed_queries, embed_set, evaluating
from recipeflow.features.rows import FeatureRows
from recipeflow.pairs.batches import PairBatch, PairTensors, RecipeBatches
from recipeflow.pairs.mixing import add_mixes, draw_mixes
from recipeflow.training.large_batch import LARGE_BATCH, gather_uneven, large_batch_loss, own_rows
from recipeflow.training.loop import TrainingLoop, make_accelerator
from recipeflow.training.output_folder import FolderKind
from recipeflow.training.saved_model import SETTINGS, TUNING
from recipeflow.training.settings import TrainingConfig
from recipeflow.training.sharding import whole_weights
from residual_vrf import PER_GROUP

WORD_VECTORS = "text_encoder.embedding.weight"
"""The weight that has a learning rate of its own."""

EMBEDDING = ("get_features", "get_query_embeds", "get_image_embeds")
"""The model's methods that evaluation calls."""

RUN = FolderKind("vrf train", marks=(SETTINGS, TUNING))


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
        pre_features = None if pre is None else take_rows(features, pre)
        output = self.model(
            **words,
            pre_features=pre_features,
            pre_mask=pre_mask,
            post_features=take_rows(features, distinct),
            return_loss=False,
        )
        return output.query_embeds, take_rows(output.image_embeds, position)

    def train(self, mode: bool = True) -> PairEmbedder:
        """Switch the mode; BatchNorm keeps its statistics, as a batch of few recipes is too small for new ones."""
        super().train(mode)
        for module in self.model.backbone.modules():
            if isinstance(module, nn.modules.batchnorm._BatchNorm):
                module.eval()
        return self


CardMaker = Callable[[VRFConfig, Mapping[str, int]], str]
"""Makes the text of a model's README. It is passed in: cards belong to the Hub, which training knows nothing of."""


class VRFTrainer(TrainingLoop[tuple[PairBatch, torch.Tensor]]):
    """Trains a ``VRFModel`` on pairs; a batch comes with the features or pixels of its images.

    Args:
        model: The model; its config says which inputs it uses.
        processor: Saved with the model.
        config: How to train.
        train_data: The rows to train on, with their images as features or as pixels.
        output: The run's folder: checkpoints, history and, at the end, the model. Nothing is written without it.
        eval_data: What to evaluate on; the best model by R@5 on it is kept.
        accelerator: To share one between runs.
        trackers: Names of accelerate's trackers to log to, such as ``tensorboard``.
        make_card: Writes the README of a saved model, from its config and its vocabulary; without it there is none.
        **options: Of `TrainingLoop`.
    """

    kind = RUN
    watched = ("recall_at_5", "R@5")
    config: TrainingConfig

    def __init__(
        self,
        model: VRFModel,
        processor: VRFProcessor,
        config: TrainingConfig,
        train_data: PairTensors,
        output: str | Path | None = None,
        *,
        eval_data: EvaluationSet | None = None,
        accelerator: Accelerator | None = None,
        trackers: tuple[str, ...] = (),
        make_card: CardMaker | None = None,
        **options: Any,
    ) -> None:
        accelerator = accelerator or make_accelerator(config, None if output is None else Path(output), trackers)
        process = accelerator.process_index, accelerator.num_processes
        batches = RecipeBatches(train_data.recipes, config.recipes_per_batch, config.seed, *process)
        if not len(batches):
            raise NoPairsError(
                f"expected at least {max(2, accelerator.num_processes)} recipes to train on, so that each image "
                f"has negatives, found {batches.recipes}; add recipes"
            )
        self.processor, self.make_card = processor, make_card
        self.data, self.eval_data = train_data, eval_data
        self.embedded: Embedded | None = None
        self._kept_at: int | None = None
        super().__init__(
            PairEmbedder(model), config, batches, output, accelerator=accelerator, trackers=trackers, **options
        )
        self.batches: RecipeBatches = batches

    @property
    def model(self) -> VRFModel:
        return self.accelerator.unwrap_model(self.wrapped).model

    def train(self, resume: bool = True) -> VRFModel:
        """Train to the end, from the last checkpoint if there is one, and return the bare model."""
        self.run(resume)
        self._keep_queries()
        return self.model

    def parameter_groups(self, module: nn.Module) -> list[dict[str, Any]]:
        """The new parts at the full rate; word vectors, and the backbone, if it is trained, at their own."""
        assert isinstance(module, PairEmbedder)
        config = self.config
        trained = {name: weight for name, weight in module.model.named_parameters() if weight.requires_grad}
        backbone = [weight for name, weight in trained.items() if name.startswith("backbone.")]
        words = [trained[WORD_VECTORS]] if config.word_rate != 1 and WORD_VECTORS in trained else []
        apart = {id(weight) for weight in [*backbone, *words]}
        new = [weight for weight in trained.values() if id(weight) not in apart]
        groups = [(new, 1.0), (backbone, config.backbone_rate), (words, config.word_rate)]
        return [{"params": weights, "lr": config.learning_rate * rate} for weights, rate in groups if weights]

    def load_epoch(self, epoch: int, done: int) -> Iterator[tuple[PairBatch, torch.Tensor]]:
        """The remaining batches of an epoch, each with the features or pixels of its images."""
        device = self.accelerator.device
        batches = (self.data.batch(rows) for rows in islice(self.batches.epoch(epoch), done, None))
        source = self.data.images
        if isinstance(source, FeatureRows):
            for batch in batches:
                yield self._mix(batch, source.look(batch.frames, device, self.step_seed))
            return
        batches, ahead = tee(batches)  # pixels of later steps are decoded meanwhile
        pixels = source.augmented((batch.frames for batch in ahead), self.state.step, self.config.seed)
        for batch, images in zip(batches, pixels, strict=True):
            yield batch.to(device), images.to(device, non_blocking=True)

    def _mix(self, batch: PairBatch, features: torch.Tensor) -> tuple[PairBatch, torch.Tensor]:
        """A batch on the device of its features, with mixed rows if the settings ask for them."""
        if not self.config.mixed_share:
            return batch.to(features.device), features
        place = self.accelerator.num_processes, self.accelerator.process_index
        generator = torch.Generator().manual_seed(self.step_seed * place[0] + place[1])
        mixes = draw_mixes(batch, self.config.mixed_share, generator)
        return add_mixes(batch.to(features.device), features, mixes, place)

    def compute_loss(self, batch: tuple[PairBatch, torch.Tensor]) -> torch.Tensor:
        """Embed, gather over processes, and compare all queries with all images."""
        pairs, images = batch
        queries, posts = self.wrapped(images, pairs.post, pairs.pre, pairs.words, pairs.pre_mask)
        counts, config = self._count_rows(queries), self.model.config
        if sum(counts) > LARGE_BATCH:
            return large_batch_loss(queries, posts, pairs.image_ids, counts, config, self.step_seed)
        generator = torch.Generator().manual_seed(self.step_seed)
        return batch_loss(*self.gather(queries, posts, pairs.image_ids, counts), config=config, generator=generator)

    def _count_rows(self, rows: torch.Tensor) -> list[int]:
        """How many rows of this batch each process has."""
        if self.accelerator.num_processes == 1:
            return [len(rows)]
        return self.accelerator.gather(torch.tensor([len(rows)], device=rows.device)).tolist()

    def gather(
        self, queries: torch.Tensor, images: torch.Tensor, ids: torch.Tensor, counts: Sequence[int]
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The rows of all processes, in their order: negatives come from the whole batch.

        Every process computes the same loss over all rows, and gradients flow back through its own.
        """
        if len(counts) == 1:
            return queries, images, ids
        own = own_rows(counts)
        gathered = []
        for tensor in (queries, images, ids[:, None]):
            rows = gather_uneven(tensor, counts)
            gathered.append(torch.cat([rows[: own.start], tensor, rows[own.stop :]]))
        return gathered[0], gathered[1], gathered[2][:, 0]

    def describe_batch(self, batch: tuple[PairBatch, torch.Tensor]) -> str:
        return f", with the recipes number {batch[0].recipes.unique().tolist()}"

    def can_evaluate(self) -> bool:
        return self.eval_data is not None

    def evaluate(self) -> dict[str, float]:
        """The paper's metrics on the evaluation data; the same in every process. The embeddings are kept."""
        if self.eval_data is None:
            raise UsageError("expected data to evaluate on, found none; pass eval_data to the trainer")
        self._keep_queries()
        with whole_weights(self.accelerator.unwrap_model(self.wrapped), self.model, EMBEDDING):
            self.embedded = embed_set(self.model, self.eval_data)
        ranks = rank_targets(*self.embedded, self.eval_data.targets)
        return summarize_ranks(ranks, len(self.eval_data.candidates)).as_dict()

    def _keep_queries(self) -> None:
        """Let the model keep some queries of the training data as it embeds them now, if it ranks hubs lower."""
        model, wanted = self.model, PER_GROUP * self.model.config.hub_groups
        if not wanted or self._kept_at == self.state.step:
            return
        rows = torch.arange(wanted) * len(self.data) // wanted  # every so many-th one; all of them if there are fewer
        with whole_weights(self.accelerator.unwrap_model(self.wrapped), model, EMBEDDING), evaluating(model):
            model.hubs.keep(embed_queries(model, self.data, rows.unique()))
        self._kept_at = self.state.step

    def save_model(self, folder: Path) -> None:
        self._keep_queries()
        super().save_model(folder)

    def last_figures(self) -> dict[str, float]:
        """The metrics of the last evaluation; none if nothing was held out."""
        known = RetrievalMetrics.__dataclass_fields__
        return {name: value for name, value in self.state.history[-1].items() if name in known}

    def settings(self) -> dict[str, Any]:
        return super().settings() | {"rows": len(self.data)}

    def tracked_settings(self) -> dict[str, Any]:
        settings: dict[str, Any] = super().tracked_settings() | {"inputs": "+".join(self.config.inputs)}
        return settings | settings.pop("model")

    def write_model(self, folder: Path, weights: dict[str, torch.Tensor]) -> None:
        # A new model, because FSDP changes the class of the trained one, and with it the code that is saved.
        with torch.device("meta"):
            model = VRFModel(copy.deepcopy(self.model.config))
        model.load_state_dict({name.removeprefix("model."): tensor for name, tensor in weights.items()}, assign=True)
        model.save_pretrained(folder, processor=self.processor)
        if self.make_card is not None:
            card = self.make_card(model.config, self.processor.tokenizer.get_vocab())
            (folder / CARD).write_text(card, encoding="utf-8")
