"""What recipes are called: an imported recipe can be renamed, replaced and deleted, and each of these undone.

A recipe's key in the database never changes, so its log stays as it is. Its name, the id that everyone sees, is the
last entry of a list that only grows; a deleted recipe has none. A replaced recipe is another one under the same name.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from recipeflow.errors import RefusedError


@dataclass(frozen=True, slots=True)
class Naming:
    """What a recipe is called: its name, ``None`` if it was deleted, and its title, ``None`` for the imported one."""

    name: str | None
    title: str | None = None


def read_names(connection: sqlite3.Connection, before: int | None = None) -> dict[str, Naming]:
    """The naming of every recipe by key, in order; as it was before an edit, if one is given."""
    keys = [row[0] for row in connection.execute("SELECT id FROM recipes ORDER BY position")]
    found = {key: Naming(key) for key in keys}
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'names'").fetchone() is None:
        return found  # the first version, opened read-only
    limit = 2**62 if before is None else before
    rows = connection.execute("SELECT recipe, name, title FROM names WHERE edit < ? ORDER BY number", (limit,))
    for key, name, title in rows:
        found[key] = Naming(name, title)
    return found


def free_key(name: str, known: Iterable[str]) -> str:
    """A key for a new recipe of this name: the name, or with a number behind a slash, which names do not have."""
    taken = set(known)
    numbered = (f"{name}/{number}" for number in range(2, len(taken) + 3))
    return next(key for key in (name, *numbered) if key not in taken)


def folder_of(key: str) -> str:
    """The name that a recipe was imported under, which its folder of frames has."""
    return key.partition("/")[0]


def write_names(connection: sqlite3.Connection, changes: Mapping[str, Naming], time: str) -> int:
    """Add an edit of several recipes, by key; return its number.

    Raises:
        RefusedError: If two recipes would have the same name.
    """
    names = [naming.name for naming in (read_names(connection) | dict(changes)).values() if naming.name is not None]
    if doubled := next((name for name in names if names.count(name) > 1), None):
        reason = f"expected the id of no other recipe, found {doubled!r} already there; choose another"
        raise RefusedError("recipe_id", reason, id=doubled, exists=True)
    edit = connection.execute("SELECT coalesce(max(edit), 0) + 1 FROM names").fetchone()[0]
    rows = [(edit, key, naming.name, naming.title, time) for key, naming in changes.items()]
    connection.executemany("INSERT INTO names VALUES (NULL, ?, ?, ?, ?, ?)", rows)
    return edit


def names_before(connection: sqlite3.Connection, edit: int) -> dict[str, Naming]:
    """What undoes an edit.

    Raises:
        RefusedError: If there is no such edit, or its recipes were edited again since.
    """
    keys = [row[0] for row in connection.execute("SELECT recipe FROM names WHERE edit = ?", (edit,))]
    last = connection.execute("SELECT max(edit) FROM names").fetchone()[0]
    current, then = read_names(connection), read_names(connection, edit + 1)
    if not keys or (edit != last and any(current[key] != then[key] for key in keys)):
        raise RefusedError("nothing_to_undo", f"expected an edit that can be undone, found {edit}")
    before = read_names(connection, edit)
    # A recipe that came with the edit goes with it.
    new = {row[0] for row in connection.execute("SELECT recipe FROM names GROUP BY 1 HAVING min(edit) = ?", (edit,))}
    return {key: Naming(None) if key in new and "/" in key else before[key] for key in keys}
