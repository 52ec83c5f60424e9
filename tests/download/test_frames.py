"""A release's videos to frames: complete or not there, done once, and every recipe accounted for."""

import ctypes
import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from recipeflow.download.frames import (
    RECORD,
    VIDEO,
    Job,
    Outcome,
    Record,
    _run_all,
    run_job,
    sample_recipe,
    sample_release,
)
from recipeflow.errors import ForeignFramesError, ShortVideoError, UsageError
from recipeflow.release import check_release, read_frames, read_release
from recipeflow.release.recipe_files import recipe_folder
from tests.download.filming import DeadlyJob, make_video, read_number, read_numbers
from tests.making import EGG, RECIPES, SALAD, TEA, edit_annotations, make_frame, make_release


def make_film(release: Path, recipe_id: str, *arguments, **options) -> Path:
    return make_video(recipe_folder(release, recipe_id) / VIDEO, *arguments, **options)


def frames_of(release: Path, recipe_id: str) -> Path:
    return recipe_folder(release, recipe_id) / "frames"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def filmed(tmp_path) -> Path:
    """A release of three recipes with text and videos, and no frames."""
    release = make_release(tmp_path / "release", frames=False)
    make_film(release, SALAD.id, 75, 30)
    make_film(release, EGG.id, 100, 25, audio=True)
    make_film(release, TEA.id, 60, 24)
    return release


@pytest.fixture
def salad(tmp_path) -> Job:
    """One recipe with a video of eight frames in 75, of which 1, 3, 5 and 7 are annotated."""
    release = make_release(tmp_path / "release", [SALAD], frames=False)
    make_film(release, SALAD.id, 75, 30)
    return Job(release, SALAD.id, SALAD.used_frames)


def test_every_annotated_frame_is_the_one_its_number_counts(filmed):
    report = sample_release(filmed)
    assert [(outcome.recipe, outcome.state) for outcome in report.outcomes] == [(r.id, "done") for r in RECIPES]
    for recipe, step, frames in zip(read_release(filmed), (10, 9, 8), (8, 12, 8), strict=True):
        assert read_numbers(recipe.frames_folder) == {n: (n - 1) * step for n in range(1, frames + 1)}
        assert [read_number(recipe.frame_path(n)) for n in recipe.used_frames] == [
            (n - 1) * step for n in recipe.used_frames
        ]
        assert len(read_frames(recipe)[0]) == len(recipe.used_frames)
    assert check_release(filmed) == []
    assert [outcome.state for outcome in sample_release(filmed).outcomes] == ["already there"] * 3


def test_the_number_of_processes_changes_nothing(filmed, tmp_path):
    sample_release(filmed, workers=1)
    alone = contents(filmed)
    sample_release(filmed, workers=3, overwrite=True)
    assert contents(filmed) == alone


def test_nothing_of_the_pool_is_left_to_meet_the_end_of_python(filmed):
    """A thread that closed its pipe at that moment made a traceback at the end of a command that had worked."""
    before = set(threading.enumerate())
    sample_release(filmed, workers=2)
    assert set(threading.enumerate()) <= before


def test_only_used_frames_are_written_and_nothing_is_decoded_behind_them(salad):
    job = replace(salad, used_only=True)
    assert sample_recipe(job) == Outcome(SALAD.id, "done", 4)
    folder = frames_of(salad.release, SALAD.id)
    assert read_numbers(folder) == {1: 0, 3: 20, 5: 40, 7: 60}
    assert Record.read(folder).decoded == 61
    assert sample_recipe(job).state == "already there"
    assert sample_recipe(replace(job, used=(1, 2))).state == "done", "the annotation has changed"
    assert read_numbers(folder) == {1: 0, 2: 10}
    assert sample_recipe(replace(job, used=())) == Outcome(SALAD.id, "done", 0)


def test_frames_are_sampled_again_when_they_are_not_what_is_asked_for(salad):
    folder = frames_of(salad.release, SALAD.id)

    def states(job: Job) -> tuple[str, str]:
        return sample_recipe(job).state, sample_recipe(job).state

    assert states(salad) == ("done", "already there")
    assert states(replace(salad, quality=40)) == ("done", "already there")
    assert states(replace(salad, used_only=True)) == ("done", "already there")
    assert states(replace(salad, overwrite=True)) == ("done", "done")
    make_film(salad.release, SALAD.id, 75, 30, first=100)
    assert states(salad) == ("done", "already there")
    assert read_numbers(folder)[1] == 100
    damages = {
        "lost": lambda: (folder / "frame_2.jpg").unlink(),
        "emptied": lambda: (folder / "frame_8.jpg").write_bytes(b""),
        "unreadable record": lambda: (folder / RECORD).write_text("{"),
        "foreign record": lambda: (folder / RECORD).write_text('{"frames": {}}'),
        "record of another version": lambda: (folder / RECORD).write_text('{"frames": {}, "source": {}, "x": 1}'),
        "wrong record": lambda: (folder / RECORD).write_text("[]"),
    }
    for name, damage in damages.items():
        damage()
        assert states(salad) == ("done", "already there"), name
    assert len(read_numbers(folder)) == 8


def test_a_copied_release_is_not_sampled_again(salad, tmp_path):
    sample_recipe(salad)
    copy = tmp_path / "copy"
    subprocess.run(["cp", "-r", salad.release, copy], check=True)
    assert sample_recipe(replace(salad, release=copy)).state == "already there"


def test_frames_that_came_from_elsewhere_are_left_alone(salad):
    folder = frames_of(salad.release, SALAD.id)
    folder.mkdir()
    (folder / "frame_1.jpg").write_bytes(make_frame(1))
    for overwrite in (False, True):
        with pytest.raises(ForeignFramesError, match=rf"^recipes/{SALAD.id}/frames, .*{RECORD} .*move the folder"):
            sample_recipe(replace(salad, overwrite=overwrite))
    assert contents(folder) == {"frame_1.jpg": make_frame(1)}
    (folder / "frame_1.jpg").unlink()
    assert sample_recipe(salad).state == "done", "an empty folder is nobody's"


def test_a_higher_quality_is_a_bigger_and_finer_file(salad):
    sizes = []
    for quality in (20, 60, 95):
        sample_recipe(replace(salad, quality=quality))
        path = frames_of(salad.release, SALAD.id) / "frame_3.jpg"
        with Image.open(path) as image:
            sizes.append((path.stat().st_size, -max(image.quantization[0])))
    assert sizes == sorted(sizes)
    for quality in (0, 101):
        with pytest.raises(UsageError, match=f"found {quality}; pass --quality 90"):
            sample_release(salad.release, quality=quality)


def cut(job: Job, frames: int) -> None:
    """End the video within the data of its frame number ``frames``, of 75 that are about equally long."""
    path = make_film(job.release, SALAD.id, 75, 30, movflags="faststart")
    data = path.read_bytes()
    start = data.index(b"mdat")
    path.write_bytes(data[: start + (len(data) - start) * frames // 75])


def test_a_truncated_video_is_kept_if_every_annotated_frame_is_there(salad):
    cut(salad, 72)
    outcome = sample_recipe(salad)
    assert outcome.state == "truncated"
    assert outcome.reason.startswith(f"recipes/{SALAD.id}/video.mp4 is cut short after ")
    assert 7 <= outcome.frames <= 8
    assert sample_recipe(salad) == outcome, "which is reported again, though nothing is done"
    assert check_release(salad.release) == []
    cut(salad, 30)
    with pytest.raises(ShortVideoError, match=rf"recipe {SALAD.id}, .*expected frame 7, .*cut short .*vrf download"):
        sample_recipe(salad)
    assert check_release(salad.release) == [], "the earlier frames are still there, all of them"


def test_a_video_that_is_too_short_gives_no_frames_at_all(salad):
    make_film(salad.release, SALAD.id, 60, 30)
    for used_only in (False, True):
        with pytest.raises(
            ShortVideoError, match=r"expected frame 7, .*the end of the video after 60 frames"
        ) as caught:
            sample_recipe(replace(salad, used_only=used_only))
        assert caught.value.value == [7]
    assert not any(recipe_folder(salad.release, SALAD.id).glob("*frames*"))
    assert check_release(salad.release) == []


def test_a_full_disk_is_reported_and_leaves_nothing(salad, monkeypatch):
    def refuse(path: Path, data: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", refuse)
    outcome = run_job(salad)
    assert outcome.state == "failed"
    assert "No space left" in outcome.reason
    assert not any(recipe_folder(salad.release, SALAD.id).glob("*frames*"))


def test_a_crash_of_the_decoder_costs_only_its_own_recipe(filmed):
    jobs = [Job(filmed, recipe.id, recipe.used_frames) for recipe in RECIPES]
    jobs.insert(1, DeadlyJob(filmed, "deadly", ()))
    outcomes = {outcome.recipe: outcome for outcome in _run_all(jobs, workers=2)}
    assert outcomes["deadly"].state == "failed"
    assert "its process died" in outcomes["deadly"].reason
    assert all(outcomes[recipe.id].state in ("done", "already there") for recipe in RECIPES)
    assert check_release(filmed) == []


def start(release: Path, *options: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "recipeflow.cli", "frames", release, "--workers", "2", *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0)


def run(release: Path, *options: str) -> tuple[int, str, str]:
    process = start(release, *options)
    output, errors = process.communicate(timeout=200)
    return process.returncode, output, errors


def wait_for(condition) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


@pytest.fixture
def adopted():
    """Processes whose parent was killed become children of this one, which can then wait for their end."""
    prctl, set_child_subreaper = ctypes.CDLL(None).prctl, 36
    prctl(set_child_subreaper, 1)
    yield
    prctl(set_child_subreaper, 0)


@pytest.fixture
def long_film(filmed) -> Path:
    """A release with one video that takes long enough to be interrupted in it."""
    path = recipe_folder(filmed, EGG.id) / VIDEO
    make_video(path, 1000, 3)
    return filmed


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_a_stopped_run_leaves_no_half_recipe_and_is_gone_on_with(long_film, number, adopted):
    process = start(long_film)
    home = recipe_folder(long_film, EGG.id)
    wait_for(lambda: len(list(home.glob(".frames.*.partial/*.jpg"))) > 20)
    workers = {int(path.name.split(".")[2]) for path in home.glob(".frames.*.partial")}
    # The whole group at Ctrl-C, as a terminal does it; a kill hits only the one process.
    os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
    _, errors = process.communicate(timeout=200)
    assert process.returncode != 0
    assert "Traceback" not in errors
    if number == signal.SIGKILL:
        for worker in workers:
            assert os.waitpid(worker, 0)[0] == worker, "it ends by itself"
        assert not (home / "frames").exists()
    else:
        assert not list(home.glob(".frames.*")), "its workers clean up"
    assert check_release(long_film) == []
    code, output, _ = run(long_film, "--json")
    assert code == 0
    assert {row["state"] for row in json.loads(output)["recipes"]} <= {"done", "already there"}
    assert read_numbers(home / "frames") == {n: n - 1 for n in range(1, 1001)}
    assert not list(home.glob(".frames.*"))


def test_the_command_accounts_for_every_recipe(filmed):
    cut(Job(filmed, SALAD.id, ()), 72)
    (recipe_folder(filmed, EGG.id) / VIDEO).unlink()
    (recipe_folder(filmed, TEA.id) / VIDEO).write_bytes(b"no video")
    code, output, errors = run(filmed)
    assert code == 1
    words = {line.split("│")[1].strip(): line.split("│")[2].strip() for line in output.splitlines() if "│" in line}
    assert words == {"done": "0", "already there": "0", "no video": "1", "truncated": "1", "failed": "1"}
    assert f"no video: {EGG.id}" in output
    assert f"truncated: recipes/{SALAD.id}/video.mp4 is cut short" in errors
    assert f"failed: recipes/{TEA.id}/video.mp4, recipe {TEA.id}: expected an MP4 video, found 8 bytes" in errors
    assert check_release(filmed) == []


def test_a_recipe_with_a_broken_annotation_does_not_stop_the_others(filmed):
    edit_annotations(filmed, lambda raw: raw[EGG.id].pop("recipe_flows"))
    report = sample_release(filmed)
    assert [outcome.state for outcome in report.outcomes] == ["done", "failed", "done"]
    assert EGG.id in report.of("failed")[0].reason
    assert report.as_dict()["failed"] == 1
