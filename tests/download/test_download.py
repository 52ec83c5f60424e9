import errno
import fcntl
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from recipeflow.dataset.build import build_dataset
from recipeflow.download.downloading import DownloadPlan, download_annotations, download_release
from recipeflow.download.fetch import Manners
from recipeflow.download.text import attach_changed
from recipeflow.errors import (
    ChecksumError,
    InvalidReleaseError,
    MissingFileError,
    OutputExistsError,
    SaveError,
    UsageError,
)
from recipeflow.kitchen import cook_release
from recipeflow.kitchen.cooking import CookedRecipe
from recipeflow.release import check_release, read_frames, read_info, read_release
from tests.building import CONFIGS, all_files, environment, read_rows, run_python, run_vrf
from tests.download.site.pages import json_ld_page
from tests.download.site.server import Content, Site, always, page_path, status, video_path

RECIPES = 3
QUICK = Manners(pause=0, timeout=2, attempts=2, backoff=0.01)


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kitchen") / "kitchen"
    cook_release(folder, RECIPES, seed=3, used_only=True, workers=1)
    return folder


@pytest.fixture(scope="module")
def cooked(kitchen):
    return [CookedRecipe(recipe, read_frames(recipe)[0], {}) for recipe in read_release(kitchen)]


@pytest.fixture
def site(cooked):
    with Site() as site:
        for recipe in cooked:
            site.publish(recipe)
        yield site


def plan(kitchen, site, **options):
    return DownloadPlan(kitchen, site=site.url, manners=QUICK, **options)


def fetch(out, kitchen, site, **options):
    return download_release(out, plan(kitchen, site, **options), used_only=True, workers=1)


def arguments(out, kitchen, site):
    return ["download", str(out), "--annotations", str(kitchen), "--site", site.url, "--pause", "0", "--used-only"]


def without_images(rows):
    return [{key: value for key, value in row.items() if not key.endswith("_image")} for row in rows]


def pixels(image):
    return np.asarray(Image.open(io.BytesIO(image["bytes"])).convert("RGB"), dtype=float)


def test_the_whole_path_from_a_web_site_to_the_rows_of_the_kitchen_that_served_them(tmp_path, kitchen, cooked, site):
    site.publish(cooked[1], page=json_ld_page)
    site.faults[page_path(cooked[0])] = [status(503)]
    done = run_vrf(tmp_path, *arguments("out", kitchen, site), "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["ok"] and report["counts"] == {"complete": RECIPES}
    assert run_vrf(tmp_path, "check", "out").stdout.startswith(
        f"ok: {RECIPES} recipes, {RECIPES} with text, {RECIPES}"
    )
    build_dataset(kitchen, tmp_path / "expected")
    assert run_vrf(tmp_path, "build", "out", "--out", "vrf").returncode == 0
    for config in CONFIGS:
        rows, expected = read_rows(tmp_path / "vrf", config), read_rows(tmp_path / "expected", config)
        assert without_images(rows) == without_images(expected)
    pairs = [
        (row[name], true[name]) for row, true in zip(rows, expected, strict=True) for name in row if "_image" in name
    ]
    assert all((found is None) == (true is None) for found, true in pairs)
    errors = [np.abs(pixels(found) - pixels(true)).mean() for found, true in pairs if true is not None]
    assert len(errors) > 20 and max(errors) < 8


def test_nothing_is_fetched_twice(tmp_path, kitchen, site):
    assert fetch(tmp_path / "out", kitchen, site).ok
    assert Counter(seen.path for seen in site.seen).most_common(1)[0][1] == 1
    files = all_files(tmp_path / "out")
    site.seen.clear()
    assert fetch(tmp_path / "out", kitchen, site).ok
    assert site.seen == []
    assert all_files(tmp_path / "out") == files


def start(folder, *command):
    # A process group of its own, to which the signals of the test go.
    command = [sys.executable, "-m", "recipeflow.cli", *command]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=folder, env=environment(folder), start_new_session=True, **pipes)


def wait_for_bytes(path, count):
    deadline = time.monotonic() + 60
    while not path.is_file() or path.stat().st_size < count:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def slow_down(site, path):
    site.contents[path] = replace(site.contents[path], pause=0.02)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_stopped_in_a_video_goes_on_there(tmp_path, kitchen, cooked, site, number):
    path = video_path(cooked[1])
    slow_down(site, path)
    process = start(tmp_path, *arguments("out", kitchen, site))
    partial = tmp_path / "out/recipes" / cooked[1].recipe.id / ".video.mp4.partial"
    wait_for_bytes(partial, 50_000)
    process.send_signal(number)
    _, printed = process.communicate(timeout=120)
    if number == signal.SIGINT:
        assert process.returncode == 130
        assert printed.strip() == "interrupted; run the same command again to resume: nothing is fetched twice"
    there, total = partial.stat().st_size, len(site.contents[path].body)
    assert 50_000 <= there < total
    assert check_release(tmp_path / "out") == []
    site.contents[path] = replace(site.contents[path], pause=0)
    site.seen.clear()
    assert fetch(tmp_path / "out", kitchen, site).ok
    assert (partial.parent / "video.mp4").read_bytes() == site.contents[path].body
    (request,) = site.requests(path)
    assert (request.headers["range"], request.sent) == (f"bytes={there}-", total - there)
    assert not site.requests(video_path(cooked[0])) and not site.requests(page_path(cooked[1]))


def outcome(report, cooked):
    return next(row for row in report.outcomes if row.recipe == cooked.recipe.id)


def test_what_is_gone_is_listed_with_its_reason_and_the_rest_is_there(tmp_path, kitchen, cooked, site):
    del site.contents[page_path(cooked[0])]
    site.faults[video_path(cooked[1])] = always(status(410))
    done = run_vrf(tmp_path, *arguments("out", kitchen, site), "--json")
    assert done.returncode == 1
    report = json.loads(done.stdout)
    assert report["counts"] == {"complete": 1, "text gone": 1, "video gone": 2}
    first, second, third = report["recipes"]
    assert (first["text"], first["video"], second["text"], second["video"]) == ("gone", "gone", "complete", "gone")
    assert first["reasons"] == [f"expected {site.url}{page_path(cooked[0])}, found 404 Not Found"]
    assert "found 410 Gone" in second["reasons"][0] and third["complete"]
    assert check_release(tmp_path / "out") == []
    table = run_vrf(tmp_path, *arguments("out", kitchen, site)).stdout
    assert "Not complete" in table and "410" in table
    assert table.endswith(f"{RECIPES} recipes in out: 1 complete, 1 text gone, 2 video gone\n")


def test_an_edited_page_is_marked_and_its_video_is_fetched(tmp_path, kitchen, cooked, site):
    def edit(fields):
        fields["instructions"][-1]["body"] += "召し上がれ。"

    site.publish(cooked[2], edit)
    report = fetch(tmp_path / "out", kitchen, site)
    found = outcome(report, cooked[2])
    assert (found.text, found.video, found.frames) == ("changed", "complete", "complete")
    lines = sum(map(len, cooked[2].recipe.sections))
    assert found.reasons[0].endswith(f"; {lines - 1} of {lines} lines are as annotated")
    assert not report.ok and report.counts() == {"complete": RECIPES - 1, "text changed": 1}
    assert check_release(tmp_path / "out") == []
    recipe = next(read_release(tmp_path / "out", [found.recipe]))
    assert not recipe.has_text
    usable = attach_changed(recipe, tmp_path / "out").instructions
    assert [line.text for line in usable[:-1]] == [line.text for line in cooked[2].recipe.instructions[:-1]]
    assert usable[-1].text is None
    build_dataset(tmp_path / "out", tmp_path / "vrf")
    titles = {row["recipe_id"]: row["title"] for row in read_rows(tmp_path / "vrf", "recipes")}
    assert titles[found.recipe] is None and list(titles.values()).count(None) == 1
    site.seen.clear()
    assert outcome(fetch(tmp_path / "out", kitchen, site), cooked[2]).text == "changed"
    assert site.seen == []


def test_a_page_whose_edit_was_undone_is_read_again_when_its_note_is_removed(tmp_path, kitchen, cooked, site):
    site.publish(cooked[0], lambda fields: fields["ingredients"].pop())
    assert outcome(fetch(tmp_path / "out", kitchen, site), cooked[0]).text == "changed"
    site.publish(cooked[0])
    home = tmp_path / "out/recipes" / cooked[0].recipe.id
    (home / "page.json").unlink()
    assert fetch(tmp_path / "out", kitchen, site).ok
    assert not (home / "text-changed.json").exists()


def test_a_page_without_a_recipe_or_a_video_is_named(tmp_path, kitchen, cooked, site):
    site.contents[page_path(cooked[0])] = Content(b"<p>We have moved</p>", "text/html")
    report = fetch(tmp_path / "out", kitchen, site)
    found = outcome(report, cooked[0])
    assert (found.text, found.video) == ("missing", "gone")
    assert f"expected a recipe in {site.url}{page_path(cooked[0])}, found none" in found.reasons[0]
    assert found.reasons[1] == "the page has no video"
    site.publish(cooked[0])
    assert fetch(tmp_path / "out", kitchen, site).ok


def test_a_video_that_is_too_large_or_broken_is_reported(tmp_path, kitchen, cooked, site):
    site.contents[video_path(cooked[0])] = Content(b"no video at all", "video/mp4")
    limit = min(len(site.contents[video_path(recipe)].body) for recipe in cooked[1:])
    report = fetch(tmp_path / "out", kitchen, site, video_limit=limit)
    broken = outcome(report, cooked[0])
    assert (broken.video, broken.frames) == ("complete", "missing")
    assert "video.mp4" in broken.reasons[0]
    large = [row for row in report.outcomes if row.video == "missing"]
    assert len(large) == 1 and "expected at most" in large[0].reasons[0]
    assert report.counts() == {"complete": 1, "frames missing": 1, "video missing": 1}


def test_a_server_that_wants_to_be_left_alone_ends_the_download(tmp_path, kitchen, cooked, site):
    site.faults[page_path(cooked[1])] = [status(429, retry_after="86400")]
    report = fetch(tmp_path / "out", kitchen, site)
    assert "Retry-After of 24.0 hours" in report.stopped
    assert [row.is_complete for row in report.outcomes] == [True, False, False]
    assert not site.requests(page_path(cooked[2]))
    assert fetch(tmp_path / "out", kitchen, site).ok


def test_half_a_text_that_a_killed_run_left_is_written_again(tmp_path, kitchen, cooked, site):
    assert fetch(tmp_path / "out", kitchen, site).ok
    home = tmp_path / "out/recipes" / cooked[0].recipe.id
    (home / "page.json").unlink()
    (home / "instructions.txt").unlink()
    assert fetch(tmp_path / "out", kitchen, site).ok
    assert check_release(tmp_path / "out") == []


def test_a_full_disk_is_reported_and_nothing_is_lost(tmp_path, kitchen, site, monkeypatch):
    def full(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("recipeflow.download.fetch._sync", full)
        with pytest.raises(SaveError, match=r"No space left on device; .* are intact: free some space"):
            fetch(tmp_path / "out", kitchen, site)
    assert fetch(tmp_path / "out", kitchen, site).ok


def test_two_downloads_into_one_folder(tmp_path, kitchen, site):
    (tmp_path / "out").mkdir()
    folder = os.open(tmp_path / "out", os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    with pytest.raises(UsageError, match="found one running"):
        fetch(tmp_path / "out", kitchen, site)
    os.close(folder)
    assert site.seen == []


def test_a_file_system_without_locks_is_reported(tmp_path, kitchen, site, without_locks):
    with pytest.warns(UserWarning, match=r"has no locks \(No locks available\): make sure that no other"):
        assert fetch(tmp_path / "out", kitchen, site).ok


def test_folders_that_are_not_ours_to_write(tmp_path, kitchen, site):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/diary.txt").touch()
    (tmp_path / "other").mkdir()
    (tmp_path / "other/annotations.json").write_text("{}")
    (tmp_path / "file").touch()
    for name, kind in (("mine", OutputExistsError), ("other", OutputExistsError), ("file", SaveError)):
        with pytest.raises(kind, match="expected"):
            fetch(tmp_path / name, kitchen, site)
    assert site.seen == []


def test_annotations_that_are_not_whole(tmp_path, kitchen, site):
    shutil.copytree(kitchen, tmp_path / "k", ignore=shutil.ignore_patterns("recipe_urls.txt"))
    with pytest.raises(MissingFileError, match=r"recipe_urls\.txt"):
        fetch(tmp_path / "out", tmp_path / "k", site)


def test_recipes_without_an_address(tmp_path, kitchen, site):
    download_annotations(tmp_path / "k", plan(kitchen, site))
    (tmp_path / "k/recipe_urls.txt").write_text("")
    with pytest.raises(InvalidReleaseError, match="expected one line that ends in this recipe's id"):
        fetch(tmp_path / "out", tmp_path / "k", site)


@pytest.fixture
def published(official, site):
    """The official files on the stand-in site."""
    for name in ("annotations.json", "recipe_urls.txt"):
        site.contents[f"/data/{name}"] = Content((official / name).read_bytes(), "text/plain")
    return f"{site.url}/data"


def test_the_published_annotations_are_fetched_and_verified(tmp_path, published, official, site):
    fetch_plan = DownloadPlan(address=published, manners=QUICK)
    download_annotations(tmp_path / "out", fetch_plan)
    for name in ("annotations.json", "recipe_urls.txt"):
        assert (tmp_path / "out" / name).read_bytes() == (official / name).read_bytes()
    info = read_info(tmp_path / "out")
    assert (info.source, info.licence, info.version[:7]) == ("official", "MIT", "ac254a6")
    site.seen.clear()
    download_annotations(tmp_path / "out", fetch_plan)
    assert site.seen == []


def test_annotations_that_are_not_the_published_ones_are_refused(tmp_path, published, site):
    content = site.contents["/data/recipe_urls.txt"]
    site.contents["/data/recipe_urls.txt"] = replace(content, body=content.body[:-1])
    with pytest.raises(ChecksumError, match=r"expected recipe_urls\.txt with the SHA-256 356114b2"):
        download_annotations(tmp_path / "out", DownloadPlan(address=published, manners=QUICK))
    assert not list((tmp_path / "out").iterdir())


LOAD = """
from datasets import load_dataset
graphs = load_dataset("vrf", "flow_graphs", split="train")
print(len(graphs), sum(map(len, graphs["nodes"])), sum(map(len, graphs["edges"])), graphs[0]["nodes"][0]["text"])
"""


def test_the_official_annotations_alone_are_of_use(tmp_path, official):
    done = run_vrf(tmp_path, "download", "official", "--annotations", str(official), "--annotations-only")
    assert (done.returncode, done.stdout) == (0, "the annotations are in official; try `vrf stats official`\n")
    stats = json.loads(run_vrf(tmp_path, "stats", "official", "--json").stdout)
    assert stats["source"] == "official" and stats["figures"]["flows"]["release"] == 11512
    assert run_vrf(tmp_path, "build", "official").returncode == 0
    assert run_python(LOAD, tmp_path).split() == ["200", "11686", "11512", "None"]
