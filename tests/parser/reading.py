"""What the tests of the parser share: few recipes, tiny models, and a parser that has learnt them by heart."""

from dataclasses import replace
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModel, BertTokenizer

from recipeflow.parser.runs import start_training
from recipeflow.parser.settings import ParserConfig
from tests.making import RECIPES, make_release

torch.set_num_threads(1)  # the tensors are small: a second thread only waits for the first
TINY = {
    "word_dim": 16,
    "char_dim": 8,
    "hidden_dim": 24,
    "tag_dim": 8,
    "entity_dim": 16,
    "head_dim": 16,
    "label_dim": 16,
    "pair_dim": 16,
    "dropout": 0.0,
    "pair_dropout": 0.0,
}

BERT = {
    "model_type": "bert",
    "vocab_size": 50,
    "hidden_size": 16,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "intermediate_size": 20,
    "max_position_embeddings": 40,
}


def save_encoder(folder: Path, **changes: int) -> Path:
    """A small transformer with random weights, and its tokenizer."""
    AutoModel.from_config(AutoConfig.for_model(**BERT | changes)).save_pretrained(folder)
    words = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4}
    BertTokenizer(vocab=words).save_pretrained(folder)
    return folder


def tiny_config(**changes: object) -> ParserConfig:
    settings = {"epochs": 1, "recipes_per_batch": 4, "learning_rate": 1e-2, "checkpoint_every": 0, "model": TINY}
    return ParserConfig(**{**settings, **changes})


def few_recipes(folder: Path, count: int = 12) -> Path:
    """A release with text and no frames, in which three recipes are repeated."""
    recipes = [replace(RECIPES[number % 3], id=f"r{number:03d}", url=None) for number in range(count)]
    return make_release(folder, recipes, frames=False)


def train_by_heart(release: Path, run: Path) -> Path:
    """A parser that knows the few recipes; the folder of its model."""
    config = tiny_config(epochs=35, max_grad_norm=5.0)
    start_training(release, run, config).train()
    return run / "model"
