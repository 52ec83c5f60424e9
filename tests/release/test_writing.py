import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from recipeflow.errors import InvalidReleaseError, OutputExistsError
from recipeflow.release import ReleaseInfo, ReleaseWriter, check_release, read_info, read_release, write_release
from recipeflow.release.recipe import Flow, Line, StateChange, Word
from tests.making import EGG, INFO, RECIPES, SALAD, TEA, frames_of, make_frame, make_release

ROOT = Path(__file__).parents[2]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_copy_is_equal_in_every_byte(tmp_path, release):
    write_release(tmp_path / "copy", read_release(release), read_info(release))
    assert bytes_of(tmp_path / "copy") == bytes_of(release)


def test_only_used_frames_are_copied(tmp_path, release):
    unused = release / "recipes" / EGG.id / "frames" / "frame_100.jpg"
    unused.write_bytes(make_frame(100))
    write_release(tmp_path / "copy", read_release(release), INFO)
    assert bytes_of(release).keys() - bytes_of(tmp_path / "copy").keys() == {str(unused.relative_to(release))}


def test_a_release_can_be_rewritten_from_itself(release):
    before = bytes_of(release)
    write_release(release, (recipe for recipe in read_release(release)), INFO, overwrite=True)
    assert bytes_of(release) == before


def test_recipes_without_text_or_frames(tmp_path):
    bare = replace(
        EGG,
        title=None,
        url=None,
        ingredients=tuple(replace(line, text=None) for line in EGG.ingredients),
        instructions=tuple(replace(line, text=None) for line in EGG.instructions),
    )
    write_release(tmp_path / "out", [bare])
    assert names(tmp_path / "out") == ["annotations.json"]
    assert list(read_release(tmp_path / "out")) == [bare]


def test_text_and_frames_each_for_itself(tmp_path):
    with ReleaseWriter(tmp_path / "out") as writer:
        writer.add(SALAD, frames_of(SALAD))
        writer.add(EGG)
    salad, egg = read_release(tmp_path / "out")
    assert salad.frames_folder == tmp_path / "out" / "recipes" / SALAD.id / "frames"
    assert egg.frames_folder is None
    assert (salad, egg) == (SALAD, EGG)
    assert read_info(tmp_path / "out") == ReleaseInfo()


def with_text(section, text):
    lines = tuple(replace(line, text=text) if i == 0 else line for i, line in enumerate(getattr(EGG, section)))
    return replace(EGG, **{section: lines})


BAD = {
    "an id that leaves the folder": (replace(EGG, id="../x", url=None), ["UnsafeIdError"]),
    "an edge to nowhere": (replace(EGG, flows=(Flow("0-0-0", "9-9-9", "F-eq"),)), ["DanglingEdgeError"]),
    "a cycle": (
        replace(EGG, flows=(*EGG.flows, Flow(EGG.flows[0].end, EGG.flows[0].start, "F-eq"))),
        ["CycleError"],
    ),
    "words that do not tile": (replace(TEA, ingredients=(Line((Word(1, 2),), "あい"),)), None),
    "a state change of nothing": (replace(EGG, state_changes=(StateChange("x", 1, 2),)), ["DanglingEdgeError"]),
    "a state change of a food": (replace(EGG, state_changes=(StateChange("0-0-0", 1, 2),)), ["DanglingEdgeError"]),
    "frame 0": (replace(EGG, state_changes=(replace(EGG.state_changes[0], before=0),)), ["WrongTypeError"]),
    "a longer line": (with_text("instructions", "１．水を沸かし直します。"), ["LineLengthError"]),
    "a line break": (with_text("ingredients", "卵２\n"), ["LineCountError"]),
    "a lone line without text": (with_text("ingredients", None), ["LineCountError"]),
    "text without a title": (replace(EGG, title=None), ["LineCountError"]),
    "half a surrogate pair": (replace(EGG, title="卵\ud83c"), ["EncodingError"]),
    "the address of another": (replace(EGG, url="https://www.kurashiru.com/recipes/other"), ["UrlListError"]),
}


@pytest.mark.parametrize("name", BAD)
def test_what_could_not_be_read_back_is_not_written(tmp_path, name):
    recipe, kinds = BAD[name]
    with pytest.raises(InvalidReleaseError) as caught:
        write_release(tmp_path / "out", [SALAD, recipe])
    assert kinds is None or [problem.kind for problem in caught.value.problems] == kinds
    assert {problem.recipe for problem in caught.value.problems} == {recipe.id}
    assert names(tmp_path) == []


def test_a_recipe_twice(tmp_path):
    with pytest.raises(InvalidReleaseError, match="DuplicateRecipeError"):
        write_release(tmp_path / "out", [EGG, SALAD, EGG])
    assert names(tmp_path) == []


def test_no_recipe_at_all(tmp_path):
    with pytest.raises(InvalidReleaseError, match="EmptyReleaseError"):
        write_release(tmp_path / "out", [])
    assert names(tmp_path) == []


def test_addresses_for_all_or_for_none(tmp_path):
    with pytest.raises(InvalidReleaseError, match="UrlListError"):
        write_release(tmp_path / "out", [SALAD, replace(EGG, url=None)])
    assert names(tmp_path) == []


def test_a_used_frame_without_an_image(tmp_path):
    with pytest.raises(InvalidReleaseError, match="MissingFrameError"), ReleaseWriter(tmp_path / "out") as writer:
        writer.add(EGG, {2: make_frame(2), 9: make_frame(9)})
    assert names(tmp_path) == []


def test_a_broken_frame_is_not_copied_on(tmp_path, release):
    (release / "recipes" / EGG.id / "frames" / "frame_4.jpg").write_bytes(b"?")
    with pytest.raises(InvalidReleaseError, match="BrokenImageError"):
        write_release(tmp_path / "copy", read_release(release))
    assert names(tmp_path) == ["release"]


def test_information_that_is_no_json(tmp_path):
    for details in ({"x": object()}, {"x": float("nan")}):
        with pytest.raises((TypeError, ValueError)):
            write_release(tmp_path / "out", [EGG], ReleaseInfo(details=details))
        assert names(tmp_path) == []


def test_an_error_in_the_middle_leaves_the_old_release(release):
    before = bytes_of(release)

    def failing():
        yield SALAD
        raise RuntimeError("no more gas")

    with pytest.raises(RuntimeError, match="no more gas"):
        write_release(release, failing(), overwrite=True)
    assert bytes_of(release) == before
    assert names(release.parent) == ["release"]


def test_nothing_is_replaced_unasked(tmp_path, release):
    with pytest.raises(OutputExistsError, match="--overwrite"):
        write_release(release, RECIPES)
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").touch()
    with pytest.raises(OutputExistsError, match="choose another output"):
        write_release(tmp_path / "photos", RECIPES, overwrite=True)
    assert names(tmp_path / "photos") == ["cat.jpg"]


KILLED = """
import sys, time
from recipeflow.release import ReleaseWriter
from tests.making import EGG, SALAD, frames_of
with ReleaseWriter(sys.argv[1], overwrite=True) as writer:
    writer.add(EGG, frames_of(EGG))
    writer.annotations.flush()
    print("writing", flush=True)
    time.sleep(60)
"""


def test_a_killed_writer_leaves_the_old_release_and_no_rubbish_for_long(release):
    before = bytes_of(release)
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(release)], stdout=subprocess.PIPE, cwd=ROOT)
    try:
        assert process.stdout.readline() == b"writing\n"
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert bytes_of(release) == before
    assert check_release(release) == []
    assert len(names(release.parent)) == 2
    write_release(release, [SALAD], overwrite=True)
    assert names(release.parent) == ["release"]
    assert list(read_release(release)) == [SALAD]


def test_writing_is_the_same_every_time(tmp_path):
    for name in ("a", "b"):
        make_release(tmp_path / name)
    assert bytes_of(tmp_path / "a") == bytes_of(tmp_path / "b")
