"""Real H.264 videos whose frames carry their own number as a picture, and the way back from a picture to the number.

A frame is a row of black and white blocks, the bits of its number, above a row of their opposites: what is not such a
picture, or lies on its side, is refused, not misread.
"""

import os
import signal
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from PIL import Image

from recipeflow.download.frames import Job

BITS, BLOCK = 10, 16
WIDTH, HEIGHT = BITS * BLOCK, 2 * BLOCK
NTSC = Fraction(30000, 1001)


def draw_number(number: int) -> np.ndarray:
    bits = [number >> place & 1 for place in range(BITS)]
    rows = np.array([bits, [1 - bit for bit in bits]], np.uint8) * 255
    return np.repeat(rows.repeat(BLOCK, 0).repeat(BLOCK, 1)[:, :, None], 3, 2)


def read_number(path: Path) -> int:
    """The number that the picture shows."""
    with Image.open(path) as image:
        assert image.size == (WIDTH, HEIGHT), f"{path.name} is {image.size}"
        pixels = np.asarray(image.convert("L"))
    bits, opposites = pixels[BLOCK // 2 :: BLOCK, BLOCK // 2 :: BLOCK] > 127
    assert (bits != opposites).all(), f"{path.name} shows no number"
    return sum(1 << place for place, bit in enumerate(bits) if bit)


def read_numbers(folder: Path) -> dict[int, int]:
    """By frame number, the source frames that a folder of JPEGs shows."""
    paths = {int(path.stem.removeprefix("frame_")): path for path in folder.glob("*.jpg")}
    return {number: read_number(paths[number]) for number in sorted(paths)}


def make_video(
    path: Path,
    frames: int = 100,
    rate: int | Fraction = 30,
    *,
    times: Sequence[int] | None = None,
    first: int = 0,
    turn: tuple[int, bool] = (0, False),
    audio: bool = False,
    others: Iterable[int] = (),
    **options: str,
) -> Path:
    """Encode frames that show ``first``, ``first + 1``, … with B-frames, as most videos have.

    Args:
        path: Where to.
        frames: How many.
        rate: Frames a second.
        times: The time stamps in milliseconds, for a variable frame rate.
        first: The number that the first frame shows.
        turn: Store the pictures so that they are to be turned left by so many degrees, then mirrored, to be upright.
        audio: Whether to add a second of silence.
        others: For each, another video stream whose frames start with this number.
        options: Of the MP4 writer; ``movflags="faststart"`` puts the index first, as videos on the web have it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w", format="mp4", options=options) as container:
        streams = [(_add_stream(container, rate, times, turn), number) for number in (first, *others)]
        sound = container.add_stream("aac", rate=16000, layout="mono") if audio else None
        for stream, number in streams:
            for place in range(frames):
                frame = av.VideoFrame.from_ndarray(_stored(draw_number(number + place), turn))
                if times:
                    frame.pts = times[place]
                container.mux(stream.encode(frame))
            container.mux(stream.encode(None))
        if sound:
            container.mux([*sound.encode(_silence(16000)), *sound.encode(None)])
    return path


def _add_stream(container, rate: int | Fraction, times: Sequence[int] | None, turn: tuple[int, bool]):
    # Without the last option each frame would be cut into slices, which videos on the web are not.
    settings = {"preset": "veryfast", "bf": "3", "g": "48", "x264-params": "sliced-threads=0:b-adapt=0"}
    stream = container.add_stream("libx264", rate=rate, options=settings)
    stream.height, stream.width = _stored(draw_number(0), turn).shape[:2]
    stream.pix_fmt = "yuv420p"
    if any(turn):
        stream.set_display_rotation(turn[0], hflip=turn[1])
    if times:
        stream.codec_context.time_base = Fraction(1, 1000)
    return stream


def _stored(pixels: np.ndarray, turn: tuple[int, bool]) -> np.ndarray:
    degrees, mirrored = turn
    return np.ascontiguousarray(np.rot90(np.fliplr(pixels) if mirrored else pixels, -degrees // 90))


def _silence(samples: int) -> av.AudioFrame:
    frame = av.AudioFrame.from_ndarray(np.zeros((1, samples), np.float32), format="fltp", layout="mono")
    frame.sample_rate = 16000
    return frame


class DeadlyJob(Job):
    """A job that ends its process at once, as a video does that crashes the decoder."""

    @property
    def home(self) -> Path:
        os.kill(os.getpid(), signal.SIGKILL)
