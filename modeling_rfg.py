"""The model that reads a recipe: words to entities, and entities to a labelled flow graph.

One encoder reads the words; a CRF tags them, and every pair of entities is scored as an edge. `docs/parser.md` says
how well this works, and what else was tried.

This file is saved with every model and imports nothing from the project.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn.functional import pad
from transformers import AutoConfig, AutoModel, AutoTokenizer
from transformers.utils import ModelOutput, can_return_tuple

try:
    from .configuration_rfg import SPECIAL_TOKENS, RFGConfig
    from .decoding_rfg import decode_graph, decode_tags, tags_to_spans
    from .encoding_rfg import RFGBiLSTM, RFGSharedDropout, RFGTransformer, RFGWordTables, layer_of
    from .package_rfg import RFGPackage
    from .scoring_rfg import RFGGraphScorer, RFGTagger, graph_loss
except ImportError:
    if __package__:  # inside a package the siblings exist: the error is a real one
        raise
    from configuration_rfg import SPECIAL_TOKENS, RFGConfig
    from decoding_rfg import decode_graph, decode_tags, tags_to_spans
    from encoding_rfg import RFGBiLSTM, RFGSharedDropout, RFGTransformer, RFGWordTables, layer_of
    from package_rfg import RFGPackage
    from scoring_rfg import RFGGraphScorer, RFGTagger, graph_loss

EMBEDDING_STD = 0.1
ATTENTION_DROPOUT = ("attention_probs_dropout_prob", "attention_dropout")
"""What encoders call the dropout rate of attention. A CPU's fast attention has none, and other dropout is enough."""

Entities = tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]
"""Spans (B, E, 2), tags (B, E) and, for training, the label of each pair (B, E, E)."""


@dataclass
class RFGOutput(ModelOutput):
    """What `RFGModel` returns, for B recipes of at most W words and E entities, T IOB2 tags and L labels.

    Args:
        loss: The sum of the next two; None without labels.
        tag_loss: The loss of the tags, per word.
        edge_loss: The loss of the edges, per entity.
        tag_logits: The score of each word's tags, without the CRF's transitions, (B, W, T).
        entity_spans: First word and word after the last of each entity, (B, E, 2), padded with -1. In training some
            recipes have the entities that the model found in place of the given ones.
        entity_tags: The tags of these, (B, E), padded with -1.
        entity_scores: How probable each entity is, from 0 to 1, (B, E); 0 for padding.
        edge_scores: How probable the edge from one entity to another with a label is, (B, E, E, L); 0 for padding.
    """

    loss: torch.Tensor | None = None
    tag_loss: torch.Tensor | None = None
    edge_loss: torch.Tensor | None = None
    tag_logits: torch.Tensor | None = None
    entity_spans: torch.Tensor | None = None
    entity_tags: torch.Tensor | None = None
    entity_scores: torch.Tensor | None = None
    edge_scores: torch.Tensor | None = None


@dataclass(frozen=True)
class RFGGraph:
    """What was read from one recipe.

    Args:
        spans: First word and word after the last of each entity, in order.
        tags: Their tags.
        entity_scores: How probable each is.
        edges: Start entity, end entity, label and how probable it is, sorted; never a cycle.
    """

    spans: list[tuple[int, int]]
    tags: list[str]
    entity_scores: list[float]
    edges: list[tuple[int, int, str, float]]


class RFGModel(RFGPackage):
    """Reads the entities and the flow graph of recipes.

    `RFGModel(config)` has random weights; `from_encoder` starts from a pre-trained encoder of transformers, and
    `from_pretrained` from a saved model.
    """

    config_class = RFGConfig
    base_model_prefix = ""

    def __init__(self, config: RFGConfig) -> None:
        super().__init__(config)
        self.encoder = RFGWordTables(config) if config.is_scratch else RFGTransformer(config)
        self.sections = nn.Embedding(2, config.tag_dim)
        self.lstm = RFGBiLSTM(
            self.encoder.width + config.tag_dim, config.hidden_dim, config.lstm_layers, config.dropout
        )
        self.dropout = RFGSharedDropout(config.dropout)
        self.tagger = RFGTagger(config, 2 * config.hidden_dim)
        self.graph = RFGGraphScorer(config, 2 * config.hidden_dim)
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        """Start from PyTorch's defaults, but from small vectors in tables, whose rows are added up."""
        if isinstance(module, nn.Linear | nn.LSTM | nn.Conv1d | nn.LayerNorm):
            module.reset_parameters()
        elif isinstance(module, nn.Embedding | nn.EmbeddingBag):
            nn.init.normal_(module.weight, std=EMBEDDING_STD)
            if module.padding_idx is not None:
                nn.init.zeros_(module.weight[module.padding_idx])
        for product in (self.graph.head_product, self.graph.label_product, self.tagger.transitions):
            if module is product:
                nn.init.zeros_(module.weight)

    @classmethod
    def from_encoder(cls, name: str | os.PathLike, **settings: Any) -> "RFGModel":
        """Make a model to be trained on a pre-trained encoder of transformers.

        Args:
            name: The encoder's folder or its name on the Hub, with its tokenizer.
            settings: Fields of the config.
        """
        about_encoder = AutoConfig.from_pretrained(name)
        for field in ATTENTION_DROPOUT:
            if hasattr(about_encoder, field):
                setattr(about_encoder, field, 0.0)
        encoder = AutoModel.from_pretrained(name, config=about_encoder)
        tokenizer: Any = AutoTokenizer.from_pretrained(name)
        positions = getattr(encoder.config, "max_position_embeddings", None)
        about: dict[str, Any] = {
            "encoder": encoder.config,
            "encoder_weights": Path(name).name if Path(name).is_dir() else str(name),
            "cls_token_id": tokenizer.cls_token_id,
            "sep_token_id": tokenizer.sep_token_id,
            "mask_token_id": tokenizer.mask_token_id,
        }
        if positions is not None:
            about["window"] = min(RFGConfig().window, positions - SPECIAL_TOKENS)
        model = cls(RFGConfig(**{**about, **settings}))
        assert isinstance(model.encoder, RFGTransformer)
        model.encoder.transformer.load_state_dict(encoder.state_dict())
        return model

    def use_plain_attention(self) -> None:
        """Compute a transformer's attention step by step: on a CPU, the fused kernel is slow in bf16."""
        if not self.config.is_scratch:
            self.encoder.transformer.set_attn_implementation("eager")

    def parameter_groups(
        self,
        learning_rate: float,
        encoder_learning_rate: float | None = None,
        weight_decay: float = 0.0,
        layer_decay: float = 1.0,
    ) -> list[dict[str, Any]]:
        """The weights for an optimizer, by learning rate; biases and norms never decay.

        Args:
            learning_rate: Of all that is trained from scratch.
            encoder_learning_rate: Of the last layer of a transformer; None leaves its weights out.
            weight_decay: Of matrices.
            layer_decay: What the rate is multiplied by from each layer of the transformer to the one below.
        """
        depth = 0 if self.config.is_scratch else self.config.encoder.num_hidden_layers
        groups: dict[tuple[float, float], list[nn.Parameter]] = {}
        for name, weight in self.named_parameters():
            if not weight.requires_grad:
                continue
            rate = learning_rate
            if name.startswith("encoder.transformer."):
                if encoder_learning_rate is None:
                    continue
                rate = encoder_learning_rate * layer_decay ** (depth - layer_of(name, depth))
            groups.setdefault((rate, weight_decay if weight.ndim > 1 else 0.0), []).append(weight)
        return [{"params": weights, "lr": rate, "weight_decay": decay} for (rate, decay), weights in groups.items()]

    @can_return_tuple
    def forward(
        self,
        *,
        word_mask: torch.Tensor,
        form_ids: torch.Tensor,
        section_ids: torch.Tensor,
        line_ids: torch.Tensor,
        sentence_ids: torch.Tensor,
        word_ids: torch.Tensor | None = None,
        char_ids: torch.Tensor | None = None,
        input_ids: torch.Tensor | None = None,
        input_words: torch.Tensor | None = None,
        entity_spans: torch.Tensor | None = None,
        entity_tags: torch.Tensor | None = None,
        tag_labels: torch.Tensor | None = None,
        edges: torch.Tensor | None = None,
    ) -> RFGOutput:
        """Score the tags of words, and the edges between given entities or those that the tags make.

        Args:
            word_mask: True for words, False for padding at the end, (B, W).
            form_ids: Equal numbers, from 1 on, for equal words of one recipe.
            section_ids: 0 for words of ingredient lines, 1 for those of instructions.
            line_ids: The number of each word's line in its recipe.
            sentence_ids: The number of its sentence in the recipe.
            word_ids: For a model from scratch, the words' numbers in its table; 0 is padding, 1 unknown.
            char_ids: For a model from scratch, the numbers of each word's characters, (B, W, C).
            input_ids: For a transformer, all sub-words of a recipe without special tokens, (B, P), of any length.
            input_words: For a transformer, the word of each sub-word, (B, P); -1 for padding.
            entity_spans: First word and word after the last, (B, E, 2); -1 for padding. Without them, entities are
                decoded from the tags' scores.
            entity_tags: Their tags, (B, E); -1 for padding.
            tag_labels: To be trained, the IOB2 tags of words, (B, W); -100 for padding.
            edges: To be trained, start entity, end entity and label, (B, K, 3); -1 for padding.
        """
        states = self._encode(word_mask, section_ids, word_ids, char_ids, input_ids, input_words)
        tag_logits = self.tagger(states)
        places = {
            "form_ids": form_ids,
            "section_ids": section_ids,
            "line_ids": line_ids,
            "sentence_ids": sentence_ids,
        }
        spans, tags, targets = self._entities(tag_logits, word_mask, entity_spans, entity_tags, edges)
        scores = self.graph(states, spans, tags, places)
        tag_loss = None if tag_labels is None else self.tagger.loss(tag_logits, tag_labels)
        edge_loss = None
        if targets is not None:
            edge_loss = torch.stack([graph_loss(*each, targets, tags >= 0) for each in scores]).mean()
        parts = [part for part in (tag_loss, edge_loss) if part is not None]
        heads, labels = scores[-1]
        edge_scores = heads.softmax(dim=-1)[:, :, :-1, None] * labels.softmax(dim=-1)
        return RFGOutput(
            loss=torch.stack(parts).sum() if parts else None,
            tag_loss=tag_loss,
            edge_loss=edge_loss,
            tag_logits=tag_logits,
            entity_spans=spans,
            entity_tags=tags,
            entity_scores=_entity_scores(tag_logits, spans, tags),
            edge_scores=edge_scores * (tags >= 0)[:, :, None, None],
        )

    def _encode(
        self,
        word_mask: torch.Tensor,
        section_ids: torch.Tensor,
        word_ids: torch.Tensor | None,
        char_ids: torch.Tensor | None,
        input_ids: torch.Tensor | None,
        input_words: torch.Tensor | None,
    ) -> torch.Tensor:
        """One vector per word."""
        if self.config.is_scratch:
            _check_given("a model from scratch", word_ids=word_ids, char_ids=char_ids)
            words = self.encoder(word_ids, char_ids)
        else:
            _check_given("a model on a transformer", input_ids=input_ids, input_words=input_words)
            words = self.encoder(input_ids, input_words, word_mask.shape[1])
        words = torch.cat([words.to(self.sections.weight.dtype), self.sections(section_ids)], dim=-1)
        return self.dropout(self.lstm(self.dropout(words), word_mask))

    def _entities(
        self,
        tag_logits: torch.Tensor,
        word_mask: torch.Tensor,
        spans: torch.Tensor | None,
        tags: torch.Tensor | None,
        edges: torch.Tensor | None,
    ) -> Entities:
        """The entities to be scored: given, found, or in training a mix of both, by recipe.

        A parser that has seen only right entities trusts the wrong ones that it is given later.
        """
        mixes = self.training and self.config.predicted_share > 0 and edges is not None
        found = None
        if spans is None or mixes:
            found = tags_to_spans(decode_tags(tag_logits.detach(), word_mask, self.tagger.transitions.weight.detach()))
        if spans is None or tags is None:
            assert found is not None
            return found[0], found[1], None
        targets = None if edges is None else _dense_edges(edges, spans.shape[1])
        if targets is None or found is None:
            return spans, tags, targets
        use_found = torch.rand(len(spans), device=spans.device) < self.config.predicted_share
        return _mix((spans, tags, targets), found, use_found)

    @torch.no_grad()
    def decode(self, output: RFGOutput) -> list[RFGGraph]:
        """Turn scores into valid graphs, with the config's thresholds."""
        assert output.entity_spans is not None and output.entity_tags is not None
        assert output.entity_scores is not None and output.edge_scores is not None
        graphs = []
        thresholds = self.config.threshold, self.config.more_threshold, self.config.label_threshold
        rows = zip(output.entity_spans, output.entity_tags, output.entity_scores, output.edge_scores, strict=True)
        for spans, tags, scores, edge_scores in rows:
            count = int((tags >= 0).sum())
            edges = decode_graph(edge_scores[:count, :count], *thresholds)
            graphs.append(
                RFGGraph(
                    spans=[(first, end) for first, end in spans[:count].tolist()],
                    tags=[self.config.tags[tag] for tag in tags[:count].tolist()],
                    entity_scores=scores[:count].tolist(),
                    edges=[(start, end, self.config.labels[label], score) for start, end, label, score in edges],
                )
            )
        return graphs

    @torch.no_grad()
    def parse(self, **batch: torch.Tensor) -> list[RFGGraph]:
        """Read recipes, whatever mode the model is in; the arguments are those of `forward`."""
        was_training = self.training
        self.eval()
        try:
            return self.decode(self(**batch))
        finally:
            self.train(was_training)


def _check_given(kind: str, **inputs: torch.Tensor | None) -> None:
    if missing := [name for name, value in inputs.items() if value is None]:
        raise ValueError(f"expected {' and '.join(inputs)} for {kind}, found no {' and no '.join(missing)}")


def _entity_scores(tag_logits: torch.Tensor, spans: torch.Tensor, tags: torch.Tensor) -> torch.Tensor:
    """The geometric mean of the probabilities of an entity's tags."""
    first, end = spans[..., 0].clamp(min=0), spans[..., 1].clamp(min=0)
    sums = pad(tag_logits.detach().log_softmax(dim=-1).cumsum(dim=1), (0, 0, 1, 0))  # (B, W + 1, T)
    rows = torch.arange(len(spans), device=spans.device)[:, None]
    begin = 1 + 2 * tags.clamp(min=0)
    second = (first + 1).minimum(end)
    total = sums[rows, second, begin] - sums[rows, first, begin] + sums[rows, end, begin + 1]
    total = total - sums[rows, second, begin + 1]
    return (total / (end - first).clamp(min=1)).exp() * (tags >= 0)


def _dense_edges(edges: torch.Tensor, count: int) -> torch.Tensor:
    """Turn edges (B, K, 3), padded with -1, into the label of each pair (B, E, E), -1 for none."""
    targets = edges.new_full((len(edges), count, count), -1)
    row, place = (edges[..., 0] >= 0).nonzero(as_tuple=True)
    start, end, label = edges[row, place].unbind(dim=1)
    targets[row, start, end] = label
    return targets


def _mix(gold: Entities, found: tuple[torch.Tensor, torch.Tensor], use_found: torch.Tensor) -> Entities:
    """Replace the gold entities of some recipes by found ones, with the edges between those that are right."""
    count = max(gold[0].shape[1], found[0].shape[1], 1)  # at least one place to point to
    spans, tags, targets = _grow(gold, count)
    found_spans, found_tags, _ = _grow((*found, None), count)
    assert targets is not None
    same = (found_spans[:, :, None] == spans[:, None]).all(dim=-1) & (found_tags >= 0)[:, :, None]
    place, is_right = same.long().argmax(dim=2), same.any(dim=2)
    rows = torch.arange(len(spans), device=spans.device)[:, None, None]
    aligned = targets[rows, place[:, :, None], place[:, None]]
    aligned = aligned.masked_fill(~(is_right[:, :, None] & is_right[:, None]), -1)
    return (
        torch.where(use_found[:, None, None], found_spans, spans),
        torch.where(use_found[:, None], found_tags, tags),
        torch.where(use_found[:, None, None], aligned, targets),
    )


def _grow(entities: Entities, count: int) -> Entities:
    """Pad to a number of entities."""
    spans, tags, targets = entities
    more = count - spans.shape[1]
    grown = None if targets is None else pad(targets, (0, more, 0, more), value=-1)
    return pad(spans, (0, 0, 0, more), value=-1), pad(tags, (0, more), value=-1), grown


RFGModel.register_for_auto_class()

__all__ = ["RFGGraph", "RFGModel", "RFGOutput", "decode_graph", "decode_tags", "tags_to_spans"]
