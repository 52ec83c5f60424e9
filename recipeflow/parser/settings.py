"""How a parser is trained, and the named presets."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

from recipeflow.errors import UsageError
from recipeflow.training.settings import LoopConfig


@dataclass(frozen=True, kw_only=True)
class ParserConfig(LoopConfig):
    """Settings of training a parser, besides those of any run.

    Args:
        encoder_learning_rate: The highest rate of a pre-trained encoder's last layer; ``None`` keeps its weights.
        layer_decay: The rate of each layer of that encoder as a share of the next one's.
        part_share: The share of recipes of which a step reads only some sentences, drawn anew every epoch.
        min_count: From scratch, words seen fewer times are the unknown word.
        model: Fields of ``RFGConfig``.
    """

    encoder_learning_rate: float | None = None
    layer_decay: float = 1.0
    part_share: float = 0.0
    min_count: int = 1
    model: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        rate = self.encoder_learning_rate
        self._check("encoder_learning_rate", rate is None or (math.isfinite(rate) and rate > 0))
        self._check("layer_decay", 0 < self.layer_decay <= 1)
        self._check("part_share", 0 <= self.part_share <= 1)
        self._check("min_count", self.min_count >= 1)


_LOOP: dict[str, Any] = {
    "recipes_per_batch": 4,
    "learning_rate": 2e-3,
    "schedule": "linear",
    "warmup": 0.1,
    "max_grad_norm": 1.0,
    "checkpoint_every": 2,
}
_SCRATCH: dict[str, Any] = {"lstm_layers": 2, "dropout": 0.4, "word_dropout": 0.15}
_BEST: dict[str, Any] = {
    "between_words": True,
    "labels_by_end": True,
    "threshold": 0.4,
    "more_threshold": 0.3,
    "label_threshold": 0.3,
}
"""Fields of the best models. A parser that does not know its recipes by heart is less sure of everything."""
_PRETRAINED: dict[str, Any] = {"encoder_learning_rate": 2e-4, "beta2": 0.98}

PRESETS: dict[tuple[str, bool], ParserConfig] = {
    ("fast", True): ParserConfig(epochs=10, min_count=2, model=_SCRATCH, **_LOOP),
    ("best", True): ParserConfig(epochs=20, min_count=2, model=_SCRATCH | _BEST, **_LOOP),
    ("fast", False): ParserConfig(epochs=10, layer_decay=0.9, model={"frozen_layers": 3}, **_PRETRAINED, **_LOOP),
    ("best", False): ParserConfig(
        epochs=30,
        layer_decay=0.85,
        part_share=0.5,
        model={"frozen_layers": 2, "word_dropout": 0.15} | _BEST,
        **_PRETRAINED,
        **_LOOP,
    ),
}
"""By name, and by whether the encoder is trained from scratch. Many small steps matter: with batches of 8 and half the
rates, a parser learns far slower at equal cost."""


def get_preset(name: str, is_scratch: bool, **changes: Any) -> ParserConfig:
    """Settings by name, with some of them changed; ``None`` keeps the preset's."""
    if (name, is_scratch) not in PRESETS:
        known = ", ".join(dict.fromkeys(known for known, _ in PRESETS))
        raise UsageError(f"expected a preset among {known}, found {name!r}")
    given = {key: value for key, value in changes.items() if value is not None}
    return replace(PRESETS[name, is_scratch], **given)
