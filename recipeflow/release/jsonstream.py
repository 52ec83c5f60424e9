"""Stream the members of one big JSON object without holding the whole file.

``annotations.json`` is a single object with one member per recipe. Parsing it at once costs ten times its size in
memory; here only one member is in memory at a time, and an error still names the byte where reading failed.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from recipeflow.errors import BrokenJSONError, EncodingError, MissingFileError, WrongTypeError, show

CHUNK = 1 << 20
_SPACE = " \t\n\r"
_LONGEST_LITERAL = 16


def stream_object(
    path: Path, name: str, hint: str | None = None, *, of_recipes: bool = False
) -> Iterator[tuple[str, Any]]:
    """Yield ``(key, value)`` of the object in ``path``, in order, repeated keys included.

    Args:
        path: The file to read.
        name: The file's name in errors.
        hint: What to do when the file is missing.
        of_recipes: The keys are recipe ids, so broken JSON inside a member names its recipe.

    Raises:
        MissingFileError, EncodingError, BrokenJSONError, WrongTypeError: Each with its place.
    """
    try:
        source = path.open("rb")
    except OSError as error:
        message = f"expected to read {path}, found no such file ({error.strerror})"
        raise MissingFileError(message, file=name, value=str(path), hint=hint) from None
    with source:
        reader = _Reader(source, name)
        try:
            yield from reader.members()
        except BrokenJSONError as problem:
            problem.recipe = reader.key if of_recipes else None
            raise


class _Reader:
    """A window of text over the file; ``consumed`` counts the bytes that have left it."""

    def __init__(self, source: BinaryIO, name: str) -> None:
        self.source = source
        self.name = name
        self.decoder = codecs.getincrementaldecoder("utf-8")()
        self.scan = json.JSONDecoder(object_pairs_hook=_unique_keys).raw_decode
        self.key: str | None = None
        self.text = ""
        self.position = 0
        self.consumed = 0
        self.read = 0
        self.ended = False

    def members(self) -> Iterator[tuple[str, Any]]:
        if self.peek() != "{":
            message = f"expected a JSON object, found {show(self.value())}"
            raise WrongTypeError(message, file=self.name, place="byte 0")
        self.position += 1
        if self.peek() != "}":
            while True:
                if self.peek() != '"':
                    raise self.broken("a key in quotes")
                key = self.value()
                self.expect(":")
                self.key = key
                yield key, self.value()
                self.key = None
                if self.peek() != ",":
                    break
                self.position += 1
        self.expect("}")
        if self.peek():
            raise self.broken("the end of the file")

    def peek(self) -> str:
        """The next character that is not white space; empty at the end of the file."""
        while True:
            while self.position < len(self.text) and self.text[self.position] in _SPACE:
                self.position += 1
            if self.position < len(self.text) or not self.fill(CHUNK):
                return self.text[self.position : self.position + 1]

    def expect(self, character: str) -> None:
        if self.peek() != character:
            raise self.broken(f"{character!r}")
        self.position += 1

    def value(self) -> Any:
        """Parse one value, reading more (twice as much each time) while it may only be incomplete."""
        self.peek()
        size = CHUNK
        while True:
            try:
                value, end = self.scan(self.text, self.position)
                # A number at the edge of the window could continue after it: 1 is also the start of 12, 1.5 and 1e5.
                if self.text[end : end + 1] not in ("", ".", "e", "E") or not self.fill(size):
                    self.position = end
                    return value
            except json.JSONDecodeError as error:
                if not self.may_be_cut(error) or not self.fill(size):
                    raise self.broken(error.msg, error.pos) from None
            except _RepeatedKeyError:
                raise self.broken("a value in which every object has each key once") from None
            except (RecursionError, ValueError):
                raise self.broken("a value without thousands of brackets or digits") from None
            size *= 2

    def may_be_cut(self, error: json.JSONDecodeError) -> bool:
        """Whether the end of the window can be the cause: a broken file must not be read to its end in vain."""
        return error.msg.startswith("Unterminated string") or error.pos > len(self.text) - _LONGEST_LITERAL

    def fill(self, size: int) -> bool:
        """Read more, and drop the text before the position; ``False``, changing nothing, at the end."""
        if self.ended:
            return False
        chunk = self.source.read(size)
        pending = len(self.decoder.getstate()[0])
        try:
            more = self.decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            byte = self.read - pending + error.start
            raise EncodingError(
                f"expected UTF-8, found the byte 0x{error.object[error.start]:02x}",
                file=self.name,
                place=f"byte {byte}",
                value=f"0x{error.object[error.start]:02x}",
                hint="save the file as UTF-8",
            ) from None
        self.ended = not chunk
        if self.ended:
            return False
        self.consumed += len(self.text[: self.position].encode())
        self.text = self.text[self.position :] + more
        self.position = 0
        self.read += len(chunk)
        return True

    def broken(self, expected: str, position: int | None = None) -> BrokenJSONError:
        position = self.position if position is None else position
        byte = self.consumed + len(self.text[:position].encode())
        found = repr(self.text[position : position + 20]) if position < len(self.text) else "the end of the file"
        return BrokenJSONError(
            f"not valid JSON at byte {byte}: {expected if expected[0].isupper() else 'expected ' + expected}, "
            f"found {found}",
            file=self.name,
            place=f"byte {byte}",
            value=found,
        )


class _RepeatedKeyError(ValueError):
    """One key twice in an object; the later value would silently win."""


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _RepeatedKeyError
    return members
