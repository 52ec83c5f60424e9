"""A release with its own language, tags and labels; the paper's are the default."""

import json

import pytest

from recipeflow.errors import OffsetError, ReleaseProblem, UnknownLabelError, UnknownTagError, WrongTypeError
from recipeflow.release import ReleaseInfo, Scheme, check_release, read_info, read_release, read_scheme, write_release
from recipeflow.release.recipe import LABELS, TAGS, Flow, Line, Recipe, Word
from recipeflow.release.scheme import PAPER
from tests.making import RECIPES, edit_annotations

ENGLISH = Scheme("en", {**TAGS, "At": "Action by tool"}, {**LABELS, "s": "?"})
PIE = Recipe(
    "pie",
    (),
    (Line((Word(0, 4, "Ac-B"), Word(5, 8), Word(9, 12, "F-B"), Word(12, 13)), "Bake the pie."),),
    (Flow("1-0-2", "1-0-0", "s"),),
    title="Pie",
)


@pytest.fixture
def pie(tmp_path):
    write_release(tmp_path / "pie", [PIE], ReleaseInfo(scheme=ENGLISH))
    return tmp_path / "pie"


def change_info(folder, **changes):
    path = folder / "release.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changes), encoding="utf-8")


def test_it_comes_back_and_an_empty_ingredient_list_is_valid(pie):
    assert check_release(pie) == []
    assert list(read_release(pie)) == [PIE]
    assert read_scheme(pie) == ENGLISH
    assert PIE.entities["1-0-0"].text == "Bake"
    assert ENGLISH.iob2_tags[-2:] == ("B-At", "I-At")


def test_the_papers_scheme_is_the_default_and_is_not_written(release):
    assert read_scheme(release) == PAPER
    assert tuple(read_release(release)) == RECIPES
    assert set(json.loads((release / "release.json").read_text(encoding="utf-8"))) == {
        *("source", "licence", "version", "glossary", "seed")
    }


def test_the_order_of_tags_is_part_of_the_scheme():
    turned = Scheme(tags=dict(reversed(TAGS.items())))
    assert '"tags"' in ReleaseInfo(scheme=turned).to_json()


def test_undeclared_tags_and_labels_and_gaps_are_problems(pie):
    change_info(pie, tags=TAGS, labels=LABELS)
    assert [type(problem) for problem in check_release(pie)] == [UnknownLabelError]
    change_info(pie, labels=ENGLISH.labels, language="ja")
    assert {type(problem) for problem in check_release(pie)} == {OffsetError}
    change_info(pie, language="en", tags={"F": "Food"})
    assert [type(problem) for problem in check_release(pie)] == [UnknownTagError]


def test_only_spaces_may_be_between_words(pie):
    (pie / "recipes" / "pie" / "instructions.txt").write_text("Bake+the pie.\n", encoding="utf-8")
    (problem,) = check_release(pie)
    assert isinstance(problem, OffsetError)
    assert "found '+'" in problem.message
    edit_annotations(pie, lambda raw: raw["pie"]["instructions"][0][0].update(start_char=1))
    assert any("starts at 0" in problem.message for problem in check_release(pie))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("language", "English!"),
        ("language", 3),
        ("tags", ["F"]),
        ("tags", {}),
        ("tags", {"F-x": "no hyphen"}),
        ("labels", {"a b": "no space"}),
        ("labels", {"Targ": 1}),
        ("predicted_by", 1),
    ],
)
def test_a_scheme_of_another_form_is_a_problem_of_release_json(pie, key, value):
    change_info(pie, **{key: value})
    found = [problem for problem in check_release(pie) if problem.file == "release.json"]
    assert [(type(problem), problem.place) for problem in found] == [(WrongTypeError, key)]
    if key != "predicted_by":
        with pytest.raises(ReleaseProblem, match=f"release.json, {key}"):
            list(read_release(pie))


def test_a_predicted_release_names_its_parser(tmp_path):
    info = ReleaseInfo(scheme=ENGLISH, predicted_by="owner/parser")
    write_release(tmp_path / "out", [PIE], info)
    assert read_info(tmp_path / "out") == info
