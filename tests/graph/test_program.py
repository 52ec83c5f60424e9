import json
import random
import re
import subprocess
import sys
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recipeflow.errors import ProgramError
from recipeflow.graph import build_graph, trace_objects
from recipeflow.graph.program import DEEPEST, ROLES, Mention, make_program, survey_programs
from recipeflow.graph.program_text import format_program, parse_program, program_from_json, program_to_json
from recipeflow.kitchen.cooking import devise_recipe
from recipeflow.release import read_release
from recipeflow.release.recipe import LABELS, SECTIONS, TAGS, Flow, Line, Recipe, Word, word_id
from tests.cli.test_cli import ROOT, vrf
from tests.making import EGG, RECIPES, SALAD, make_recipe
from tests.making_english import ENGLISH_INFO, SOUP

SALAD_PROGRAM = """\
program "c0ffee00-salad" "きゅうりとトマトのサラダ"
i1 = きゅうり  # F 0-0-0
m1 = １本  # Q 0-0-1
i2 = ミニトマト  # F 0-1-3
m2 = ２個  # Q 0-1-5
i3 = 塩  # F 0-2-0
m3 = 少々  # Q 0-2-1
x1 = 切り(きゅうり(is=i1), how=薄く)  # Ac 1-0-5, F 1-0-2, Sf 1-0-4
m4 = ミニトマト(is=i2)  # F 1-1-2
x2 = 切り(m4, how=半分)  # Ac 1-1-7, Sf 1-1-5
x3 = 入れ(具材(has=x1, has=m4), 塩(is=i3), dest=ボウル)  # Ac 1-2-8, F 1-2-4, F 1-2-6, T 1-2-2
x4 = 混ぜ(x3)  # Ac 1-2-10
return x2, x4
"""


def cook(words: str, flows: str) -> Recipe:
    return make_recipe("test", "test", "塩/F", words, flows)


def assert_same_graph(program, recipe):
    graph, expected = program.graph(), build_graph(recipe)
    assert graph.graph == expected.graph
    entities = {node: (data["entity"].tag, data["entity"].text) for node, data in expected.nodes.items()}
    assert {node: (data["tag"], data["text"]) for node, data in graph.nodes.items()} == entities
    assert set(graph.edges(keys=True)) == set(expected.edges(keys=True))
    # The order of an action's objects is part of the annotation.
    assert trace_objects(replace(recipe, flows=tuple(program.flows()))) == trace_objects(recipe)


def assert_sound(recipe):
    """Everything that is promised of a program, for any recipe."""
    program = make_program(recipe)
    assert sorted(mention.id for mention in program.steps.values()) == sorted(action.id for action in recipe.actions)
    assert sorted(mention.id for mention in program.mentions()) == sorted(recipe.entities)
    assigned = set()
    for name, mention in program.variables.items():
        for part in mention.nested():
            assert {value for a in part.arguments if isinstance(value := a.value, str)} <= assigned
        assigned.add(name)
    assert_same_graph(program, recipe)
    from_text = parse_program(format_program(program))
    from_json = program_from_json(json.loads(json.dumps(program_to_json(program))))
    for read in (from_text, from_json):
        assert read == program
        assert list(read.variables) == list(program.variables)
        assert_same_graph(read, recipe)
    return program


def test_a_program_by_hand():
    assert format_program(make_program(SALAD)) == SALAD_PROGRAM
    assert_same_graph(parse_program(SALAD_PROGRAM), SALAD)


def test_every_label_has_its_own_keyword():
    assert set(ROLES) == set(LABELS)
    assert len(set(ROLES.values())) == len(LABELS)


def test_ids_stand_for_missing_text():
    bare = replace(
        EGG, title=None, **{name: tuple(Line(line.words) for line in getattr(EGG, name)) for name in SECTIONS}
    )
    lines = format_program(assert_sound(bare)).splitlines()
    assert lines[0] == 'program "ゆで卵" null'
    assert "x1 = 1-0-4(1-0-2(is=i2))  # Ac 1-0-4, F 1-0-2" in lines
    assert "x2 = 1-1-6(m3, dest=x1, how=1-1-4)  # Ac 1-1-6, D 1-1-4" in lines


def test_objects_lead_back_to_inputs_and_earlier_results():
    program = make_program(SALAD)
    origins = {
        name: [program.origins(argument.value) for argument in step.arguments if argument.label == "Targ"]
        for name, step in program.steps.items()
    }
    assert origins == {"x1": [("i1",)], "x2": [("i2",)], "x3": [("x1", "i2"), ("i3",)], "x4": [("x3",)]}


def test_what_comes_from_nowhere_is_its_own_origin():
    program = make_program(cook("水/F:water を 沸かし/Ac:boil", "water Targ boil"))
    (argument,) = program.variables["x1"].arguments
    assert program.origins(argument.value) == (Mention("1-0-0", "F", "水"),)
    survey = survey_programs([program])
    assert survey.objects == {"ingredient": 0, "result": 0, "food": 1, "tool": 0, "other": 0}


def test_headings_of_the_ingredient_list_are_no_inputs():
    recipe = make_recipe(
        "a", "a", "（ Ａ/F:a ） 酢/F:vinegar １/Q:one", "終わり", "a other-mod vinegar\none other-mod vinegar"
    )
    assert [mention.text for mention in make_program(recipe).inputs.values()] == ["酢"]
    assert "i1 = 酢(how=Ａ, how=１)" in format_program(make_program(recipe))


@pytest.mark.parametrize(
    ("flows", "results"),
    [
        ("egg Targ crack\ncrack Targ mix", ("x2",)),
        ("egg Targ crack\negg Targ mix", ("x1", "x2")),
        ("crack Agent boil\nboil V-tm mix", ("x1", "x2")),  # only says when
        ("crack other-mod mix", ("x1", "x2")),  # only says how
        ("crack F-part-of boil\nboil Dest mix", ("x2",)),
    ],
)
def test_results_are_what_no_action_takes(flows, results):
    program = make_program(cook("卵/F:egg 割り/Ac:crack 沸く/Af:boil 混ぜ/Ac:mix", flows))
    assert program.results == results


def test_no_action_at_all():
    program = assert_sound(cook("終わり", ""))
    assert program.results == ()
    assert format_program(program).endswith("\nreturn\n")
    assert survey_programs([program]).leftovers == {"test": ()}


def test_long_chains_and_nested_sets_end():
    layers = 1500
    words = " ".join(f"左/F:l{i} 右/F:r{i}" for i in range(layers)) + " 盛る/Ac:serve"
    flows = [f"{a}{i} F-set {b}{i + 1}" for i in range(layers - 1) for a in "lr" for b in "lr"]
    program = assert_sound(cook(words, "\n".join([*flows, f"l{layers - 1} Targ serve"])))
    (argument,) = program.variables["x1"].arguments
    assert [origin.text for origin in program.origins(argument.value)] == ["左", "右"]
    chain = "\n".join(f"l{i} F-eq l{i + 1}" for i in range(layers - 1))
    assert_sound(cook(words, chain))


def test_mentions_are_not_nested_too_deeply():
    words = " ".join(f"葱/F:n{i}" for i in range(20)) + " 切る/Ac:cut"
    flows = [f"n{i} F-eq n{i + 1}" for i in range(19)]
    text = format_program(assert_sound(cook(words, "\n".join([*flows, "n19 Targ cut"]))))
    assert max(line.count("(") for line in text.splitlines()) <= DEEPEST + 1


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.id)
def test_small_recipes(recipe):
    assert_sound(recipe)


@given(st.integers(0, 10**6), st.integers(0, 9999))
@settings(max_examples=60)
def test_kitchen_recipes(seed, index):
    program = assert_sound(devise_recipe(seed, index).recipe)
    survey = survey_programs([program])
    assert survey.one_dish == 1
    assert survey.objects["other"] == 0


@cache
def read_official(folder):
    return list(read_release(folder))


def test_all_official_recipes(official):
    survey = survey_programs(assert_sound(recipe) for recipe in read_official(official))
    assert (survey.programs, survey.steps) == (200, 2532)
    assert survey.objects == {"ingredient": 1663, "result": 1878, "food": 9, "tool": 79, "other": 3}
    assert survey.one_dish == 190
    assert len(survey.leftovers) == 10
    assert survey.leftovers["06653e65-49b5-4bce-b6fa-da7a8e318bb7"] == ("1-0-23", "1-4-22")


@given(data=st.data())
@settings(max_examples=40)
def test_official_recipes_with_flows_missing(official, data):
    recipe = data.draw(st.sampled_from(read_official(official)))
    kept = data.draw(st.randoms(use_true_random=False))
    assert_sound(replace(recipe, flows=tuple(flow for flow in recipe.flows if kept.random() < 0.8)))


TEXTS = st.text(min_size=1, max_size=4) | st.sampled_from(
    ["x1", "i2", "1-0-0", "how", "how=", "a  # F 0-0-0", '"', "\\", "\u2028", "\x1b[31m", "\ud800", "return", "１／２"]
)


@st.composite
def recipes(draw):
    """Any recipe that can be: one word an entity, flows of any label from earlier to later."""
    sections, ids = [], []
    for section in range(2):
        words = draw(st.lists(st.tuples(TEXTS, st.sampled_from(list(TAGS))), max_size=7))
        ids += [word_id(section, 0, number) for number in range(len(words))]
        line, spans = "", []
        for text, tag in words:
            spans.append(Word(len(line), len(line) + len(text), f"{tag}-B"))
            line += text
        sections.append((Line(tuple(spans), draw(st.sampled_from([line, None]))),))
    order = draw(st.permutations(ids))
    pairs = [(start, end) for number, start in enumerate(order) for end in order[number + 1 :]]
    edges = st.lists(
        st.tuples(st.sampled_from(pairs or [()]), st.sampled_from(list(LABELS))), unique=True, max_size=20
    )
    flows = draw(edges) if pairs else []
    return Recipe(
        draw(TEXTS), *sections, tuple(Flow(*pair, label) for pair, label in flows), (), draw(st.none() | TEXTS)
    )


@given(recipes())
@settings(max_examples=200)
def test_any_recipe(recipe):
    text = format_program(assert_sound(recipe))
    assert all(line.isprintable() for line in text.split("\n"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("program ", "", "line 1: expected program"),
        ("program ", "program 'a' ", "line 1: expected program"),
        ("is=i1", "is=i9", "line 8: expected only variables that were assigned before, found 'i9'"),
        ("is=i1", "eq=i1", "line 8: expected a keyword of"),
        ("i3 = ", "i2 = ", "line 6: expected a new variable"),
        ("i3 = ", "y = ", "line 6: expected a new variable"),
        ("i3 = ", "x9 = ", "line 6: expected every action"),
        ("i3 = ", "", "line 6: expected a variable"),
        ("F 0-2-0", "F 0-0-0", "line 6: expected each word id once"),
        ("F 0-2-0", "F zero", "line 6: expected each word id once"),
        ("F 0-2-0", "G 0-2-0", "line 6: expected a tag of F, T"),
        ("F 0-2-0", "F 0-2-0, Q 0-2-1", "line 6: expected a tag and an id for each mention"),
        ("  # F 0-2-0", "", "line 6: expected a variable"),
        ("混ぜ(x3)", "混ぜ(x3, x3)", "line 12: expected each argument once"),
        ("混ぜ(x3)", "混ぜ(x3", "line 12: expected a comma or a closing bracket"),
        ("混ぜ(x3)", "混ぜ()", "line 12: expected a mention"),
        ("混ぜ(x3)", "混ぜ(x3))", "line 12: expected the end of the line"),
        ("混ぜ(x3)", "混ぜ; (x3)", "line 12: expected a name, a keyword"),
        ("混ぜ(x3)", '"\\q"(x3)', "line 12: expected a JSON string"),
        ("混ぜ(x3)", "1-1-1(x3)", "line 12: expected 1-2-10, as after #"),
        ("Ac 1-2-10", "Af 1-2-10", "line 12: expected every action"),
        ("return x2, x4", "return x4", "line 13: expected 'return x2, x4' as the last line, found 'return x4'"),
        ("return x2, x4\n", "", "line 12: expected 'return"),
    ],
)
def test_text_that_is_no_program(old, new, message):
    text = format_program(make_program(SALAD))
    assert old in text
    with pytest.raises(ProgramError) as caught:
        parse_program(text.replace(old, new, 1))
    assert str(caught.value).startswith(message)
    assert "; write programs as `vrf program` prints them" in str(caught.value)


@pytest.mark.parametrize("text", ["", "\n", "program", "(" * 5000])
def test_texts_that_are_nothing(text):
    with pytest.raises(ProgramError):
        parse_program(text)


def test_bottomless_programs_are_refused():
    depth = 100
    margin = ", ".join(f"F 1-0-{number}" for number in range(depth))
    body = "a(" * (depth - 1) + "a" + ")" * (depth - 1)
    with pytest.raises(ProgramError, match="at most 50 brackets"):
        parse_program(f'program "a" null\nm1 = {body}  # {margin}\nreturn\n')
    mention = {"id": "1-0-0", "tag": "F", "text": None, "arguments": []}
    for number in range(depth):
        mention = mention | {"id": f"1-1-{number}", "arguments": [{"role": "is", "value": mention}]}
    raw = {"recipe_id": "a", "title": None, "assignments": [{"name": "m1", **mention}], "results": []}
    with pytest.raises(ProgramError, match="at most 50 deep"):
        program_from_json(raw)


@given(st.integers(0, 2**32))
@settings(max_examples=200)
def test_damaged_programs_are_read_or_refused(seed):
    rng = random.Random(seed)
    text = list(format_program(make_program(SALAD)))
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(text))
        text[at : at + rng.randrange(3)] = rng.choice(["", "(", ")", ",", "=", '"', "x1", " ", "\n", "how=", "１"])
    try:
        program = parse_program("".join(text))
    except ProgramError:
        return
    assert parse_program(format_program(program)) == program


def damage(change):
    raw = program_to_json(make_program(SALAD))
    change(raw)
    return raw


@pytest.mark.parametrize(
    "raw",
    [
        None,
        [],
        {},
        damage(lambda raw: raw.pop("title")),
        damage(lambda raw: raw.update(recipe_id=3)),
        damage(lambda raw: raw.update(assignments=None)),
        damage(lambda raw: raw.update(results=["x4"])),
        damage(lambda raw: raw["assignments"].reverse()),
        damage(lambda raw: raw["assignments"].append("x5")),
        damage(lambda raw: raw["assignments"][-1].update(tag="F")),
        damage(lambda raw: raw["assignments"][-1]["arguments"].append({"role": "eat", "value": "x3"})),
        damage(lambda raw: raw["assignments"][-1]["arguments"].append({"role": "dest", "value": None})),
    ],
)
def test_json_that_is_no_program(raw):
    with pytest.raises(ProgramError, match=r"expected .* found .*; write programs"):
        program_from_json(raw)


def test_the_command_prints_one_program(release):
    assert vrf("program", release, SALAD.id).stdout == format_program(make_program(SALAD))
    assert json.loads(vrf("program", release, SALAD.id, "--json").stdout) == program_to_json(make_program(SALAD))


def test_the_command_surveys_a_release(official):
    result = vrf("program", official)
    assert (result.returncode, result.stderr) == (0, "")
    assert "Recipes that end in one dish            │   190" in result.stdout
    assert "06653e65-49b5-4bce-b6fa-da7a8e318bb7 │ 1-0-23, 1-4-22" in result.stdout


def test_the_documentation_lists_every_recipe_without_one_dish(official):
    survey = survey_programs(map(make_program, read_release(official)))
    page = (ROOT / "docs" / "programs.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"([0-9a-f-]{36})  ([0-9-]+, [0-9-]+)", page))
    assert listed == {recipe: ", ".join(actions) for recipe, actions in survey.leftovers.items()}


def test_the_survey_as_json(release):
    survey = json.loads(vrf("program", release, "--json").stdout)
    assert (survey["release"], survey["programs"], survey["steps"], survey["one_dish"]) == (str(release), 3, 9, 0)
    assert survey["leftovers"][SALAD.id] == ["1-1-7", "1-2-10"]
    assert [program["recipe_id"] for program in survey["all"]] == [recipe.id for recipe in RECIPES]


def test_an_unknown_recipe_is_one_clear_error(release):
    result = vrf("program", release, "nothing")
    assert (result.returncode, result.stdout) == (1, "")
    assert f"such as {SALAD.id}, found 'nothing'" in result.stderr
    assert "Traceback" not in result.stderr


def test_nothing_heavy_is_imported():
    code = (
        "import sys, recipeflow.graph.program_text, recipeflow.graph.agreement\n"
        "print({'torch', 'datasets', 'transformers'} & sys.modules.keys())"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert result.stdout == "set()\n"


def test_labels_and_tags_of_another_corpus_are_written_and_read_back():
    program = make_program(SOUP)
    text = format_program(program)
    assert 'x2 = Turn(hob, "s"=x1, "v"=beeps)' in text
    assert parse_program(text, ENGLISH_INFO.scheme) == program
    assert program_from_json(json.loads(json.dumps(program_to_json(program))), ENGLISH_INFO.scheme) == program
    with pytest.raises(ProgramError, match="expected a keyword of"):
        parse_program(text)
