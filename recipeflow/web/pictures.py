"""Small pictures of frames, for pages that show hundreds of them.

A filmstrip of 300 frames is six *sheets* of 50 thumbnails each, not 300 files. Everything made here is cached on disk
by the content of the frames that it shows: a release that changed can never show an old picture, and nothing is ever
written into the release folder.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from PIL import Image, ImageDraw

from recipeflow.errors import BrokenImageError, MissingFrameError, SaveError
from recipeflow.files import cache_folder, write_aside
from recipeflow.images import FORMATS, encode, image_problem, open_small
from recipeflow.release.recipe import frame_name

COLUMNS, ROWS, CELL_WIDTH = 10, 5, 128
"""A sheet: 50 thumbnails, small enough to arrive before the next is needed."""

QUALITY = 80
_NUMBERED = re.compile(r"frame_([1-9]\d*)\.jpg")
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Film:
    """The frames of one recipe in a folder.

    Args:
        folder: The folder.
        numbers: Of the existing frames, ascending; there may be gaps.
        width: Of the first frame, in pixels.
        height: Of the first frame, in pixels.
        stamp: Changes whenever a frame does, so that browsers may cache pictures forever.
    """

    folder: Path
    numbers: tuple[int, ...]
    width: int
    height: int
    stamp: str

    @property
    def cell(self) -> tuple[int, int]:
        """The size of a thumbnail in a sheet."""
        return CELL_WIDTH, max(1, round(CELL_WIDTH * self.height / self.width))

    @property
    def sheets(self) -> int:
        """The number of sheets for all frames."""
        return -(-len(self.numbers) // (COLUMNS * ROWS))

    def path(self, number: int) -> Path:
        return self.folder / frame_name(number)

    def sheet_paths(self, sheet: int) -> list[Path]:
        """The frames on a sheet, counted from 0."""
        size = COLUMNS * ROWS
        return [self.path(number) for number in self.numbers[sheet * size : (sheet + 1) * size]]


def read_film(folder: Path | None) -> Film | None:
    """The frames of a folder; ``None`` if there is no folder or no frame in it."""
    if folder is None:
        return None
    try:
        entries = [(match, entry) for entry in os.scandir(folder) if (match := _NUMBERED.fullmatch(entry.name))]
        rows = sorted((int(match[1]), entry.stat().st_size, entry.stat().st_mtime_ns) for match, entry in entries)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not rows:
        return None
    stamp = hashlib.sha256(repr(rows).encode()).hexdigest()[:16]
    width, height = _size(folder / frame_name(rows[0][0]), stamp)
    return Film(folder, tuple(number for number, _, _ in rows), width, height, stamp)


@lru_cache(maxsize=4096)
def _size(path: Path, stamp: str) -> tuple[int, int]:
    try:
        with Image.open(path, formats=FORMATS) as image:
            return image.size
    except Exception:  # a damaged frame is reported when it is requested; the others can still be shown
        return 16, 9


class Pictures:
    """Makes small pictures, each once.

    Args:
        cache: The folder to keep them in; the user's by default.
    """

    def __init__(self, cache: Path | None = None) -> None:
        self.cache = cache or cache_folder("pictures")
        self.lock = threading.Lock()
        self.warned = False

    def thumbnail(self, path: Path, width: int = 256) -> bytes:
        """One frame as a JPEG of at most this width.

        Raises:
            MissingFrameError: If there is no such file.
            BrokenImageError: If it is not an image.
        """
        data = _read(path)
        return self._kept(f"thumbnail {width}", [data], lambda: _jpeg(_shrink(path, data, (width, 4 * width))))

    def sheet(self, paths: Sequence[Path], cell: tuple[int, int]) -> bytes:
        """Many frames as one JPEG, in rows of ``COLUMNS``; one that is missing or damaged is crossed out."""
        frames = [path.read_bytes() if path.is_file() else b"" for path in paths]
        return self._kept(f"sheet {cell}", frames, lambda: _jpeg(_draw_sheet(frames, cell)))

    def _kept(self, kind: str, frames: Sequence[bytes], make: Callable[[], bytes]) -> bytes:
        digest = hashlib.sha256(kind.encode())
        for frame in frames:
            digest.update(hashlib.sha256(frame).digest())
        name = digest.hexdigest()
        path = self.cache / name[:2] / f"{name}.jpg"
        try:
            return path.read_bytes()
        except OSError:
            picture = make()
        try:
            with self.lock:
                write_aside(path, picture)
        except SaveError as error:
            self._warn_once(error)
        return picture

    def _warn_once(self, error: SaveError) -> None:
        if not self.warned:
            _log.warning("small pictures are made again each time: %s", error)
            self.warned = True


def _jpeg(picture: Image.Image) -> bytes:
    return encode(picture, quality=QUALITY)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        message = f"expected an image file, found none ({error.strerror})"
        raise MissingFrameError(message, file=path.name, value=path.name) from None


def _shrink(path: Path, data: bytes, box: tuple[int, int]) -> Image.Image:
    if (reason := image_problem(data)) is not None:
        raise BrokenImageError(f"expected an image, {reason}", file=path.name, value=path.name)
    return open_small(data, box)


def _draw_sheet(frames: Sequence[bytes], cell: tuple[int, int]) -> Image.Image:
    width, height = cell
    rows = -(-len(frames) // COLUMNS)
    sheet = Image.new("RGB", (COLUMNS * width, rows * height), "white")
    for number, data in enumerate(frames):
        left, top = number % COLUMNS * width, number // COLUMNS * height
        try:
            small = open_small(data, cell)
        except Exception:  # damaged images make Pillow raise nearly anything; the others are still shown
            cross = ImageDraw.Draw(sheet)
            cross.rectangle((left, top, left + width - 1, top + height - 1), "#ddd", "#888")
            cross.line((left, top, left + width - 1, top + height - 1), "#888", 2)
            cross.line((left, top + height - 1, left + width - 1, top), "#888", 2)
            continue
        sheet.paste(small, (left + (width - small.width) // 2, top + (height - small.height) // 2))
    return sheet
