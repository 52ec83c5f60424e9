"""Which frames are kept, whatever the video is like: each shows its own number, and is asked for it."""

import math
import random
from fractions import Fraction
from pathlib import Path

import cv2
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image, JpegImagePlugin

from recipeflow.download.video import Video, encode_jpeg, sampling_step
from recipeflow.errors import BrokenVideoError
from tests.download.filming import HEIGHT, NTSC, WIDTH, make_video, read_numbers

RATES = {24: 8, 25: 9, NTSC: 10, 30: 10, 60: 20}
MORE_RATES = {Fraction(24000, 1001): 8, Fraction(2499, 100): 8, Fraction(60000, 1001): 20, 50: 17, 3: 1, 2: 1}
FASTSTART, FRAGMENTS = "faststart", "frag_keyframe+empty_moov"


def sample(path: Path, quality: int = 90) -> tuple[dict[int, int], Video]:
    """The numbers that the kept frames show, by frame number."""
    folder = path.with_suffix(".frames")
    folder.mkdir()
    with Video(path, path.name, "salad") as video:
        for number, frame in video.sampled():
            (folder / f"frame_{number}.jpg").write_bytes(encode_jpeg(frame, quality))
    return read_numbers(folder), video


def sample_with_opencv(path: Path) -> dict[int, int]:
    """The rule once more, on OpenCV: which of the frames it decodes are kept, by the numbers they show."""
    capture = cv2.VideoCapture(str(path))
    step = math.ceil(int(capture.get(cv2.CAP_PROP_FPS)) / 3)
    folder = path.with_suffix(".opencv")
    folder.mkdir()
    decoded = 0
    while (read := capture.read())[0]:
        if decoded % step == 0:
            cv2.imwrite(str(folder / f"frame_{decoded // step + 1}.jpg"), read[1])
        decoded += 1
    return read_numbers(folder)


@pytest.mark.parametrize(
    ("rate", "step"),
    [*RATES.items(), *MORE_RATES.items()],
)
def test_the_step_is_a_third_of_the_whole_frames_a_second(rate, step):
    assert sampling_step(Fraction(rate)) == step


@pytest.mark.parametrize(("rate", "step"), RATES.items(), ids=lambda value: f"{float(value):.2f}")
def test_the_frames_of_every_rate_are_those_of_the_rule(rate, step, tmp_path):
    path = make_video(tmp_path / "video.mp4", 130, rate)
    numbers, video = sample(path)
    assert numbers == {number: (number - 1) * step for number in range(1, math.ceil(130 / step) + 1)}
    assert (video.decoded, video.step, video.truncated) == (130, step, False)
    assert numbers == sample_with_opencv(path)


def test_a_variable_frame_rate_is_counted_and_not_timed(tmp_path):
    pauses = random.Random(3)
    times = [0]
    while len(times) < 120:
        times.append(times[-1] + pauses.choice([17, 33, 50, 400]))
    path = make_video(tmp_path / "video.mp4", 120, times=times)
    numbers, video = sample(path)
    rate = 1000 * len(times) / times[-1]
    assert video.step == math.ceil(int(rate) / 3)
    assert list(numbers.values()) == list(range(0, 120, video.step))
    assert numbers == sample_with_opencv(path)
    by_time = [next(i for i, time in enumerate(times) if time >= n * 1000 / 3) for n in range(len(numbers))]
    assert by_time != list(numbers.values()), "this video distinguishes the two"


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
def test_a_turned_or_mirrored_video_is_set_upright(degrees, mirrored, tmp_path):
    numbers, _ = sample(make_video(tmp_path / "video.mp4", 41, turn=(degrees, mirrored)))
    assert list(numbers.values()) == [0, 10, 20, 30, 40]


@pytest.mark.parametrize("audio", [False, True])
def test_sound_and_further_video_streams_do_not_count(audio, tmp_path):
    numbers, _ = sample(make_video(tmp_path / "video.mp4", 41, first=200, audio=audio, others=[600]))
    assert list(numbers.values()) == [200, 210, 220, 230, 240]


def test_the_quality_is_that_of_jpeg(tmp_path):
    path = make_video(tmp_path / "video.mp4", 1)
    plain = Image.new("RGB", (WIDTH, HEIGHT))
    for quality in (1, 30, 90, 100):
        with Video(path, path.name) as video:
            ((_, frame),) = video.sampled()
            (tmp_path / "frame.jpg").write_bytes(encode_jpeg(frame, quality))
        plain.save(tmp_path / "plain.jpg", quality=quality)
        with Image.open(tmp_path / "frame.jpg") as ours, Image.open(tmp_path / "plain.jpg") as theirs:
            assert (ours.format, ours.mode) == ("JPEG", "RGB")
            assert ours.quantization == theirs.quantization
            assert JpegImagePlugin.get_sampling(ours) == JpegImagePlugin.get_sampling(theirs)


@pytest.fixture(scope="module", params=[FASTSTART, FRAGMENTS])
def web_video(request, tmp_path_factory) -> Path:
    """A video with its index in front, every frame of which is kept."""
    return make_video(tmp_path_factory.mktemp("web") / "video.mp4", 110, 3, movflags=request.param, audio=True)


@given(share=st.floats(0, 1, exclude_max=True))
@example(share=0.875).via("the pictures of a fragment are there, and its sound is not")
def test_wherever_a_video_is_cut_its_frames_keep_their_numbers(web_video, share, tmp_path_factory):
    """Those in the decoder are left there: behind a lost frame they would come out too early."""
    data = web_video.read_bytes()
    path = tmp_path_factory.mktemp("cut") / "video.mp4"
    path.write_bytes(data[: int(share * len(data))])
    try:
        numbers, video = sample(path)
    except BrokenVideoError as error:
        assert str(error).startswith("video.mp4, recipe salad")
        return
    assert numbers == {number: number - 1 for number in range(1, len(numbers) + 1)}
    assert 0 < video.decoded == len(numbers) <= 110
    # A file that ends between two fragments is complete, as far as it shows.
    assert video.truncated == (len(numbers) < 110) or b"moof" in data


def test_a_damaged_video_ends_where_the_damage_is(tmp_path):
    path = make_video(tmp_path / "video.mp4", 110, 3, movflags=FASTSTART)
    data = bytearray(path.read_bytes())
    middle = len(data) * 2 // 3
    data[middle : middle + 400] = bytes([255]) * 400
    path.write_bytes(data)
    numbers, video = sample(path)
    assert video.truncated
    assert 10 < video.decoded < 110
    assert list(numbers.values())[:10] == list(range(10))


BROKEN = {
    "empty": b"",
    "garbage": random.Random(5).randbytes(50_000),
    "page": b"<!doctype html><title>Not found</title>" * 50,
    "playlist": b"#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nfile:///etc/hostname\n#EXT-X-ENDLIST\n",
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_what_is_no_video_is_refused_by_name_and_size(data, tmp_path):
    path = tmp_path / "video.mp4"
    path.write_bytes(data)
    with pytest.raises(
        BrokenVideoError, match=rf"^video.mp4, recipe salad: .*found {len(data):,} bytes .*vrf download"
    ):
        sample(path)


def test_a_video_cut_before_its_index_at_the_end_is_refused(tmp_path):
    path = make_video(tmp_path / "video.mp4", 50)
    path.write_bytes(path.read_bytes().partition(b"moov")[0])
    with pytest.raises(BrokenVideoError, match="expected an MP4 video"):
        sample(path)


def test_sound_without_pictures_is_refused(tmp_path):
    path = make_video(tmp_path / "video.mp4", 20, audio=True)
    data = path.read_bytes()
    path.write_bytes(data.replace(b"vide", b"text").replace(b"avc1", b"none"))
    with pytest.raises(BrokenVideoError, match=r"expected pictures that can be decoded, found .*audio"):
        sample(path)
