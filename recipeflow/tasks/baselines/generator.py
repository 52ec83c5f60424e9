"""A small writer that learns: a decoder over frozen picture features and the flow graph.

The pictures before and after each action, as features of a frozen backbone, and the words of the graph, if it is
given, are the beginning of a sequence; a decoder of `transformers`, trained from scratch, continues it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import torch
from torch import nn
from transformers import GenerationConfig, GPT2Config, GPT2LMHeadModel

from recipeflow.dataset.frames import Frame
from recipeflow.features.backbone import FrozenBackbone, batches
from recipeflow.language.segmentation import load_segmenter
from recipeflow.machines.devices import choose_device
from recipeflow.progress import TrainingProgress
from recipeflow.tasks.folder import TasksFolder
from segmentation_rfg import is_spaced
from vocabulary_hub import PAD, train_vocabulary

Row = dict[str, Any]
TASK = "instruction_writing"
START, END, LINE = "[start]", "[end]", "[line]"
LONGEST = 320
"""Words of a text that is written or learned."""


@dataclass(frozen=True)
class GeneratorSettings:
    """How the writer is made and trained; the defaults take minutes on two cores."""

    width: int = 192
    layers: int = 3
    heads: int = 6
    epochs: int = 20
    batch_size: int = 8
    learning_rate: float = 1e-3
    seed: int = 0


class PictureFeatures:
    """Features of pictures by a frozen backbone; each picture is computed once.

    Args:
        backbone: Its timm name.
        weights: Its weights, as for `vrf features`.
        device: Where to compute.
    """

    def __init__(self, backbone: str, weights: str, device: torch.device) -> None:
        self.backbone = FrozenBackbone(backbone, weights, device)
        self._known: dict[bytes, torch.Tensor] = {}

    def add(self, rows: Sequence[Row]) -> None:
        """Compute the features of all pictures of these rows that are not known yet."""
        cells = [cell["bytes"] for row in rows for cell in row["pictures"]]
        new = {hashlib.sha256(data).digest(): data for data in cells}
        frames = [Frame(key, data, TASK, "pictures") for key, data in new.items() if key not in self._known]
        for part in batches(frames, 32):
            for frame, vector in zip(part, self.backbone(part).float().cpu(), strict=True):
                self._known[frame.digest] = vector

    def pairs(self, row: Row) -> torch.Tensor:
        """A vector per pair: the picture before and the one after."""
        seen = [self._known[hashlib.sha256(cell["bytes"]).digest()] for cell in row["pictures"]]
        return torch.stack([torch.cat([seen[pair["before"]], seen[pair["after"]]]) for pair in row["pairs"]])


class Writer(nn.Module):
    """A GPT-2 of a few layers, with pictures as its first words."""

    def __init__(self, settings: GeneratorSettings, vocabulary: int, pair_size: int) -> None:
        super().__init__()
        self.decoder = GPT2LMHeadModel(
            GPT2Config(
                vocab_size=vocabulary,
                n_positions=2 * LONGEST + 256,
                n_embd=settings.width,
                n_layer=settings.layers,
                n_head=settings.heads,
                bos_token_id=None,
                eos_token_id=None,
            )
        )
        self.pictures = nn.Sequential(nn.LayerNorm(pair_size), nn.Linear(pair_size, settings.width))

    def begin(self, pairs: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
        """The beginning of a sequence: pictures, then the words of the graph and the start."""
        return torch.cat([self.pictures(pairs), self.decoder.transformer.wte(words)])


class InstructionGenerator:
    """Learns to write instructions, and writes them.

    Args:
        features: Of the pictures.
        language: The code of the texts' language.
        settings: How to learn.
    """

    def __init__(self, features: PictureFeatures, language: str, settings: GeneratorSettings | None = None) -> None:
        self.features, self.settings = features, settings or GeneratorSettings()
        self.is_spaced = is_spaced(language)
        self.split = str.split if self.is_spaced else load_segmenter()

    def words(self, text: str) -> list[str]:
        """A text as words, with a word for the end of each line."""
        return [word for line in text.splitlines() for word in (*self._line(line), LINE)]

    def _line(self, line: str) -> Iterator[str]:
        return (word for part in line.split() for word in self.split(part))

    def text(self, words: Sequence[str]) -> str:
        """Words as a text again."""
        lines = " ".join(words).split(LINE)
        return "\n".join(line.strip() if self.is_spaced else line.replace(" ", "") for line in lines if line.strip())

    def fit(self, rows: Sequence[Row]) -> list[float]:
        """Learn from questions with their answers; the mean loss of each epoch."""
        torch.manual_seed(self.settings.seed)
        texts = [" ".join(self.words(f"{row['answer']}\n{row['graph'] or ''}")) for row in rows]
        self.vocabulary = train_vocabulary([*texts, f"{START} {END} {LINE}"])
        self.features.add(rows)
        self.writer = Writer(self.settings, len(self.vocabulary), self.features.pairs(rows[0]).shape[1])
        steps = self.settings.epochs * -(-len(rows) // self.settings.batch_size)
        optimizer = torch.optim.AdamW(self.writer.parameters(), self.settings.learning_rate, weight_decay=0.01)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, self.settings.learning_rate, steps)
        rng, losses = Random(self.settings.seed), []
        with TrainingProgress(steps, 0, shown=True) as progress:
            for _ in range(self.settings.epochs):
                seen = []
                for part in batches(rng.sample(list(rows), len(rows)), self.settings.batch_size):
                    loss = self._loss(part)
                    optimizer.zero_grad()
                    loss.backward()
                    nn.utils.clip_grad_norm_(self.writer.parameters(), 1.0)
                    optimizer.step()
                    schedule.step()
                    seen.append(loss.item())
                    progress.step(seen[-1])
                losses.append(sum(seen) / len(seen))
        return losses

    def _ids(self, words: Sequence[str]) -> torch.Tensor:
        return torch.tensor(self.vocabulary(" ".join(words))["input_ids"])

    def _beginning(self, row: Row) -> torch.Tensor:
        words = [*(self.words(row["graph"])[:LONGEST] if row["graph"] else ()), START]
        return self.writer.begin(self.features.pairs(row), self._ids(words))

    def _loss(self, rows: Sequence[Row]) -> torch.Tensor:
        self.writer.train()
        begun = [self._beginning(row) for row in rows]
        targets = [self._ids([*self.words(row["answer"])[:LONGEST], END]) for row in rows]
        embed = self.writer.decoder.transformer.wte
        inputs = [torch.cat([start, embed(target)]) for start, target in zip(begun, targets, strict=True)]
        labels = [
            torch.cat([torch.full((len(start),), -100), target]) for start, target in zip(begun, targets, strict=True)
        ]
        mask = nn.utils.rnn.pad_sequence([torch.ones(len(each), dtype=torch.long) for each in inputs], True)
        return self.writer.decoder(
            inputs_embeds=nn.utils.rnn.pad_sequence(inputs, True),
            attention_mask=mask,
            labels=nn.utils.rnn.pad_sequence(labels, True, -100),
        ).loss

    @torch.inference_mode()
    def write(self, row: Row) -> str:
        """The instructions of a recipe, word by word the most likely ones."""
        self.writer.eval()
        start = self._beginning(row)[None]
        end, pad = (self.vocabulary.convert_tokens_to_ids(word) for word in (END, PAD))
        config = GenerationConfig(max_new_tokens=LONGEST, do_sample=False, eos_token_id=end, pad_token_id=pad)
        found = self.writer.decoder.generate(  # ty: ignore[invalid-argument-type] its protocol asks for a plain bool
            inputs_embeds=start, attention_mask=torch.ones(start.shape[:2], dtype=torch.long), generation_config=config
        )
        words = self.vocabulary.convert_ids_to_tokens(found[0].tolist())
        return self.text([word for word in words if word not in (END, PAD, START)])


def generator_answers(
    folder: TasksFolder, split: str, backbone: str, weights: str, settings: GeneratorSettings | None = None
) -> dict[str, str]:
    """Train a writer on ``train``, and the texts that it writes for a split."""
    features = PictureFeatures(backbone, weights, choose_device("cpu"))
    generator = InstructionGenerator(features, folder.manifest["language"], settings)
    generator.fit(list(folder.rows(TASK, "train", with_pictures=True)))
    rows = list(folder.rows(TASK, split, with_pictures=True))
    features.add(rows)
    return {row["id"]: text for row in rows if (text := generator.write(row))}
