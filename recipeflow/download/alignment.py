"""Align two sequences as far as the alignment is certain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

One = TypeVar("One")
Other = TypeVar("Other")


def align(ones: Sequence[One], others: Sequence[Other], match: Callable[[One, Other], bool]) -> list[int | None]:
    """For each of ``ones`` the position of its partner, or ``None`` if the best alignments disagree on it.

    The best alignments pair as many as possible in order. Where two of them differ, neither is certain: of two
    lines that could both be the annotated one, none is used.
    """
    matches = [[match(one, other) for other in others] for one in ones]
    heads = _longest(matches)
    tails = [row[::-1] for row in _longest([row[::-1] for row in matches[::-1]])[::-1]]
    best, width = heads[-1][-1], len(others)
    partners: list[int | None] = []
    for i, row in enumerate(matches):
        can_be_left_out = any(heads[i][j] + tails[i + 1][j] == best for j in range(width + 1))
        possible = [j for j in range(width) if row[j] and heads[i][j] + 1 + tails[i + 1][j + 1] == best]
        partners.append(possible[0] if len(possible) == 1 and not can_be_left_out else None)
    return partners


def _longest(matches: list[list[bool]]) -> list[list[int]]:
    """The largest number of pairs of the first ``i`` of one side and the first ``j`` of the other."""
    width = len(matches[0]) if matches else 0
    table = [[0] * (width + 1)]
    for row in matches:
        above, line = table[-1], [0]
        for j, matched in enumerate(row):
            line.append(max(above[j + 1], line[j], above[j] + matched))
        table.append(line)
    return table
