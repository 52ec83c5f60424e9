"""``vrf build`` on releases with problems: the whole list, or the rest of the recipes."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recipeflow.dataset.build import build_dataset
from recipeflow.dataset.folds import assign_folds
from recipeflow.errors import InvalidReleaseError
from recipeflow.release import check_release
from tests.building import many_recipes, read_rows, run_vrf
from tests.making import EGG, RECIPES, SALAD, edit_annotations, make_release


# Each damages one recipe of a release in one way.
def break_frame(release: Path, recipe_id: str) -> None:
    path = next(iter(sorted((release / "recipes" / recipe_id / "frames").iterdir())))
    path.write_bytes(path.read_bytes()[:-150])


def lose_frame(release: Path, recipe_id: str) -> None:
    next(iter(sorted((release / "recipes" / recipe_id / "frames").iterdir()))).unlink()


def shorten_text(release: Path, recipe_id: str) -> None:
    path = release / "recipes" / recipe_id / "instructions.txt"
    path.write_text(path.read_text(encoding="utf-8").replace("。", ""), encoding="utf-8")


def spoil_encoding(release: Path, recipe_id: str) -> None:
    (release / "recipes" / recipe_id / "title.txt").write_bytes(b"\xff\xfe")


def misname_label(release: Path, recipe_id: str) -> None:
    edit_annotations(release, lambda raw: raw[recipe_id]["recipe_flows"][0].update(label="nothing"))


def turn_round(release: Path, recipe_id: str) -> None:
    def change(raw: dict) -> None:
        flow = raw[recipe_id]["recipe_flows"][0]
        turned = flow | {"start_vertex": flow["end_vertex"], "end_vertex": flow["start_vertex"]}
        raw[recipe_id]["recipe_flows"].append(turned)

    edit_annotations(release, change)


def drop_word(release: Path, recipe_id: str) -> None:
    edit_annotations(release, lambda raw: raw[recipe_id]["ingredients"][0].pop(0))


DAMAGES = (break_frame, lose_frame, shorten_text, spoil_encoding, misname_label, turn_round, drop_word)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    damaged=st.lists(
        st.tuples(st.sampled_from(DAMAGES), st.integers(0, 4)), min_size=1, max_size=4, unique_by=lambda pair: pair[1]
    )
)
def test_a_damaged_release_is_refused_with_the_list_of_check_and_skipped_by_recipe(tmp_path_factory, damaged):
    folder = tmp_path_factory.mktemp("damaged")
    release = make_release(folder / "release", many_recipes(6))
    for damage, number in damaged:
        damage(release, f"r{number:03d}")
    with pytest.raises(InvalidReleaseError) as caught:
        build_dataset(release, folder / "vrf")
    problems = [problem.as_dict() for problem in check_release(release)]
    assert [problem.as_dict() for problem in caught.value.problems] == problems
    assert [path.name for path in folder.iterdir()] == ["release"]

    built = build_dataset(release, folder / "vrf", skip_bad=True)
    bad = {f"r{number:03d}" for _, number in damaged}
    assert set(built.left_out) == bad
    assert [problem.as_dict() for problem in built.problems] == problems == built.manifest["problems"]
    rest = [recipe for recipe in many_recipes(6) if recipe.id not in bad]
    rows = read_rows(folder / "vrf", "image_pairs")
    assert [row["recipe_id"] for row in rows] == [recipe.id for recipe in rest for _ in recipe.state_changes]
    assert {row["recipe_id"]: row["fold"] for row in rows} == assign_folds(recipe.id for recipe in rest)
    for config in ("recipes", "flow_graphs"):
        assert [row["recipe_id"] for row in read_rows(folder / "vrf", config)] == [recipe.id for recipe in rest]
    assert f"problems: {len(bad)};" in (folder / "vrf" / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("damage", [break_frame, misname_label])
def test_problems_are_found_in_worker_processes_too(tmp_path, damage):
    release = make_release(tmp_path / "release", many_recipes(6))
    damage(release, "r005")
    with pytest.raises(InvalidReleaseError) as caught:
        build_dataset(release, tmp_path / "vrf", num_proc=2)
    assert [problem.as_dict() for problem in caught.value.problems] == [p.as_dict() for p in check_release(release)]
    built = build_dataset(release, tmp_path / "vrf", num_proc=2, skip_bad=True)
    assert built.left_out == ["r005"]


def test_a_recipe_id_that_is_there_twice_is_left_out_altogether(release, tmp_path):
    path = release / "annotations.json"
    text = path.read_text(encoding="utf-8")
    tea = json.dumps(json.loads(text)["tea_3"])
    path.write_text(f'{text[:-1]}, "tea_3": {tea}}}', encoding="utf-8")
    built = build_dataset(release, tmp_path / "vrf", skip_bad=True)
    assert built.left_out == ["tea_3"]
    assert [row["recipe_id"] for row in read_rows(tmp_path / "vrf", "recipes")] == [SALAD.id, EGG.id]


def test_recipes_with_impossible_ids_are_left_out(release, tmp_path):
    names = ["../outside", "\udc80", ""]
    edit_annotations(release, lambda raw: raw.update(dict.fromkeys(names, raw["tea_3"])))
    done = run_vrf(tmp_path, "build", "release", "--skip-bad", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["left_out"] == names
    assert [row["recipe_id"] for row in read_rows(tmp_path / "vrf", "recipes")] == [recipe.id for recipe in RECIPES]


def test_skip_bad_needs_a_recipe_that_is_left(release, tmp_path):
    for recipe in RECIPES:
        break_frame(release, recipe.id)
    with pytest.raises(InvalidReleaseError, match="none would be left") as caught:
        build_dataset(release, tmp_path / "vrf", skip_bad=True)
    assert len(caught.value.problems) == 3
    assert not (tmp_path / "vrf").exists()


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("annotations.json", b'{"tea_3": {', "BrokenJSONError"),
        ("release.json", b'{"source": 3}', "WrongTypeError"),
        ("recipe_urls.txt", b"\xff", "EncodingError"),
    ],
)
def test_problems_of_the_whole_release_cannot_be_skipped(release, tmp_path, name, content, kind):
    (release / name).write_bytes(content)
    with pytest.raises(InvalidReleaseError, match="as a whole") as caught:
        build_dataset(release, tmp_path / "vrf", skip_bad=True)
    assert kind in [problem.kind for problem in caught.value.problems]
    assert not (tmp_path / "vrf").exists()


def test_the_command_prints_every_problem_and_says_who_is_left_out(tmp_path):
    release = make_release(tmp_path / "release", many_recipes(40))
    for number in range(1, 40):
        misname_label(release, f"r{number:03d}")
    done = run_vrf(tmp_path, "build", "release")
    assert done.returncode == 1
    assert "--skip-bad" in done.stderr
    assert set(re.findall(r"r\d{3}", done.stderr)) == {f"r{number:03d}" for number in range(1, 40)}
    checked = run_vrf(tmp_path, "check", "release")
    listed = [line for line in checked.stdout.splitlines() if "nothing" in line]
    assert len(listed) == 39
    assert set(listed) <= set(done.stderr.splitlines())
    done = run_vrf(tmp_path, "build", "release", "--skip-bad")
    assert done.returncode == 0
    (left_out,) = re.findall(r"left out: (.*)", done.stderr)
    assert left_out.split(", ") == [f"r{number:03d}" for number in range(1, 40)]
