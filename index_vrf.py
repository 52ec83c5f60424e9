"""Search among the post-action images that were embedded with a Visual Recipe Flow model.

An index is the folder `index` beside a saved model: the candidates (`rows.parquet`, images inside), their embeddings
(`vectors.faiss`, read by `datasets`' own FAISS integration) and what they were made with (`index.json`).

This file travels with every saved model that has an index and imports nothing of the project.
"""

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import torch
from PIL import Image
from transformers import ProcessorMixin

try:
    from .configuration_vrf import weights_digest
except ImportError:
    if __package__:  # inside a package the sibling exists: the error is a real one
        raise
    from configuration_vrf import weights_digest

FOLDER, ABOUT, ROWS, VECTORS = "index", "index.json", "rows.parquet", "vectors.faiss"
FORMAT = 1
EMBEDDING = "embedding"
"""The name of the FAISS index on the table of candidates."""

PARTS = {"action": "actions", "object": "objects", "image": "pre_images"}
"""The parts of a query, and what the processor calls a list of each."""


class VRFIndex:
    """Candidates and their embeddings.

    Args:
        rows: One row a distinct post-action image, with a FAISS index of their unit vectors, by inner product.
        about: What they were made with: `weights` is the digest of the model's weights.
    """

    def __init__(self, rows: datasets.Dataset, about: dict[str, Any]) -> None:
        rows.get_index(EMBEDDING)
        self.rows, self.about = rows, about

    @classmethod
    def load(cls, folder: str | Path) -> "VRFIndex":
        """Read the index of a model's folder.

        Raises:
            ValueError: If there is none, or it is damaged.
        """
        folder = Path(folder) / FOLDER
        if not (folder / ABOUT).is_file():
            raise ValueError(
                f"expected an index of candidates in {folder}, found none; make one with "
                f"`vrf index DATASET --model {folder.parent}`"
            )
        try:
            about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
            if about["format"] != FORMAT:
                raise ValueError(f"format {about['format']}, where this code reads {FORMAT}")
            # Cached by content: by itself `datasets` goes by a file's name and time, and could bring back older rows.
            cache = Path(datasets.config.HF_DATASETS_CACHE) / f"vrf-index-{about['rows_sha256']}"
            rows = datasets.Dataset.from_parquet(str(folder / ROWS), cache_dir=str(cache))
            rows = rows.cast_column("image", datasets.Image(decode=False))  # so that only what is shown is decoded
            rows.load_faiss_index(EMBEDDING, folder / VECTORS)
        except (OSError, RuntimeError, ValueError, KeyError, TypeError, datasets.exceptions.DatasetsError) as error:
            raise ValueError(
                f"expected a whole index in {folder}, found: {type(error).__name__}: {error}; make it again with "
                "`vrf index`, or download it again"
            ) from error
        return cls(rows, about)

    def __len__(self) -> int:
        return len(self.rows)

    def check_model(self, model: torch.nn.Module) -> None:
        """Make sure that the candidates were embedded with this model.

        Raises:
            ValueError: If they were not: another model's vectors have the same shape and mean something else.
        """
        found = weights_digest(model)
        if found != self.about["weights"]:
            raise ValueError(
                f"expected an index that was made with this model's weights ({found[:12]}…, {model.dtype}), found one "
                f"of others ({self.about['weights'][:12]}…); make it again with `vrf index`, or load the model in the "
                "precision that it was saved in"
            )

    def search(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k nearest candidates of each query: similarities and rows, both queries x k, the best first.

        An approximate index may find fewer; then the last rows are -1.
        """
        if not 1 <= k <= len(self):
            raise ValueError(f"expected k from 1 to {len(self)}, the number of candidates, found {k}")
        scores, rows = self.rows.search_batch(EMBEDDING, queries, k)
        return scores, rows

    def nearest(self, queries: np.ndarray, k: int) -> list[list[dict[str, Any]]]:
        """The k nearest candidates of each query as rows, with `score`, their cosine similarity, and their image."""
        scores, rows = self.search(queries, k)
        found, places = np.unique(rows, return_inverse=True)
        columns = self.rows[found[found >= 0]]
        records = [None] * int((found < 0).any())
        for values in zip(*columns.values(), strict=True):
            record = dict(zip(columns, values, strict=True))
            records.append(record | {"image": Image.open(io.BytesIO(record["image"]["bytes"]))})
        return [
            [{"score": float(score)} | records[place] for score, place in zip(*pair, strict=True) if records[place]]
            for pair in zip(scores, places.reshape(rows.shape), strict=True)
        ]


def arrange_queries(queries: Sequence[Mapping[str, Any]], inputs: Sequence[str]) -> dict[str, list]:
    """Check queries against the inputs of a model, and turn them into the lists that its processor takes.

    An image may be missing where there are words: the model then goes by the words.

    Args:
        queries: Each with some of `action`, `object` and `image`; None stands for nothing.
        inputs: What the model uses, `model.config.inputs`.

    Raises:
        ValueError: If a query has too little or too much for this model.
    """
    if not queries:
        raise ValueError("expected at least one query, found none")
    needed = set(inputs) - ({"image"} if len(inputs) > 1 else set())
    for row, query in enumerate(queries):
        given = {name for name, value in query.items() if value is not None}
        place = f"in query {row}" if len(queries) > 1 else "in the query"
        uses = f"this model's queries are made of {', '.join(inputs)}"
        if excess := sorted(given - set(inputs)):
            raise ValueError(f"expected no {' or '.join(excess)} {place}, found one; {uses}: leave it out")
        if missing := [name for name in inputs if name in needed - given]:
            raise ValueError(f"expected {' and '.join(missing)} {place}, found none; {uses}: pass it too")
    return {PARTS[name]: [query.get(name) for query in queries] for name in inputs}


def unknown_words(queries: Sequence[Mapping[str, Any]], processor: ProcessorMixin) -> list[str]:
    """The words of queries that the vocabulary does not hold; to the model they are all the same word."""
    phrases = [query.get(name) or () for query in queries for name in ("action", "object")]
    words = [word for phrase in phrases for word in (phrase.split() if isinstance(phrase, str) else phrase)]
    unknown = processor.tokenizer.unk_token_id
    return [word for word in dict.fromkeys(words) if unknown in processor.tokenizer(word)["input_ids"]]


__all__ = ["VRFIndex", "arrange_queries", "unknown_words"]
