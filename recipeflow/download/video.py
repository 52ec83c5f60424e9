"""Decode a video from start to end, and keep frames by the release's rule for frame numbers.

With ``fps`` the integer part of the frame rate, every ``ceil(fps / 3)``-th decoded frame is kept, starting with the
first. Frames are counted as the decoder returns them, not placed by their time stamps, which would drift away
from the annotation.
"""

from __future__ import annotations

import io
import math
import struct
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any

import av
from av.stream import Discard, Disposition
from PIL import Image

from recipeflow.errors import BrokenVideoError

FRAMES_A_SECOND = 3

TURNS = {
    (0, -1, 1, 0): Image.Transpose.ROTATE_90,
    (-1, 0, 0, -1): Image.Transpose.ROTATE_180,
    (0, 1, -1, 0): Image.Transpose.ROTATE_270,
    (-1, 0, 0, 1): Image.Transpose.FLIP_LEFT_RIGHT,
    (1, 0, 0, -1): Image.Transpose.FLIP_TOP_BOTTOM,
    (0, 1, 1, 0): Image.Transpose.TRANSPOSE,
    (0, -1, -1, 0): Image.Transpose.TRANSVERSE,
}
"""How to turn a picture upright, by the signs of its display matrix's four rotation numbers."""

HINT = "fetch it again with `vrf download`, or play it to see what is wrong with it"


def sampling_step(rate: Fraction) -> int:
    """One of this many decoded frames is kept: 30 and 29.97 give 10, 25 gives 9, 24 gives 8."""
    return max(1, math.ceil(int(rate) / FRAMES_A_SECOND))


class Video:
    """An MP4 file, opened by ``with`` and decoded once, from its start.

    ``step`` is the distance of kept frames, ``decoded`` counts the frames so far, and ``truncated`` says, at the end,
    whether the file is cut short or damaged before its last frame. Nothing after a damage is decoded: if one
    frame is lost there, all later ones would be counted wrong.

    Args:
        path: The file.
        name: Its name in errors.
        recipe_id: The recipe it belongs to, for errors.
        hint: What errors advise.
    """

    def __init__(self, path: Path, name: str, recipe_id: str | None = None, hint: str = HINT) -> None:
        # An absolute path is never read as a URL.
        self.path = path.resolve()
        self.where = {"file": name, "recipe": recipe_id, "hint": hint}
        self.decoded = 0
        self.truncated = False

    def __enter__(self) -> Video:
        try:
            # Only this format: others can make FFmpeg open any file that they name.
            self.container = av.open(str(self.path), format="mp4", metadata_errors="replace")
        except (av.FFmpegError, OSError) as error:
            size = self.path.stat().st_size if self.path.is_file() else 0
            message = f"expected an MP4 video, found {size:,} bytes that do not open as one ({error.strerror})"
            raise BrokenVideoError(message, **self.where) from None
        try:
            self.stream = self._choose_stream()
        except BrokenVideoError:
            self.container.close()
            raise
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.container.close()

    def _choose_stream(self) -> av.VideoStream:
        """The first video stream, with its sampling step; a cover picture does not count."""
        cover = Disposition.attached_pic
        streams = [stream for stream in self.container.streams.video if not stream.disposition & cover]
        # FFmpeg has no decoder if the file ends within the first frame, and crashes when asked for frames then.
        if not streams or streams[0].codec_context is None:
            kinds = ", ".join(stream.type for stream in self.container.streams) or "nothing"
            raise BrokenVideoError(f"expected pictures that can be decoded, found {kinds}", **self.where)
        # The release was sampled with the average rate, which is of the whole file, even if it is cut short.
        rate = streams[0].average_rate or streams[0].guessed_rate
        if not rate:
            raise BrokenVideoError("expected a video with a frame rate, found none", **self.where)
        self.step = sampling_step(rate)
        # Missing sound at the end of a cut file would stop the reading of existing pictures.
        for other in self.container.streams:
            if other.index != streams[0].index:
                other.discard = Discard.all
        # Videos are decoded in parallel processes. More threads here would compete for cores, and delay frames that a
        # cut file then never returns.
        streams[0].codec_context.thread_count = 1
        return streams[0]

    def sampled(self) -> Iterator[tuple[int, av.VideoFrame]]:
        """The kept frames with their numbers, from 1 without gaps. Nothing is decoded ahead."""
        for frame in self._decode():
            number, between = divmod(self.decoded, self.step)
            self.decoded += 1
            if not between:
                yield number + 1, frame
        if not self.decoded:
            raise BrokenVideoError("expected a video, found no frame that decodes", **self.where)

    def _decode(self) -> Iterator[av.VideoFrame]:
        try:
            for packet in self.container.demux(self.stream):
                at_end = packet.size == 0
                if packet.is_corrupt or (at_end and self.is_cut()):
                    # Frames still inside the decoder wait for earlier ones that are lost: drop them.
                    self.truncated = True
                    return
                yield from packet.decode()
        except av.FFmpegError:
            self.truncated = True

    def is_cut(self) -> bool:
        """Whether the file's index lists frames beyond the end of the file."""
        size = self.path.stat().st_size
        return any(entry.pos + entry.size > size for entry in self.stream.index_entries)


def encode_jpeg(frame: av.VideoFrame, quality: int) -> bytes:
    """A decoded frame as JPEG, upright."""
    # Pillow also stores four bytes per pixel, and uses these without a copy.
    plane = frame.reformat(format="rgb0", threads=1).planes[0]
    pixels: Any = plane  # a buffer, which Pillow takes and its annotations leave out
    picture = Image.frombuffer("RGBX", (frame.width, frame.height), pixels, "raw", "RGBX", plane.line_size, 1)
    if (turn := _turn(frame)) is not None:
        picture = picture.transpose(turn)
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=quality)
    return buffer.getvalue()


def _turn(frame: av.VideoFrame) -> Image.Transpose | None:
    if "DISPLAYMATRIX" not in frame.side_data:
        return None
    data: Any = frame.side_data["DISPLAYMATRIX"]  # a buffer; the annotations of PyAV end in a list of them
    matrix = struct.unpack("=9i", bytes(data))
    return TURNS.get(tuple((number > 0) - (number < 0) for number in (*matrix[0:2], *matrix[3:5])))
