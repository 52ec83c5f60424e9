"""The storage of annotations: one SQLite file with a log of every operation, written by one process.

An operation is committed before it is reported as saved. All state in memory can be rebuilt from the log; snapshots
only save the time of reading it from the beginning.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from recipeflow.annotate.database import Database, dump, now
from recipeflow.annotate.document import Document, annotated_document, blank_document
from recipeflow.annotate.effects import Effects
from recipeflow.annotate.history import DO, REDO, UNDO, Entry, History
from recipeflow.annotate.operations import apply, read_operation
from recipeflow.annotate.patches import Patch, apply_patch, turn
from recipeflow.errors import ConflictError, RefusedError

SNAPSHOT_EVERY = 50
ANNOTATOR, GOLD = "annotator", "gold"
FROM_RELEASE, FROM_WORDS = "release", "blank"


@dataclass(frozen=True)
class Layer:
    """One person's annotation of all recipes.

    Args:
        name: The person's name, or ``gold``.
        kind: ``annotator`` or ``gold``.
        start: Whether it started with the ``release``'s annotation, or ``blank``.
    """

    name: str
    kind: str = ANNOTATOR
    start: str = FROM_RELEASE


@dataclass(frozen=True)
class Saved:
    """A saved operation: its entry, its side effects, and the current state.

    Args:
        revision: The state that it led to.
        history: The current state.
        effects: The side effects.
        repeated: It was saved before.
        divided: The words of the recipe are, or may be, other ones than before.
    """

    revision: int
    history: History
    effects: Effects
    repeated: bool = False
    divided: bool = False


@dataclass(frozen=True)
class _Step:
    """What is about to be written."""

    kind: str
    target: int | None
    operation: dict[str, Any]
    inverse: Patch
    document: Document
    effects: Effects


class Store(Database):
    """A database of annotations: its layers, their log and suggestions. Arguments and errors as for ``Database``."""

    def __init__(self, path: str | Path, read_only: bool = False) -> None:
        self.histories: dict[tuple[str, str], History] = {}
        super().__init__(path, read_only)

    def forget(self) -> None:
        """What is in memory is known by names that may be others now; it is read again from the log."""
        super().forget()
        with self.lock:
            self.histories.clear()

    def layers(self) -> list[Layer]:
        """The layers, in order of creation."""
        with self.reading() as connection:
            return [Layer(*row) for row in connection.execute("SELECT name, kind, start FROM layers ORDER BY rowid")]

    def add_layer(self, layer: Layer) -> bool:
        """Create a layer; return whether it is new."""
        with self.writing() as connection:
            row = (layer.name, layer.kind, layer.start, now())
            return connection.execute("INSERT OR IGNORE INTO layers VALUES (?, ?, ?, ?)", row).rowcount > 0

    def origins(self) -> list[str]:
        with self.reading() as connection:
            return [
                row[0] for row in connection.execute("SELECT origin FROM suggestions GROUP BY 1 ORDER BY min(rowid)")
            ]

    def add_suggestions(self, origin: str, documents: Iterable[Document]) -> None:
        """Store annotations as suggestions of this origin; they replace earlier ones for the same recipes."""
        rows = [(origin, self.known_key(document.base.id), dump(document.state()), now()) for document in documents]
        with self.writing() as connection:
            connection.executemany("INSERT OR REPLACE INTO suggestions VALUES (?, ?, ?, ?)", rows)

    def suggestions(self, recipe_id: str) -> dict[str, Document]:
        """The suggested annotations of a recipe by origin."""
        query = "SELECT origin, state FROM suggestions WHERE recipe = ? ORDER BY rowid"
        with self.reading() as connection:
            rows = connection.execute(query, (self.known_key(recipe_id),)).fetchall()
        if not rows:
            return {}
        blank = blank_document(self.known_recipe(recipe_id), self.scheme)
        return {origin: blank.with_state(json.loads(state)) for origin, state in rows}

    def history(self, recipe_id: str, layer: Layer) -> History:
        """The state of a recipe in a layer."""
        with self.lock:
            if (recipe_id, layer.name) not in self.histories:
                self.histories[recipe_id, layer.name] = self._read_history(recipe_id, layer)
            return self.histories[recipe_id, layer.name]

    def _read_history(self, recipe_id: str, layer: Layer) -> History:
        history = History(self._beginning(recipe_id, layer))
        place = (self.known_key(recipe_id), layer.name)
        with self.reading() as connection:
            query = (
                "SELECT revision, state FROM snapshots WHERE recipe = ? AND layer = ? ORDER BY revision DESC LIMIT 1"
            )
            revision, state = connection.execute(query, place).fetchone() or (0, None)
            query = (
                "SELECT revision, kind, target FROM log WHERE recipe = ? AND layer = ? AND revision <= ? ORDER BY 1"
            )
            for row in connection.execute(query, (*place, revision)):
                history = history.tracking(*row)
        if state is not None:
            document = history.document.with_state(json.loads(state))
            history = History(document, revision, history.undoable, history.redoable)
        for entry in self.entries(recipe_id, layer, after=revision):
            history = history.after(entry, apply_patch(history.document, turn(entry.inverse)))
        return history

    def _beginning(self, recipe_id: str, layer: Layer) -> Document:
        recipe = self.known_recipe(recipe_id)
        if layer.start != FROM_RELEASE:
            return blank_document(recipe, self.scheme)
        return replace(annotated_document(recipe, self.scheme), notes=self.known_notes(recipe_id))

    def entries(self, recipe_id: str, layer: Layer, after: int = 0, only: int | None = None) -> list[Entry]:
        """The log of a recipe in a layer: what came after a revision, or only one entry."""
        query = (
            "SELECT revision, kind, target, operation, inverse, who, uuid, time FROM log "
            "WHERE recipe = ? AND layer = ? AND revision BETWEEN ? AND ? ORDER BY revision"
        )
        last = 2**62
        first, last = (min(after + 1, last), last) if only is None else (only, only)
        with self.reading() as connection:
            rows = connection.execute(query, (self.known_key(recipe_id), layer.name, first, last)).fetchall()
        return [Entry(*row[:3], json.loads(row[3]), json.loads(row[4]), *row[5:]) for row in rows]

    def timeline(self, layer: Layer) -> list[tuple[str, dict[str, Any], str]]:
        """Recipe, operation and time of everything that was done in a layer, in order."""
        query = "SELECT recipe, operation, time FROM log WHERE layer = ? ORDER BY number"
        with self.reading() as connection:
            rows = connection.execute(query, (layer.name,)).fetchall()
        names = {key: naming.name for key, naming in self.names().items() if naming.name is not None}
        return [(names[key], json.loads(operation), time) for key, operation, time in rows if key in names]

    def revisions(self) -> dict[tuple[str, str], int]:
        """The number of operations of every recipe in every layer where it was started."""
        with self.reading() as connection:
            rows = connection.execute("SELECT recipe, layer, max(revision) FROM log GROUP BY recipe, layer").fetchall()
        names = {key: naming.name for key, naming in self.names().items() if naming.name is not None}
        return {(names[key], layer): revision for key, layer, revision in rows if key in names}

    def save(self, recipe_id: str, layer: Layer, base: int, uuid: str, operation: dict[str, Any]) -> Saved:
        """Apply an operation and save it.

        Args:
            recipe_id: The recipe.
            layer: The layer.
            base: The revision that the person saw.
            uuid: The page's id for this operation; sent again, it is not applied again.
            operation: As JSON.

        Raises:
            ConflictError: If ``base`` is no longer the revision.
            RefusedError: If the result would be invalid.
            DatabaseError: If it could not be written; nothing is changed then.
        """

        def plan(history: History) -> _Step:
            applied = apply(history.document, read_operation(operation))
            return _Step(DO, None, operation, applied.inverse, applied.document, applied.effects)

        return self._append(recipe_id, layer, base, uuid, operation, plan)

    def undo(self, recipe_id: str, layer: Layer, base: int, uuid: str) -> Saved:
        """Undo the last operation that was not undone yet; errors as for ``save``."""

        def plan(history: History) -> _Step:
            return self._plan_back(recipe_id, layer, UNDO, history, history.undoable)

        return self._append(recipe_id, layer, base, uuid, {"op": UNDO}, plan)

    def redo(self, recipe_id: str, layer: Layer, base: int, uuid: str) -> Saved:
        """Redo what was undone last; errors as for ``save``."""

        def plan(history: History) -> _Step:
            return self._plan_back(recipe_id, layer, REDO, history, history.redoable)

        return self._append(recipe_id, layer, base, uuid, {"op": REDO}, plan)

    def _plan_back(
        self, recipe_id: str, layer: Layer, kind: str, history: History, revisions: tuple[int, ...]
    ) -> _Step:
        if not revisions:
            raise RefusedError(f"nothing_to_{kind}", f"expected something to {kind}, found nothing")
        target = self.entries(recipe_id, layer, only=revisions[-1])[0]
        inverse = target.inverse if kind == REDO else turn(target.inverse)
        document = apply_patch(history.document, turn(inverse))
        return _Step(kind, target.revision, {"op": kind, "of": target.revision}, inverse, document, Effects())

    def _append(
        self,
        recipe_id: str,
        layer: Layer,
        base: int,
        uuid: str,
        operation: dict[str, Any],
        plan: Callable[[History], _Step],
    ) -> Saved:
        with self.lock:
            history = self.history(recipe_id, layer)
            if (saved_as := self._find(uuid, recipe_id, layer, operation)) is not None:
                return Saved(saved_as, history, Effects(), repeated=True, divided=True)
            if base != history.revision:
                raise ConflictError(base, history.revision)
            step = plan(history)
            revision = history.revision + 1
            entry = Entry(revision, step.kind, step.target, step.operation, step.inverse, layer.name, uuid, now())
            after = history.after(entry, step.document)
            self._write(recipe_id, layer, entry, after.document)
            self.histories[recipe_id, layer.name] = after
            return Saved(revision, after, step.effects, divided="cuts" in step.inverse)

    def _find(self, uuid: str, recipe_id: str, layer: Layer, operation: dict[str, Any]) -> int | None:
        """The revision of this operation, if it was saved."""
        query = "SELECT recipe, layer, kind, operation, revision FROM log WHERE uuid = ?"
        with self.reading() as connection:
            row = connection.execute(query, (uuid,)).fetchone()
        if row is None:
            return None
        saved = json.loads(row[3]) if row[2] == DO else {"op": row[2]}
        if (*row[:2], saved) != (self.known_key(recipe_id), layer.name, operation):
            raise RefusedError(
                "uuid_reused", "expected a new uuid for a new operation, found one that was used before"
            )
        return row[4]

    def _write(self, recipe_id: str, layer: Layer, entry: Entry, document: Document) -> None:
        place = (self.known_key(recipe_id), layer.name, entry.revision)
        row = (*place, entry.revision - 1, entry.who, entry.uuid, entry.kind, entry.target)
        values = (*row, dump(entry.operation), dump(entry.inverse), entry.time)
        with self.writing() as connection:
            connection.execute(f"INSERT INTO log VALUES (NULL, {', '.join('?' * len(values))})", values)
            if entry.revision % SNAPSHOT_EVERY == 0:
                connection.execute("INSERT INTO snapshots VALUES (?, ?, ?, ?)", (*place, dump(document.state())))
