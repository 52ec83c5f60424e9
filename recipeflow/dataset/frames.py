"""The frames inside a built dataset: which are equal, and where their bytes are in the Parquet files."""

from __future__ import annotations

import hashlib
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recipeflow.dataset.folder import PAIRS, DatasetFolder
from recipeflow.errors import DatasetFolderError

COLUMNS = ("pre_image", "post_image")

DIGEST = np.dtype(f"V{hashlib.sha256().digest_size}")
"""A digest in a column: 32 bytes without a meaning as a number or text."""


class Frame(NamedTuple):
    """An encoded frame: its SHA-256, its bytes, and where they are."""

    digest: bytes
    data: bytes
    file: str
    place: str


class Place(NamedTuple):
    """Where the bytes of a frame are: row of a row group of a file, and the row's number in the whole table."""

    file: str
    group: int
    row: int
    column: str
    number: int


@dataclass(frozen=True)
class FrameIndex:
    """The unique frames of a dataset, in the order of its files, as columns.

    Attributes:
        digests: SHA-256 of each frame's encoded bytes, as values of 32 bytes.
        rows: For each frame, the row of the table where it is first found.
        columns: For each frame, the number of the column there, in `COLUMNS`.
        groups: The row groups of the table: file, number in the file, and the row that it begins with.
        pre: For each row of the table the frame of its pre-action image, by position; -1 where there is none.
        post: The same for the post-action image.
    """

    digests: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    groups: tuple[tuple[str, int, int], ...]
    pre: np.ndarray
    post: np.ndarray

    def place(self, frame: int) -> Place:
        """The first place of a frame."""
        row = int(self.rows[frame])
        file, group, first = self.groups[self.group_of(row)]
        return Place(file, group, row - first, COLUMNS[self.columns[frame]], row)

    def group_of(self, row: int) -> int:
        """The position in ``groups`` of a row of the table."""
        return bisect_right(self.groups, row, key=lambda group: group[2]) - 1


def index_frames(dataset: Path) -> FrameIndex:
    """Hash every image of ``image_pairs``; none is decoded, and one row group at a time is in memory.

    Raises:
        DatasetFolderError: If there is no such table, or no image in it.
    """
    positions: dict[bytes, int] = {}
    rows, columns = array("q"), array("b")
    found: dict[str, array[int]] = {column: array("q") for column in COLUMNS}
    groups: list[tuple[str, int, int]] = []
    for path, group, table in DatasetFolder(dataset).row_groups(PAIRS, COLUMNS):
        first = len(found[COLUMNS[0]])
        groups.append((path.name, group, first))
        for number, column in enumerate(COLUMNS):
            for row, digest in enumerate(_hash_images(image_bytes(table[column], path, first)), first):
                position = -1 if digest is None else positions.setdefault(digest, len(positions))
                if position == len(rows):
                    rows.append(row)
                    columns.append(number)
                found[column].append(position)
    if not positions:
        raise DatasetFolderError(
            f"expected images in {dataset / PAIRS}, found {len(found['pre_image'])} rows without one; "
            "build the dataset from a release that has its frames"
        )
    digests = np.frombuffer(b"".join(positions), DIGEST)
    pre, post = (np.array(found[column], np.int64) for column in COLUMNS)
    return FrameIndex(digests, np.array(rows, np.int64), np.array(columns, np.int8), tuple(groups), pre, post)


def _hash_images(images: pa.ChunkedArray) -> Iterator[bytes | None]:
    """The SHA-256 of each image, without a copy of its bytes."""
    for chunk in images.chunks:
        kind = np.dtype(np.int64 if pa.types.is_large_binary(chunk.type) else np.int32)
        _, offsets, data = chunk.buffers()
        ends = np.frombuffer(offsets, kind)[chunk.offset : chunk.offset + len(chunk) + 1].tolist()
        content = memoryview(data or b"")
        valid = chunk.is_valid().to_numpy(zero_copy_only=False).tolist()
        for start, end, is_there in zip(ends, ends[1:], valid, strict=False):
            yield hashlib.sha256(content[start:end]).digest() if is_there else None


def image_bytes(column: pa.ChunkedArray, path: Path, first: int) -> pa.ChunkedArray:
    """The encoded images of a column, null where there is none."""
    if not pa.types.is_struct(column.type) or {"bytes", "path"} - {field.name for field in column.type}:
        raise DatasetFolderError(
            f"expected images in {path}, found a column of {column.type}; build the dataset again"
        )
    data = pc.struct_field(column, "bytes")
    elsewhere = pc.and_(pc.is_null(data), pc.is_valid(pc.struct_field(column, "path")))
    row = pc.index(elsewhere, True).as_py()
    if row >= 0:
        raise DatasetFolderError(
            f"expected the bytes of every image inside {path}, found only a file name in row {first + row}; build "
            "the dataset with `vrf build`, which embeds them"
        )
    return data


def read_indexed_frames(dataset: Path, index: FrameIndex, wanted: Sequence[int]) -> Iterator[Frame]:
    """The frames at these positions, which are sorted; only row groups with some of them are read.

    Raises:
        DatasetFolderError: If the files are not those that were indexed.
    """
    for number, positions in groupby(wanted, key=lambda position: index.group_of(int(index.rows[position]))):
        name, group, _ = index.groups[number]
        for path, _, table in DatasetFolder(dataset).row_groups(PAIRS, COLUMNS, [(dataset / PAIRS / name, group)]):
            images = {column: image_bytes(table[column], path, 0) for column in COLUMNS}
            for position in positions:
                place = index.place(position)
                column = images[place.column]
                yield make_frame(index, position, column[place.row].as_py() if place.row < len(column) else None)


def make_frame(index: FrameIndex, position: int, data: bytes | None) -> Frame:
    """A frame of the index from the bytes found in its place, if they are still the same."""
    place, digest = index.place(position), index.digests[position].tobytes()
    if data is None or hashlib.sha256(data).digest() != digest:
        raise DatasetFolderError(
            f"expected row {place.number} of {PAIRS} to stay unchanged, found another {place.column}; was the "
            "dataset rebuilt meanwhile, or does a machine have another copy of it? Start again"
        )
    return Frame(digest, data, f"{PAIRS}/{place.file}", f"row {place.number}, {place.column}")
