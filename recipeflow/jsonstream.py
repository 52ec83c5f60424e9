"""Stream the members of one big JSON object without holding the whole file.

``annotations.json`` is a single object with one member per recipe. Parsing it at once costs ten times its size in
memory; here only one member is held at a time, and an error still names the byte where reading failed.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from recipeflow.errors import BrokenJSONError, EncodingError, MissingFileError, WrongTypeError

CHUNK = 1 << 20
_SPACE = " \t\n\r"


def stream_object(path: Path, name: str, hint: str | None = None) -> Iterator[tuple[str, Any]]:
    """Yield ``(key, value)`` of the object in ``path``, in order, repeated keys included.

    Args:
        path: The file to read.
        name: How errors call the file.
        hint: What to do when the file is missing.

    Raises:
        MissingFileError, EncodingError, BrokenJSONError, WrongTypeError: Each with its place.
    """
    try:
        source = path.open("rb")
    except (FileNotFoundError, NotADirectoryError):
        raise MissingFileError("expected this file, found none", file=name, value=str(path), hint=hint) from None
    with source:
        yield from _Reader(source, name).members()


class _Reader:
    """A window of text over the file; ``consumed`` counts the bytes that have left it."""

    def __init__(self, source: BinaryIO, name: str) -> None:
        self.source = source
        self.name = name
        self.decoder = codecs.getincrementaldecoder("utf-8")()
        self.scan = json.JSONDecoder().raw_decode
        self.text = ""
        self.position = 0
        self.consumed = 0
        self.read = 0
        self.ended = False

    def members(self) -> Iterator[tuple[str, Any]]:
        if self.peek() != "{":
            raise WrongTypeError(
                f"expected a JSON object with one member per recipe, found {self.peek()!r}", file=self.name
            )
        self.position += 1
        if self.peek() != "}":
            while True:
                key = self.value()
                if not isinstance(key, str):
                    raise self.broken("a recipe id in quotes")
                self.expect(":")
                yield key, self.value()
                if self.peek() != ",":
                    break
                self.position += 1
        self.expect("}")
        if self.peek():
            raise self.broken("the end of the file")

    def peek(self) -> str:
        """The next character that is no white space, or nothing at the end of the file."""
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
        """Parse one value, reading on (twice as much each time) while it may only be incomplete."""
        self.peek()
        size = CHUNK
        while True:
            try:
                value, end = self.scan(self.text, self.position)
                # A number at the edge of the window could go on behind it.
                if end < len(self.text) or not self.fill(size):
                    self.position = end
                    return value
            except json.JSONDecodeError as error:
                if not self.fill(size):
                    raise self.broken(error.msg, error.pos) from None
            except RecursionError:
                raise self.broken("values nested less deeply") from None
            size *= 2

    def fill(self, size: int) -> bool:
        """Read on; ``False`` at the end of the file. Text before the position leaves the window."""
        if self.ended:
            return False
        self.consumed += len(self.text[: self.position].encode("utf-8", "surrogatepass"))
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
                hint="save the file as UTF-8",
            ) from None
        self.text = self.text[self.position :] + more
        self.position = 0
        self.read += len(chunk)
        self.ended = not chunk
        return not self.ended

    def broken(self, expected: str, position: int | None = None) -> BrokenJSONError:
        position = self.position if position is None else position
        byte = self.consumed + len(self.text[:position].encode("utf-8", "surrogatepass"))
        found = repr(self.text[position : position + 20]) if position < len(self.text) else "the end of the file"
        return BrokenJSONError(
            f"not valid JSON at byte {byte}: {expected if expected[0].isupper() else 'expected ' + expected}, "
            f"found {found}",
            file=self.name,
            place=f"byte {byte}",
            value=found,
        )
