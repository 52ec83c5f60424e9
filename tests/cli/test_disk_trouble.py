"""A full disk and a folder that nothing can be written to: one line that says so, and nothing left behind."""

import errno
import os
import shutil
import subprocess
from pathlib import Path

import datasets
import pytest

from recipeflow.errors import SaveError
from recipeflow.files import check_writable, failed_path, write_aside, write_failure
from tests.building import all_files
from tests.cli.commanding import full_disk, vrf
from tests.making import make_release
from tests.search.searching import make_table, own_cache  # noqa: F401  (autouse)


def assert_told(answer, path: Path | str, reason: int = errno.EFBIG) -> None:
    assert "Traceback" not in answer.stderr
    line = answer.stderr.splitlines()[-1]
    assert line.startswith(f"error: SaveError: expected to be able to write {path}")
    assert f"found: {os.strerror(reason)}; existing files are intact: " in line
    assert answer.code == 1


@pytest.mark.parametrize(
    "command",
    [
        ("kitchen", "OUT", "--recipes", 1, "--workers", 1),
        ("kitchen", "OUT", "--recipes", 2, "--workers", 2),
        ("build", "RELEASE", "--out", "OUT"),
        ("build", "RELEASE", "--out", "OUT", "--num-proc", 2),
        ("explore", "RELEASE", "--export", "OUT"),
        ("download", "OUT", "--annotations-only", "--annotations", "RELEASE"),
    ],
    ids=lambda command: f"{command[0]}-{command[-1]}",
)
def test_a_full_disk_is_one_line_and_leaves_nothing(release, tmp_path, command):
    names = {"OUT": tmp_path / "out", "RELEASE": release}
    before = {path.name for path in tmp_path.iterdir()}
    with full_disk(300):
        answer = vrf(*(names.get(part, part) for part in command))
    assert_told(answer, tmp_path / "out")
    left = {path.name for path in tmp_path.iterdir()} - before
    assert left <= ({"out"} if command[0] == "download" else set())


@pytest.fixture(scope="module")
def indexed(tmp_path_factory):
    """A dataset, a model with an index, and the options with which that was made."""
    folder = tmp_path_factory.mktemp("indexed")
    table = make_table(folder, recipes=3)
    model, processor = table.make_model()
    model.save_pretrained(folder / "model", processor=processor)
    options = ("--model", folder / "model", "--weights", table.weights, "--cache", table.cache)
    assert vrf("index", table.folder, *options).code == 0
    return table.folder, folder / "model", options


def test_a_full_disk_leaves_the_old_index(indexed, monkeypatch, tmp_path):
    dataset, model, options = indexed
    before = all_files(model)
    with full_disk(300):
        assert_told(vrf("index", dataset, *options), "")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path)
    with full_disk(300):
        assert_told(vrf("index", dataset, *options), "")  # the cache of datasets is full, too
    assert all_files(model) == before


def test_a_file_that_cannot_be_written_is_left_as_it_was(tmp_path):
    path = tmp_path / "results.json"
    write_aside(path, "old")
    with full_disk(300), pytest.raises(SaveError, match=r"results\.json, found: File too large; .* free some space"):
        write_aside(path, "x" * 1000)
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == {"results.json": "old"}
    with pytest.raises(SaveError, match=r"Not a directory|File exists"):
        write_aside(path / "inside", "new")


def test_what_is_behind_a_library_s_error_is_found():
    wrapped = RuntimeError("An error occurred while generating the dataset")
    wrapped.__cause__ = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/data/x")
    assert (write_failure(wrapped), failed_path(wrapped)) == (errno.ENOSPC, "/data/x")
    assert write_failure(RuntimeError("I/O error: No space left on device (os error 28)")) == errno.ENOSPC
    assert write_failure(FileNotFoundError(errno.ENOENT, "No such file")) is None
    assert write_failure(ValueError("bug")) is None


@pytest.fixture
def read_only(tmp_path):
    """A folder on a read-only file system, which stops root too."""
    folder = tmp_path / "read-only"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "ro,size=1m", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("needs the right to mount a file system")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_read_only_folder_is_one_line(read_only, indexed, tmp_path):
    dataset, model, _ = indexed
    release = make_release(tmp_path / "small")
    for command in (
        ("train", dataset, "--out", read_only / "run"),
        ("experiment", dataset, "--out", read_only / "run"),
        ("kitchen", read_only / "run"),
        ("build", release, "--out", read_only / "run"),
    ):
        assert_told(vrf(*command), read_only / "run", errno.EROFS)
    for command in (
        ("calibrate", dataset, "--model", model, "--plot", read_only / "plot.png"),
        ("search", "--action", "切る", "--model", model, "--picture", read_only / "found.png"),
    ):
        assert_told(vrf(*command), read_only, errno.EROFS)


def test_a_folder_that_may_not_be_written_to_is_refused_early(tmp_path):
    check_writable(tmp_path / "new" / "folder")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(SaveError, match="Not a directory"):
        check_writable(tmp_path / "file" / "run")
    (tmp_path / "closed").mkdir(mode=0o500)
    if os.geteuid():
        with pytest.raises(SaveError, match="Permission denied"):
            check_writable(tmp_path / "closed" / "run")
