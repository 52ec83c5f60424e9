"""Encoders that go beyond the paper: smaller, residual, and able to read the flow graph (`architecture="residual"`).

Most of what a picture shows after an action was already visible before: the same table, dish and food. So the query
starts from the pre-action image, and words, context and image only have to predict the difference.

This file is saved with every model and imports nothing from the project.
"""

import math

import torch
from torch import nn
from torch.nn.functional import normalize

try:
    from .configuration_vrf import CONTEXT_ROLES, READ_ROLES, VRFConfig
except ImportError:
    if __package__:  # inside a package the sibling exists: the error is a real one
        raise
    from configuration_vrf import CONTEXT_ROLES, READ_ROLES, VRFConfig

PER_GROUP, ROUNDS = 16, 10
"""How many queries a group has at least, on average, so that none of them decides; and how often groups are formed."""


class VRFDropout(nn.Module):
    """Dropout with one random byte per number: `nn.Dropout` took a third of the training time on a CPU.

    The rate is rounded to a multiple of 1/256.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.dropped = min(round(rate * 256), 255)

    def forward(self, numbers: torch.Tensor) -> torch.Tensor:
        """In training, set some of the numbers to zero and scale the others, so that the mean stays."""
        if not (self.training and self.dropped):
            return numbers
        count = numbers.numel()
        drawn = torch.randint(-(2**63), 2**63 - 1, (math.ceil(count / 8),), device=numbers.device)
        kept = drawn.view(torch.uint8)[:count].view(numbers.shape) >= self.dropped
        return numbers * kept.to(numbers.dtype).mul_(256 / (256 - self.dropped))


class VRFWordMean(nn.Module):
    """Words to the mean of their vectors; phrases here have one or two words, so their order does not matter."""

    def __init__(self, config: VRFConfig) -> None:
        super().__init__()
        self.pad_token_id = config.pad_token_id
        self.unk_token_id = config.unk_token_id
        self.dropout = config.word_dropout
        self.embedding = nn.Embedding(config.vocab_size, config.word_dim, padding_idx=config.pad_token_id)

    def forward(self, word_ids: torch.Tensor, join: bool = True) -> torch.Tensor:
        """Mean over the words of each row, without padding; without joining, the vector of each word."""
        is_word = word_ids != self.pad_token_id
        if self.training and self.dropout:
            lost = torch.rand(word_ids.shape, device=word_ids.device) < self.dropout
            word_ids = word_ids.masked_fill(is_word & lost, self.unk_token_id)
        words = self.embedding(word_ids)
        if not join:
            return words
        is_word = is_word[..., None].to(words.dtype)  # a product with booleans takes several times as long on a CPU
        return (words * is_word).sum(dim=1) / is_word.sum(dim=1)


class VRFContextEncoder(nn.Module):
    """A set of words, each with its role, to one vector."""

    def __init__(self, config: VRFConfig) -> None:
        super().__init__()
        self.read_roles = len(READ_ROLES[config.context])
        self.role = nn.Embedding(len(CONTEXT_ROLES) + 1, config.word_dim, padding_idx=0)

    def forward(self, words: torch.Tensor, roles: torch.Tensor) -> torch.Tensor:
        """Sum over the words, scaled so that many of them do not dominate; no words give a zero vector.

        Role 0 is padding.
        """
        is_read = ((roles > 0) & (roles <= self.read_roles))[..., None].to(words.dtype)
        total = ((words + self.role(roles)) * is_read).sum(dim=1)
        return total / is_read.sum(dim=1).clamp(min=1).sqrt()


class VRFFeatureScale(nn.Module):
    """Scale image features to a fixed norm, if one is set, and apply dropout in training."""

    def __init__(self, config: VRFConfig) -> None:
        super().__init__()
        self.length = config.feature_length
        self.dropout = VRFDropout(config.feature_dropout)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Scale each row; a row of zeros, which means no image, stays zero."""
        if self.length is not None:
            features = normalize(features, dim=-1) * self.length
        return self.dropout(features)


class VRFAppearance(nn.Module):
    """What a picture shows, in the joint space: one linear map for pictures before and after an action.

    With a map for each side, two pictures of a food that training never saw need not land near each other.
    """

    def __init__(self, config: VRFConfig) -> None:
        super().__init__()
        self.scale = VRFFeatureScale(config)
        self.linear = nn.Linear(config.feature_dim, config.embedding_dim)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Map features of the backbone."""
        return self.linear(self.scale(features))


class VRFResidualImageEncoder(nn.Module):
    """Embed a post-action image: a linear map of its feature plus the output of one hidden layer."""

    def __init__(self, config: VRFConfig) -> None:
        super().__init__()
        self.scale = VRFFeatureScale(config)
        self.dropout = VRFDropout(config.dropout)
        self.hidden = nn.Linear(config.feature_dim, config.hidden_dim)
        self.output = nn.Linear(config.hidden_dim, config.embedding_dim)
        if not config.shared_map:
            self.linear = nn.Linear(config.feature_dim, config.embedding_dim)

    def forward(self, post_features: torch.Tensor, shown: torch.Tensor | None = None) -> torch.Tensor:
        """Embed features of the backbone as unit vectors; `shown` is their appearance, if the map is shared."""
        features = self.scale(post_features)
        shown = self.linear(features) if shown is None else shown
        return normalize(shown + self.output(self.dropout(torch.relu(self.hidden(features)))), dim=-1)


class VRFResidualQueryEncoder(nn.Module):
    """Estimate the object's state after the action: the pre-action image, and the difference the action makes."""

    def __init__(self, config: VRFConfig) -> None:
        super().__init__()
        joined_dim = sum(config.hidden_dim if name == "image" else config.word_dim for name in config.inputs)
        if config.context != "none":
            self.context = VRFContextEncoder(config)
            joined_dim += config.word_dim
        if config.use_image:
            self.image_projection = nn.Linear(config.feature_dim, config.hidden_dim)
            if not config.shared_map:
                self.start = nn.Linear(config.feature_dim, config.embedding_dim)
        self.scale = VRFFeatureScale(config)
        self.dropout = VRFDropout(config.dropout)
        self.hidden = nn.Linear(joined_dim, 2 * config.hidden_dim)
        self.output = nn.Linear(2 * config.hidden_dim, config.embedding_dim)

    def forward(
        self,
        h_action: torch.Tensor | None,
        h_object: torch.Tensor | None,
        pre_features: torch.Tensor | None,
        pre_mask: torch.Tensor | None = None,
        context_words: torch.Tensor | None = None,
        context_roles: torch.Tensor | None = None,
        shown: torch.Tensor | None = None,
        pictured: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Embed the encoded phrases, the image's feature and the words of a context; None means unused.

        `shown` is the image's appearance, if the map is shared. `pictured` are the rows that images were passed for,
        if not for all.
        """
        h_image = start = None
        if pre_features is not None:
            features = self.scale(pre_features)
            h_image, start = self.image_projection(features), self.start(features) if shown is None else shown
            if pre_mask is not None:  # a missing image adds nothing anywhere
                h_image, start = (h.masked_fill(~pre_mask[:, None], 0.0) for h in (h_image, start))
            if pictured is not None:
                rows = next(len(h) for h in (h_action, h_object) if h is not None)
                h_image, start = (h.new_zeros(rows, h.shape[1]).index_copy(0, pictured, h) for h in (h_image, start))
        h_context = None if context_words is None else self.context(context_words, context_roles)
        joined = torch.cat([h for h in (h_action, h_object, h_image, h_context) if h is not None], dim=-1)
        difference = self.output(self.dropout(torch.relu(self.hidden(self.dropout(joined)))))
        return normalize(difference if start is None else start + difference, dim=-1)


class VRFHubs(nn.Module):
    """Ranks images lower that are near to most queries.

    In many dimensions some images, the hubs, are near to queries of all kinds, and stand before the right ones. So
    each image loses its nearness h(x) to queries of the training data, the soft maximum of their similarities. With
    two more dimensions that is again one product of unit vectors, and nothing that compares them has to know of it:

        (q, 1, 0) / √2 · (x, -h(x), √(1 - h(x)²)) / √2 = (q · x - h(x)) / 2

    Not the queries themselves are kept, but the centres of groups of similar ones: near to its own query, an image of
    the training data would rank lower than one that nobody has asked for.
    """

    centres: torch.Tensor
    shares: torch.Tensor

    def __init__(self, config: VRFConfig) -> None:
        super().__init__()
        self.temperature = config.hub_temperature
        self.register_buffer("centres", torch.zeros(config.hub_groups, config.embedding_dim))
        self.register_buffer("shares", torch.full((config.hub_groups,), 1 / config.hub_groups))

    @torch.no_grad()
    def keep(self, queries: torch.Tensor) -> None:
        """Group embeddings of queries (k-means), and keep the centre of each group and its share of the queries.

        On the host, where sums are the same in every process. Few queries make fewer groups, and the others are empty.
        """
        size, width = self.centres.shape
        queries = normalize(queries[:, :width].float().cpu(), dim=-1)
        groups = max(1, min(size, len(queries) // PER_GROUP))
        centres, counts = queries[torch.arange(groups) * len(queries) // groups], torch.zeros(groups)
        for _ in range(ROUNDS):
            nearest = (queries @ centres.T - centres.square().sum(dim=1) / 2).argmax(dim=1)
            counts = torch.zeros(groups).index_add_(0, nearest, torch.ones(len(queries)))
            sums = torch.zeros_like(centres).index_add_(0, nearest, queries)
            centres = torch.where(counts[:, None] > 0, sums / counts.clamp(min=1)[:, None], centres)
        self.centres.zero_()[:groups] = centres.to(self.centres)
        self.shares.zero_()[:groups] = (counts / len(queries)).to(self.shares)

    @staticmethod
    def extend_queries(queries: torch.Tensor) -> torch.Tensor:
        """Add two dimensions to unit vectors of queries."""
        one = torch.ones_like(queries[:, :1])  # by its rows, whose number an exported graph leaves open
        return torch.cat([queries, one, torch.zeros_like(one)], dim=-1) / math.sqrt(2)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Add two dimensions to unit vectors of images; before any query is kept, all images lose nothing."""
        similarity = images.float() @ self.centres.float().T / self.temperature + self.shares.float().log()
        near = similarity.logsumexp(dim=-1, keepdim=True) * self.temperature
        rest = (1 - near.square()).clamp(min=0).sqrt()
        return torch.cat([images, -near.to(images.dtype), rest.to(images.dtype)], dim=-1) / math.sqrt(2)


__all__ = [
    "VRFAppearance",
    "VRFContextEncoder",
    "VRFDropout",
    "VRFHubs",
    "VRFResidualImageEncoder",
    "VRFResidualQueryEncoder",
    "VRFWordMean",
]
