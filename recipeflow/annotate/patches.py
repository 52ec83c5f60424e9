"""What changed between two documents, small, exact, and good in both directions.

A patch names for each changed part where it changed, what stood there and what stands there now. Undo is the patch
turned around, so it brings back everything that an operation took along, in its place.
"""

from __future__ import annotations

from collections.abc import Sequence

from recipeflow.annotate.document import STORED_NAMES, Document, from_rows, to_rows
from recipeflow.errors import DamagedDatabaseError

Patch = dict[str, list]
"""By the stored name of a part: ``[position, old rows, new rows]``."""


def difference(before: Document, after: Document) -> Patch:
    """The patch that makes ``after`` of ``before``; empty if they are equal."""
    patch: Patch = {}
    for part, stored in STORED_NAMES.items():
        old, new = getattr(before, part), getattr(after, part)
        if old != new:
            head, tail = _common(old, new)
            patch[stored] = [head, to_rows(old[head : len(old) - tail]), to_rows(new[head : len(new) - tail])]
    return patch


def _common(old: Sequence, new: Sequence) -> tuple[int, int]:
    """How many items two sequences share at the start, and of the rest at the end."""
    shorter = min(len(old), len(new))
    head = next((i for i in range(shorter) if old[i] != new[i]), shorter)
    rest = shorter - head
    tail = next((i for i in range(rest) if old[-1 - i] != new[-1 - i]), rest)
    return head, tail


def turn(patch: Patch) -> Patch:
    """The patch that undoes a patch."""
    return {part: [position, new, old] for part, (position, old, new) in patch.items()}


def apply_patch(document: Document, patch: Patch) -> Document:
    """Make the change that a patch tells of.

    Raises:
        DamagedDatabaseError: If the document is not the one that the patch was made for.
    """
    changed = {}
    for part in (part for part, stored in STORED_NAMES.items() if stored in patch):
        position, old, new = patch[STORED_NAMES[part]]
        items = getattr(document, part)
        end = position + len(old)
        if items[position:end] != from_rows(part, old):
            raise DamagedDatabaseError(
                f"recipe {document.base.id}: expected the log to fit what it was written for, found other {part}; "
                "restore the database from a backup, or export from its last good state"
            )
        changed[part] = items[:position] + from_rows(part, new) + items[end:]
    return document.change(**changed)
