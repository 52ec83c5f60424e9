"""A partly downloaded file: how much there is, and whether the rest can still be fetched."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx2

from recipeflow.errors import FetchError
from recipeflow.files import move_into_place, write_aside


@dataclass(frozen=True)
class _Origin:
    """The URL of the bytes, and the server's tag or date of this version of the file."""

    url: str
    validator: str | None


class PartialFile:
    """A file that is being fetched, under a temporary name until it is complete.

    ::

        .video.mp4.partial   .video.mp4.partial.json (address and validator)

    Args:
        final: The path of the complete file.
        url: Its URL; a file started from another URL is started again.
    """

    def __init__(self, final: Path, url: str) -> None:
        self.final = final
        self.url = url
        self.path = final.with_name(f".{final.name}.partial")
        self.note = final.with_name(f".{final.name}.partial.json")
        self.origin = self._read_note()

    def size(self) -> int:
        return self.path.stat().st_size if self.path.is_file() else 0

    def headers(self) -> dict[str, str]:
        """Request the rest if the file has not changed meanwhile, or else all of it."""
        if not self.size() or self.origin.validator is None:
            return {}
        return {"Range": f"bytes={self.size()}-", "If-Range": self.origin.validator}

    def is_whole(self, response: httpx2.Response) -> bool:
        """Whether the server says that nothing is missing, as after a kill just before the end."""
        return response.status_code == 416 and response.headers.get("Content-Range") == f"bytes */{self.size()}"

    def accept(self, response: httpx2.Response) -> bool:
        """Prepare for a response: continue where it starts, or start again; ``False`` if it is of no use."""
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise FetchError(f"expected the plain bytes of {self.url}, found them encoded; try again later")
        continues = response.headers.get("Content-Range", "").startswith(f"bytes {self.size()}-")
        if response.status_code == 206 and continues and _validator(response) in (None, self.origin.validator):
            return True
        self.restart()
        if response.status_code != 200:
            return False
        self.origin = _Origin(self.url, _validator(response))
        write_aside(self.note, json.dumps(asdict(self.origin)))
        return True

    def restart(self) -> None:
        """Drop what was fetched so far."""
        self.origin = _Origin(self.url, None)
        self.path.unlink(missing_ok=True)

    def finish(self) -> None:
        move_into_place(self.path, self.final)
        self.note.unlink(missing_ok=True)

    def _read_note(self) -> _Origin:
        """The origin of the partial file; empty if it is unknown or another URL."""
        try:
            origin = _Origin(**json.loads(self.note.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return _Origin(self.url, None)
        return origin if origin.url == self.url else _Origin(self.url, None)


def _validator(response: httpx2.Response) -> str | None:
    """What proves that a later response has the same bytes; a weak tag does not."""
    tag = response.headers.get("ETag")
    return tag if tag and not tag.startswith("W/") else response.headers.get("Last-Modified")
