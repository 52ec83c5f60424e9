import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from recipeflow.errors import (
    BrokenImageError,
    BrokenJSONError,
    DuplicateRecipeError,
    EmptyReleaseError,
    EncodingError,
    InvalidReleaseError,
    LineCountError,
    LineLengthError,
    MissingFileError,
    MissingFrameError,
    UnsafeIdError,
    VRFError,
)
from recipeflow.release import (
    ReleaseInfo,
    check_release,
    jsonstream,
    read_frames,
    read_info,
    read_release,
    scan_release,
    write_release,
)
from tests.making import EGG, INFO, RECIPES, SALAD, TEA, edit_annotations, make_frame, make_release

ROOT = Path(__file__).parents[2]


def only_problem(folder: Path):
    """The one problem of a release, which reading it raises too if it lies in what reading opens."""
    (problem,) = check_release(folder)
    str(problem).encode()
    return problem


def raised_by_reading(folder: Path):
    with pytest.raises(VRFError) as caught:
        list(read_release(folder))
    error = caught.value
    return error.problems if isinstance(error, InvalidReleaseError) else [error]


def where(problem):
    return type(problem), problem.file, problem.recipe, problem.place, problem.value


def test_a_valid_release_reads_back_as_it_was_written(release):
    assert check_release(release) == []
    assert list(read_release(release)) == list(RECIPES)
    assert read_info(release) == INFO


def test_recipes_are_streamed(release):
    path = release / "annotations.json"
    path.write_bytes(path.read_bytes()[:-100])
    stream = read_release(release)
    assert [next(stream).id, next(stream).id] == [SALAD.id, EGG.id]
    with pytest.raises(BrokenJSONError):
        next(stream)


def test_only_some_recipes(release):
    assert list(read_release(release, {EGG.id})) == [EGG]
    edit_annotations(release, lambda raw: raw[TEA.id].pop("recipe_flows"))
    assert list(read_release(release, [SALAD.id, EGG.id])) == [SALAD, EGG]
    assert [checked.id for checked in scan_release(release, {TEA.id})] == [TEA.id]


def test_annotations_alone_are_a_release(tmp_path, release):
    (tmp_path / "bare").mkdir()
    shutil.copy(release / "annotations.json", tmp_path / "bare")
    assert check_release(tmp_path / "bare") == []
    for recipe in read_release(tmp_path / "bare"):
        assert (recipe.title, recipe.url, recipe.frames_folder, recipe.has_text) == (None, None, None, False)
        assert {entity.text for entity in recipe.entities.values()} == {None}
        assert read_frames(recipe) == ({}, [])
    assert read_info(tmp_path / "bare") == ReleaseInfo()


def test_frames_are_read_once_each(release):
    recipe = next(read_release(release))
    assert read_frames(recipe) == ({number: make_frame(number) for number in (1, 3, 5, 7)}, [])


def test_text_with_the_line_ends_of_windows(release):
    for path in release.rglob("*.txt"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert check_release(release) == []
    assert list(read_release(release)) == list(RECIPES)


def test_text_without_a_last_line_end(release):
    for path in release.rglob("*.txt"):
        path.write_bytes(path.read_bytes().removesuffix(b"\n"))
    assert list(read_release(release)) == list(RECIPES)


def test_links_are_followed(tmp_path, release):
    (tmp_path / "link").symlink_to(release)
    egg = release / "recipes" / EGG.id
    egg.rename(tmp_path / "elsewhere")
    egg.symlink_to(tmp_path / "elsewhere")
    assert check_release(tmp_path / "link") == []
    assert list(read_release(tmp_path / "link")) == list(RECIPES)


# Bad input, file by file


def test_a_folder_that_is_not_there(tmp_path):
    problem = only_problem(tmp_path / "nowhere")
    assert where(problem)[:2] == (MissingFileError, "annotations.json")
    assert str(tmp_path / "nowhere") in problem.message
    assert "vrf kitchen" in problem.hint
    assert [type(p) for p in raised_by_reading(tmp_path / "nowhere")] == [MissingFileError]


def test_a_folder_that_is_a_file(tmp_path):
    (tmp_path / "file").touch()
    assert type(only_problem(tmp_path / "file")) is MissingFileError


def test_annotations_that_are_a_folder(tmp_path):
    (tmp_path / "annotations.json").mkdir()
    assert type(only_problem(tmp_path)) is MissingFileError


def test_broken_annotations_name_byte_and_recipe(release, monkeypatch):
    path = release / "annotations.json"
    data = path.read_bytes()
    # Ids outside ASCII are written as escapes; in the file they may stand as they are.
    data = data.replace(json.dumps(EGG.id).encode(), f'"{EGG.id}"'.encode())
    byte = data.index(b'"recipe_flows"', data.index(EGG.id.encode())) + len('"recipe_flows"')
    path.write_bytes(data[:byte] + data[byte + 1 :])
    for chunk in (5, 1000, jsonstream.CHUNK):
        monkeypatch.setattr(jsonstream, "CHUNK", chunk)
        problems = check_release(release)
        assert [where(p)[:4] for p in problems] == [
            (BrokenJSONError, "annotations.json", EGG.id, f"byte {byte + 1}"),
        ]


def test_annotations_in_another_encoding(release):
    path = release / "annotations.json"
    data = path.read_bytes()
    byte = data.index(b"F-eq")
    path.write_bytes(data[:byte] + b"\x8d" + data[byte + 1 :])
    assert where(only_problem(release)) == (EncodingError, "annotations.json", None, f"byte {byte}", "0x8d")


@pytest.mark.parametrize("name", ["title.txt", "ingredients.txt", "instructions.txt"])
def test_text_in_another_encoding(release, name):
    path = release / "recipes" / EGG.id / name
    path.write_bytes("ゆで卵".encode("shift-jis"))
    expected = (EncodingError, f"recipes/{EGG.id}/{name}", EGG.id, "byte 0", "0x82")
    assert where(only_problem(release)) == expected
    assert [where(p) for p in raised_by_reading(release)] == [expected]


def test_urls_in_another_encoding_do_not_hide_other_problems(release):
    (release / "recipe_urls.txt").write_bytes(b"kurashiru.com/recipes/\xff\n")
    edit_annotations(release, lambda raw: raw[EGG.id]["recipe_flows"][0].update(label="?"))
    problems = check_release(release)
    assert where(problems[0]) == (EncodingError, "recipe_urls.txt", None, "byte 22", "0xff")
    assert [p.kind for p in problems[1:]] == ["UnknownLabelError"]
    assert [where(p) for p in raised_by_reading(release)] == [where(problems[0])]


@pytest.mark.parametrize("name", ["title.txt", "ingredients.txt", "instructions.txt"])
def test_texts_stand_together(release, name):
    (release / "recipes" / EGG.id / name).unlink()
    expected = (MissingFileError, f"recipes/{EGG.id}/{name}", EGG.id, None, name)
    assert where(only_problem(release)) == expected
    assert [where(p) for p in raised_by_reading(release)] == [expected]


@pytest.mark.parametrize(
    ("text", "count", "place"),
    [("", 0, "line 0"), ("卵２個\n", 1, "line 1"), ("卵２個\n水適量\n\n", 3, "line 2"), ("\n\n\n\n", 4, "line 2")],
    ids=["empty", "one less", "an empty line more", "only line ends"],
)
def test_the_wrong_number_of_lines(release, text, count, place):
    file = f"recipes/{EGG.id}/ingredients.txt"
    (release / file).write_text(text, encoding="utf-8")
    assert where(only_problem(release)) == (LineCountError, file, EGG.id, place, count)
    assert f"expected 2 lines as annotated, found {count}" in str(only_problem(release))


@pytest.mark.parametrize("line", ["水適", "水適量 ", ""], ids=["shorter", "longer", "empty"])
def test_a_line_of_another_length(release, line):
    file = f"recipes/{EGG.id}/ingredients.txt"
    (release / file).write_text(f"卵２個\n{line}\n", encoding="utf-8")
    expected = (LineLengthError, file, EGG.id, "line 1", line)
    assert where(only_problem(release)) == expected
    assert f"expected 3 characters as annotated, found {len(line)}" in str(only_problem(release))
    assert [where(p) for p in raised_by_reading(release)] == [expected]


def test_a_frame_number_without_a_file(release):
    file = f"recipes/{EGG.id}/frames/frame_4.jpg"
    (release / file).unlink()
    problem = only_problem(release)
    assert where(problem) == (MissingFrameError, file, EGG.id, "frame 4", 4)
    assert "vrf frames" in problem.hint
    assert list(read_release(release)) == list(RECIPES), "reading does not open frames"


@pytest.mark.parametrize(
    "data", [b"", b"<html>", make_frame(4)[:200], make_frame(4)[:-30]], ids=["empty", "page", "head", "cut"]
)
def test_a_frame_that_is_no_whole_image(release, data):
    file = f"recipes/{EGG.id}/frames/frame_4.jpg"
    (release / file).write_bytes(data)
    assert where(only_problem(release)) == (BrokenImageError, file, EGG.id, "frame 4", "frame_4.jpg")


def test_frames_nobody_uses_do_not_matter(release):
    (release / "recipes" / EGG.id / "frames" / "frame_100.jpg").write_bytes(b"")
    assert check_release(release) == []


@pytest.mark.parametrize("recipe_id", ["../x", "a/b", ".", "", "a\0b", "a\\b", "\ud800"], ids=repr)
def test_ids_that_could_leave_the_folder(release, recipe_id):
    (release / "recipe_urls.txt").unlink()
    # Whoever followed the id out of its place would stumble over these.
    for trap in (release / "x", release / "recipes" / "a" / "b", release / "recipes"):
        trap.mkdir(parents=True, exist_ok=True)
        (trap / "title.txt").write_bytes(b"\xff")
    edit_annotations(release, lambda raw: raw.update({recipe_id: raw.pop(EGG.id)}))
    expected = (UnsafeIdError, "annotations.json", recipe_id, None, recipe_id)
    assert where(only_problem(release)) == expected
    assert [where(p) for p in raised_by_reading(release)] == [expected]


def test_a_recipe_twice(release):
    path = release / "annotations.json"
    member = f"{json.dumps(EGG.id)}: {json.dumps(json.loads(path.read_text())[EGG.id])}"
    path.write_text(path.read_text()[:-1] + f", {member}}}")
    assert where(only_problem(release)) == (DuplicateRecipeError, "annotations.json", EGG.id, None, EGG.id)


def test_no_recipe_at_all(release):
    edit_annotations(release, dict.clear)
    (release / "recipe_urls.txt").unlink()
    problems = check_release(release)
    assert [type(p) for p in problems] == [EmptyReleaseError]
    assert [type(p) for p in raised_by_reading(release)] == [EmptyReleaseError]


def test_every_problem_of_every_recipe_is_found_at_once(release):
    def damage(raw):
        raw[SALAD.id]["ingredients"][0][0]["ne"] = "X-B"
        raw[SALAD.id]["state_changes"][0]["before"] = 99
        raw[EGG.id]["recipe_flows"][0]["label"] = "?"
        raw[EGG.id]["instructions"][0][0]["end_char"] = "3"
        raw[TEA.id]["recipe_flows"].append(raw[TEA.id]["recipe_flows"][0])
        raw["../x"] = raw[TEA.id]

    edit_annotations(release, damage)
    (release / "recipes" / SALAD.id / "ingredients.txt").write_text("短い\n", encoding="utf-8")
    (release / "recipes" / SALAD.id / "frames" / "frame_7.jpg").write_bytes(b"?")
    (release / "recipes" / EGG.id / "title.txt").unlink()
    (release / "recipes" / EGG.id / "instructions.txt").write_text("短い\n短い\n短い\n", encoding="utf-8")
    (release / "recipes" / EGG.id / "frames" / "frame_9.jpg").unlink()
    (release / "recipes" / TEA.id / "instructions.txt").write_bytes(b"\xff")
    (release / "recipe_urls.txt").write_text(f"a/{SALAD.id}\na/{EGG.id}\na/more\n", encoding="utf-8")
    (release / "release.json").write_text('{"version": 2}', encoding="utf-8")
    problems = check_release(release)
    found = {(recipe, kind) for recipe, kind in ((p.recipe, p.kind) for p in problems)}
    assert found == {
        (SALAD.id, "UnknownTagError"),
        (SALAD.id, "LineCountError"),
        (SALAD.id, "MissingFrameError"),
        (SALAD.id, "BrokenImageError"),
        (EGG.id, "UnknownLabelError"),
        (EGG.id, "WrongTypeError"),
        (EGG.id, "MissingFileError"),
        (EGG.id, "LineLengthError"),
        (EGG.id, "MissingFrameError"),
        (TEA.id, "DuplicateEdgeError"),
        (TEA.id, "EncodingError"),
        (TEA.id, "UrlListError"),
        ("../x", "UnsafeIdError"),
        ("../x", "DuplicateEdgeError"),
        ("../x", "UrlListError"),
        ("more", "UrlListError"),
        (None, "WrongTypeError"),
    }
    # The unreadable word's own line is left out: what its length should be is not known.
    assert [p.place for p in problems if p.kind == "LineLengthError"] == ["line 1", "line 2"]


def test_scanning_goes_on_after_a_bad_recipe(release):
    edit_annotations(release, lambda raw: raw[EGG.id]["recipe_flows"][0].update(label="?"))
    seen = []
    check_release(release, lambda recipes: (seen.append(checked) or checked for checked in recipes))
    for checked in (list(scan_release(release)), seen):
        assert [(c.id, c.recipe is None, len(c.problems)) for c in checked] == [
            (SALAD.id, False, 0),
            (EGG.id, True, 1),
            (TEA.id, False, 0),
        ]
    with pytest.raises(InvalidReleaseError, match="1 problem"):
        list(read_release(release))


# The official release


def test_the_official_release_is_valid_and_comes_back_byte_by_byte(official, tmp_path):
    assert check_release(official) == []
    write_release(tmp_path / "copy", read_release(official))
    for name in ("annotations.json", "recipe_urls.txt"):
        assert (tmp_path / "copy" / name).read_bytes() == (official / name).read_bytes()
    assert sorted(path.name for path in (tmp_path / "copy").iterdir()) == ["annotations.json", "recipe_urls.txt"]
    assert list(read_release(tmp_path / "copy")) == list(read_release(official))


def test_the_official_release_has_no_text_and_full_addresses(official):
    recipes = list(read_release(official))
    assert len(recipes) == 200
    assert not any(recipe.has_text or recipe.frames_folder for recipe in recipes)
    assert recipes[0].url == "https://www.kurashiru.com/recipes/a3555f45-f779-4333-adb2-ddfd01f31c12"


def test_reading_needs_no_torch():
    code = (
        "import sys; import recipeflow.release, recipeflow.release.checking, recipeflow.graph.statistics;"
        "print([name for name in ('torch', 'datasets', 'transformers', 'numpy') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert result.stdout == "[]\n"


def test_a_recipe_without_lines_keeps_its_title(tmp_path):
    empty = type(EGG)("empty", (), (), title="空")
    make_release(tmp_path / "out", [empty], info=None)
    assert list(read_release(tmp_path / "out")) == [empty]


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [("title.txt", "two\rlines\n", "line 0"), ("title.txt", "two\nlines\n", "line 1")],
)
def test_text_that_could_not_be_written_again_is_a_problem(release, name, text, place):
    (release / "recipes" / EGG.id / name).write_text(text, encoding="utf-8", newline="")
    assert where(only_problem(release))[:4] == (LineCountError, f"recipes/{EGG.id}/{name}", EGG.id, place)
