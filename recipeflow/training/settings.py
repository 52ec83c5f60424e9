"""Training settings, and the named presets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from recipeflow.errors import UsageError
from recipeflow.features.views import NUMBERS

if TYPE_CHECKING:
    from configuration_vrf import ImageFeatures

INPUTS = ("action", "object", "image")
"""The parts that a query can have."""


CONTEXTS = ("none", "modifiers", "history")
"""How much of the flow graph a query can read in addition."""

ADDED: dict[str, Any] = {"mixed_share": 0.0, "part_share": 0.0, "word_rate": 1.0}
"""Settings that runs of earlier versions did not record, and the value that they had."""

CHECKPOINTING = ("checkpoint_every", "checkpoint_minutes")
"""Settings that change neither the weights of a run nor its figures: they may differ when it resumes."""


@dataclass(frozen=True, kw_only=True)
class LoopConfig:
    """The settings of any training run.

    Args:
        epochs: Passes over the training recipes.
        recipes_per_batch: Recipes in a mini-batch, over all processes together.
        learning_rate: The highest rate of AdamW.
        weight_decay: Of AdamW; the paper gives none, this is PyTorch's default.
        beta2: Of AdamW; the paper gives none, this is PyTorch's default. A short schedule needs less, because the
            default's memory of about 1,000 steps is as long as the whole training.
        schedule: Whether the rate is constant, or falls to zero linearly or along a cosine.
        warmup: The share of steps over which the rate rises from zero.
        accumulate: Mini-batches per step of the optimiser.
        max_grad_norm: Clip gradients to this norm, or not at all.
        mixed_precision: ``no``, ``bf16`` or ``fp16``.
        evaluate_every: Epochs between evaluations; 0 evaluates only at the end.
        checkpoint_every: Epochs between checkpoints; 0 writes none by epochs.
        checkpoint_minutes: Minutes between checkpoints, whatever the epochs; 0 writes none by time. Ctrl-C and SIGTERM
            always write one.
        seed: Of initial weights, batches, negatives and dropout.
    """

    choices: ClassVar[dict[str, tuple[Any, ...]]] = {
        "schedule": ("constant", "linear", "cosine"),
        "mixed_precision": ("no", "bf16", "fp16"),
    }
    """The allowed values of some settings."""

    epochs: int
    recipes_per_batch: int
    learning_rate: float
    weight_decay: float = 0.01
    beta2: float = 0.999
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    warmup: float = 0.0
    accumulate: int = 1
    max_grad_norm: float | None = None
    mixed_precision: Literal["no", "bf16", "fp16"] = "no"
    evaluate_every: int = 0
    checkpoint_every: int = 10
    checkpoint_minutes: float = 5.0
    seed: int = 0

    def __post_init__(self) -> None:
        checks = {
            "epochs": self.epochs >= 1,
            "recipes_per_batch": self.recipes_per_batch >= 1,
            "learning_rate": math.isfinite(self.learning_rate) and self.learning_rate > 0,
            "weight_decay": self.weight_decay >= 0,
            "beta2": 0 < self.beta2 < 1,
            "warmup": 0 <= self.warmup < 1,
            "accumulate": self.accumulate >= 1,
            "max_grad_norm": self.max_grad_norm is None or self.max_grad_norm > 0,
            "evaluate_every": self.evaluate_every >= 0,
            "checkpoint_every": self.checkpoint_every >= 0,
            "checkpoint_minutes": math.isfinite(self.checkpoint_minutes) and self.checkpoint_minutes >= 0,
        }
        for name, is_right in checks.items():
            self._check(name, is_right)
        for name, choices in self.choices.items():
            if getattr(self, name) not in choices:
                listed = ", ".join(map(str, choices))
                raise UsageError(f"expected {name} among {listed}, found {getattr(self, name)!r}; choose one of them")

    def _check(self, name: str, is_right: bool) -> None:
        if not is_right:
            raise UsageError(f"expected a valid {name}, found {getattr(self, name)!r}; see `{type(self).__name__}`")

    def rate_factor(self, step: int, total: int) -> float:
        """The factor of the learning rate at a step of the optimiser."""
        warmup = round(self.warmup * total)
        if step < warmup:
            return (step + 1) / (warmup + 1)
        done = (step - warmup) / max(1, total - warmup)
        return {"constant": 1.0, "linear": 1 - done, "cosine": (1 + math.cos(math.pi * done)) / 2}[self.schedule]


@dataclass(frozen=True, kw_only=True)
class TrainingConfig(LoopConfig):
    """Settings of training on pairs, besides those of any run; the defaults are the paper's.

    Args:
        inputs: The parts of a query: any of ``action``, ``object`` and ``image``.
        margin: The margin of the triplet loss.
        negatives: Which negatives the loss uses; the paper samples one per side.
        finetune: Train the backbone too, on augmented pixels instead of cached features; ``"last"`` trains only its
            last stage, which takes less memory and time.
        backbone_rate: The backbone's learning rate as a share of ``learning_rate``.
        word_rate: The learning rate of word vectors as a multiple of ``learning_rate``. A word is in few rows, so that
            its vector takes few steps; at the rate of all other weights it stays near the noise that it began as.
        feature_precision: Precision of cached features, ``fp32`` or ``bf16``; never chosen automatically.
        views: Views per image to train on, 1, 2 or 4; each step draws one of them, and tests use the first.
        incomplete: Train also on rows without a pre-action image, where that is an input.
        mixed_share: For about this share of the rows, add one whose pictures are mixed with those of another row of
            the same action (``mixing.py``). It has no effect on pixels; queries need a verb and an image.
        tune: Choose for the dataset first, on inner folds, the feature dropout and whether images are used at all
            (``tuning.py``).
        model: Fields of ``VRFConfig`` other than the paper's, such as ``architecture``, ``loss`` and ``context``.
    """

    choices: ClassVar[dict[str, tuple[Any, ...]]] = {
        **LoopConfig.choices,
        "negatives": ("one", "all", "hardest"),
        "finetune": (False, True, "last"),
        "feature_precision": ("fp32", "bf16"),
        "views": tuple(NUMBERS),
    }

    inputs: tuple[str, ...] = INPUTS
    epochs: int = 350
    recipes_per_batch: int = 4
    learning_rate: float = 1e-5
    margin: float = 0.1
    negatives: Literal["one", "all", "hardest"] = "one"
    finetune: bool | Literal["last"] = False
    backbone_rate: float = 0.1
    word_rate: float = 1.0
    feature_precision: Literal["fp32", "bf16"] = "fp32"
    views: int = 1
    incomplete: bool = False
    mixed_share: float = 0.0
    tune: bool = False
    model: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("backbone_rate", "word_rate"):
            self._check(name, math.isfinite(rate := getattr(self, name)) and rate > 0)
        if not self.inputs or not set(self.inputs) <= set(INPUTS):
            raise UsageError(
                f"expected inputs among {', '.join(INPUTS)}, found {'+'.join(self.inputs)!r}; join one or more of "
                "them by +, such as action+object"
            )
        self._check("mixed_share", 0 <= self.mixed_share <= 1)
        if self.mixed_share and not self.can_mix(self.inputs):
            raise UsageError(
                f"expected inputs with a verb and an image for mixed_share, found {'+'.join(self.inputs)}; set it to "
                "0, or use `with_inputs`"
            )
        self._check_finetuning()
        if self.tune and (self.architecture == "paper" or self.finetune):
            raise UsageError(
                "expected preset best with cached features to tune, found the paper's model or fine-tuning; omit "
                "--tune, or use --preset best without --finetune"
            )

    def _check_finetuning(self) -> None:
        """Refuse settings of cached features where there are none: they would have no effect."""
        if self.finetune and self.mixed_share:
            raise UsageError(
                "expected no mixed rows in fine-tuning, whose pixels are not mixed, found "
                f"mixed_share={self.mixed_share}; set it to 0"
            )
        if self.finetune and self.views > 1:
            raise UsageError(
                f"expected one view to fine-tune on, as its pixels are augmented anyway, found {self.views}; omit "
                "--views"
            )
        if self.finetune and self.feature_precision != "fp32":
            raise UsageError(
                f"expected no precision of cached features in fine-tuning, which reads pixels, found "
                f"{self.feature_precision}; omit --precision, and see --mixed-precision"
            )

    @property
    def context(self) -> str:
        return self.model.get("context", "none")

    @property
    def architecture(self) -> str:
        return self.model.get("architecture", "paper")

    @property
    def image_features(self) -> ImageFeatures:
        """What is read from the backbone."""
        return self.model.get("image_features", "pooled")

    @staticmethod
    def can_mix(inputs: tuple[str, ...]) -> bool:
        """Whether rows of these inputs can be mixed: pictures of one action."""
        return {"action", "image"} <= set(inputs)

    def with_inputs(self, inputs: tuple[str, ...]) -> TrainingConfig:
        """The same settings for queries of these inputs, without those that these do not allow.

        A single input has no context, and never loses its image; without a verb or an image nothing is mixed.
        """
        model = dict(self.model)
        if "image" not in inputs or len(inputs) == 1:
            model.pop("image_dropout", None)
        mixed_share = self.mixed_share if self.can_mix(inputs) else 0.0
        changed = replace(self, inputs=inputs, model=model, mixed_share=mixed_share)
        return changed.with_context("none" if len(inputs) == 1 else None)

    def with_context(self, context: str | None) -> TrainingConfig:
        """The same settings with another context; ``None`` keeps the current one."""
        if context is None or context == self.context:
            return self
        if context not in CONTEXTS:
            raise UsageError(f"expected a context among {', '.join(CONTEXTS)}, found {context!r}")
        if self.architecture == "paper":
            raise UsageError(f"expected no context with the paper's model, found {context!r}; use --preset best")
        return replace(self, model={**self.model, "context": context})


PRESETS = {
    "paper": TrainingConfig(),
    "fast": TrainingConfig(
        epochs=28, learning_rate=1e-4, schedule="cosine", warmup=0.05, beta2=0.98, checkpoint_every=0
    ),
    "best": TrainingConfig(
        epochs=30,
        recipes_per_batch=16,
        learning_rate=2e-3,
        schedule="cosine",
        warmup=0.1,
        max_grad_norm=5.0,
        checkpoint_every=0,
        word_rate=20.0,
        incomplete=True,
        mixed_share=0.5,
        model={
            "architecture": "residual",
            "word_dim": 128,
            "embedding_dim": 256,
            "hidden_dim": 384,
            "dropout": 0.2,
            "feature_dropout": 0.4,
            "image_dropout": 0.5,
            "feature_length": 10.0,
            "image_features": "stages",
            "shared_map": True,
            "hub_groups": 128,
            "word_dropout": 0.1,
            "context": "history",
            "loss": "contrastive",
            "temperature": 0.05,
        },
    ),
}
"""``paper``: exactly its settings. ``fast``: same model and loss, a shorter schedule that does at least as well.
``best``: another model and loss on the same features, folds and candidates; docs/experiments.md describes how it was
chosen."""


def check_views(number: int) -> None:
    """Refuse an unsupported number of views."""
    if number not in NUMBERS:
        raise UsageError(f"expected {', '.join(map(str, NUMBERS[:-1]))} or {NUMBERS[-1]} views, found {number}")


def get_preset(name: str, **changes: Any) -> TrainingConfig:
    """Training settings by name, with some of them changed; ``None`` keeps the preset's."""
    if name not in PRESETS:
        raise UsageError(f"expected a preset among {', '.join(PRESETS)}, found {name!r}")
    given = {key: value for key, value in changes.items() if value is not None}
    if given.get("finetune"):  # only features are mixed
        given.setdefault("mixed_share", 0.0)
    return replace(PRESETS[name], **given)


def refuse_tuned_inner(tune: bool, inner: bool) -> None:
    """Refuse to tune on the very fold that an inner experiment tests on."""
    if tune and inner:
        raise UsageError(
            "expected one of --tune and --inner, found both; --tune would choose on the fold that is tested"
        )


def complete_settings(recorded: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Recorded settings, with those that an earlier version did not record, where the wanted ones have them."""
    return {name: value for name, value in ADDED.items() if name in wanted} | dict(recorded)
