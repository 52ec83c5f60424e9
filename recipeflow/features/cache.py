"""Features of frames on disk: a folder for each backbone, weights, transform and precision.

::

    <cache>/<backbone>-<precision>-<key>/about.json     what the folder is for; its name is a hash of it
                                        /<time>-….rows  records: digest of the frame, feature, checksum of both
                                        /tables/        copies in the order of a dataset, to be mapped (`mapped`)

Records have one size and are only ever appended; each process of each run has its own file. So any number
of writers share a folder without locks, a killed one leaves at most a torn last record, which is not read, and a
damaged record is found by its checksum and computed again. Other programs can read a file with
``numpy.fromfile(path, record_type(feature_dim))``.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import uuid
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import torch

from recipeflow.errors import FeatureCacheError

ABOUT = "about.json"
DIGEST_SIZE = hashlib.sha256().digest_size
CHECKSUM_SIZE = 4
KEY = np.dtype(f"S{DIGEST_SIZE}")
"""Digests as NumPy can sort and compare them."""

ROWS_AT_A_TIME = 4096
"""Features that are copied at a time."""


def record_type(feature_dim: int) -> np.dtype[Any]:
    """The layout of a record: SHA-256 of the encoded frame, the feature, CRC-32 of the bytes before it."""
    return np.dtype([("digest", f"V{DIGEST_SIZE}"), ("feature", "<f4", (feature_dim,)), ("checksum", "<u4")])


@dataclass(frozen=True)
class CacheKey:
    """Everything that a feature depends on, except the frame.

    Precisions are kept apart, so that a table never mixes them. Batch size, hardware and compilation are not part of
    the key: they change a feature by no more than the rounding of its precision.

    Args:
        backbone: Its timm name.
        weights: Their origin, as in the model's config.
        precision: ``"fp32"`` or ``"bf16"``.
        transform: How an encoded frame becomes pixels, and what is read from the backbone, if not its last layer.
    """

    backbone: str
    weights: str
    precision: str
    transform: dict[str, Any]

    def as_json(self) -> dict[str, Any]:
        """The key as read back from a file, with lists in place of tuples."""
        return json.loads(json.dumps(asdict(self)))

    @property
    def folder_name(self) -> str:
        """A readable and unique name."""
        digest = hashlib.sha256(json.dumps(self.as_json(), sort_keys=True).encode()).hexdigest()
        return f"{self.backbone.replace('/', '_')}-{self.precision}-{digest[:12]}"


@dataclass(frozen=True)
class Lookup:
    """The result of a lookup: where the feature of each frame is; none is read yet.

    Attributes:
        files: The files of the cache.
        numbers: For each frame the position of its file, or -1 where it is missing.
        records: For each frame the number of its record in that file.
        damaged: How many of the missing ones have a wrong checksum.
    """

    files: list[Path]
    numbers: np.ndarray
    records: np.ndarray
    damaged: int = 0

    @property
    def missing(self) -> list[int]:
        """The positions of the missing frames, sorted."""
        return np.flatnonzero(self.numbers < 0).tolist()


class FeatureCache:
    """The features of one backbone, with one set of weights, transform and precision.

    Args:
        root: The folder with all caches.
        key: Which of them.

    Raises:
        FeatureCacheError: If the folder is not such a cache.
    """

    def __init__(self, root: str | Path, key: CacheKey) -> None:
        root = Path(root).expanduser()
        if (root / ABOUT).exists():
            raise FeatureCacheError(
                f"expected the folder with all feature caches, found a single one, {root}; pass {root.parent}"
            )
        self.key = key
        self.folder = root / key.folder_name
        self.about: dict[str, Any] | None = None

    def _read_about(self) -> dict[str, Any] | None:
        path = self.folder / ABOUT
        try:
            about = json.loads(path.read_text(encoding="utf-8"))
            found = {name: about[name] for name in self.key.as_json()}
            int(about["feature_dim"])
        except FileNotFoundError:
            return None
        except OSError as error:
            message = f"expected to read {path}, found: {error.strerror}; choose another cache folder"
            raise FeatureCacheError(message) from error
        except (ValueError, KeyError, TypeError) as error:
            message = f"expected a readable feature cache, found {path} damaged ({error!r}); delete its folder"
            raise FeatureCacheError(message) from error
        if found != self.key.as_json():
            raise FeatureCacheError(
                f"expected the features of {self._describe(self.key.as_json())} in {self.folder}, found those of "
                f"{self._describe(found)}; was the folder renamed? Move it away, or choose another cache folder"
            )
        return about

    @staticmethod
    def _describe(about: dict[str, Any]) -> str:
        return f"{about['backbone']} ({about['weights']}; {about['precision']})"

    def begin(self, feature_dim: int, weights_sha256: str) -> None:
        """Prepare to store features of a network, after checking that it is the one the cache was started with.

        Raises:
            FeatureCacheError: If weights of the same name have changed since, or the folder is not writable.
        """
        network = {"feature_dim": feature_dim, "weights_sha256": weights_sha256}
        self.about = self._read_about()
        if self.about is None:
            self.about = self.key.as_json() | network
            self._write_about()
        elif found := {name: self.about[name] for name in network if self.about[name] != network[name]}:
            raise FeatureCacheError(
                f"expected the weights with which {self.folder} was started, found others with the same name "
                f"({self.key.weights}; cached: {found}, now: {network}); delete that folder, or choose another cache"
            )

    def _write_about(self) -> None:
        # Written under a unique name, then renamed: others see all or nothing. Concurrent writers write the same.
        aside = self.folder / f".{uuid.uuid4().hex}.partial"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            aside.write_text(json.dumps(self.about, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
            aside.replace(self.folder / ABOUT)
        except OSError as error:
            raise _cannot_write(self.folder, error) from error

    def exists(self) -> bool:
        """Whether anything was ever computed.

        Raises:
            FeatureCacheError: If the folder is not the cache that its name says.
        """
        self.about = self._read_about()
        return self.about is not None

    @property
    def feature_dim(self) -> int:
        assert self.about is not None  # known since the last lookup, or since begin()
        return int(self.about["feature_dim"])

    def look_up(self, digests: np.ndarray) -> Lookup:
        """Find the features of these frames, and verify each one."""
        nowhere = np.full(len(digests), -1, np.int32)
        found = Lookup([], nowhere, np.zeros(len(digests), np.int64))
        if not self.exists():
            return found
        keys = digests.view(KEY)
        order = np.argsort(keys)
        damaged: set[int] = set()
        for path in sorted(self.folder.glob("*.rows")):
            if (nowhere >= 0).all():
                break
            found.files.append(path)
            self._look_into(path, keys, order, found, damaged)
        return replace(found, damaged=len(damaged.intersection(found.missing)))

    def _look_into(self, path: Path, keys: np.ndarray, order: np.ndarray, found: Lookup, damaged: set[int]) -> None:
        """Add the undamaged records of one file that were not found before."""
        records, kind = self._map(path), record_type(self.feature_dim)
        raw, checksums = records.view(np.uint8).data, records["checksum"]
        here = np.ascontiguousarray(records["digest"]).view(KEY)
        places = order[np.searchsorted(keys, here, sorter=order).clip(max=len(keys) - 1)]
        for record in np.flatnonzero(keys[places] == here).tolist():
            frame = int(places[record])
            if found.numbers[frame] >= 0:
                continue
            start = record * kind.itemsize
            if zlib.crc32(raw[start : start + kind.itemsize - CHECKSUM_SIZE]) == checksums[record]:
                found.numbers[frame], found.records[frame] = len(found.files) - 1, record
            else:
                damaged.add(frame)

    def _map(self, path: Path) -> np.ndarray:
        """The whole records of a file, mapped."""
        kind = record_type(self.feature_dim)
        with path.open("rb") as file:
            count = os.fstat(file.fileno()).st_size // kind.itemsize
            return np.asarray(np.memmap(file, kind, "r", shape=count)) if count else np.zeros(0, kind)

    def read(self, lookup: Lookup) -> Iterator[np.ndarray]:
        """The features that were found, a few thousand rows at a time."""
        files = [self._map(path)["feature"] for path in lookup.files]
        for start in range(0, len(lookup.records), ROWS_AT_A_TIME):
            part = slice(start, start + ROWS_AT_A_TIME)
            numbers, records = lookup.numbers[part], lookup.records[part]
            rows = np.empty((len(numbers), self.feature_dim), np.float32)
            for number in np.unique(numbers):
                rows[numbers == number] = files[number][records[numbers == number]]
            yield rows

    def writer(self) -> FeatureWriter:
        """A new file for this process, to be used in a ``with`` block."""
        # Older files are read first, so that a feature computed twice at the same time always has the same value.
        name = f"{time.time_ns()}-{uuid.uuid4().hex[:8]}.rows"
        return FeatureWriter(self.folder / name, self.feature_dim)


class FeatureWriter:
    """Appends records to a file that no other process writes; added records survive whatever happens afterwards."""

    def __init__(self, path: Path, feature_dim: int) -> None:
        self.path = path
        self.kind = record_type(feature_dim)

    def __enter__(self) -> FeatureWriter:
        try:
            self.file = self.path.open("xb", buffering=0)
        except OSError as error:
            raise _cannot_write(self.path, error) from error
        return self

    def add(self, digests: Sequence[bytes], features: torch.Tensor) -> None:
        records = np.zeros(len(digests), self.kind)
        records["digest"] = np.frombuffer(b"".join(digests), f"V{DIGEST_SIZE}")
        records["feature"] = features.numpy()
        raw = records.view(np.uint8).reshape(len(digests), self.kind.itemsize)
        records["checksum"] = [zlib.crc32(row[:-CHECKSUM_SIZE].data) for row in raw]
        rest = memoryview(records.tobytes())
        try:
            while rest:  # a disk that fills up accepts a part first and then fails
                rest = rest[self.file.write(rest) :]
        except OSError as error:
            raise _cannot_write(self.path, error) from error

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self.file.close()
        except OSError as failed:  # a network file system may report only now that it was full
            raise _cannot_write(self.path, failed) from failed


def _cannot_write(path: Path, error: OSError) -> FeatureCacheError:
    return FeatureCacheError(
        f"expected to be able to write {path}, found: {error.strerror}; free some space, or choose another cache "
        "folder. Features written before are kept"
    )
