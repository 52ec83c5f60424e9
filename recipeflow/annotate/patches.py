"""The changes between two documents: small, exact and reversible.

A patch has for each changed part the position, the old rows and the new rows. Undo is the reversed patch, so it
restores all side effects of an operation, in place.
"""

from __future__ import annotations

from collections.abc import Sequence

from recipeflow.annotate.document import STORED_NAMES, Document, from_rows, to_rows
from recipeflow.errors import DamagedDatabaseError

Patch = dict[str, list]
"""By the stored name of a part: ``[position, old rows, new rows]``."""


def difference(before: Document, after: Document) -> Patch:
    """The patch from ``before`` to ``after``; empty if they are equal."""
    patch: Patch = {}
    for part, stored in STORED_NAMES.items():
        old, new = getattr(before, part), getattr(after, part)
        if old != new:
            head, tail = _common(old, new)
            patch[stored] = [head, to_rows(old[head : len(old) - tail]), to_rows(new[head : len(new) - tail])]
    return patch


def _common(old: Sequence, new: Sequence) -> tuple[int, int]:
    """How many items two sequences share at the start, and then at the end."""
    shorter = min(len(old), len(new))
    head = next((i for i in range(shorter) if old[i] != new[i]), shorter)
    rest = shorter - head
    tail = next((i for i in range(rest) if old[-1 - i] != new[-1 - i]), rest)
    return head, tail


def turn(patch: Patch) -> Patch:
    """The patch that undoes a patch."""
    return {part: [position, new, old] for part, (position, old, new) in patch.items()}


def apply_patch(document: Document, patch: Patch) -> Document:
    """Apply a patch.

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
                f"recipe {document.base.id}: expected the log to match the recipe, found different {part}; "
                "restore the database from a backup, or export from its last good state"
            )
        changed[part] = items[:position] + from_rows(part, new) + items[end:]
    return document.change(**changed)
