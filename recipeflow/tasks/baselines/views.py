"""Questions as numbers: what a shortcut sees of text and of pictures."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from recipeflow.tasks.folder import pictures_of
from recipeflow.tasks.looks import LOOK, Looks

Row = dict[str, Any]
WORDS = 256
"""Columns that parts of words are hashed into."""

OFFERED = re.compile(r"\nA\. .*", re.DOTALL)


def text_vector(text: str) -> np.ndarray:
    """Parts of one to three characters, hashed and counted, with norm 1."""
    found = np.zeros(WORDS, np.float32)
    for size in (1, 2, 3):
        for start in range(len(text) - size + 1):
            found[zlib.crc32(text[start : start + size].encode()) % WORDS] += 1
    return found / max(float(np.linalg.norm(found)), 1e-6)


def asked_text(row: Row) -> str:
    """The question without its candidates."""
    return OFFERED.sub("", row["question"])


def offers_pictures(task: str, row: Row) -> bool:
    return task == "state_choice" or row.get("way") == "picture"


def candidate_vectors(task: str, row: Row, looks: Looks) -> np.ndarray:
    """The candidates of a question: pictures or texts, in two blocks of columns."""
    if offers_pictures(task, row):
        pictures = pictures_of(task, row)[-5:]
        return np.stack([np.concatenate([looks.vector(each), np.zeros(WORDS, np.float32)]) for each in pictures])
    return np.stack([np.concatenate([np.zeros(LOOK, np.float32), text_vector(each)]) for each in row["choices"]])


def resemblance(candidates: np.ndarray) -> np.ndarray:
    """How much each candidate is like the others, and how large it is: what gives a badly made set away."""
    norms = np.linalg.norm(candidates, axis=1, keepdims=True)
    alike = (candidates / np.maximum(norms, 1e-6)) @ (candidates / np.maximum(norms, 1e-6)).T
    np.fill_diagonal(alike, 0)
    return np.concatenate([alike.sum(1, keepdims=True), alike.max(1, keepdims=True), norms], 1)


def shown_vectors(task: str, row: Row, looks: Looks) -> list[np.ndarray]:
    """The pictures of the question itself."""
    pictures = pictures_of(task, row)
    return [looks.vector(each) for each in (pictures[:-5] if offers_pictures(task, row) else pictures)]


def lengths(texts: Iterable[str]) -> np.ndarray:
    return np.array([[len(text) / 20] for text in texts], np.float32)


def crossed(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Every product of two short vectors."""
    return np.outer(left, right).ravel()


def folded(vector: np.ndarray, size: int) -> np.ndarray:
    """A vector folded to a few columns, so that products stay few."""
    padded = np.zeros(-(-len(vector) // size) * size, np.float32)
    padded[: len(vector)] = vector
    return padded.reshape(-1, size).sum(0)


def stacked(rows: Sequence[np.ndarray]) -> np.ndarray:
    return np.stack(rows).astype(np.float32)
