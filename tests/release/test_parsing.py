import pytest

from recipeflow.errors import (
    CycleError,
    DanglingEdgeError,
    DuplicateEdgeError,
    InsideWithoutBeginError,
    OffsetError,
    UnknownLabelError,
    UnknownTagError,
    UnsafeIdError,
    WordIdError,
    WrongTypeError,
)
from recipeflow.release.parsing import LARGEST, RecipeParser, id_problem, recipe_to_json
from tests.making import RECIPES, SALAD


def parse(raw, recipe_id=SALAD.id):
    parser = RecipeParser(recipe_id)
    return parser.parse(raw), parser.problems


def problems_after(change):
    """What parsing the salad finds after ``change`` has edited its JSON in place."""
    raw = recipe_to_json(SALAD)
    change(raw)
    return parse(raw)[1]


def set_word(section, line, word, **values):
    return lambda raw: raw[section][line][word].update(values)


def set_flow(number, **values):
    return lambda raw: raw["recipe_flows"][number].update(values)


def set_change(number, **values):
    return lambda raw: raw["state_changes"][number].update(values)


def test_a_valid_recipe_comes_back_as_it_was():
    for recipe in RECIPES:
        parsed, problems = parse(recipe_to_json(recipe), recipe.id)
        assert problems == []
        assert recipe_to_json(parsed) == recipe_to_json(recipe)
        assert (parsed.flows, parsed.state_changes) == (recipe.flows, recipe.state_changes)


SINGLE = {
    "unknown tag": (set_word("ingredients", 0, 0, ne="X-B"), UnknownTagError, "word 0-0-0", "X-B"),
    "tag in IOB2 order": (set_word("ingredients", 2, 1, ne="B-Q"), UnknownTagError, "word 0-2-1", "B-Q"),
    "tag without position": (set_word("ingredients", 2, 1, ne=""), UnknownTagError, "word 0-2-1", ""),
    "inside without begin": (
        set_word("instructions", 0, 3, ne="T-I"),
        InsideWithoutBeginError,
        "word 1-0-3",
        "T-I",
    ),
    "inside at the start": (
        set_word("instructions", 2, 0, ne="F-I"),
        InsideWithoutBeginError,
        "word 1-2-0",
        "F-I",
    ),
    "gap": (set_word("ingredients", 0, 2, start_char=6), OffsetError, "word 0-0-2", (6, 6)),
    "overlap": (set_word("ingredients", 0, 2, start_char=4), OffsetError, "word 0-0-2", (4, 6)),
    "wrong start": (set_word("ingredients", 0, 0, start_char=1), OffsetError, "word 0-0-0", (1, 4)),
    "negative start": (set_word("ingredients", 0, 0, start_char=-1), OffsetError, "word 0-0-0", (-1, 4)),
    "word id not positional": (set_word("ingredients", 1, 0, word_id="0-1-1"), WordIdError, "word 0-1-0", "0-1-1"),
    "number as text": (set_word("ingredients", 0, 0, start_char="0"), WrongTypeError, "word 0-0-0", "0"),
    "truth as number": (set_word("ingredients", 0, 0, start_char=False), WrongTypeError, "word 0-0-0", False),
    "fraction": (set_word("ingredients", 0, 2, end_char=6.0), WrongTypeError, "word 0-0-2", 6.0),
    "infinite": (set_word("ingredients", 0, 2, end_char=1e999), WrongTypeError, "word 0-0-2", 1e999),
    "too big for a column": (set_change(1, after=LARGEST + 1), WrongTypeError, "state change 1", LARGEST + 1),
    "unknown label": (set_flow(3, label="F-same"), UnknownLabelError, "flow 3", "F-same"),
    "edge to no word": (set_flow(3, start_vertex="0-9-0"), DanglingEdgeError, "flow 3, start", "0-9-0"),
    "edge to a word that continues an entity": (
        set_flow(3, end_vertex="1-1-3"),
        DanglingEdgeError,
        "flow 3, end",
        "1-1-3",
    ),
    "edge to a word without tag": (set_flow(3, end_vertex="1-1-0"), DanglingEdgeError, "flow 3, end", "1-1-0"),
    "vertex of another type": (set_flow(3, end_vertex=5), WrongTypeError, "flow 3", 5),
    "vertex that JSON can only escape": (
        set_flow(3, end_vertex="\ud800"),
        DanglingEdgeError,
        "flow 3, end",
        "\ud800",
    ),
    "state change of no word": (
        set_change(0, word_id=[1, 0, 99]),
        DanglingEdgeError,
        "state change 0",
        "1-0-99",
    ),
    "state change of a food": (set_change(0, word_id=[1, 0, 2]), DanglingEdgeError, "state change 0", "1-0-2"),
    "state change with a short id": (set_change(0, word_id=[1, 0]), WrongTypeError, "state change 0", [1, 0]),
    "state change with text as id": (
        set_change(0, word_id=[1, "0", 5]),
        WrongTypeError,
        "state change 0",
        [1, "0", 5],
    ),
    "frame 0": (set_change(1, before=0), WrongTypeError, "state change 1, before", 0),
    "frame -2": (set_change(1, after=-2), WrongTypeError, "state change 1, after", -2),
    "frame null": (set_change(1, after=None), WrongTypeError, "state change 1", None),
    "missing key": (lambda raw: raw.pop("state_changes"), WrongTypeError, "the recipe", "state_changes"),
    "missing key of a word": (
        lambda raw: raw["ingredients"][1][0].pop("word_id"),
        WrongTypeError,
        "word 0-1-0",
        "word_id",
    ),
    "unknown key": (lambda raw: raw.update(extra=1), WrongTypeError, "the recipe", "extra"),
    "word is a list": (lambda raw: raw["ingredients"][0].insert(3, []), WrongTypeError, "word 0-0-3", []),
    "line is an object": (
        lambda raw: raw["instructions"].append({}),
        WrongTypeError,
        "instructions line 3",
        {},
    ),
    "line is empty": (lambda raw: raw["instructions"].append([]), WrongTypeError, "instructions line 3", []),
    "flow is null": (lambda raw: raw["recipe_flows"].append(None), WrongTypeError, "flow 13", None),
    "change is text": (lambda raw: raw["state_changes"].append("x"), WrongTypeError, "state change 7", "x"),
    "duplicate edge": (
        lambda raw: raw["recipe_flows"].append(raw["recipe_flows"][0]),
        DuplicateEdgeError,
        "flow 13",
        "0-0-0 -F-eq-> 1-0-2",
    ),
    "self loop": (
        lambda raw: raw["recipe_flows"].append(dict(raw["recipe_flows"][0], end_vertex="0-0-0")),
        CycleError,
        "recipe_flows",
        "0-0-0 → 0-0-0",
    ),
    "cycle": (
        lambda raw: raw["recipe_flows"].append({"start_vertex": "1-2-10", "end_vertex": "1-0-5", "label": "Targ"}),
        CycleError,
        "recipe_flows",
        "1-0-5 → 1-2-4 → 1-2-8 → 1-2-10 → 1-0-5",
    ),
}


@pytest.mark.parametrize("name", SINGLE)
def test_each_mistake_is_named_with_its_place_once(name):
    change, kind, place, value = SINGLE[name]
    (problem,) = problems_after(change)
    assert type(problem) is kind
    assert (problem.file, problem.recipe, problem.place) == ("annotations.json", SALAD.id, place)
    assert problem.value == value
    assert type(problem.value) is type(value)
    assert problem.message.startswith("expected ")
    assert ", found " in problem.message
    str(problem).encode()


def test_an_empty_word_is_named():
    problems = problems_after(set_word("ingredients", 2, 0, end_char=0))
    assert [(type(p), p.place) for p in problems] == [(OffsetError, "word 0-2-0"), (OffsetError, "word 0-2-1")]


@pytest.mark.parametrize("raw", [None, [], "x", 3, True, 1e999], ids=repr)
def test_a_recipe_that_is_no_object(raw):
    recipe, (problem,) = parse(raw)
    assert recipe is None
    assert (type(problem), problem.place) == (WrongTypeError, "the recipe")


def test_every_mistake_of_a_recipe_is_found_at_once():
    def damage(raw):
        set_word("ingredients", 0, 0, ne="X-B")(raw)
        set_word("instructions", 1, 4, start_char="7")(raw)
        set_flow(3, label="F-same")(raw)
        set_flow(9, end_vertex="9-9-9")(raw)
        set_change(0, before=0)(raw)
        raw["state_changes"].append("x")
        raw["recipe_flows"].append(raw["recipe_flows"][0])
        raw["more"] = 1

    found = sorted(problem.kind for problem in problems_after(damage))
    assert found == sorted(
        ["UnknownTagError", "UnknownLabelError", "DanglingEdgeError", "DuplicateEdgeError"] + ["WrongTypeError"] * 4
    )


def test_an_unreadable_word_is_reported_once_and_not_for_all_that_refers_to_it():
    def damage(raw):
        raw["instructions"][0][2] = None
        raw["instructions"][0][5] = {"word_id": "1-0-5"}
        raw["ingredients"][1][3] = None  # the next word continues its entity

    # Flows, a state change and the neighbours' offsets refer to these words.
    problems = problems_after(damage)
    assert {problem.kind for problem in problems} == {"WrongTypeError"}
    assert [problem.place for problem in problems] == ["word 0-1-3", "word 1-0-2", *["word 1-0-5"] * 3]


def test_without_its_lines_a_recipe_is_not_checked_further():
    (problem,) = problems_after(lambda raw: raw.update(ingredients="salt"))
    assert (type(problem), problem.value) == (WrongTypeError, "salt")


def test_a_recipe_without_flows_or_changes_is_checked_on():
    def damage(raw):
        raw["recipe_flows"] = {}
        set_word("ingredients", 0, 0, ne="X-B")(raw)
        set_change(0, before=0)(raw)

    assert [p.kind for p in problems_after(damage)] == ["WrongTypeError", "UnknownTagError", "WrongTypeError"]


def test_each_cycle_is_named_and_no_two_reports_differ():
    def damage(raw):
        back = [("1-2-10", "1-0-5"), ("1-1-2", "0-1-3")]
        raw["recipe_flows"] += [{"start_vertex": a, "end_vertex": b, "label": "Targ"} for a, b in back]

    reports = [sorted(problem.value for problem in problems_after(damage)) for _ in range(2)]
    assert reports[0] == reports[1] == ["0-1-3 → 1-1-2 → 0-1-3", "1-0-5 → 1-2-4 → 1-2-8 → 1-2-10 → 1-0-5"]


def test_huge_values_make_no_huge_messages():
    (problem,) = problems_after(lambda raw: raw.update(recipe_flows={"x": "y" * 10**6}))
    assert len(str(problem)) < 500


SAFE = ["salad", "c0ffee-00", "ゆで卵", "a b", "x.y", "a" * 200]
UNSAFE = [
    "",
    ".",
    "..",
    "../x",
    "a/b",
    "/etc",
    "a/",
    "a\\b",
    "a\0b",
    "a\nb",
    ".hidden",
    "\ud800",
    "a" * 201,
    "卵" * 67,
]


@pytest.mark.parametrize("recipe_id", SAFE)
def test_safe_ids(recipe_id):
    assert id_problem(recipe_id) is None


@pytest.mark.parametrize("recipe_id", UNSAFE, ids=repr)
def test_ids_that_could_leave_the_folder(recipe_id):
    _, (problem,) = parse(recipe_to_json(SALAD), recipe_id)
    assert type(problem) is UnsafeIdError
    assert problem.recipe == problem.value == recipe_id
    str(problem).encode()
