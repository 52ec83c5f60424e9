"""The distinct frames of a dataset in one scratch file, so that any of them is read in the same short time."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any


class FrameStore:
    """Frames by digest: written once while the dataset is read, then read in any order.

    Questions take pictures from all over the dataset; from Parquet, each would cost a whole row group.

    Args:
        path: The file to write.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("w+b")
        self._places: dict[str, tuple[int, int]] = {}
        self._end = 0

    def add(self, data: bytes) -> str:
        """Keep a frame; the result is what `image` finds it by."""
        digest = hashlib.sha256(data).hexdigest()
        if digest not in self._places:
            self._file.seek(self._end)
            self._file.write(data)
            self._places[digest] = (self._end, len(data))
            self._end += len(data)
        return digest

    def image(self, digest: str) -> dict[str, Any]:
        """A frame as a cell of an image column. It has no file name: that would show its place in the film."""
        start, size = self._places[digest]
        self._file.seek(start)
        return {"bytes": self._file.read(size), "path": None}

    def close(self) -> None:
        self._file.close()
