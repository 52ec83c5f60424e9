"""``vrf new``: texts and films to a release that check, build and annotate can read."""

import json
import subprocess
import sys
from pathlib import Path

import av
import pytest

from recipeflow.download.frames import TRUNCATED, Job, sample_recipe
from recipeflow.errors import BrokenVideoError, OutputExistsError, UsageError
from recipeflow.own.film import inspect_film
from recipeflow.own.making import Source, make_release, pair_sources
from recipeflow.own.text import make_id
from recipeflow.release import check_release, read_info, read_release
from tests.download.filming import make_video, read_numbers

ROOT = Path(__file__).parents[2]
ENGLISH = "# Egg\n\n## Ingredients\n- 2 eggs\n\n## Method\n1. Boil the eggs.\n2. Peel them.\n"
JAPANESE = "ゆで卵\n\n材料\n卵 2個\n\n作り方\n1. 卵を茹でる。\n2. 殻をむく。\n"


@pytest.fixture(scope="module")
def film(tmp_path_factory) -> Path:
    return make_video(tmp_path_factory.mktemp("film") / "film.mp4", 40, audio=True)


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def words(line) -> list[str]:
    return list(line.tokens)


def test_one_command_from_text_and_film_to_a_release(tmp_path, film):
    text = write(tmp_path / "egg.md", ENGLISH)
    command = [sys.executable, "-m", "recipeflow.cli", "new", str(tmp_path / "mine")]
    command += ["--text", str(text), "--video", str(film), "--json"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    printed = json.loads(ran.stdout)
    (row,) = printed["recipes"]
    assert (printed["language"], row["id"], row["title"], row["frames"]) == ("en", "egg", "Egg", 4)
    assert row["film"]["codec"] == "h264" and row["film"]["notes"] == []
    (recipe,) = read_release(tmp_path / "mine")
    assert [words(line) for line in recipe.instructions] == [["Boil", "the", "eggs", "."], ["Peel", "them", "."]]
    assert read_numbers(recipe.frames_folder) == {1: 0, 2: 10, 3: 20, 4: 30}  # the release's rule
    assert check_release(tmp_path / "mine") == []
    assert read_info(tmp_path / "mine").source == "own"


def test_japanese_is_normalised_and_segmented_as_the_release(tmp_path):
    language, (made,) = make_release(tmp_path / "mine", [Source(write(tmp_path / "卵.txt", JAPANESE))])
    assert (language, made.recipe.id, made.recipe.title) == ("ja", "卵", "ゆで卵")
    assert [line.text for line in made.recipe.instructions] == ["１．卵を茹でる。", "２．殻をむく。"]
    assert words(made.recipe.instructions[0]) == ["１", "．", "卵", "を", "茹で", "る", "。"]


def test_several_recipes_find_their_films(tmp_path):
    for name in ("a.txt", "b.txt", "a.mp4", "b.mp4", "c.mp4", "x.mp4"):
        (tmp_path / name).touch()
    path = {name: tmp_path / name for name in ("a.txt", "b.txt", "a.mp4", "b.mp4", "c.mp4", "x.mp4")}
    both = [path["a.txt"], path["b.txt"]]
    assert [s.film for s in pair_sources(both, [path["b.mp4"], path["a.mp4"]])] == [path["a.mp4"], path["b.mp4"]]
    assert [s.film for s in pair_sources(both, [path["c.mp4"], path["x.mp4"]])] == [path["c.mp4"], path["x.mp4"]]
    assert [s.film for s in pair_sources(both, [path["b.mp4"]])] == [None, path["b.mp4"]]
    assert pair_sources([path["a.txt"]], [path["x.mp4"]]) == [Source(path["a.txt"], path["x.mp4"])]
    with pytest.raises(UsageError, match=r"found .*x\.mp4; rename it"):
        pair_sources(both, [path["a.mp4"], path["x.mp4"]])
    (tmp_path / "texts").mkdir()
    with pytest.raises(UsageError, match="expected text files"):
        pair_sources([tmp_path / "texts"], [])
    with pytest.raises(UsageError, match=r"found no .*nowhere"):
        pair_sources([tmp_path / "nowhere.txt"], [])


def test_a_folder_stands_for_its_files(tmp_path, film):
    write(tmp_path / "one.txt", ENGLISH)
    write(tmp_path / "two.md", ENGLISH)
    (tmp_path / "two.mp4").write_bytes(film.read_bytes())
    _, made = make_release(tmp_path / "mine", pair_sources([tmp_path], [tmp_path]))
    assert [(each.recipe.id, each.film is not None) for each in made] == [("one", False), ("two", True)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "title and at least one line"),
        ("Ingredients\n2 eggs\n", "at least one line of instructions"),
        ("Couper les tomates et les mélanger avec beaucoup de sel.", "name its language.*with --language"),
        ("把鸡蛋煮熟", "name its language"),
    ],
)
def test_texts_that_are_no_recipe_are_refused(tmp_path, text, message):
    source = Source(write(tmp_path / "odd.txt", text))
    with pytest.raises(UsageError, match=message):
        make_release(tmp_path / "mine", [source])
    assert not (tmp_path / "mine").exists()


def test_two_languages_or_an_earlier_release_are_refused(tmp_path):
    sources = [Source(write(tmp_path / "a.txt", ENGLISH)), Source(write(tmp_path / "b.txt", JAPANESE))]
    with pytest.raises(UsageError, match="one language"):
        make_release(tmp_path / "mine", sources)
    make_release(tmp_path / "mine", sources[:1])
    with pytest.raises(OutputExistsError, match="--overwrite"):
        make_release(tmp_path / "mine", sources[1:])
    make_release(tmp_path / "mine", sources[1:], overwrite=True)
    assert [recipe.id for recipe in read_release(tmp_path / "mine")] == ["b"]


def test_films_that_cannot_be_used_are_refused_and_nothing_is_written(tmp_path, film):
    text = write(tmp_path / "egg.txt", ENGLISH)
    whole = film.read_bytes()
    sound = tmp_path / "sound.mp4"
    with av.open(str(sound), "w", format="mp4") as container:
        stream = container.add_stream("aac", rate=16000, layout="mono")
        container.mux(stream.encode(None))
    for name, content in {"empty": b"", "text": ENGLISH.encode(), "start": whole[:200], "sound": None}.items():
        path = tmp_path / f"{name}.mp4"
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(BrokenVideoError, match=r"expected .*nothing was lost"):
            make_release(tmp_path / "mine", [Source(text, path)])
    assert not (tmp_path / "mine").exists()
    assert text.read_text() == ENGLISH


def test_what_is_odd_about_a_film_is_said(tmp_path):
    long = make_video(tmp_path / "long.mp4", 1900, rate=1)
    assert inspect_film(long, "long.mp4").notes[0].startswith("it is 31 min")
    other = tmp_path / "mpeg4.mp4"
    with av.open(str(other), "w", format="mp4") as container:
        stream = container.add_stream("mpeg4", rate=30)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for _ in range(10):
            container.mux(stream.encode(av.VideoFrame(64, 48, "yuv420p")))
        container.mux(stream.encode(None))
    assert "coded as mpeg4, not H.264" in inspect_film(other, "mpeg4.mp4").notes[0]
    fast = make_video(tmp_path / "fast.mp4", 90, movflags="faststart")
    cut = tmp_path / "cut.mp4"
    cut.write_bytes(fast.read_bytes()[: fast.stat().st_size * 2 // 3])
    assert inspect_film(cut, "cut.mp4").notes == ("the file is cut short: frames are sampled up to there",)
    make_release(tmp_path / "mine", [Source(write(tmp_path / "egg.txt", ENGLISH), cut)])
    outcome = sample_recipe(Job(tmp_path / "mine", "egg", ()))
    assert outcome.state == TRUNCATED and 0 < outcome.frames < 9 and "cut short after" in outcome.reason


def test_ids_are_plain_and_free():
    assert make_id("Tomato & olive/salad") == "Tomato-olive-salad"
    assert make_id("../..") == "recipe"
    assert make_id("egg", {"egg", "egg-2"}) == "egg-3"
    assert len(make_id("x" * 300)) == 60
