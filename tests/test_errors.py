import json
import pickle

import pytest

from recipeflow import errors
from recipeflow.errors import InvalidReleaseError, ReleaseProblem, UnknownTagError, VRFError, printable, short, show

PROBLEM = UnknownTagError(
    "expected a tag, found 'X-B'",
    file="annotations.json",
    recipe="salad",
    place="word 1-0-2",
    value="X-B",
    hint="see the eight tags",
)


def test_a_problem_says_where_what_and_what_to_do():
    assert str(PROBLEM) == (
        "annotations.json, recipe salad, word 1-0-2: expected a tag, found 'X-B' (see the eight tags)"
    )
    assert PROBLEM.kind == "UnknownTagError"


def test_a_problem_without_a_place_is_only_its_message():
    assert str(ReleaseProblem("expected more")) == "expected more"


def test_an_empty_id_differs_from_no_id():
    assert ReleaseProblem("m", recipe="").where == "recipe (no id)"
    assert ReleaseProblem("m").where == ""


def test_what_a_terminal_cannot_show_is_escaped():
    problem = ReleaseProblem("m", recipe="a\x1b[31m\ud800")
    assert str(problem) == "recipe a\\x1b[31m\\ud800: m"
    assert printable("きゅうり １本\n") == "きゅうり １本\\n"


def test_a_row_is_json_whatever_the_value():
    nested = []
    for _ in range(900):
        nested = [nested]
    for value in (None, "X", 3, (1, 2), nested, {"a": nested}, "\ud800", float("nan")):
        row = ReleaseProblem("m", value=value).as_dict()
        assert json.loads(json.dumps(row)) == row
    assert ReleaseProblem("m", value=3).as_dict()["value"] == "3"
    assert ReleaseProblem("m", value="X").as_dict()["value"] == "X"


def test_long_values_are_cut():
    assert len(show("x" * 10_000)) < 100
    assert len(short(10**4000)) < 100
    assert show(True) == "bool True"


def test_problems_survive_the_way_from_a_worker():
    copy = pickle.loads(pickle.dumps(PROBLEM))
    assert type(copy) is UnknownTagError
    assert copy.as_dict() == PROBLEM.as_dict()
    assert str(copy) == str(PROBLEM)


def test_a_list_of_problems_survives_the_way_from_a_worker():
    error = InvalidReleaseError([PROBLEM, PROBLEM], "Fix them.")
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error)
    assert [problem.as_dict() for problem in copy.problems] == [PROBLEM.as_dict()] * 2


@pytest.mark.parametrize(("count", "head", "more"), [(1, "1 problem:", None), (25, "25 problems:", "… and 5 more")])
def test_a_list_of_problems_is_reported_up_to_twenty(count, head, more):
    text = str(InvalidReleaseError([PROBLEM] * count))
    assert head in text
    assert text.count("UnknownTagError") == min(count, 20)
    assert (more in text) if more else ("more" not in text)


def test_every_kind_says_what_it_is():
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, VRFError)]
    assert len(kinds) > 20
    assert all(kind.__doc__ for kind in kinds)
