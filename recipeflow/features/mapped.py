"""One table of features per cache folder: a file that every process maps, so that a host has its rows in memory once.

::

    <cache>/<backbone>-…/tables/<name>/features.f32  views x frames x width numbers, in the order of a dataset's frames
                                      /table.json    the shape, and the files that the rows were copied from

A table is a copy of records whose checksums were right. It is used again as long as these files are unchanged, without
reading them. The folder can be deleted at any time; the next run writes it again.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from recipeflow.features.cache import FeatureCache, Lookup
from recipeflow.files import staged_in_cache, write_json

TABLES, NUMBERS, ABOUT = "tables", "features.f32", "table.json"
NUMBER = np.dtype("<f4")


@dataclass(frozen=True)
class MappedTable:
    """The place of a table.

    Args:
        folder: With its numbers and their description.
    """

    folder: Path

    @classmethod
    def of(cls, caches: Sequence[FeatureCache], digests: np.ndarray) -> MappedTable:
        """The table of these frames in this order, with one view from each cache."""
        name = hashlib.sha256("\n".join(cache.key.folder_name for cache in caches).encode())
        name.update(digests.tobytes())
        return cls(caches[0].folder / TABLES / name.hexdigest()[:24])

    def _about(self) -> dict[str, Any]:
        return json.loads((self.folder / ABOUT).read_text(encoding="utf-8"))

    @property
    def root(self) -> Path:
        """The folder with all caches, which may be mounted elsewhere on another machine."""
        return self.folder.parents[2]

    def is_complete(self) -> bool:
        """Whether the table is there, with all of its numbers."""
        try:
            size = int(np.prod(self._about()["shape"])) * NUMBER.itemsize
            return (self.folder / NUMBERS).stat().st_size == size
        except (OSError, ValueError, LookupError, TypeError):
            return False

    def is_current(self) -> bool:
        """Whether it is complete, and the files that it was copied from are still the same."""
        try:
            sources = self._about()["sources"].items()
            return self.is_complete() and all(_state(self.root / name) == state for name, state in sources)
        except (OSError, ValueError, LookupError, AttributeError, TypeError):
            return False

    def open(self) -> torch.Tensor:
        """Map the numbers: views x frames x width. Nothing is read before it is used."""
        shape = self._about()["shape"]
        with (self.folder / NUMBERS).open("rb") as file:
            # Read-only: Linux counts a private writable mapping as memory, and refuses one larger than the machine's.
            mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # torch warns, but nobody writes
            return torch.frombuffer(mapping, dtype=torch.float32).view(shape)

    def write(self, caches: Sequence[FeatureCache], lookups: Sequence[Lookup]) -> None:
        """Copy the rows that were found, which have to be all, one view after the other.

        Raises:
            SaveError: If it cannot be written; nothing is left behind.
        """
        shape = [len(caches), len(lookups[0].records), caches[0].feature_dim]
        used = [lookup.files[number] for lookup in lookups for number in np.unique(lookup.numbers)]
        sources = {str(path.relative_to(self.root)): _state(path) for path in used}
        with staged_in_cache(self.folder, ABOUT) as aside:
            with (aside / NUMBERS).open("wb") as file:
                for cache, lookup in zip(caches, lookups, strict=True):
                    for rows in cache.read(lookup):
                        file.write(rows.data)
            write_json(aside / ABOUT, {"shape": shape, "sources": sources})


def read_table(caches: Sequence[FeatureCache], lookups: Sequence[Lookup]) -> torch.Tensor:
    """The same numbers in memory, where the folder of the cache cannot be written."""
    views = [np.concatenate(list(cache.read(lookup))) for cache, lookup in zip(caches, lookups, strict=True)]
    return torch.from_numpy(np.stack(views))


def _state(path: Path) -> list[int]:
    """What changes when a file is written."""
    about = path.stat()
    return [about.st_size, about.st_mtime_ns]
