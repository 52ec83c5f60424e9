"""A small writer that learns: a decoder over frozen picture features, the title and the flow graph.

The pictures before and after each action, as features of a frozen backbone, the words of the title, and those of the
graph, if it is given, begin a sequence; a decoder of `transformers`, trained from scratch, continues it.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from pickle import UnpicklingError
from random import Random
from typing import Any, Protocol

import torch
from torch import nn
from transformers import GenerationConfig, GPT2Config, GPT2LMHeadModel

from recipeflow.errors import UsageError
from recipeflow.features.backbone import batches
from recipeflow.files import staged_file
from recipeflow.language.segmentation import load_segmenter
from recipeflow.progress import TrainingProgress, progress_bar
from recipeflow.tasks.baselines.picture_features import PictureFeatures
from recipeflow.tasks.folder import TasksFolder
from segmentation_rfg import is_spaced
from vocabulary_hub import PAD, train_vocabulary

Row = dict[str, Any]
TASK = "instruction_writing"
START, END, LINE = "[start]", "[end]", "[line]"
LONGEST = 320
"""Words of a text that is written or learned."""

CHECKPOINT = "generator.pt"
"""The file, beside the predictions, that training resumes from."""


@dataclass(frozen=True)
class GeneratorSettings:
    """How the writer is made and trained; the defaults take minutes on two cores."""

    width: int = 128
    layers: int = 3
    heads: int = 4
    epochs: int = 24
    batch_size: int = 8
    learning_rate: float = 2e-3
    feature_dropout: float = 0.3
    seed: int = 0


class Features(Protocol):
    """Pictures as vectors."""

    def add(self, rows: Sequence[Row]) -> None: ...

    def pairs(self, row: Row) -> torch.Tensor: ...


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
        self.decoder.loss_type = "ForCausalLM"  # its default; this class does not name it, and transformers would warn
        # A few hundred recipes would be known by their pictures alone: a part of these is hidden in each step.
        self.pictures = nn.Sequential(
            nn.LayerNorm(pair_size), nn.Dropout(settings.feature_dropout), nn.Linear(pair_size, settings.width)
        )

    def begin(self, pairs: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
        """The beginning of a sequence: pictures, then the words of title and graph and the start."""
        return torch.cat([self.pictures(pairs), self.decoder.transformer.wte(words)])


class InstructionGenerator:
    """Learns to write instructions, and writes them.

    Args:
        features: Of the pictures.
        language: The code of the texts' language.
        settings: How to learn.
    """

    def __init__(self, features: Features, language: str, settings: GeneratorSettings | None = None) -> None:
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

    def fit(self, rows: Sequence[Row], checkpoint: Path | None = None) -> list[float]:
        """Learn from questions with their answers; the mean loss of each epoch.

        Args:
            rows: The questions.
            checkpoint: A file that is written after each epoch. If it is of the same questions and settings, training
                resumes from it, with the same result as without a stop.
        """
        self._begin(rows)
        optimizer = torch.optim.AdamW(self.writer.parameters(), self.settings.learning_rate, weight_decay=0.01)
        steps = -(-len(rows) // self.settings.batch_size)
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, self.settings.learning_rate, self.settings.epochs * steps
        )
        parts = {"writer": self.writer, "optimizer": optimizer, "schedule": schedule}
        saved = _Checkpoint(checkpoint, self._key(rows), parts)
        losses = saved.load()
        with TrainingProgress(self.settings.epochs * steps, len(losses) * steps, shown=True) as progress:
            for epoch in range(len(losses), self.settings.epochs):
                seen = []
                for loss in self._epoch(rows, epoch):
                    optimizer.zero_grad()
                    loss.backward()
                    nn.utils.clip_grad_norm_(self.writer.parameters(), 1.0)
                    optimizer.step()
                    schedule.step()
                    seen.append(loss.item())
                    progress.step(seen[-1])
                losses.append(sum(seen) / len(seen))
                saved.save(losses)
        return losses

    def _begin(self, rows: Sequence[Row]) -> None:
        """Collect the vocabulary, and make a writer that knows nothing."""
        texts = [" ".join(self.words(f"{row['answer']}\n{row['title'] or ''}\n{row['graph'] or ''}")) for row in rows]
        self.vocabulary = train_vocabulary([*texts, f"{START} {END} {LINE}"])
        self.written = self._spellings(rows)
        # Segmented once, not again in every epoch.
        self._learned = {row["id"]: (self._known_words(row), self._target(row)) for row in rows}
        self.features.add(rows)
        torch.manual_seed(self.settings.seed)
        self.writer = Writer(self.settings, len(self.vocabulary), self.features.pairs(rows[0]).shape[1])

    def _spellings(self, rows: Sequence[Row]) -> dict[str, str]:
        """How each word of the vocabulary, which has one width and lower case, is mostly written."""
        counts = Counter(word for row in rows for word in self.words(row["answer"]))
        normalize = self.vocabulary.backend_tokenizer.normalizer.normalize_str
        return {normalize(word): word for word, _ in reversed(counts.most_common())}

    def _key(self, rows: Sequence[Row]) -> str:
        """What training depends on: a checkpoint of anything else is not resumed from."""
        content = [asdict(self.settings), [[row["id"], row["title"], row["graph"], row["answer"]] for row in rows]]
        pictures = torch.cat([self.features.pairs(row).mean(0) for row in rows])
        text = json.dumps(content, ensure_ascii=False, sort_keys=True).encode()
        return hashlib.sha256(text + pictures.numpy().tobytes()).hexdigest()

    def _epoch(self, rows: Sequence[Row], epoch: int) -> Iterator[torch.Tensor]:
        """The loss of each batch; order and dropout depend on the seed and the epoch only."""
        torch.manual_seed(10_000 * self.settings.seed + epoch)
        rng = Random(f"{self.settings.seed}/{epoch}")
        for part in batches(rng.sample(list(rows), len(rows)), self.settings.batch_size):
            yield self._loss(part)

    def _ids(self, words: Sequence[str]) -> torch.Tensor:
        return torch.tensor(self.vocabulary(" ".join(words))["input_ids"])

    def _known_words(self, row: Row) -> torch.Tensor:
        """The title and the graph, if it is given."""
        known = self.words(f"{row['title'] or ''}\n{row['graph'] or ''}")
        return self._ids([*known[:LONGEST], START])

    def _target(self, row: Row) -> torch.Tensor:
        return self._ids([*self.words(row["answer"])[:LONGEST], END])

    def _loss(self, rows: Sequence[Row]) -> torch.Tensor:
        self.writer.train()
        words, targets = zip(*(self._learned[row["id"]] for row in rows), strict=True)
        begun = [self.writer.begin(self.features.pairs(row), known) for row, known in zip(rows, words, strict=True)]
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
        start = self.writer.begin(self.features.pairs(row), self._known_words(row))[None]
        end, pad = (self.vocabulary.convert_tokens_to_ids(word) for word in (END, PAD))
        config = GenerationConfig(max_new_tokens=LONGEST, do_sample=False, eos_token_id=end, pad_token_id=pad)
        found = self.writer.decoder.generate(  # ty: ignore[invalid-argument-type] its protocol asks for a plain bool
            inputs_embeds=start, attention_mask=torch.ones(start.shape[:2], dtype=torch.long), generation_config=config
        )
        words = self.vocabulary.convert_ids_to_tokens(found[0].tolist())
        return self.text([self.written.get(word, word) for word in words if word not in (END, PAD, START)])


class _Checkpoint:
    """The state of a training after its last whole epoch, in one file.

    Args:
        path: The file; none is written without it.
        key: What the training depends on.
        parts: What has a state.
    """

    def __init__(self, path: Path | None, key: str, parts: dict[str, Any]) -> None:
        self.path, self.key, self.parts = path, key, parts

    def load(self) -> list[float]:
        """Restore the state, and return the losses of the epochs that it is the result of; none if there is no file,
        or only one of another training."""
        if self.path is None or not self.path.is_file():
            return []
        try:
            saved = torch.load(self.path, weights_only=True)
            if saved["key"] != self.key:
                return []
        except (OSError, RuntimeError, EOFError, UnpicklingError, KeyError, TypeError):  # of another program
            return []
        for name, part in self.parts.items():
            part.load_state_dict(saved[name])
        return saved["losses"]

    def save(self, losses: Sequence[float]) -> None:
        if self.path is not None:
            state = {name: part.state_dict() for name, part in self.parts.items()}
            with staged_file(self.path) as file:
                torch.save({"key": self.key, "losses": list(losses), **state}, file)


def generator_answers(
    folder: TasksFolder,
    split: str,
    features: PictureFeatures,
    checkpoint: Path | None = None,
    settings: GeneratorSettings | None = None,
) -> dict[str, str]:
    """Train a writer on ``train``, and the texts that it writes for a split.

    Raises:
        UsageError: If that split is the one it learns from, or the task is missing.
    """
    if split == "train":
        raise UsageError("expected another split for the generator than train, which it learns from; pass test")
    if missing := [name for name in ("train", split) if TASK not in folder.tasks(name)]:
        raise UsageError(
            f"expected {TASK} in train and {split} of {folder.path}, found none in {missing[0]}; the generator needs "
            "text and image pairs"
        )
    generator = InstructionGenerator(features, folder.manifest["language"], settings)
    generator.fit(list(folder.rows(TASK, "train", with_pictures=True)), checkpoint)
    rows = list(folder.rows(TASK, split, with_pictures=True))
    features.add(rows)
    written = progress_bar(rows, len(rows), "writing", "texts")
    return {row["id"]: text for row in written if (text := generator.write(row))}
