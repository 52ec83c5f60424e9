"""Words and contexts of millions of rows as columns of numbers: a few bytes per row in place of Python tuples.

Both read like the tuples that they replace: ``column[row]``, slices, iteration and equality of items.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from configuration_vrf import CONTEXT_ROLES
from recipeflow.pairs.context import Context, Words

NONE = -1
"""The code of a row without a phrase."""

ROWS_AT_A_TIME = 50_000
"""Rows whose words are looked at together, where all rows of a dataset are."""


class _Column(Sequence):
    """What both columns share: items by number, in slices and in order."""

    def item(self, row: int) -> tuple | None:
        raise NotImplementedError

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return tuple(self.item(number) for number in range(*row.indices(len(self))))
        number = int(row)
        if not -len(self) <= number < len(self):
            raise IndexError(f"expected a row from 0 to {len(self) - 1}, found {number}")
        return self.item(number % len(self))


@dataclass(frozen=True, eq=False)
class PhraseColumn(_Column):
    """A phrase or ``None`` for each row; thousands of rows share a few hundred phrases.

    Args:
        codes: For each row, the position of its phrase among the distinct ones, or `NONE`.
        distinct: The phrases.
    """

    codes: np.ndarray
    distinct: tuple[Words, ...]

    @classmethod
    def of(cls, phrases: Iterable[Words | None]) -> PhraseColumn:
        if isinstance(phrases, cls):
            return phrases
        maker = PhraseMaker()
        for words in phrases:
            maker.add(words)
        return maker.finish()

    def __len__(self) -> int:
        return len(self.codes)

    def item(self, row: int) -> Words | None:
        code = int(self.codes[row])
        return None if code == NONE else self.distinct[code]

    def take(self, rows: np.ndarray) -> PhraseColumn:
        """These rows, in this order."""
        return PhraseColumn(self.codes[rows], self.distinct)

    def tally(self, rows: np.ndarray) -> Counter[Words]:
        """How often each phrase occurs in these rows."""
        codes = self.codes[rows]
        counts = np.bincount(codes[codes != NONE], minlength=len(self.distinct))
        return Counter({self.distinct[code]: int(counts[code]) for code in counts.nonzero()[0]})


class PhraseMaker:
    """Collects a `PhraseColumn` row by row."""

    def __init__(self) -> None:
        self.codes = array("i")
        self.known: dict[Words, int] = {}

    def add(self, words: Words | None) -> None:
        self.codes.append(NONE if words is None else self.known.setdefault(words, len(self.known)))

    def finish(self) -> PhraseColumn:
        return PhraseColumn(np.array(self.codes, np.int32), tuple(self.known))


@dataclass(frozen=True, eq=False)
class ContextColumn(_Column):
    """The context of each row: words with their roles.

    Args:
        offsets: Where the words of each row begin, and after the last row where they end.
        words: For each word of each row, its position among the distinct ones.
        roles: For each of them, the number of its role in ``CONTEXT_ROLES``.
        distinct: The words.
    """

    offsets: np.ndarray
    words: np.ndarray
    roles: np.ndarray
    distinct: tuple[str, ...]

    @classmethod
    def of(cls, contexts: Iterable[Context]) -> ContextColumn:
        if isinstance(contexts, cls):
            return contexts
        maker = ContextMaker()
        for context in contexts:
            maker.add(context)
        return maker.finish()

    @classmethod
    def empty(cls, rows: int) -> ContextColumn:
        """As many rows without a word."""
        return cls(np.zeros(rows + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int8), ())

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def item(self, row: int) -> Context:
        part = slice(self.offsets[row], self.offsets[row + 1])
        numbers = zip(self.roles[part].tolist(), self.words[part].tolist(), strict=True)
        return tuple((CONTEXT_ROLES[role], self.distinct[word]) for role, word in numbers)

    def take(self, rows: np.ndarray) -> ContextColumn:
        """These rows, in this order."""
        if np.array_equal(rows, np.arange(len(self))):
            return self
        owner, places = self.select(rows)
        offsets = np.searchsorted(owner, np.arange(len(rows) + 1))
        return ContextColumn(offsets, self.words[places], self.roles[places], self.distinct)

    def select(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The words of these rows: for each of them the position in ``rows``, and that in ``words``."""
        starts, lengths = self.offsets[rows], self.offsets[rows + 1] - self.offsets[rows]
        return np.repeat(np.arange(len(rows)), lengths), ranges(starts, lengths)

    def tally(self, rows: np.ndarray, roles: Sequence[str]) -> Counter[Words]:
        """How often each word occurs in these rows in one of these roles, as phrases of one word."""
        counts = np.zeros(len(self.distinct), np.int64)
        for start in range(0, len(rows), ROWS_AT_A_TIME):
            _, places = self.select(rows[start : start + ROWS_AT_A_TIME])
            read = np.isin(self.roles[places], _numbers(roles))
            counts += np.bincount(self.words[places[read]], minlength=len(counts))
        return Counter({(self.distinct[word],): int(counts[word]) for word in counts.nonzero()[0]})

    def has_role(self, rows: np.ndarray, roles: Sequence[str]) -> np.ndarray:
        """Which of these rows have a word in one of these roles."""
        owner, places = self.select(rows)
        found = np.zeros(len(rows), bool)
        found[owner[np.isin(self.roles[places], _numbers(roles))]] = True
        return found


class ContextMaker:
    """Collects a `ContextColumn` row by row."""

    def __init__(self) -> None:
        self.offsets, self.words, self.roles = array("q", [0]), array("i"), array("b")
        self.known: dict[str, int] = {}
        self.numbers = {role: number for number, role in enumerate(CONTEXT_ROLES)}

    def add(self, context: Context) -> None:
        known, numbers = self.known, self.numbers
        self.words.extend([known.setdefault(word, len(known)) for _, word in context])
        self.roles.extend([numbers[role] for role, _ in context])
        self.offsets.append(len(self.words))

    def finish(self) -> ContextColumn:
        return ContextColumn(
            np.array(self.offsets, np.int64),
            np.array(self.words, np.int32),
            np.array(self.roles, np.int8),
            tuple(self.known),
        )


def ranges(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Numbers that count up from each start, as many as each length, one after the other."""
    return np.arange(lengths.sum()) + np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)


def _numbers(roles: Sequence[str]) -> list[int]:
    return [CONTEXT_ROLES.index(role) for role in roles]
