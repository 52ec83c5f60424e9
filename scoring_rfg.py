"""From vectors of words to scores: of each word's tag, of each entity's head, and of each edge's label.

This file is saved with every model and imports nothing from the project.
"""

from typing import Any

import torch
from torch import nn
from torch.nn.functional import cross_entropy, one_hot, pad

try:
    from .configuration_rfg import RFGConfig
    from .decoding_rfg import FORBIDDEN, iob2_penalties
    from .encoding_rfg import RFGBiLSTM, RFGSharedDropout
except ImportError:
    if __package__:  # inside a package the siblings exist: the error is a real one
        raise
    from configuration_rfg import RFGConfig
    from decoding_rfg import FORBIDDEN, iob2_penalties
    from encoding_rfg import RFGBiLSTM, RFGSharedDropout

DISTANCES = (1, 2, 3, 4, 5, 7, 10, 15, 25, 50)
"""Where a new bucket of distances begins: near ones count exactly, far ones roughly."""
MOST_LINES = 3
"""Lines farther apart than this are equally far."""
MOST_WORDS = 5
"""How many words of an entity, from its last one, are compared with those of another."""
MANY = 5
"""From about this many entities of a tag between two others, one more changes little."""


class RFGTagger(nn.Module):
    """Scores the tags of words, and of whole sequences by a CRF."""

    def __init__(self, config: RFGConfig, width: int) -> None:
        super().__init__()
        self.tag_count = len(config.iob_tags)
        self.hidden = nn.Linear(width, config.hidden_dim)
        self.dropout = nn.Dropout(config.dropout)
        self.output = nn.Linear(config.hidden_dim, self.tag_count)
        self.transitions = nn.Linear(self.tag_count, self.tag_count + 1, bias=False)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Score each word's tags by itself: (B, W, T)."""
        return self.output(self.dropout(self.hidden(states).relu())).float()

    def loss(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """The negative log-likelihood of the right sequences, per word."""
        if logits.shape[1] == 0:
            return logits.sum()
        mask, gold = labels >= 0, labels.clamp(min=0)
        steps = self.transitions.weight.float() + iob2_penalties(self.tag_count).to(logits)
        before = pad(gold[:, :-1], (1, 0), value=self.tag_count)
        # Not steps[before, gold]: several threads of a CPU sum its gradients in any order, and no two runs end alike.
        taken = nn.functional.embedding(before * self.tag_count + gold, steps.view(-1, 1))[:, :, 0]
        right = logits.gather(2, gold[:, :, None])[:, :, 0] + taken
        return (RFGAllSequences.apply(logits, steps, mask) - (right * mask).sum()) / mask.sum().clamp(min=1)


class RFGAllSequences(torch.autograd.Function):
    """The log-sum-exp of the scores of all tag sequences, summed over recipes: the denominator of a CRF.

    Its gradient is the probability of each tag and of each step, which one pass back finds. Differentiating the pass
    ahead, one small operation after the other, takes several times as long.
    """

    @staticmethod
    def forward(ctx: Any, logits: torch.Tensor, steps: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Sum over paths from word to word; what reaches a word's tags is scaled to a sum of 1."""
        highest = logits.amax(dim=2, keepdim=True)
        words, follow, first = (logits - highest).exp(), steps[:-1].exp(), steps[-1].exp()
        reached, ahead, scales = torch.zeros_like(words[:, 0]), [], []
        for word in range(logits.shape[1]):
            reaching = words[:, word] * (reached @ follow if word else first)
            scale, is_word = reaching.sum(dim=1, keepdim=True), mask[:, word, None]
            reached = torch.where(is_word, reaching / scale, reached)
            ahead.append(reached)
            scales.append(torch.where(is_word, scale, 1.0))
        scaled = torch.stack(scales, dim=1)
        ctx.save_for_backward(words, follow, torch.stack(ahead, dim=1), scaled, mask)
        return ((scaled.log() + highest)[:, :, 0] * mask).sum()

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, None]:
        """The probabilities of tags (B, W, T) and of steps, summed (T + 1, T)."""
        words, follow, ahead, scales, mask = ctx.saved_tensors
        rest, back = torch.ones_like(words[:, 0]), []
        for word in reversed(range(words.shape[1])):
            back.append(rest)
            left = (words[:, word] * rest / scales[:, word]) @ follow.T
            rest = torch.where(mask[:, word, None], left, rest)
        behind = torch.stack(back[::-1], dim=1)
        tags = ahead * behind * mask[:, :, None]
        into = (words * behind / scales * mask[:, :, None])[:, 1:]
        between = follow * torch.einsum("bwi,bwj->ij", ahead[:, :-1], into)
        return gradients[0] * tags, gradients[0] * torch.cat([between, tags[:, :1].sum(dim=0)]), None


class RFGPairFeatures(nn.Module):
    """What is known of two entities besides their words: where they are, what is between them, what they share."""

    def __init__(self, config: RFGConfig) -> None:
        super().__init__()
        self.tag_count = len(config.tags)
        signed = 2 * len(DISTANCES) + 1
        self.sizes = (signed, signed, signed, 2 * MOST_LINES + 1, self.tag_count**2, 4, 4)
        self.tables = nn.EmbeddingBag(sum(self.sizes), config.pair_dim, mode="sum")
        self.between = nn.Linear(2 * self.tag_count, config.pair_dim)

    def forward(self, spans: torch.Tensor, tags: torch.Tensor, places: dict[str, torch.Tensor]) -> torch.Tensor:
        """Describe every ordered pair by the sum of a row of each table: (B, E, E, pair_dim)."""
        mask, tags, first = tags >= 0, tags.clamp(min=0), spans[..., 0].clamp(min=0)
        order = torch.arange(tags.shape[1], device=tags.device).expand_as(tags)
        sentence, line, section = (
            places[name].gather(1, first) for name in ("sentence_ids", "line_ids", "section_ids")
        )
        numbers = (
            _bucket(_apart(order)),
            _bucket(_apart(first)),
            _bucket(_apart(sentence)),
            _apart(line).clamp(-MOST_LINES, MOST_LINES) + MOST_LINES,
            tags[:, :, None] * self.tag_count + tags[:, None],
            section[:, :, None] * 2 + section[:, None],
            shared_words(spans, mask, places["form_ids"]),
        )
        offsets = [sum(self.sizes[:place]) for place in range(len(self.sizes))]
        rows = torch.stack([number + offset for number, offset in zip(numbers, offsets, strict=True)], dim=-1)
        described = self.tables(rows.flatten(0, 2)).view(*rows.shape[:3], self.tables.embedding_dim)
        return described + self.between(self._counts_between(tags, mask))

    def _counts_between(self, tags: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Whether and how many entities of each tag are between two: (B, E, E, 2 * tags)."""
        seen = (one_hot(tags, self.tag_count) * mask[:, :, None]).to(self.between.weight.dtype)
        until = seen.cumsum(dim=1)
        ahead = (until - seen)[:, None] - until[:, :, None]  # below 0 if the second is not behind the first
        counts = torch.maximum(ahead, ahead.transpose(1, 2)).clamp_(min=0)
        return torch.cat([counts.clamp(max=1), (counts / MANY).clamp_(max=2)], dim=-1)


def _apart(places: torch.Tensor) -> torch.Tensor:
    """How far the second of each pair is behind the first."""
    return places[:, None] - places[:, :, None]


def _bucket(distance: torch.Tensor) -> torch.Tensor:
    size = torch.bucketize(distance.abs(), torch.tensor(DISTANCES, device=distance.device), right=True)
    return torch.where(distance < 0, -size, size) + len(DISTANCES)


def shared_words(spans: torch.Tensor, mask: torch.Tensor, form_ids: torch.Tensor) -> torch.Tensor:
    """What two entities have in common: 0 nothing, 1 a word, 2 the last word, 3 all words; (B, E, E)."""
    end = spans[..., 1].clamp(min=0)
    length = (end - spans[..., 0].clamp(min=0)) * mask
    back = torch.arange(MOST_WORDS, device=spans.device)
    place = (end[:, :, None] - 1 - back).clamp(min=0)
    forms = form_ids.gather(1, place.flatten(1)).view(place.shape) if form_ids.shape[1] else place
    forms = torch.where(back < length[:, :, None], forms, 0)  # (B, E, MOST_WORDS), from the last word on
    kinds = int(forms.max()) + 1 if forms.numel() else 1
    has = torch.zeros(*mask.shape, kinds, device=spans.device).scatter_(2, forms, 1.0)
    has[:, :, 0] = 0.0  # nothing equals nothing
    some = has @ has.transpose(1, 2) > 0
    last = (forms[:, :, None, 0] == forms[:, None, :, 0]) & some
    every = (length[:, :, None] == length[:, None]) & last
    for number in range(1, MOST_WORDS):
        every &= forms[:, :, None, number] == forms[:, None, :, number]
    return some.long() + last + every


class RFGWordsBetween(nn.Module):
    """The mean of the words between two entities, such as "until" or "over the": it decides for many distant pairs.

    Its sign says which entity comes first. Means come from sums up to each word, so that no pair is read by itself.
    """

    def __init__(self, config: RFGConfig, width: int) -> None:
        super().__init__()
        self.words = nn.Linear(width, config.pair_dim, bias=False)

    def forward(self, states: torch.Tensor, spans: torch.Tensor) -> torch.Tensor:
        """Describe every ordered pair: (B, E, E, pair_dim), 0 where no word is between."""
        first, end = spans[..., 0].clamp(min=0), spans[..., 1].clamp(min=0)
        sums = pad(self.words(states).float().cumsum(dim=1), (0, 0, 1, 0))
        count = first[:, None] - end[:, :, None]  # from the end of one entity to the other one behind it
        mean = (_take(sums, first)[:, None] - _take(sums, end)[:, :, None]) / count.clamp(min=1)[..., None]
        ahead = mean * (count > 0)[..., None]
        return ahead - ahead.transpose(1, 2)


class RFGGraphScorer(nn.Module):
    """Scores every entity as the head of every other one, and the labels of such an edge."""

    def __init__(self, config: RFGConfig, width: int) -> None:
        super().__init__()
        self.refinements = config.refinements
        entity_dim = 2 * config.entity_dim
        self.tags = nn.Embedding(len(config.tags) + 1, config.tag_dim)
        self.joined = nn.Linear(5 * width + config.tag_dim, entity_dim)
        self.order = RFGBiLSTM(entity_dim, config.entity_dim, 1, 0.0)
        self.features = RFGPairFeatures(config)
        self.head_ends = nn.ModuleList(nn.Linear(entity_dim, config.head_dim) for _ in range(2))
        self.label_ends = nn.ModuleList(nn.Linear(entity_dim, config.label_dim) for _ in range(2))
        self.pair_ends = nn.ModuleList(nn.Linear(entity_dim, config.pair_dim) for _ in range(2))
        self.head_product = nn.Linear(config.head_dim, config.head_dim, bias=False)
        self.label_product = nn.Linear(config.label_dim, len(config.labels) * config.label_dim, bias=False)
        self.pair_hidden = nn.Linear(config.pair_dim, config.pair_dim)
        self.pair_output = nn.Linear(config.pair_dim, 1 + len(config.labels))
        self.no_head = nn.Linear(entity_dim, 1)
        self.input_dropout = RFGSharedDropout(config.dropout)
        self.dropout = RFGSharedDropout(config.dropout)
        self.pair_dropout = RFGSharedDropout(config.pair_dropout)
        self.between = RFGWordsBetween(config, width) if config.between_words else None
        self.label_alone = nn.ModuleList(
            nn.Linear(entity_dim, len(config.labels)) for _ in range(2 if config.labels_by_end else 0)
        )
        if config.refinements:
            self.message = nn.Linear(2 * entity_dim, entity_dim)
            self.norm = nn.LayerNorm(entity_dim)

    def forward(
        self, states: torch.Tensor, spans: torch.Tensor, tags: torch.Tensor, places: dict[str, torch.Tensor]
    ) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Score heads (B, E, E + 1), the last one for none, and labels (B, E, E, L), once more per refinement.

        A refinement is second order: each entity sees the likely head and the likely dependents of the first scores.
        """
        mask = tags >= 0
        entities = self._represent(states, spans, tags, (places["form_ids"] > 0).sum(dim=1, keepdim=True))
        features = self.features(spans, tags, places)
        if self.between is not None:
            features = features + self.between(self.input_dropout(states), spans).to(features.dtype)
        scores = [self._score(entities, features, mask)]
        for _ in range(self.refinements):
            heads = (scores[-1][0].softmax(dim=-1)[:, :, :-1] * mask[:, :, None]).to(entities.dtype)
            around = torch.cat([heads @ entities, heads.transpose(1, 2) @ entities], dim=-1)
            entities = self.norm(entities + self.message(around).relu())
            scores.append(self._score(entities, features, mask))
        return scores

    def _represent(
        self, states: torch.Tensor, spans: torch.Tensor, tags: torch.Tensor, words: torch.Tensor
    ) -> torch.Tensor:
        """An entity's first word, last word, mean, tag and what is around it, then a BiLSTM over all: (B, E, D).

        The words between it and its neighbours, such as "into the", decide between many labels.
        """
        mask, first, end = tags >= 0, spans[..., 0].clamp(min=0), spans[..., 1].clamp(min=0)
        sums = pad(states.float().cumsum(dim=1), (0, 0, 1, 0))  # in half precision, long sums would lose their end
        before = pad(end[:, :-1], (1, 0)).minimum(first)
        after = torch.where(pad(mask[:, 1:], (0, 1)), pad(first[:, 1:], (0, 1)), words).maximum(end)
        parts = [_take(states, first), _take(states, (end - 1).clamp(min=0))]
        parts += [_mean(sums, *gap) for gap in ((first, end), (before, first), (end, after))]
        parts.append(self.tags(tags + 1))
        entities = self.joined(self.input_dropout(torch.cat(parts, dim=-1).to(states.dtype))).relu() * mask[:, :, None]
        return self.dropout(entities + self.order(entities, mask))

    def _score(
        self, entities: torch.Tensor, features: torch.Tensor, mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        start, end = (layer(entities) for layer in self.pair_ends)
        pairs = self.pair_dropout((start[:, :, None] + end[:, None] + features).relu_())
        scores = self.pair_output(self.pair_dropout(self.pair_hidden(pairs).relu_()))
        start, end = (self.dropout(layer(entities).relu()) for layer in self.head_ends)
        heads = scores[..., 0] + self.head_product(start) @ end.transpose(1, 2)
        itself = torch.eye(mask.shape[1], dtype=torch.bool, device=mask.device)
        heads = heads.masked_fill(itself | ~mask[:, None], FORBIDDEN)
        start, end = (self.dropout(layer(entities).relu()) for layer in self.label_ends)
        product = self.label_product(start).unflatten(2, (-1, end.shape[2]))  # (B, E, L, label_dim)
        labels = scores[..., 1:] + torch.einsum("bild,bjd->bijl", product, end)
        if self.label_alone:
            start, end = (layer(entities) for layer in self.label_alone)
            labels = labels + start[:, :, None] + end[:, None]
        return torch.cat([heads, self.no_head(entities)], dim=-1).float(), labels.float()


def _mean(sums: torch.Tensor, first: torch.Tensor, end: torch.Tensor) -> torch.Tensor:
    """The mean of states between two places, from their sums up to each place; 0 if there are none."""
    return (_take(sums, end) - _take(sums, first)) / (end - first).clamp(min=1)[:, :, None]


def _take(source: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
    return source.gather(1, place[:, :, None].expand(-1, -1, source.shape[2]))


def graph_loss(heads: torch.Tensor, labels: torch.Tensor, targets: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Score heads and labels against the label of each pair, -1 for no edge: (B, E, E); per entity.

    An entity with several heads wants an equal share of probability for each, and one without wants none.
    """
    is_edge = targets >= 0
    wanted = torch.cat([is_edge, ~is_edge.any(dim=2, keepdim=True)], dim=2).float()
    wanted = wanted / wanted.sum(dim=2, keepdim=True)
    head_loss = -((wanted * heads.log_softmax(dim=-1)).sum(dim=2) * mask).sum()
    label_loss = cross_entropy(labels[is_edge], targets[is_edge], reduction="sum")
    return (head_loss + label_loss) / mask.sum().clamp(min=1)


__all__ = ["RFGGraphScorer", "RFGPairFeatures", "RFGTagger", "RFGWordsBetween", "graph_loss", "shared_words"]
