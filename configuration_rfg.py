"""Configuration of the model that reads a recipe: words to entities, and entities to a flow graph.

This file is saved with every model and imports nothing from the project, so that
`AutoConfig.from_pretrained(repo, trust_remote_code=True)` works anywhere.
"""

from typing import Any, ClassVar

from huggingface_hub.dataclasses import as_validated_field, strict
from transformers import AutoConfig, PreTrainedConfig

TAGS = ("F", "T", "D", "Q", "Ac", "Af", "Sf", "St")
LABELS = (
    "Agent",
    "Targ",
    "Dest",
    "T-comp",
    "F-comp",
    "F-eq",
    "F-part-of",
    "F-set",
    "T-eq",
    "T-part-of",
    "A-eq",
    "V-tm",
    "other-mod",
)
"""The entity tags and the edge labels of the Visual Recipe Flow paper."""


SPECIAL_TOKENS = 2
"""How many positions of a window are for the tokens before and after its text."""


@as_validated_field
def _positive(value: int) -> None:
    if value < 1:
        raise ValueError(f"expected a whole number of at least 1, found {value}")


@as_validated_field
def _count(value: int) -> None:
    if value < 0:
        raise ValueError(f"expected a whole number of at least 0, found {value}")


@as_validated_field
def _share(value: float) -> None:
    if not 0 <= value < 1:
        raise ValueError(f"expected a share of at least 0 and less than 1, found {value}")


@as_validated_field
def _names(value: list) -> None:
    if not value or len(set(value)) != len(value) or not all(isinstance(name, str) and name for name in value):
        raise ValueError(f"expected at least one name, each of them once, found {value}")


@strict
class RFGConfig(PreTrainedConfig):
    """Configuration of an `RFGModel`.

    Args:
        tags: The tags of entities, without the prefix of IOB2; the paper's by default.
        labels: The labels of edges; the paper's by default.
        language: The language of the recipes it was trained on, as in BCP 47.
        encoder: The config of a transformers encoder that reads the words; None reads them from scratch, by tables of
            words and characters.
        encoder_weights: Where the encoder's weights came from, `"random"` if from nowhere. Written by
            `RFGModel.from_encoder`.
        cls_token_id: What the encoder expects before its text, if anything.
        sep_token_id: What it expects after its text, if anything.
        mask_token_id: What stands for a hidden sub-word; without it, `word_dropout` hides none of a transformer's.
        window: How many sub-words the encoder reads at once, without these two; a longer recipe is read in parts.
        window_overlap: How many sub-words two such parts have in common.
        frozen_layers: How many of the encoder's first layers, and with them its table of sub-words, keep their
            weights in training; 0 trains all.
        vocab_size: From scratch, the rows of the table of words; row 0 is padding and 1 the unknown word.
        char_vocab_size: The same for characters.
        max_characters: How many characters of a word are read.
        word_dim: From scratch, the width of a word's vector.
        char_dim: From scratch, the width of a character's vector, and half of that of a spelled word.
        hidden_dim: Width of each direction of the BiLSTM over words.
        lstm_layers: How many layers it has.
        tag_dim: Width of the vectors of tags and sections.
        entity_dim: Width of each direction of the BiLSTM over entities.
        head_dim: Width of an entity's vectors in the product that scores heads.
        label_dim: Width of those in the products that score labels.
        pair_dim: Width of what is known of a pair.
        between_words: Whether what is known of a pair includes the words between its entities.
        labels_by_end: Whether a label is also scored by each end of an edge alone.
        refinements: How many times edges are scored again, with the likely neighbours of both entities in view.
        dropout: The dropout rate of vectors of words and entities.
        pair_dropout: The dropout rate of vectors of pairs.
        word_dropout: The share of words that are hidden in a training step. From scratch they become the unknown word,
            so that its vector is trained, and a new word is read by its characters; before a transformer each of
            their sub-words becomes `mask_token_id`, and its frozen layers are computed anew in each step.
        predicted_share: The share of recipes whose edges are trained on the entities that the model finds.
        threshold: How probable an entity's first head has to be, together with others that are likely enough.
        more_threshold: How probable every further head has to be.
        label_threshold: How probable a head has to be together with its best label.
        held_out_fold: The fold of its dataset that the model was not trained on; None for a model of all folds.
        trained_on: The digest of that dataset, to recognise it; None if it was not recorded.
    """

    model_type = "recipe-flow-graph"
    sub_configs: ClassVar = {"encoder": AutoConfig}

    tags: list = _names(default_factory=lambda: list(TAGS))
    labels: list = _names(default_factory=lambda: list(LABELS))
    language: str = "ja"
    encoder: dict | PreTrainedConfig | None = None
    encoder_weights: str = "random"
    cls_token_id: int | None = None
    sep_token_id: int | None = None
    mask_token_id: int | None = None
    window: int = _positive(default=510)
    window_overlap: int = _count(default=128)
    frozen_layers: int = _count(default=0)
    vocab_size: int = _positive(default=2000)
    char_vocab_size: int = _positive(default=200)
    max_characters: int = _positive(default=20)
    word_dim: int = _positive(default=100)
    char_dim: int = _positive(default=50)
    hidden_dim: int = _positive(default=128)
    lstm_layers: int = _positive(default=1)
    tag_dim: int = _positive(default=32)
    entity_dim: int = _positive(default=100)
    head_dim: int = _positive(default=128)
    label_dim: int = _positive(default=64)
    pair_dim: int = _positive(default=64)
    between_words: bool = False
    labels_by_end: bool = False
    refinements: int = _count(default=0)
    dropout: float | int = _share(default=0.33)
    pair_dropout: float | int = _share(default=0.17)
    word_dropout: float | int = _share(default=0.0)
    predicted_share: float | int = _share(default=0.3)
    threshold: float | int = _share(default=0.5)
    more_threshold: float | int = _share(default=0.35)
    label_threshold: float | int = _share(default=0.35)
    held_out_fold: int | None = None
    trained_on: str | None = None

    def __post_init__(self, **kwargs: Any) -> None:
        """Make the encoder's settings a config of its own class."""
        if isinstance(self.encoder, dict):
            known = dict(self.encoder)
            self.encoder = AutoConfig.for_model(known.pop("model_type"), **known)
        super().__post_init__(**kwargs)

    def validate_window(self) -> None:
        """Parts of a long recipe have to advance, and to fit into the encoder."""
        if self.window_overlap >= self.window:
            raise ValueError(
                f"expected a window_overlap of less than the window, {self.window}, found {self.window_overlap}"
            )
        positions = getattr(self.encoder, "max_position_embeddings", None)
        if positions is not None and self.window > positions - SPECIAL_TOKENS:
            raise ValueError(
                f"expected a window of at most {positions - SPECIAL_TOKENS} sub-words, for which the encoder has "
                f"positions beside its special tokens, found {self.window}"
            )

    @property
    def is_scratch(self) -> bool:
        """Whether words are read by the model's own tables and BiLSTM, without a transformer."""
        return self.encoder is None

    @property
    def iob_tags(self) -> list[str]:
        """The tags of words: O, then B and I of each entity tag."""
        return ["O", *(f"{prefix}-{tag}" for tag in self.tags for prefix in "BI")]


RFGConfig.register_for_auto_class()

__all__ = ["LABELS", "SPECIAL_TOKENS", "TAGS", "RFGConfig"]
