"""Search among the post-action images that were embedded with a Visual Recipe Flow model.

An index is the folder `index` beside a saved model: the candidates (`rows.parquet`, images inside), their embeddings
(`vectors.faiss`, read by `datasets`' own FAISS integration) and what they were made with (`index.json`). Where the
model was calibrated, every answer has a confidence.

This file travels with every saved model that has an index and imports nothing of the project.
"""

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets
import faiss
import numpy as np
import torch
from PIL import Image
from transformers import ProcessorMixin

try:
    from .calibration_vrf import COMPLETE, Kind, VRFCalibration, confidences, optional_parts
    from .configuration_vrf import READ_ROLES, VRFConfig, weights_digest
    from .package_vrf import INDEX as FOLDER
    from .package_vrf import INDEX_ABOUT as ABOUT
except ImportError:
    if __package__:  # inside a package the sibling exists: the error is a real one
        raise
    from calibration_vrf import COMPLETE, Kind, VRFCalibration, confidences, optional_parts
    from configuration_vrf import READ_ROLES, VRFConfig, weights_digest
    from package_vrf import INDEX as FOLDER
    from package_vrf import INDEX_ABOUT as ABOUT

ROWS, VECTORS = "rows.parquet", "vectors.faiss"
FORMAT = 1
EMBEDDING = "embedding"
"""The name of the FAISS index on the table of candidates."""

PARTS = {"action": "actions", "object": "objects", "image": "pre_images", "context": "contexts"}
"""The parts of a query, and what the processor calls a list of each."""

CHUNK = 65_536
"""Candidates compared at a time where a confidence needs all of them."""


class VRFIndex:
    """Candidates and their embeddings.

    Args:
        rows: One row a distinct post-action image, with a FAISS index of their unit vectors, by inner product.
        about: What they were made with: `weights` is the digest of the model's weights.
        calibration: Of the same model; without it answers have no confidence.

    Raises:
        ValueError: If the calibration is of another model.
    """

    def __init__(
        self, rows: datasets.Dataset, about: dict[str, Any], calibration: VRFCalibration | None = None
    ) -> None:
        rows.get_index(EMBEDDING)
        if calibration is not None:
            calibration.check_weights(about["weights"])
        self.rows, self.about, self.calibration = rows, about, calibration

    @classmethod
    def load(cls, folder: str | Path) -> "VRFIndex":
        """Read the index of a model's folder, with its calibration if it has one.

        Raises:
            ValueError: If there is no index, or one of the two is damaged.
        """
        calibration = VRFCalibration.load(folder)
        folder = Path(folder) / FOLDER
        if not (folder / ABOUT).is_file():
            raise ValueError(
                f"expected an index of candidates in {folder}, found none; make one with `vrf index VRF --model "
                "FOLDER`, where FOLDER is a model of yours: `vrf pull model` makes one of a model on the Hub"
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
        return cls(rows, about, calibration)

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

    def nearest(
        self,
        queries: np.ndarray,
        k: int,
        min_confidence: float | None = None,
        kinds: Sequence[Kind] | None = None,
    ) -> list[list[dict[str, Any]]]:
        """The k nearest candidates of each query as rows, with `score`, their cosine similarity, and their image.

        Where the model was calibrated, each also has `confidence`, how likely it is the right one of all candidates,
        and all rows of a query share `sure`: whether the first one's confidence is high enough.

        Args:
            queries: Embeddings, one row a query.
            k: How many candidates.
            min_confidence: What is high enough; by default what the calibration found for the kind of each query.
            kinds: What each query lacks, as `kind_of` tells it; by default all are complete.

        Raises:
            ValueError: If there are fewer than k candidates, or a confidence is asked for that nobody calibrated.
        """
        self._check_confidence(min_confidence)
        scores, rows = self.search(queries, k)
        found, places = np.unique(rows, return_inverse=True)
        columns = self.rows[found[found >= 0]]
        records = [None] * int((found < 0).any())
        for values in zip(*columns.values(), strict=True):
            record = dict(zip(columns, values, strict=True))
            records.append(record | {"image": Image.open(io.BytesIO(record["image"]["bytes"]))})
        judged = self._judge(queries, scores, min_confidence, kinds or [COMPLETE] * len(queries))
        return [
            [judgement | records[place] for judgement, place in zip(*pair, strict=True) if records[place]]
            for pair in zip(judged, places.reshape(rows.shape), strict=True)
        ]

    def _check_confidence(self, min_confidence: float | None) -> None:
        if min_confidence is None:
            return
        if self.calibration is None:
            raise ValueError(
                "expected a calibrated model to ask for a confidence, found none; calibrate it with "
                "`vrf calibrate DATASET --model FOLDER`, or leave min_confidence out"
            )
        if not 0 <= min_confidence <= 1:
            raise ValueError(f"expected a confidence from 0 to 1, found {min_confidence}")

    def _judge(
        self, queries: np.ndarray, scores: np.ndarray, min_confidence: float | None, kinds: Sequence[Kind]
    ) -> list[list[dict[str, Any]]]:
        """What is said of each answer beside what it shows."""
        if self.calibration is None:
            return [[{"score": float(score)} for score in line] for line in scores]
        scales = [self.calibration.scale(kind) for kind in kinds]
        temperatures = np.array([scale.temperature for scale in scales])
        least = [scale.min_confidence if min_confidence is None else min_confidence for scale in scales]
        lines = confidences(scores, self.log_totals(queries, temperatures), temperatures)
        return [
            [
                {"score": float(score), "confidence": float(confidence), "sure": bool(line[0] >= enough)}
                for score, confidence in zip(found, line, strict=True)
            ]
            for found, line, enough in zip(scores, lines, least, strict=True)
        ]

    def log_totals(self, queries: np.ndarray, temperatures: np.ndarray) -> np.ndarray:
        """For each query the logarithm of the sum over all candidates of exp(similarity / its temperature).

        All of them count, also where the search looks only at some: this takes as long as an exact search.
        """
        totals = np.full(len(queries), -np.inf)
        for vectors in self._vectors():
            exponents = (queries @ vectors.T).astype(np.float64) / temperatures[:, None]
            largest = exponents.max(axis=1, keepdims=True)
            part = largest[:, 0] + np.log(np.exp(exponents - largest).sum(axis=1))
            totals = np.logaddexp(totals, part)
        return totals

    def _vectors(self) -> Iterator[np.ndarray]:
        """All vectors in any order, some at a time."""
        index = self.rows.get_index(EMBEDDING).faiss_index
        if not isinstance(index, faiss.IndexIVF):
            for start in range(0, index.ntotal, CHUNK):
                yield index.reconstruct_n(start, min(CHUNK, index.ntotal - start))
            return
        for cell in range(index.nlist):  # by numbers, each would be looked for in all cells
            size = index.invlists.list_size(cell)
            if size:
                codes = faiss.rev_swig_ptr(index.invlists.get_codes(cell), size * index.code_size)
                yield codes.view(np.float32).reshape(size, index.d)


def arrange_queries(queries: Sequence[Mapping[str, Any]], config: VRFConfig) -> dict[str, list]:
    """Check queries against what a model uses, and turn them into the lists that its processor takes.

    An image may be missing where there are words: the model then goes by the words. A context may always be missing.

    Args:
        queries: Each with some of `action`, `object`, `image` and `context`; None stands for nothing.
        config: The model's.

    Raises:
        ValueError: If a query has too little or too much for this model.
    """
    inputs, roles = config.query_parts, READ_ROLES[config.context]
    if not queries:
        raise ValueError("expected at least one query, found none")
    needed = set(inputs) - set(optional_parts(inputs))
    for row, query in enumerate(queries):
        given = {name for name, value in query.items() if value is not None}
        place = f"in query {row}" if len(queries) > 1 else "in the query"
        uses = f"this model's queries are made of {', '.join(inputs)}"
        if excess := sorted(given - set(inputs)):
            raise ValueError(f"expected no {' or '.join(excess)} {place}, found one; {uses}: leave it out")
        if missing := [name for name in inputs if name in needed - given]:
            raise ValueError(f"expected {' and '.join(missing)} {place}, found none; {uses}: pass it too")
        if unread := [role for role in query.get("context") or () if role not in roles]:
            raise ValueError(
                f"expected a context of {', '.join(roles)} {place}, found {unread[0]!r}, which this model does not "
                "read; leave it out"
            )
    arranged = {PARTS[name]: [query.get(name) for query in queries] for name in inputs}
    if "contexts" in arranged:
        arranged["contexts"] = [context or {} for context in arranged["contexts"]]
    return arranged


def missed_words(queries: Sequence[Mapping[str, Any]], processor: ProcessorMixin) -> dict[str, list[str]]:
    """The words of queries that are not found in the vocabulary, each with those that it may stand for, if any."""
    phrases = [query[name] for query in queries for name in ("action", "object") if query.get(name)]
    phrases += [phrase for query in queries for phrase in (query.get("context") or {}).values() if phrase]
    return processor.missed_words(phrases)


def unknown_words(queries: Sequence[Mapping[str, Any]], processor: ProcessorMixin) -> list[str]:
    """The same words alone; to the model they are all one unknown word."""
    return list(missed_words(queries, processor))


__all__ = ["VRFIndex", "arrange_queries", "missed_words", "unknown_words"]
