"""Small pictures: right, made once, and never from an older frame."""

import io
import logging

import pytest
from PIL import Image

from recipeflow.errors import BrokenImageError, MissingFrameError
from recipeflow.release.recipe import frame_name
from recipeflow.web.pictures import COLUMNS, ROWS, Pictures, read_film
from tests.making import make_frame


@pytest.fixture
def folder(tmp_path):
    frames = tmp_path / "frames"
    frames.mkdir()
    for number in range(1, 74):
        (frames / frame_name(number)).write_bytes(make_frame(number, (48, 32)))
    (frames / frame_name(60)).unlink()
    for name in ("sampling.json", "frame_0.jpg", "frame_1.png", ".frame_5.jpg.partial"):
        (frames / name).write_bytes(b"x")
    return frames


def opened(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data)).convert("RGB")


def near(one, other) -> bool:
    return all(abs(a - b) < 12 for a, b in zip(one, other, strict=True))


def test_a_film_is_the_files_of_its_folder(folder, tmp_path):
    film = read_film(folder)
    assert film.numbers == tuple(number for number in range(1, 74) if number != 60)
    assert (film.width, film.height, film.cell, film.sheets) == (48, 32, (128, 85), 2)
    stamp = film.stamp
    (folder / frame_name(3)).write_bytes(make_frame(99, (48, 32)))
    assert read_film(folder).stamp != stamp
    assert read_film(None) is None and read_film(tmp_path / "nowhere") is None
    (tmp_path / "empty").mkdir()
    assert read_film(tmp_path / "empty") is None


def test_a_sheet_shows_each_frame_in_its_place(folder, tmp_path):
    film, pictures = read_film(folder), Pictures(tmp_path / "cache")
    size = COLUMNS * ROWS
    for sheet in range(film.sheets):
        picture = opened(pictures.sheet(film.sheet_paths(sheet), film.cell))
        numbers = film.numbers[sheet * size : (sheet + 1) * size]
        assert picture.size == (1280, -(-len(numbers) // COLUMNS) * 85)
        for place, number in enumerate(numbers):
            middle = place % COLUMNS * 128 + 64, place // COLUMNS * 85 + 42
            frame = opened((folder / frame_name(number)).read_bytes())
            assert near(picture.getpixel(middle), frame.getpixel((24, 16))), number


def test_pictures_are_made_once_and_never_from_an_older_frame(folder, tmp_path):
    pictures, path = Pictures(tmp_path / "cache"), folder / frame_name(3)
    first = pictures.thumbnail(path, 16)
    assert opened(first).width == 16
    kept = list((tmp_path / "cache").rglob("*.jpg"))
    assert len(kept) == 1 and kept[0].read_bytes() == first
    kept[0].write_bytes(b"from the cache")
    assert pictures.thumbnail(path, 16) == b"from the cache"
    path.write_bytes(make_frame(50, (48, 32)))
    assert near(opened(pictures.thumbnail(path, 16)).getpixel((8, 5)), opened(path.read_bytes()).getpixel((24, 16)))


def test_a_damaged_frame_is_crossed_out_and_the_others_are_shown(folder, tmp_path):
    pictures = Pictures(tmp_path / "cache")
    (folder / frame_name(2)).write_bytes(b"no image")
    film = read_film(folder)
    sheet = opened(pictures.sheet(film.sheet_paths(0), film.cell))
    assert near(sheet.getpixel((128 + 64, 10)), (0xDD, 0xDD, 0xDD))
    assert near(sheet.getpixel((64, 42)), opened((folder / frame_name(1)).read_bytes()).getpixel((24, 16)))
    with pytest.raises(BrokenImageError):
        pictures.thumbnail(folder / frame_name(2))
    with pytest.raises(MissingFrameError):
        pictures.thumbnail(folder / frame_name(60))


def test_without_room_for_a_cache_pictures_are_still_made(folder, tmp_path, caplog):
    (tmp_path / "cache").write_text("a file, where a folder should be")
    pictures = Pictures(tmp_path / "cache")
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            assert opened(pictures.thumbnail(folder / frame_name(1), 16)).width == 16
    assert (
        len(caplog.records) == 1
        and "small pictures are made again each time: expected to be able to write" in caplog.text
    )
