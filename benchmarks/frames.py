"""Frames per second from a video to JPEG files on disk, over the bare decode loop of PyAV, and compared with OpenCV's.

All sides run in turns in one process on one video, with one decoding thread each, and speeds count decoded frames; a
ratio is the median over rounds. The bare loop decodes and throws away. Our side is all that `vrf frames` does for a
recipe: checksum, decoding, sampling, JPEG, the folder written aside and renamed. OpenCV's side is the usual loop: read
every frame, write one in so many, with the same JPEG quality.

    python benchmarks/frames.py [--seconds 20] [--rounds 7]
"""

import argparse
import io
import math
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import count, islice, pairwise
from pathlib import Path

import av
import cv2
import numpy as np
from _timing import speeds_in_turns
from PIL import Image

from recipeflow.download.frames import QUALITY, VIDEO, Job, sample_recipe
from recipeflow.kitchen.cooking import cook_recipe

TARGET = 0.85
WIDTH, HEIGHT, RATE = 1280, 720, 30


def film() -> Iterator[np.ndarray]:
    """Recipes of the kitchen as a camera would film them: things move, the picture sways, the sensor is grainy."""
    random = np.random.default_rng(0)
    grain = random.normal(0, 3, (8, HEIGHT, WIDTH, 1)).astype(np.int16)
    number = 0
    for before, after in pairwise(stills()):
        for step in range(10):
            across, down = round(32 + 30 * math.sin(number / 40)), round(300 + 60 * math.cos(number / 50))
            blended = np.asarray(Image.blend(before, after, step / 10), np.int16)
            picture = blended[down : down + HEIGHT, across : across + WIDTH] + grain[number % len(grain)]
            yield picture.clip(0, 255).astype(np.uint8)
            number += 1


def stills() -> Iterator[Image.Image]:
    """The frames of one recipe after the other, enlarged."""
    for index in count():
        for data in cook_recipe(0, index).frames.values():
            yield Image.open(io.BytesIO(data)).resize((WIDTH + 64, WIDTH + 64), Image.Resampling.BICUBIC)


def make_video(path: Path, frames: int) -> None:
    """Encode the film as a video site would: H.264, one slice a frame, B-frames, about two megabits a second."""
    with av.open(str(path), "w") as container:
        options = {"preset": "veryfast", "crf": "21", "x264-params": "sliced-threads=0"}
        stream = container.add_stream("libx264", rate=RATE, options=options)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        for picture in islice(film(), frames):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture)))
        container.mux(stream.encode(None))


def bare(path: Path) -> int:
    """Decode and do nothing."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        stream.codec_context.thread_count = 1
        return sum(1 for _ in container.decode(stream))


def opencv(path: Path, folder: Path) -> int:
    """The usual loop."""
    capture = cv2.VideoCapture(str(path), cv2.CAP_FFMPEG, [cv2.CAP_PROP_N_THREADS, 1])
    step = math.ceil(int(capture.get(cv2.CAP_PROP_FPS)) / 3)
    decoded = 0
    while (read := capture.read())[0]:
        if decoded % step == 0:
            name = str(folder / f"frame_{decoded // step + 1}.jpg")
            cv2.imwrite(name, read[1], [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
        decoded += 1
    return decoded


def ours(job: Job, frames: int) -> int:
    """All of it, each time anew."""
    assert sample_recipe(job).frames == math.ceil(frames / 10)
    return frames


def checked(run: Callable[[], int], frames: int) -> Callable[[], None]:
    """A side that fails if it does not decode every frame."""

    def run_checked() -> None:
        assert run() == frames

    return run_checked


def main() -> None:
    """Measure, print, and fail below the target."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=int, default=20, help="length of the video")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    frames = options.seconds * RATE
    cv2.setNumThreads(1)
    with tempfile.TemporaryDirectory() as name:
        job = Job(Path(name), "film", (), overwrite=True)
        job.home.mkdir(parents=True)
        path = job.home / VIDEO
        make_video(path, frames)
        megabits = path.stat().st_size * 8 / 1e6 / options.seconds
        sides = {
            "bare PyAV decode loop": lambda: bare(path),
            "OpenCV, sampled to JPEG": lambda: opencv(path, Path(name)),
            "vrf frames": lambda: ours(job, frames),
        }
        sides = {side: checked(run, frames) for side, run in sides.items()}
        speeds = speeds_in_turns(sides, frames, options.rounds)
    print(
        f"{frames} frames of {WIDTH} x {HEIGHT}, {RATE} fps, {megabits:.1f} Mbit/s, JPEG {QUALITY}, decoded frames/s"
    )
    for side, values in speeds.items():
        print(f"  {side:26}{statistics.median(values):8.1f}   ({min(values):.1f} to {max(values):.1f})")
    bare_loop, usual, own = speeds.values()
    ratio = statistics.median(mine / other for mine, other in zip(own, bare_loop, strict=True))
    over_opencv = statistics.median(mine / other for mine, other in zip(own, usual, strict=True))
    print(f"video to JPEG over OpenCV's loop: {over_opencv:.2f}")
    print(f"video to JPEG over the bare decode loop: {ratio:.2f} (target: at least {TARGET:.2f})")
    sys.exit(ratio < TARGET)


if __name__ == "__main__":
    main()
