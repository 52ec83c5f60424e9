import os
import shutil
from pathlib import Path

import pytest

from recipeflow.release import release_fingerprint
from tests.making import EGG, edit_annotations


def touch_later(path: Path) -> None:
    stat = path.stat()
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))


FRAME = f"recipes/{EGG.id}/frames/frame_4.jpg"
CHANGES = {
    "annotations": lambda folder: edit_annotations(folder, lambda raw: raw[EGG.id]["recipe_flows"].pop()),
    "urls": lambda folder: (folder / "recipe_urls.txt").unlink(),
    "info": lambda folder: (folder / "release.json").write_text("{}"),
    "a text": lambda folder: (folder / f"recipes/{EGG.id}/title.txt").write_text("new"),
    "a frame": lambda folder: (folder / FRAME).write_bytes(b"new"),
    "a frame of the same size": lambda folder: touch_later(folder / FRAME),
    "a frame less": lambda folder: (folder / FRAME).unlink(),
    "a frame more": lambda folder: (folder / FRAME).with_name("frame_5.jpg").touch(),
    "a recipe's folder less": lambda folder: shutil.rmtree(folder / "recipes" / EGG.id),
}


@pytest.mark.parametrize("name", CHANGES)
def test_every_change_changes_the_fingerprint(release, name):
    before = release_fingerprint(release)
    assert release_fingerprint(release) == before
    CHANGES[name](release)
    assert release_fingerprint(release) != before


def test_the_fingerprint_looks_behind_links_and_over_broken_ones(tmp_path, release):
    egg = release / "recipes" / EGG.id
    egg.rename(tmp_path / "elsewhere")
    egg.symlink_to(tmp_path / "elsewhere")
    (release / "recipes" / "loop").symlink_to(release / "recipes")
    (release / "recipes" / "lost").symlink_to(tmp_path / "nowhere")
    before = release_fingerprint(release)
    (tmp_path / "elsewhere" / "frames" / "frame_4.jpg").write_bytes(b"new")
    assert release_fingerprint(release) != before


def test_the_fingerprint_looks_at_what_a_linked_frame_points_to(tmp_path, release):
    (release / FRAME).rename(tmp_path / "frame.jpg")
    (release / FRAME).symlink_to(tmp_path / "frame.jpg")
    before = release_fingerprint(release)
    (tmp_path / "frame.jpg").write_bytes(b"new")
    assert release_fingerprint(release) != before
