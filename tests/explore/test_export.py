import json
import re
import signal
import subprocess
import sys
import time

import pytest

from recipeflow.errors import OutputExistsError, UsageError
from recipeflow.explore.export import MARKER, export_site
from recipeflow.explore.library import Library
from recipeflow.explore.sources import open_source
from recipeflow.images import LARGEST_ON_PAGE, page_picture
from recipeflow.release.recipe import LABELS, TAGS
from tests.building import many_recipes
from tests.cli.test_cli import ROOT, vrf
from tests.making import EGG, RECIPES, edit_annotations, make_frame, make_release


def export(release, folder, **options):
    return export_site(Library(open_source(release)), folder, **options)


def read_data(folder, name):
    text = (folder / f"{name}.js").read_text(encoding="utf-8")
    match = re.fullmatch(r'receiveExplorerData\("([\w/]+)",(.*)\);\n', text, re.DOTALL)
    assert match[1] == name
    return json.loads(match[2])


def test_a_site_holds_everything(release, tmp_path):
    site = tmp_path / "site"
    done = export(release, site)
    assert (done.recipes, done.pictures, done.problems) == (3, 10, ())
    assert {path.name for path in site.iterdir()} == {
        "index.html", "explore.js", "explore.css", "icon.svg", "data", "pictures", MARKER,
    }  # fmt: skip
    assert read_data(site, "data/about") == {
        "name": "release",
        "source": "hand-made",
        "licence": "MIT",
        "language": "ja",
        "tags": TAGS,
        "labels": LABELS,
        "stamp": None,
    }
    assert [entry[0] for entry in read_data(site, "data/index/0")["recipes"]] == [recipe.id for recipe in RECIPES]
    for number, recipe in enumerate(RECIPES):
        page = read_data(site, f"data/recipes/{number}")
        assert page["view"]["id"] == recipe.id
        assert page["pictures"] == list(recipe.used_frames)
        for frame in recipe.used_frames:
            assert (site / "pictures" / str(number) / f"{frame}.jpg").read_bytes() == make_frame(frame)
    assert {path.name for path in tmp_path.iterdir()} == {"release", "site"}, "nothing else is left"


def test_large_pictures_become_small_and_small_ones_stay():
    small = make_frame(1, (LARGEST_ON_PAGE, 200))
    assert page_picture(small, "x") is small
    large = page_picture(make_frame(1, (1280, 720)), "x")
    assert page_picture(large, "x") is large


def test_pictures_that_are_missing_or_damaged_are_reported(release, tmp_path):
    frames = release / "recipes" / EGG.id / "frames"
    (frames / "frame_2.jpg").unlink()
    (frames / "frame_4.jpg").write_bytes(b"no picture")
    done = export(release, tmp_path / "site")
    assert done.pictures == 8
    assert [problem.file for problem in done.problems] == [f"recipes/{EGG.id}/frames/frame_4.jpg"]
    assert read_data(tmp_path / "site", "data/recipes/1")["pictures"] == [9]


def test_an_output_that_is_there_is_not_touched(release, tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    (site / "mine.txt").write_text("mine")
    with pytest.raises(OutputExistsError, match=MARKER):
        export(release, site, overwrite=True)
    assert [path.name for path in site.iterdir()] == ["mine.txt"]


def test_a_site_is_replaced_only_when_asked(release, tmp_path):
    site = tmp_path / "site"
    export(release, site)
    (site / "old.txt").write_text("old")
    with pytest.raises(OutputExistsError, match="--overwrite"):
        export(release, site)
    export(release, site, overwrite=True)
    assert not (site / "old.txt").exists()


def test_a_site_does_not_swallow_what_it_shows(release):
    with pytest.raises(UsageError, match="choose another --export"):
        export(release, release.parent, overwrite=True)


def test_the_official_annotations_alone_make_a_site(official, tmp_path):
    done = export(official, tmp_path / "site")
    assert (done.recipes, done.pictures) == (200, 0)
    assert not read_data(tmp_path / "site", "data/index/1")["more"]
    assert not (tmp_path / "site" / "pictures").exists()


def test_a_killed_export_leaves_nothing_and_the_next_one_cleans_up(tmp_path):
    release = make_release(tmp_path / "many", many_recipes(400), frames=False)
    command = [sys.executable, "-m", "recipeflow.cli", "explore", release, "--export", tmp_path / "site"]
    process = subprocess.Popen(list(map(str, command)), cwd=ROOT, stdout=subprocess.DEVNULL)
    while not list(tmp_path.glob(".site.*.partial/data/recipes/3.js")):
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "site").exists()
    export(make_release(tmp_path / "few"), tmp_path / "site")
    assert {path.name for path in tmp_path.iterdir()} == {"many", "few", "site"}


def test_the_command_says_what_it_wrote(release, tmp_path):
    done = vrf("explore", release, "--export", tmp_path / "site")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"wrote 3 recipes and 10 pictures: open {tmp_path / 'site' / 'index.html'}\n"


def test_the_command_names_recipes_that_it_leaves_out(release, tmp_path):
    edit_annotations(release, lambda raw: raw[EGG.id].pop("recipe_flows"))
    done = vrf("explore", release, "--export", tmp_path / "site")
    assert done.returncode == 0
    assert "left out:" in done.stderr
    assert EGG.id in done.stderr


@pytest.mark.parametrize("arguments", [["nowhere"], []])
def test_the_command_refuses_what_is_no_source(tmp_path, arguments):
    done = vrf("explore", *arguments, cwd=tmp_path)
    assert done.returncode == 1
    assert "SourceFolderError" in done.stderr
    assert "Traceback" not in done.stderr


def test_help_teaches_with_an_example():
    done = vrf("explore", "--help")
    assert "Example:  vrf explore kitchen" in done.stdout
    for option in ("--export", "--host", "--port", "--token", "--no-browser", "--overwrite"):
        assert option in done.stdout
