"""The program of a recipe, carried out, gives what the cook who thought up the recipe had."""

import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recipeflow.errors import ExecutionError
from recipeflow.graph.program import make_program
from recipeflow.graph.program_text import format_program, parse_program, program_from_json, program_to_json
from recipeflow.kitchen.cooking import devise_recipe
from recipeflow.kitchen.execution import execute, final_states
from recipeflow.kitchen.world import PLATE, POT, Portion, Stuff
from recipeflow.release import read_release


def state(stuff: Stuff):
    """A state without the order in which things lie in their container, of which no recipe speaks."""
    layers = stuff.portions[: stuff.mixed], stuff.portions[stuff.mixed :]
    return stuff.container, *(frozenset(Counter(layer).items()) for layer in layers)


def states(stuff):
    return Counter(map(state, stuff))


def assert_same_cooking(devised, program):
    """Every action of the program makes what the plan's step made, and what is on the table in the end is the same."""
    run = execute(program)
    if run.doubts:
        return False
    (done,), planned = run.plan.instructions, [step for steps in devised.plan.instructions for step in steps]
    assert [step.verb for step in done] == [step.verb for step in planned]
    names = {mention.id: name for name, mention in program.steps.items()}
    for action, step in zip(devised.recipe.actions, planned, strict=True):
        expected = [devised.plan.stuff[number] for number in step.results]
        assert states(run.states(names[action.id])) == states(expected)
    assert states(final_states(run.plan)) == states(final_states(devised.plan))
    return True


@pytest.mark.parametrize("seed", [0, 1, 2023])
def test_recipes_of_several_kitchens(seed):
    same = 0
    for index in range(60):
        devised = devise_recipe(seed, index)
        same += assert_same_cooking(devised, make_program(devised.recipe))
    assert same >= 57


@given(st.integers(0, 2**32), st.integers(0, 9999))
@settings(max_examples=60)
def test_programs_that_were_written_and_read(seed, index):
    devised = devise_recipe(seed, index)
    program = make_program(devised.recipe)
    assert_same_cooking(devised, parse_program(format_program(program)))
    assert_same_cooking(devised, program_from_json(json.loads(json.dumps(program_to_json(program)))))


def test_a_finished_salad_is_one_plate():
    devised = devise_recipe(0, 3)
    run = execute(make_program(devised.recipe))
    (dish,) = final_states(run.plan)
    assert run.states("x12") == [dish]
    assert dish.container == PLATE
    assert Portion("にんじん", "sliced", marks=frozenset({"trimmed", "dressed"})) in dish.portions


def write(*lines: str, results: str = "x1"):
    return parse_program("\n".join(['program "a" null', *lines, f"return {results}"]))


def test_a_cut_that_can_mean_two_things_is_reported():
    program = write(
        "i1 = なす  # F 0-0-0",
        'x1 = 切(i1, how="５ｍｍ幅")  # Ac 1-0-0, Sf 1-0-1',
    )
    run = execute(program)
    assert run.doubts == {"x1": ("strips", "rounds")}
    assert [stuff.portions[0].form for stuff in run.states("x1")] == ["strips"]


def test_what_the_food_can_be_cut_into_decides():
    program = write(
        "i1 = きゅうり  # F 0-0-0",
        'x1 = 切(i1, how="５ｍｍ幅")  # Ac 1-0-0, Sf 1-0-1',
    )
    assert execute(program).doubts == {}
    assert execute(program).states("x1")[0].portions[0].form == "rounds"


def test_the_name_says_which_result_is_meant():
    program = write(
        "i1 = キャベツ  # F 0-0-0",
        "i2 = にんじん  # F 0-1-0",
        "x1 = 千切り(i1, i2)  # Ac 1-0-0",
        "x2 = 加熱(にんじん(is=x1))  # Ac 1-1-0, F 1-1-1",
        results="x2",
    )
    run = execute(program)
    assert [[portion.ingredient for portion in stuff.portions] for stuff in run.states("x2")] == [["にんじん"]]
    assert [stuff.portions[0].heat for stuff in final_states(run.plan)] == ["raw", "microwaved"]


def test_a_container_may_have_a_variable():
    program = write("i1 = キャベツ  # F 0-0-0", "m1 = 鍋  # T 1-0-0", "x1 = 入れ(i1, dest=m1)  # Ac 1-0-2")
    assert [stuff.container for stuff in execute(program).states("x1")] == [POT]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["i1 = 月  # F 0-0-0"], "word 0-0-0: expected a food of the kitchen's pantry, found '月'"),
        (["x1 = 千切り  # Ac 1-0-0"], "word 1-0-0: expected an action that is done to something, found '千切り'"),
        (
            ["x1 = 眺め(塩)  # Ac 1-0-0, F 1-0-1"],
            "word 1-0-0: expected an action that the kitchen knows, found '眺め'",
        ),
        (
            ["x1 = 切(塩, how=楽しく)  # Ac 1-0-0, F 1-0-1, Sf 1-0-2"],
            "expected a way of cutting that the kitchen knows",
        ),
        (["x1 = 切(塩)  # Ac 1-0-0, F 1-0-1"], "expected a way of cutting that the kitchen knows, found []"),
    ],
)
def test_what_the_kitchen_does_not_know_is_reported(lines, message):
    program = parse_program("\n".join(['program "a" null', *lines, "return x1" if "x1" in lines[0] else "return"]))
    with pytest.raises(ExecutionError) as caught:
        execute(program)
    assert message in str(caught.value)
    assert "only recipes of `vrf kitchen` can be executed" in str(caught.value)


def test_official_recipes_are_refused(official):
    with pytest.raises(ExecutionError):
        execute(make_program(next(read_release(official))))
