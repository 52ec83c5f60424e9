"""The history of one recipe in one layer, and what can be undone and redone.

Undo and redo are entries of the log too: history only grows, and both work across restarts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from recipeflow.annotate.document import Document
from recipeflow.annotate.patches import Patch

DO, UNDO, REDO = "do", "undo", "redo"


@dataclass(frozen=True)
class Entry:
    """One line of the log.

    Args:
        revision: The number of the state that it led to, counted from 1 in each recipe and layer.
        kind: ``do``, ``undo`` or ``redo``.
        target: The revision that was undone or redone.
        operation: What was done, as JSON.
        inverse: The patch that undoes it.
        who: Who did it.
        uuid: The page's id for it, to recognise it when it is sent again.
        time: When, in UTC.
    """

    revision: int
    kind: str
    target: int | None
    operation: dict[str, Any]
    inverse: Patch
    who: str
    uuid: str
    time: str


@dataclass(frozen=True)
class History:
    """A document, its revision, and the stacks of revisions for undo and redo."""

    document: Document
    revision: int = 0
    undoable: tuple[int, ...] = ()
    redoable: tuple[int, ...] = ()

    def after(self, entry: Entry, document: Document) -> History:
        """The history with one more entry, which led to ``document``."""
        return replace(self.tracking(entry.revision, entry.kind, entry.target), document=document)

    def tracking(self, revision: int, kind: str, target: int | None) -> History:
        """The history with one more entry, only for undo and redo."""
        if kind == DO:
            return replace(self, revision=revision, undoable=(*self.undoable, revision), redoable=())
        if kind == UNDO:
            return replace(self, revision=revision, undoable=self.undoable[:-1], redoable=(*self.redoable, target))
        return replace(self, revision=revision, undoable=(*self.undoable, target), redoable=self.redoable[:-1])
