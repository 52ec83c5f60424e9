"""Who may use a server that others can reach: each annotator and curator by a token of their own.

A token is made once, printed as part of a URL, and kept only as its SHA-256 in the database: nobody can read it there,
and the URL still works after a restart. Tokens are random, so a plain hash is enough.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from dataclasses import dataclass

from recipeflow.annotate.database import Database, now

ANNOTATOR, CURATOR = "annotator", "curator"
BYTES = 24

_TABLE = """
CREATE TABLE IF NOT EXISTS people (
    name TEXT NOT NULL, role TEXT NOT NULL, digest BLOB NOT NULL, created TEXT NOT NULL, PRIMARY KEY (name, role)
) STRICT
"""
"""Other versions of this program do not look at it, so it needs no version of the database."""


@dataclass(frozen=True)
class Person:
    """An annotator, who sees only their own layer, or a curator, who sees all of them."""

    name: str
    role: str = ANNOTATOR

    @property
    def key(self) -> str:
        return self.role if self.role == self.name else f"{self.role} {self.name}"


class People:
    """The people of this server; those of an earlier start who are not named again are not let in.

    Args:
        database: Where their tokens are kept.
        people: Who they are.
    """

    def __init__(self, database: Database, people: Iterable[Person]) -> None:
        self.database = database
        self.people = tuple(people)
        with database.writing() as connection:
            connection.execute(_TABLE)

    def made(self, person: Person) -> str | None:
        """When the token of a person was made, if they have one."""
        row = self._row(person)
        return None if row is None else row[1]

    def make_token(self, person: Person) -> str:
        """A new token for a person; an older one no longer works."""
        token = secrets.token_urlsafe(BYTES)
        with self.database.writing() as connection:
            row = (person.name, person.role, _digest(token), now())
            connection.execute("INSERT OR REPLACE INTO people VALUES (?, ?, ?, ?)", row)
        return token

    def owner(self, token: str) -> str | None:
        """The key of the person whose token this is. Takes as long for a wrong token as for a right one."""
        digest, found = _digest(token), None
        for person in self.people:
            row = self._row(person)
            if row is not None and hmac.compare_digest(row[0], digest):
                found = person.key
        return found

    def _row(self, person: Person) -> tuple[bytes, str] | None:
        query = "SELECT digest, created FROM people WHERE name = ? AND role = ?"
        with self.database.reading() as connection:
            return connection.execute(query, (person.name, person.role)).fetchone()


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
