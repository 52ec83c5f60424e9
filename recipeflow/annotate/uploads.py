"""Uploads of films: in pieces, straight to disk, and resumed after a lost connection, a closed tab or a restart.

An incomplete file is ``annotations-films/uploads/<recipe>/<upload>-<size>.partial``. Its length is how much has
arrived: there is no other record that could disagree with it. Which file it belongs to is part of its name, so that
another one of the same recipe starts from the beginning.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from recipeflow.errors import ConflictingUploadError, RefusedError
from recipeflow.files import remove_quietly, saving

PIECE = 8 << 20
"""The bytes of one request: small enough to be sent again, large enough to be few."""

LARGEST = 2_000_000_000
"""The largest film, in bytes, by default."""

SPARE = 1.25
"""Free disk space that an upload needs, relative to its size: its frames need room too."""

FORGOTTEN = 7 * 86_400
"""Seconds after which an upload that was never finished is removed."""

_PARTIAL = re.compile(r"([0-9a-f]{16})-(\d+)\.partial")


@dataclass(frozen=True)
class Upload:
    """A file on its way: its place, which file it is, its size, and how much has arrived."""

    path: Path
    id: str
    size: int

    @property
    def received(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    @property
    def is_complete(self) -> bool:
        return self.received == self.size


class Uploads:
    """The incomplete files of a folder.

    Args:
        folder: The folder; created when the first upload starts.
        limit: The largest file, in bytes.
    """

    def __init__(self, folder: Path, limit: int = LARGEST) -> None:
        self.folder = folder
        self.limit = limit
        self.lock = threading.Lock()

    def clean_up(self) -> None:
        """Remove what was given up long ago."""
        for path in self.folder.glob("*/*.partial"):
            if time.time() - path.stat().st_mtime > FORGOTTEN:
                remove_quietly(path)

    def begin(self, recipe: str, name: str, size: int, stamp: int) -> Upload:
        """Start or resume the upload of a file, known by its name, size and time of change.

        Raises:
            RefusedError: If it is empty, larger than the limit, or does not fit on the disk.
        """
        if not 0 < size <= self.limit:
            found = "an empty file" if size <= 0 else f"{size / 1e6:,.1f} MB"
            reason = f"expected a film of at most {self.limit / 1e6:,.0f} MB, found {found}"
            raise RefusedError("film_size", f"{reason}; cut it, or start the server with --max-video-size", size=size)
        digest = hashlib.sha256(f"{name}\0{size}\0{stamp}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
        upload = Upload(self.folder / recipe / f"{digest}-{size}.partial", digest, size)
        with self.lock, saving(upload.path):
            upload.path.parent.mkdir(parents=True, exist_ok=True)
            for other in upload.path.parent.glob("*.partial"):
                if other != upload.path:
                    remove_quietly(other)
            free = shutil.disk_usage(upload.path.parent).free
            if free < (size - upload.received) * SPARE:
                reason = f"expected {size * SPARE / 1e6:,.0f} MB of free disk space, found {free / 1e6:,.0f}"
                raise RefusedError("disk_full", f"{reason}; free some space", size=size)
            upload.path.touch()
        return upload

    def find(self, recipe: str, digest: str | None = None) -> Upload | None:
        """The upload of a recipe that is on its way, if it is this one."""
        for path in (self.folder / recipe).glob("*.partial"):
            match = _PARTIAL.fullmatch(path.name)
            if match and digest in (None, match[1]):
                return Upload(path, match[1], int(match[2]))
        return None

    def append(self, upload: Upload, offset: int, data: bytes) -> int:
        """Add bytes at their place; return how much has arrived.

        Raises:
            ConflictingUploadError: If something else has arrived there meanwhile, from another tab.
            RefusedError: If there are more bytes than announced.
            SaveError: If the disk is full; what has arrived before is kept.
        """
        with self.lock, saving(upload.path):
            if upload.received != offset:
                raise ConflictingUploadError(upload.received, offset)
            if offset + len(data) > upload.size:
                raise RefusedError("film_size", f"expected {upload.size} bytes as announced, found more")
            with upload.path.open("ab") as file:
                file.write(data)
                if offset + len(data) == upload.size:
                    file.flush()
                    os.fsync(file.fileno())
        return offset + len(data)
