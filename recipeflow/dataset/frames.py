"""The frames inside a built dataset: which are equal, and where their bytes are in the Parquet files."""

from __future__ import annotations

import hashlib
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
    """The unique frames of a dataset, in the order of its files.

    Attributes:
        digests: SHA-256 of each frame's encoded bytes.
        places: The first place of each.
        pre: For each row of the table the frame of its pre-action image, by position; -1 where there is none.
        post: The same for the post-action image.
    """

    digests: list[bytes]
    places: list[Place]
    pre: np.ndarray
    post: np.ndarray


def index_frames(dataset: Path) -> FrameIndex:
    """Hash every image of ``image_pairs``; none is decoded, and one row group at a time is in memory.

    Raises:
        DatasetFolderError: If there is no such table, or no image in it.
    """
    positions: dict[bytes, int] = {}
    places: list[Place] = []
    rows: dict[str, list[int]] = {column: [] for column in COLUMNS}
    for place, digest in _hash_images(dataset):
        position = -1 if digest is None else positions.setdefault(digest, len(positions))
        if position == len(places):
            places.append(place)
        rows[place.column].append(position)
    if not positions:
        raise DatasetFolderError(
            f"expected images in {dataset / PAIRS}, found {len(rows['pre_image'])} rows without one; "
            "build the dataset from a release that has its frames"
        )
    pre, post = (np.array(rows[column], dtype=np.int64) for column in COLUMNS)
    return FrameIndex(list(positions), places, pre, post)


def _hash_images(dataset: Path) -> Iterator[tuple[Place, bytes | None]]:
    first = 0
    for path, group, table in DatasetFolder(dataset).row_groups(PAIRS, COLUMNS):
        for column in COLUMNS:
            for row, data in enumerate(image_bytes(table[column], path, first)):
                place = Place(path.name, group, row, column, first + row)
                yield place, hashlib.sha256(data.as_buffer()).digest() if data.is_valid else None
        first += len(table)


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
    for (name, group), positions in groupby(wanted, key=lambda position: index.places[position][:2]):
        here = [(dataset / PAIRS / name, group)]
        for path, _, table in DatasetFolder(dataset).row_groups(PAIRS, COLUMNS, here):
            images = {column: image_bytes(table[column], path, 0) for column in COLUMNS}
            for position in positions:
                place = index.places[position]
                column = images[place.column]
                yield make_frame(index, position, column[place.row].as_py() if place.row < len(column) else None)


def make_frame(index: FrameIndex, position: int, data: bytes | None) -> Frame:
    """A frame of the index from the bytes found in its place, if they are still the same."""
    place, digest = index.places[position], index.digests[position]
    if data is None or hashlib.sha256(data).digest() != digest:
        raise DatasetFolderError(
            f"expected row {place.number} of {PAIRS} to stay unchanged, found another {place.column}; was the "
            "dataset rebuilt meanwhile, or does a machine have another copy of it? Start again"
        )
    return Frame(digest, data, f"{PAIRS}/{place.file}", f"row {place.number}, {place.column}")
