"""From words to one vector per word: the two encoders of the recipe reader.

This file is saved with every model and imports nothing from the project.
"""

import re
from collections.abc import Sequence

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoModel

try:
    from .configuration_rfg import RFGConfig
except ImportError:
    if __package__:  # inside a package the siblings exist: the error is a real one
        raise
    from configuration_rfg import RFGConfig

UNKNOWN = 1
"""The id of a word or character outside of the vocabulary; 0 is padding."""


LAYER = re.compile(r"\blayers?\.(\d+)\.")
"""The number of a layer in the name of a weight, in every encoder of transformers."""

MOST_REMEMBERED = 2**28
"""Bytes of the states of frozen layers that are kept in training: enough for a few thousand recipes."""


def layer_of(name: str, count: int) -> int:
    """The layer of a transformer's weight, from 1 on: 0 for tables, ``count`` for what comes after the layers."""
    found = LAYER.search(name)
    if found:
        return int(found[1]) + 1
    return 0 if "embeddings" in name else count


class RFGSharedDropout(nn.Module):
    """Dropout with one mask for all positions of a recipe: a BiLSTM cannot average it away, and it costs little."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Drop the same features of all words of a recipe."""
        if not self.training or self.rate == 0:
            return states
        mask = states.new_empty(len(states), *[1] * (states.ndim - 2), states.shape[-1]).bernoulli_(1 - self.rate)
        return states * mask / (1 - self.rate)


class RFGBiLSTM(nn.Module):
    """A BiLSTM that never reads padding.

    Each direction is an LSTM of its own, and the second one reads the words from last to first. PyTorch's packed
    sequences do the same, but on a CPU word by word, which takes about five times as long.
    """

    def __init__(self, input_dim: int, hidden_dim: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        widths = [input_dim] + [2 * hidden_dim] * (layers - 1)
        self.ahead, self.back = (
            nn.ModuleList(nn.LSTM(width, hidden_dim, batch_first=True) for width in widths) for _ in range(2)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Read the positions that are not padding, which is at the end; padding becomes 0."""
        if states.shape[1] == 0:
            return states.new_zeros(len(states), 0, 2 * self.hidden_dim)
        place = torch.arange(states.shape[1], device=states.device)
        mirrored = torch.where(mask, mask.sum(dim=1, keepdim=True) - 1 - place, place)[:, :, None]
        with torch.autocast(states.device.type, enabled=False):  # on CPUs without native bf16 it has no LSTM
            states = states.to(next(self.parameters()).dtype)
            for number, (ahead, back) in enumerate(zip(self.ahead, self.back, strict=True)):
                states = self.dropout(states) if number else states
                turned, _ = back(states.gather(1, mirrored.expand_as(states)))
                turned = turned.gather(1, mirrored.expand_as(turned))
                states = torch.cat([ahead(states)[0], turned], dim=-1)
        return states * mask[:, :, None]


class RFGWordTables(nn.Module):
    """Words from scratch: a vector from a table beside one made of the word's characters."""

    def __init__(self, config: RFGConfig) -> None:
        super().__init__()
        self.word_dropout = config.word_dropout
        self.words = nn.Embedding(config.vocab_size, config.word_dim, padding_idx=0)
        self.characters = nn.Embedding(config.char_vocab_size, config.char_dim, padding_idx=0)
        self.window = nn.Conv1d(config.char_dim, 2 * config.char_dim, kernel_size=3, padding=1)
        self.width = config.word_dim + 2 * config.char_dim

    def forward(self, word_ids: torch.Tensor, char_ids: torch.Tensor) -> torch.Tensor:
        """Look up each word, and pool the windows of three characters in it."""
        if self.training and self.word_dropout:
            dropped = torch.rand(word_ids.shape, device=word_ids.device) < self.word_dropout
            word_ids = word_ids.masked_fill(dropped & (word_ids > 0), UNKNOWN)
        distinct, position = char_ids.flatten(0, 1).unique(dim=0, return_inverse=True)
        windows = self.window(self.characters(distinct).transpose(1, 2)).relu()
        spelled = (windows * (distinct > 0)[:, None]).amax(dim=2)
        # Not spelled[position]: several threads of a CPU sum its gradients in any order, and no two runs end alike.
        spelled = nn.functional.embedding(position, spelled)
        return torch.cat([self.words(word_ids), spelled.view(*word_ids.shape, spelled.shape[1])], dim=-1)


class RFGTransformer(nn.Module):
    """Words by any encoder of transformers: the mean of a word's sub-words.

    A recipe longer than the window is read in several windows that overlap, and each sub-word's state is taken from
    the window in whose middle it is.
    """

    def __init__(self, config: RFGConfig) -> None:
        super().__init__()
        assert config.encoder is not None and not isinstance(config.encoder, dict)
        self.config = config
        self.transformer = AutoModel.from_config(config.encoder)
        self.width = config.encoder.hidden_size
        self.mask_token_id = config.mask_token_id if config.word_dropout else None
        depth = config.encoder.num_hidden_layers
        remembered = config.frozen_layers if self.mask_token_id is None else 0  # no text comes twice with hidden words
        self.frozen = RFGFrozenLayers.find(self.transformer, remembered, depth)
        for name, weight in self.transformer.named_parameters():
            weight.requires_grad_(config.frozen_layers == 0 or layer_of(name, depth) > config.frozen_layers)

    def forward(self, input_ids: torch.Tensor, input_words: torch.Tensor, word_count: int) -> torch.Tensor:
        """Read sub-words (B, P) and average those of each word: (B, W, D)."""
        if self.training and self.mask_token_id is not None:
            is_hidden = self._hide_words(input_words, word_count)
            input_ids = input_ids.masked_fill(is_hidden, self.mask_token_id)
        states = self._read(input_ids, input_words >= 0)
        into = torch.where(input_words >= 0, input_words, word_count)  # one more word, for the padding
        sums = states.new_zeros(len(states), word_count + 1, states.shape[2])
        sums = sums.scatter_add(1, into[:, :, None].expand_as(states), states)
        counts = states.new_zeros(len(states), word_count + 1).scatter_add(
            1, into, torch.ones_like(into, dtype=states.dtype)
        )
        return (sums / counts.clamp(min=1)[:, :, None])[:, :word_count]

    def _hide_words(self, input_words: torch.Tensor, word_count: int) -> torch.Tensor:
        """All sub-words of some words, which the model then has to infer from the others."""
        is_hidden = torch.rand(len(input_words), max(word_count, 1), device=input_words.device)
        is_hidden = is_hidden < self.config.word_dropout
        return is_hidden.gather(1, input_words.clamp(min=0)) & (input_words >= 0)

    def _read(self, input_ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Give each sub-word its state, from the right window."""
        batch, longest = input_ids.shape
        window = min(self.config.window, max(longest, 1))
        stride = max(window - self.config.window_overlap, 1)
        lengths = mask.sum(dim=1)
        per_recipe = ((lengths - window).clamp(min=0) + stride - 1) // stride + 1
        windows = int(per_recipe.max())
        needed = (windows - 1) * stride + window
        padded = nn.functional.pad(input_ids, (0, needed - longest)).unfold(1, window, stride)  # (B, windows, window)
        masks = nn.functional.pad(mask, (0, needed - longest)).unfold(1, window, stride)
        is_used = torch.arange(windows, device=mask.device) < per_recipe[:, None]
        states = self._run(padded[is_used], masks[is_used])
        row = is_used.flatten().cumsum(0).view(batch, windows) - 1
        place = torch.arange(longest, device=mask.device).expand(batch, -1)
        owner = ((place - self.config.window_overlap // 2).clamp(min=0) // stride).minimum(per_recipe[:, None] - 1)
        inside = (place - owner * stride).clamp(max=window - 1)
        return states[row.gather(1, owner), inside]

    def _run(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Run the transformer on windows between their special tokens, and return the states of the sub-words."""
        ids, keep = ids * mask, mask
        first = self.config.cls_token_id
        if first is not None:
            ids, keep = nn.functional.pad(ids, (1, 0), value=first), nn.functional.pad(keep, (1, 0), value=True)
        if self.config.sep_token_id is not None:
            rows, last = torch.arange(len(ids), device=ids.device), keep.sum(dim=1)
            ids, keep = nn.functional.pad(ids, (0, 1)), nn.functional.pad(keep, (0, 1))
            ids[rows, last], keep[rows, last] = self.config.sep_token_id, True
        if self.training and self.frozen is not None:
            states = self.frozen.run(ids, keep)
        else:
            states = self.transformer(input_ids=ids, attention_mask=keep.long()).last_hidden_state
        offset = int(first is not None)
        return states[:, offset : offset + mask.shape[1]]

    def train(self, mode: bool = True) -> "RFGTransformer":
        """Forget the states of frozen layers, whose weights may be loaded anew between two trainings."""
        if self.frozen is not None:
            self.frozen.forget()
        return super().train(mode)


class RFGFrozenLayers:
    """Runs a transformer in training without computing its frozen layers again and again.

    Their states depend on the text alone, so that they are computed once per text, and without dropout. Each text is
    read by itself: its states are the same to the last bit, whatever else is in its batch.
    """

    def __init__(self, transformer: nn.Module, layers: Sequence[nn.Module]) -> None:
        self.transformer, self.layers = transformer, layers
        self.forget()

    @classmethod
    def find(cls, transformer: nn.Module, count: int, depth: int) -> "RFGFrozenLayers | None":
        """The first layers of a transformer; None if it has no list of as many layers as its config says."""
        lists = (module for module in transformer.modules() if isinstance(module, nn.ModuleList))
        layers = next((module for module in lists if len(module) == depth), None)
        return None if count == 0 or layers is None else cls(transformer, list(layers)[:count])

    def forget(self) -> None:
        """Start again without any states."""
        self.remembered: dict[tuple[int, ...], torch.Tensor] = {}
        self.size = 0

    def run(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """The last states of texts, as the transformer itself would return them."""
        texts = [row[: int(length)] for row, length in zip(ids, mask.sum(dim=1), strict=True)]
        states = pad_sequence([self._states(text) for text in texts], batch_first=True)
        states = nn.functional.pad(states, (0, 0, 0, ids.shape[1] - states.shape[1]))
        for layer in self.layers:  # each one passes on what the last of them would return
            layer.forward = lambda *inputs, **options: states
        try:
            return self.transformer(input_ids=ids, attention_mask=mask.long()).last_hidden_state
        finally:
            for layer in self.layers:
                del layer.forward

    def _states(self, text: torch.Tensor) -> torch.Tensor:
        key = tuple(text.tolist())
        if (known := self.remembered.get(key)) is not None:
            return known
        states = self._compute(text)
        if self.size + states.nbytes <= MOST_REMEMBERED:
            self.remembered[key] = states
            self.size += states.nbytes
        return states

    @torch.no_grad()
    def _compute(self, text: torch.Tensor) -> torch.Tensor:
        found: list[torch.Tensor] = []
        hook = self.layers[-1].register_forward_hook(lambda layer, inputs, states: found.append(states))
        self.transformer.eval()
        try:
            self.transformer(input_ids=text[None], attention_mask=torch.ones_like(text)[None])
        finally:
            hook.remove()
            self.transformer.train()
        return found[0][0]


__all__ = ["RFGBiLSTM", "RFGSharedDropout", "RFGTransformer", "RFGWordTables", "layer_of"]
