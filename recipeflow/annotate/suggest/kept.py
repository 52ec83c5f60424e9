"""What was found out about recipes and films, kept for as long as they are the same."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from recipeflow.annotate.document import Document

KEPT_WORDS, KEPT_FLOWS = 1000, 20
"""Recipes whose words, and whose flows, stay read. Flows take more memory, and each new tag changes them all."""

Value = TypeVar("Value")


class Kept(Generic[Value]):
    """The last results of a computation, by key.

    Args:
        most: How many are kept.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.found: dict[Hashable, Value] = {}

    def get(self, key: Hashable, compute: Callable[[], Value]) -> Value:
        """What is kept, or else computed now."""
        if key not in self.found:
            if len(self.found) >= self.most:
                self.found.pop(next(iter(self.found)))
            self.found[key] = compute()
        return self.found[key]


def words_key(document: Document) -> Hashable:
    """The words: a recipe may get another text under its old id."""
    return document.base.id, *document.words.sections


def entities_key(document: Document) -> Hashable:
    """The words with their tags."""
    return document.base.id, *document.tagged.sections
