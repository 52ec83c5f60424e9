"""The rows of the paper's table, and those beyond it; without torch, so that a wrong name is refused at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recipeflow.dataset.folds import FOLDS, split_folds
from recipeflow.errors import UsageError


@dataclass(frozen=True)
class Row:
    """A row of the table: the parts of a query, and the paper's figures (R@5 and MedR)."""

    name: str
    title: str
    inputs: tuple[str, ...]
    paper: tuple[float, float] | None = None


ROWS = {
    row.name: row
    for row in (
        Row("random", "random search", (), (2.37, 149.00)),
        Row("text", "verb + object", ("action", "object"), (21.24, 26.70)),
        Row("image", "pre-action image", ("image",), (33.77, 12.60)),
        Row("both", "verb + object + image", ("action", "object", "image"), (37.01, 10.40)),
        Row("verb", "verb alone", ("action",)),
        Row("object", "object alone", ("object",)),
        Row("verb-image", "verb + image", ("action", "image")),
    )
}
"""The paper's four rows, and three beyond it."""

PAPER_ROWS = ("random", "text", "image", "both")


def parse_rows(names: Sequence[str]) -> list[Row]:
    """Rows by name."""
    unknown = [name for name in names if name not in ROWS]
    if unknown:
        raise UsageError(f"expected rows among {', '.join(ROWS)}, found {', '.join(unknown)}")
    return [ROWS[name] for name in names]


def parse_folds(text: str) -> list[int]:
    """Folds as written on the command line: ``0,1,2``, or empty for all."""
    try:
        folds = [int(part) for part in text.split(",")] if text else list(range(FOLDS))
    except ValueError:
        raise UsageError(f"expected numbers of folds such as 0,1,2, found {text!r}") from None
    for fold in folds:
        split_folds(fold)
    return folds
