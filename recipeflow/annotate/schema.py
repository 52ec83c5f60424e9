"""The database file: its tables, how it is opened, and how it is recognised.

Write-ahead logging with ``synchronous=FULL``: a commit that returned is on disk, even after ``kill -9`` or a power
cut. The log of operations can only grow; triggers refuse everything else.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Generator
from pathlib import Path
from typing import IO
from urllib.parse import quote

from recipeflow.errors import DamagedDatabaseError, DatabaseError, DatabaseInUseError, ForeignDatabaseError
from recipeflow.files import take_lock

APPLICATION = 0x56524641
"""``VRFA``, which identifies SQLite files of this kind."""

VERSION = 3
"""2 has names of recipes. 3 has notes in documents, and operations that an older program cannot read."""

_TABLES = """
CREATE TABLE recipes (
    id TEXT PRIMARY KEY, position INTEGER NOT NULL UNIQUE, content TEXT NOT NULL, added TEXT NOT NULL
) STRICT;
CREATE TABLE layers (
    name TEXT PRIMARY KEY, kind TEXT NOT NULL, start TEXT NOT NULL, created TEXT NOT NULL
) STRICT;
CREATE TABLE suggestions (
    origin TEXT NOT NULL, recipe TEXT NOT NULL REFERENCES recipes(id), state TEXT NOT NULL, added TEXT NOT NULL,
    PRIMARY KEY (origin, recipe)
) STRICT;
CREATE TABLE log (
    number INTEGER PRIMARY KEY,
    recipe TEXT NOT NULL REFERENCES recipes(id), layer TEXT NOT NULL REFERENCES layers(name),
    revision INTEGER NOT NULL, base INTEGER NOT NULL, who TEXT NOT NULL, uuid TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL, target INTEGER, operation TEXT NOT NULL, inverse TEXT NOT NULL, time TEXT NOT NULL,
    UNIQUE (recipe, layer, revision)
) STRICT;
CREATE TABLE snapshots (
    recipe TEXT NOT NULL, layer TEXT NOT NULL, revision INTEGER NOT NULL, state TEXT NOT NULL,
    PRIMARY KEY (recipe, layer, revision)
) STRICT;
CREATE TRIGGER log_stays BEFORE DELETE ON log BEGIN SELECT raise(ABORT, 'the log only grows'); END;
CREATE TRIGGER log_is_fixed BEFORE UPDATE ON log BEGIN SELECT raise(ABORT, 'the log only grows'); END;
"""

_NAMES = """
CREATE TABLE names (
    number INTEGER PRIMARY KEY, edit INTEGER NOT NULL, recipe TEXT NOT NULL REFERENCES recipes(id),
    name TEXT, title TEXT, time TEXT NOT NULL
) STRICT;
CREATE TRIGGER names_stay BEFORE DELETE ON names BEGIN SELECT raise(ABORT, 'the list of names only grows'); END;
CREATE TRIGGER names_are_fixed BEFORE UPDATE ON names BEGIN SELECT raise(ABORT, 'the list of names only grows'); END;
"""
"""New in version 2: what recipes are called, see ``recipeflow.annotate.naming``."""

_UPGRADES = {1: _NAMES, 2: ""}
"""What each version lacks of the next one; version 3 has the same tables as 2."""


def connect(path: Path, read_only: bool = False) -> sqlite3.Connection:
    """Open a database of annotations; it is created if missing.

    Raises:
        DatabaseError: If it cannot be opened, is damaged, or is something else.
    """
    if read_only and not path.is_file():
        raise DatabaseError(f"expected a database of annotations, found no file {path}; make one with `vrf annotate`")
    with translated(path):
        address = f"file:{quote(str(path.absolute()))}?mode={'ro' if read_only else 'rwc'}"
        connection = sqlite3.connect(address, uri=True, timeout=10, isolation_level=None, check_same_thread=False)
        try:
            _prepare(connection, path, read_only)
        except BaseException:
            connection.close()
            raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path, read_only: bool) -> None:
    _identify(connection, path)
    new = _number(connection, "application_id") == 0
    if new and read_only:
        raise ForeignDatabaseError(f"expected a database of annotations, found {path} empty; pass another file")
    if not read_only:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA foreign_keys=ON")
        if new:
            marks = f"PRAGMA application_id={APPLICATION}; PRAGMA user_version={VERSION};"
            connection.executescript(f"BEGIN IMMEDIATE; {_TABLES} {_NAMES} {marks} COMMIT;")
        elif (found := connection.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            raise DamagedDatabaseError(f"expected {path} whole, found: {found}; restore it from a backup")
        elif (version := _number(connection, "user_version")) < VERSION:
            steps = " ".join(_UPGRADES[each] for each in range(version, VERSION))
            connection.executescript(f"BEGIN IMMEDIATE; {steps} PRAGMA user_version={VERSION}; COMMIT;")


def _identify(connection: sqlite3.Connection, path: Path) -> None:
    """Make sure that the file is empty or ours, before anything is written to it."""
    application, version = _number(connection, "application_id"), _number(connection, "user_version")
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if application != APPLICATION and (tables or application or version):
        message = f"expected a database of annotations, found another one in {path}"
        raise ForeignDatabaseError(f"{message}; choose another --db")
    if version > VERSION:
        message = f"expected a database of version {VERSION} or older, found version {version} in {path}"
        raise ForeignDatabaseError(f"{message}; install a newer recipeflow")


def has_log_file(path: Path) -> bool:
    """Whether a write-ahead log is beside a database: another process has it open, or was killed."""
    return path.with_name(f"{path.name}-wal").exists()


def remove_log_files(path: Path) -> None:
    """Let SQLite remove the files that reading made beside a database, unless another process still uses them."""
    with contextlib.suppress(sqlite3.DatabaseError):  # in a folder that cannot be written to, none were made
        connection = sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=rw", uri=True)
        try:
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        finally:
            connection.close()


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return connection.execute(f"PRAGMA {pragma}").fetchone()[0]


@contextlib.contextmanager
def translated(path: Path) -> Generator[None]:
    """Report SQLite's errors as our own."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        kind, hint = _explain(str(error))
        raise kind(f"expected to be able to use {path}, found: {error}; {hint}") from error


def _explain(reason: str) -> tuple[type[DatabaseError], str]:
    if "not a database" in reason:
        return ForeignDatabaseError, "this is some other file: choose another --db"
    if "malformed" in reason or "disk image" in reason:
        return DamagedDatabaseError, "restore it from a backup"
    if "full" in reason:
        return DatabaseError, "nothing was saved; free some space on the disk and try again"
    if "readonly" in reason or "unable to open" in reason:
        return DatabaseError, "nothing was saved; the file and its folder have to exist and be writable"
    return DatabaseError, "nothing was saved; try again"


def lock_database(path: Path) -> IO[bytes]:
    """Lock a database for writing, until the returned file is closed or the process ends.

    Raises:
        DatabaseInUseError: If another process has the lock.
        DatabaseError: If the folder cannot be written to.
    """
    name = path.with_name(f"{path.name}-lock")

    def in_use(owner: str) -> DatabaseInUseError:
        return DatabaseInUseError(
            f"expected to be the only process that writes to {path}, found process {owner}; use the pages it serves, "
            "or stop it first"
        )

    try:
        return take_lock(name, in_use)
    except OSError as error:
        message = f"expected to be able to write {name}, found: {error.strerror}; choose another --db"
        raise DatabaseError(message) from None
