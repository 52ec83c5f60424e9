import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from recipeflow.errors import OutputExistsError, SaveError
from recipeflow.files import StagedFolder

MARKER = "marker.txt"
ROOT = Path(__file__).parents[1]


def write(target: Path, content: str, **options) -> None:
    with StagedFolder(target, MARKER, **options) as folder:
        (folder / MARKER).write_text(content, encoding="utf-8")


def content(target: Path) -> str:
    return (target / MARKER).read_text(encoding="utf-8")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def dead_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_the_folder_appears_at_the_end_and_alone(tmp_path):
    target = tmp_path / "deep" / "out"
    with StagedFolder(target, MARKER) as folder:
        (folder / MARKER).write_text("new", encoding="utf-8")
        assert not target.exists()
        assert folder.parent == target.parent
    assert content(target) == "new"
    assert names(target.parent) == ["out"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_error_leaves_nothing(tmp_path, error):
    with pytest.raises(error), StagedFolder(tmp_path / "out", MARKER) as folder:
        (folder / MARKER).write_text("half", encoding="utf-8")
        raise error
    assert names(tmp_path) == []


def test_an_error_leaves_the_old_folder(tmp_path):
    write(tmp_path / "out", "old")
    with pytest.raises(ValueError), StagedFolder(tmp_path / "out", MARKER, overwrite=True) as folder:
        (folder / MARKER).write_text("half", encoding="utf-8")
        raise ValueError
    assert content(tmp_path / "out") == "old"
    assert names(tmp_path) == ["out"]


def test_the_old_folder_stays_until_the_new_one_is_whole(tmp_path):
    write(tmp_path / "out", "old")
    (tmp_path / "out" / "more.txt").touch()
    with StagedFolder(tmp_path / "out", MARKER, overwrite=True) as folder:
        (folder / MARKER).write_text("new", encoding="utf-8")
        assert content(tmp_path / "out") == "old"
    assert content(tmp_path / "out") == "new"
    assert names(tmp_path / "out") == [MARKER]
    assert names(tmp_path) == ["out"]


def test_an_existing_folder_is_replaced_only_on_demand(tmp_path):
    write(tmp_path / "out", "old")
    with pytest.raises(OutputExistsError, match="--overwrite"):
        write(tmp_path / "out", "new")
    assert content(tmp_path / "out") == "old"


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_foreign_folder_or_file_is_never_replaced(tmp_path, overwrite):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").touch()
    (tmp_path / "letter.txt").touch()
    for name in ("photos", "letter.txt"):
        with pytest.raises(OutputExistsError, match="not written by this command"):
            write(tmp_path / name, "new", overwrite=overwrite)
    assert names(tmp_path) == ["letter.txt", "photos"]
    assert names(tmp_path / "photos") == ["cat.jpg"]


def test_an_empty_folder_may_be_filled(tmp_path):
    (tmp_path / "out").mkdir()
    write(tmp_path / "out", "new")
    assert content(tmp_path / "out") == "new"


def test_a_link_keeps_pointing_to_what_was_replaced(tmp_path):
    write(tmp_path / "real", "old")
    (tmp_path / "link").symlink_to("real")
    write(tmp_path / "link", "new", overwrite=True)
    assert (tmp_path / "link").is_symlink()
    assert content(tmp_path / "real") == "new"


def test_of_two_runs_at_once_the_slower_is_refused(tmp_path):
    with pytest.raises(OutputExistsError), StagedFolder(tmp_path / "out", MARKER) as folder:
        (folder / MARKER).write_text("slow", encoding="utf-8")
        write(tmp_path / "out", "fast")
    assert content(tmp_path / "out") == "fast"
    assert names(tmp_path) == ["out"]


def test_where_nothing_can_be_written(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(SaveError, match=r"found: .*; existing files are intact: choose another place"):
        write(tmp_path / "file" / "out", "new")


def test_what_killed_runs_left_is_removed(tmp_path):
    dead, name = dead_process(), "out [1]"
    for left in (f".{name}.{dead}.abc.partial", f".{name}.{os.getpid()}.abc.partial", f".other.{dead}.abc.partial"):
        (tmp_path / left).mkdir()
        (tmp_path / left / "x").touch()
    write(tmp_path / name, "new")
    assert names(tmp_path) == sorted([f".{name}.{os.getpid()}.abc.partial", f".other.{dead}.abc.partial", name])


def test_a_folder_that_had_just_stepped_aside_comes_back(tmp_path):
    # What a kill between the two renames leaves.
    write(tmp_path / "out", "old")
    (tmp_path / "out").rename(tmp_path / f".out.{dead_process()}.abc.old")
    with pytest.raises(OutputExistsError, match="--overwrite"):
        write(tmp_path / "out", "new")
    assert content(tmp_path / "out") == "old"
    assert names(tmp_path) == ["out"]


KILLED = """
import sys, time
from pathlib import Path
from recipeflow.files import StagedFolder
with StagedFolder(Path(sys.argv[1]), "marker.txt", overwrite=True) as folder:
    (folder / "marker.txt").write_text("half")
    print("writing", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("old", [False, True])
def test_a_killed_run_leaves_the_target_as_it_was(tmp_path, old):
    target = tmp_path / "out"
    if old:
        write(target, "old")
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(target)], stdout=subprocess.PIPE, cwd=ROOT)
    try:
        assert process.stdout.readline() == b"writing\n"
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert target.exists() == old
    assert not old or content(target) == "old"
    assert len(names(tmp_path)) == 1 + old
    write(target, "new", overwrite=True)
    assert content(target) == "new"
    assert names(tmp_path) == ["out"]


REPLACING = """
import sys
from pathlib import Path
from recipeflow.files import StagedFolder
number = 0
while True:
    with StagedFolder(Path(sys.argv[1]), "marker.txt", overwrite=True) as folder:
        for name in "abcdefgh":
            (folder / name).write_text(str(number))
        (folder / "marker.txt").write_text(str(number))
    number += 1
    print(number, flush=True)
"""


def test_a_run_killed_at_any_moment_leaves_a_whole_folder(tmp_path):
    target = tmp_path / "out"
    for round_ in range(6):
        process = subprocess.Popen([sys.executable, "-c", REPLACING, str(target)], stdout=subprocess.PIPE, cwd=ROOT)
        try:
            assert process.stdout.readline()
            time.sleep(0.003 * round_)
        finally:
            process.send_signal(signal.SIGKILL)
            process.communicate()
        # The next run brings back a folder that had stepped aside, and refuses to replace it.
        with pytest.raises(OutputExistsError):
            write(target, "new")
        assert {(target / name).read_text() for name in [*"abcdefgh", MARKER]} == {content(target)}
        assert names(tmp_path) == ["out"]


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o755), (0o077, 0o700), (0o002, 0o775)])
def test_the_folder_has_the_permissions_of_any_new_folder(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        write(tmp_path / "out", "new")
    finally:
        os.umask(before)
    assert (tmp_path / "out").stat().st_mode & 0o777 == mode
