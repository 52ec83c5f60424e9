"""A database of annotations as a file: opened, locked, read and written in transactions, with the recipes in it."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from recipeflow.annotate.content import notes_from_row, recipe_from_row, recipe_to_row, scheme_from_row
from recipeflow.annotate.document import Note
from recipeflow.annotate.naming import Naming, folder_of, free_key, names_before, read_names, write_names
from recipeflow.annotate.schema import connect, has_log_file, lock_database, remove_log_files, translated
from recipeflow.errors import DamagedDatabaseError
from recipeflow.release.recipe import Recipe
from recipeflow.release.scheme import PAPER, Scheme

Notes = Mapping[str, tuple[Note, ...]]
"""By the id of a recipe."""


class Database:
    """The file and its recipes.

    Args:
        path: The file; created if missing.
        read_only: Only read, even while another process writes.

    Raises:
        DatabaseError: If it cannot be used, is damaged, or another process writes to it.
    """

    def __init__(self, path: str | Path, read_only: bool = False) -> None:
        self.path = Path(path)
        self.lock_file = None if read_only else lock_database(self.path)
        # A reader cannot remove the files that SQLite makes for it beside the database.
        self.leaves_files = read_only and not has_log_file(self.path)
        try:
            self.connection = connect(self.path, read_only)
        except BaseException:
            self._unlock()
            raise
        # One writer: requests of all threads wait here, so that SQLite is never busy.
        self.lock = threading.RLock()
        self._scheme: Scheme | None = None
        self.read_only = read_only
        self._names: dict[str, Naming] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Release the file."""
        with self.lock:
            self.connection.close()
            if self.leaves_files:
                remove_log_files(self.path)
            self._unlock()

    def _unlock(self) -> None:
        if self.lock_file is not None:
            self.lock_file.close()

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        with self.lock, translated(self.path):
            yield self.connection

    @contextmanager
    def writing(self) -> Generator[sqlite3.Connection]:
        """A transaction: all or nothing, and on disk when this ends."""
        with self.reading() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def names(self) -> dict[str, Naming]:
        """What every recipe is called, by its key; deleted ones are among them."""
        with self.reading() as connection:
            if self._names is None:
                self._names = read_names(connection)
            return self._names

    def recipe_ids(self) -> list[str]:
        if self.read_only:  # whoever writes may have changed them
            self._names = None
        return [naming.name for naming in self.names().values() if naming.name is not None]

    def has_recipe(self, recipe_id: str) -> bool:
        return self.key_of(recipe_id) is not None

    def key_of(self, recipe_id: str) -> str | None:
        """The key of a recipe in the database, which stays when it is renamed."""
        if (found := self.names().get(recipe_id)) is not None and found.name == recipe_id:
            return recipe_id
        return next((key for key, naming in self.names().items() if naming.name == recipe_id), None)

    def folder_of(self, recipe_id: str) -> str:
        """The name of the folder that has a recipe's frames."""
        return folder_of(self.key_of(recipe_id) or recipe_id)

    def known_recipe(self, recipe_id: str) -> Recipe:
        """A recipe that must exist, as it was imported, with the name and title that it has now."""
        key = self.known_key(recipe_id)
        with self.reading() as connection:
            row = connection.execute("SELECT content FROM recipes WHERE id = ?", (key,)).fetchone()
        recipe = recipe_from_row(recipe_id, json.loads(row[0]))
        url = recipe.url if recipe_id == key else None  # which has to end in the recipe's id
        return replace(recipe, title=self.names()[key].title or recipe.title, url=url)

    @property
    def scheme(self) -> Scheme:
        """What the recipes are tagged with: one scheme for all of them, the paper's as long as there are none."""
        if self._scheme is None:
            with self.reading() as connection:
                row = connection.execute("SELECT content FROM recipes ORDER BY position LIMIT 1").fetchone()
            if row is None:
                return PAPER
            self._scheme = scheme_from_row(json.loads(row[0]))
        return self._scheme

    def known_notes(self, recipe_id: str) -> tuple[Note, ...]:
        """The notes that a recipe was imported with."""
        with self.reading() as connection:
            query = "SELECT content FROM recipes WHERE id = ?"
            row = connection.execute(query, (self.known_key(recipe_id),)).fetchone()
        return notes_from_row(json.loads(row[0]))

    def add_recipes(self, recipes: Iterable[Recipe], scheme: Scheme | None = None, notes: Notes | None = None) -> None:
        """Append recipes, all of them or none; their ids must be new, and their scheme that of the others."""
        scheme = self.scheme if scheme is None else scheme
        with self.writing() as connection:
            for recipe in recipes:
                key = self._insert(connection, recipe, scheme, (notes or {}).get(recipe.id, ()))
                if key != recipe.id:
                    write_names(connection, {key: Naming(recipe.id)}, now())
        self.forget()

    def _insert(
        self, connection: sqlite3.Connection, recipe: Recipe, scheme: Scheme, notes: tuple[Note, ...] = ()
    ) -> str:
        key = free_key(recipe.id, read_names(connection))
        query = "INSERT INTO recipes SELECT ?, coalesce(max(position), -1) + 1, ?, ? FROM recipes"
        connection.execute(query, (key, dump(recipe_to_row(recipe, scheme, notes)), now()))
        return key

    def name_recipe(self, recipe_id: str, name: str | None, title: str | None = None) -> int:
        """Rename a recipe, or delete it (``None``); return the number that undoes it."""
        with self.writing() as connection:
            edit = write_names(connection, {self.known_key(recipe_id): Naming(name, title)}, now())
        self.forget()
        return edit

    def replace_recipe(self, recipe_id: str, recipe: Recipe) -> int:
        """Put another recipe in the place of one, whose annotations stay with it; return the number that undoes it."""
        old = self.known_key(recipe_id)
        with self.writing() as connection:
            new = self._insert(connection, replace(recipe, id=folder_of(old)), self.scheme)
            edit = write_names(connection, {old: Naming(None), new: Naming(recipe_id)}, now())
        self.forget()
        return edit

    def undo_naming(self, edit: int) -> None:
        """Undo what ``name_recipe`` or ``replace_recipe`` did; errors as for ``names_before``."""
        with self.writing() as connection:
            write_names(connection, names_before(connection, edit), now())
        self.forget()

    def known_key(self, recipe_id: str) -> str:
        if (key := self.key_of(recipe_id)) is None:
            raise DamagedDatabaseError(f"expected the recipe {recipe_id} in {self.path}, found none; restore a backup")
        return key

    def forget(self) -> None:
        """What is in memory is known by names that may be others now; it is read again from the log."""
        with self.lock:
            self._names = None


def dump(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))  # escaped: a page can send what UTF-8 cannot encode


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
