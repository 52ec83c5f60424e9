"""A person's own film: whether it can be used, and what to know about it before it is sampled."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import av

from recipeflow.download.video import Video
from recipeflow.errors import BrokenVideoError
from recipeflow.progress import duration

LONG = 1800.0
"""Seconds from which a film is called long: half an hour has 5,400 frames to look at."""

HINT = "nothing was lost; play the film to see what is wrong with it, or convert it to MP4 with H.264"
USUAL_CODEC = "h264"


@dataclass(frozen=True)
class FilmFacts:
    """What a film is.

    Attributes:
        codec: FFmpeg's name of its coding, such as ``h264``.
        seconds: How long it is, if it says so.
        width: In pixels.
        height: In pixels.
        frames: About how many frames will be sampled; 0 if unknown.
        notes: What the person should know.
    """

    codec: str
    seconds: float | None
    width: int
    height: int
    frames: int
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "notes": list(self.notes)}

    def __str__(self) -> str:
        length = "unknown length" if self.seconds is None else duration(self.seconds)
        return f"{length}, {self.width} x {self.height}, {self.codec}, about {self.frames:,} frames"


def inspect_film(path: Path, name: str, recipe_id: str | None = None) -> FilmFacts:
    """Open a film and decode its first frame.

    Args:
        path: The file.
        name: Its name in errors.
        recipe_id: Its recipe, for errors.

    Raises:
        BrokenVideoError: If it is no MP4 video, or nothing of it decodes.
    """
    with Video(path, name, recipe_id, HINT) as video:
        _, first = next(video.sampled())
        stream, cut = video.stream, video.is_cut()
        step, codec = video.step, stream.codec_context.name
        seconds = _seconds(video.container, stream)
        rate = float(stream.average_rate or stream.guessed_rate or 0)
        total = stream.frames or round((seconds or 0) * rate)
        width, height = first.width, first.height
    if width < 2 or height < 2:
        raise BrokenVideoError(f"expected pictures, found {width} x {height} pixels", **video.where)
    frames = math.ceil(total / step)
    notes = []
    if codec != USUAL_CODEC:
        notes.append(f"it is coded as {codec}, not H.264; its frames can be read all the same")
    if cut:
        notes.append("the file is cut short: frames are sampled up to there")
    if seconds is not None and seconds > LONG:
        notes.append(f"it is {duration(seconds)} long: about {frames:,} frames; a film of the cooking alone is easier")
    return FilmFacts(codec, seconds, width, height, frames, tuple(notes))


def _seconds(container: Any, stream: av.VideoStream) -> float | None:
    if stream.duration is not None and stream.time_base is not None:
        return float(stream.duration * stream.time_base)
    return container.duration / av.time_base if container.duration else None
