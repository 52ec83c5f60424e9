import io
import random
import zlib

import pytest
from PIL import Image

from recipeflow.images import image_problem
from tests.making import make_frame


def encode(form: str, size=(40, 30), **options) -> bytes:
    picture = Image.effect_noise(size, 60).convert("RGB")
    buffer = io.BytesIO()
    picture.save(buffer, form, **options)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "data",
    [make_frame(3), encode("JPEG", (321, 7)), encode("JPEG", progressive=True), encode("JPEG", (1, 1)), encode("PNG")],
    ids=["frame", "odd size", "progressive", "one pixel", "PNG by another name"],
)
def test_whole_images_are_fine(data):
    assert image_problem(data) is None


@pytest.mark.parametrize("progressive", [False, True])
def test_a_truncated_jpeg_is_found_wherever_it_was_cut(progressive):
    data = encode("JPEG", progressive=progressive)
    cuts = [*range(0, len(data), 23), *range(len(data) - 10, len(data))]
    assert [cut for cut in cuts if image_problem(data[:cut]) is None] == []


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "found an empty file"),
        (b"<html>not found</html>", "found 22 bytes that start with b'<html>no'"),
        (b"\xff\xd8\xff", "found 3 bytes"),
        (encode("GIF"), "that start with b'GIF87a"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "that start with b'%!PS-Ado"),
    ],
    ids=["empty", "a web page", "only a marker", "GIF", "a program in PostScript"],
)
def test_what_is_no_image_is_reported_with_its_first_bytes(data, reason):
    assert reason in image_problem(data)


def test_a_bomb_is_refused_unopened():
    data = bytearray(encode("PNG"))
    data[16:24] = (60_000).to_bytes(4, "big") * 2
    data[29:33] = zlib.crc32(data[12:29]).to_bytes(4, "big")
    assert "decompression bomb" in image_problem(bytes(data))


def test_damage_never_raises():
    rng = random.Random(5)
    for form in ("JPEG", "PNG", "WEBP"):
        data = encode(form)
        for _ in range(150):
            damaged = bytearray(data)
            for _ in range(rng.randint(1, 5)):
                damaged[rng.randrange(len(damaged))] = rng.randrange(256)
            assert image_problem(bytes(damaged)) is None or "found" in image_problem(bytes(damaged))
