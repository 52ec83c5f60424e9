"""``vrf build`` when it is stopped: nothing half-written is ever seen, and the next run cleans up."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from recipeflow.dataset.build import build_dataset
from recipeflow.errors import OutputExistsError
from tests.building import all_files, environment, many_recipes
from tests.making import TEA, make_release


def start_build(folder: Path, *options: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "recipeflow.cli", "build", "release", *options]
    return subprocess.Popen(command, cwd=folder, env=environment(folder), stdout=-3, stderr=-3)


def test_a_killed_build_leaves_nothing_half_written(tmp_path):
    make_release(tmp_path / "release", many_recipes(250))
    build_dataset(make_release(tmp_path / "small", [TEA]), tmp_path / "vrf")
    older = all_files(tmp_path / "vrf")
    for stage in ("", "recipes/*", ".work/datasets/image_pairs.incomplete/*.parquet"):
        process = start_build(tmp_path, "--overwrite")
        while not list(tmp_path.glob(f".vrf.{process.pid}.*.partial/{stage}")):
            assert process.poll() is None, "the build ended before it could be killed"
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        (leftover,) = tmp_path.glob(".vrf.*")
        assert leftover.name.startswith(f".vrf.{process.pid}."), "each run removes what the one before it left"
        assert all_files(tmp_path / "vrf") == older
    build_dataset(tmp_path / "small", tmp_path / "vrf", overwrite=True)
    assert not list(tmp_path.glob(".vrf.*"))


def test_a_build_killed_while_it_replaces_an_older_one_is_put_right(release, tmp_path):
    build_dataset(release, tmp_path / "vrf")
    older = all_files(tmp_path / "vrf")
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    (tmp_path / "vrf").rename(tmp_path / f".vrf.{dead.pid}.abcdefgh.old")
    (tmp_path / f".vrf.{dead.pid}.abcdefgh.partial").mkdir()
    with pytest.raises(OutputExistsError, match="--overwrite"):
        build_dataset(release, tmp_path / "vrf")
    assert all_files(tmp_path / "vrf") == older
    assert not list(tmp_path.glob(".vrf.*"))


def test_without_a_release_the_default_kitchen_is_cooked_out_of_sight(tmp_path):
    command = [sys.executable, "-m", "recipeflow.cli", "build"]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment(tmp_path), stdout=-3, stderr=-3)
    while not list(tmp_path.glob(".vrf.*.partial/.work/*kitchen*/recipes/*/frames")):
        assert process.poll() is None
        time.sleep(0.005)
    assert {path.name for path in tmp_path.iterdir()} - {"hf"} == {f.name for f in tmp_path.glob(".vrf.*.partial")}
    process.send_signal(signal.SIGINT)
    assert process.wait() != 0
    assert {path.name for path in tmp_path.iterdir()} <= {"hf"}


def test_an_interrupted_build_cleans_up_after_itself(tmp_path):
    make_release(tmp_path / "release", many_recipes(250))
    process = start_build(tmp_path)
    while not list(tmp_path.glob(".vrf.*.partial/recipes/*")):
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    assert process.wait() != 0
    assert {path.name for path in tmp_path.iterdir()} - {"hf"} == {"release"}
