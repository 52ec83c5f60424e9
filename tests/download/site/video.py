"""Frames to a video that, sampled by the release's rule, gives them back under their numbers."""

import io
from functools import cache

import av
from PIL import Image

RATE = 3
"""Frames per second: of 3, the rule keeps every one."""


@cache
def encode_video(numbered: tuple[tuple[int, bytes], ...]) -> bytes:
    """H.264 in MP4 of the frames 1, 2, 3, …; a number that is missing shows the frame before it."""
    frames = dict(numbered)
    buffer = io.BytesIO()
    with av.open(buffer, "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=RATE, options={"crf": "16", "preset": "veryfast"})
        picture = Image.open(io.BytesIO(frames[min(frames)]))
        stream.width, stream.height = picture.size
        stream.pix_fmt = "yuv420p"
        for number in range(1, max(frames) + 1):
            picture = Image.open(io.BytesIO(frames[number])) if number in frames else picture
            container.mux(stream.encode(av.VideoFrame.from_image(picture.convert("RGB"))))
        container.mux(stream.encode())
    return buffer.getvalue()
