from dataclasses import replace

import pytest

from recipeflow.graph import pair_objects, trace_objects
from recipeflow.graph.program import make_program
from recipeflow.graph.tracing import find_carriers, follow_ingredients, light_actions
from recipeflow.kitchen.cooking import devise_recipe
from recipeflow.release import read_release
from recipeflow.release.recipe import Line
from tests.making import EGG, SALAD, TEA, make_recipe


def carriers_of(recipe):
    return find_carriers(recipe, make_program(recipe).foods)


def trails_of(recipe):
    """For each ingredient by its text: the actions' texts, labels and the frames after them."""
    program = make_program(recipe)
    pairs = pair_objects(recipe)
    trails = follow_ingredients(recipe, program, find_carriers(recipe, program.foods), pairs)
    names = recipe.entities
    return {
        names[trail["ingredient"]].text: [
            (names[step["action"]].text, step["label"], [pairs[row].change.after for row in step["rows"]])
            for step in trail["steps"]
        ]
        for trail in trails
    }


def test_an_ingredient_is_followed_to_the_dish():
    trails = trails_of(SALAD)
    assert trails["きゅうり"] == [
        ("切り", "Targ", [3]),
        ("入れ", "Targ", [7]),
        ("混ぜ", "Targ", [None]),
    ]
    assert trails["塩"] == [("入れ", "Targ", [7]), ("混ぜ", "Targ", [None])]


def test_what_receives_shows_what_it_receives():
    assert trails_of(EGG) == {
        "卵": [("茹で", "Targ", [4]), ("むき", "Targ", [9])],
        "水": [("沸かし", "Targ", [None]), ("茹で", "Dest", [4])],
    }


def test_an_ingredient_that_goes_nowhere_has_an_empty_trail():
    recipe = make_recipe("x", "x", "塩/F:salt 少々/Q", "１ ． 休み/Ac:rest ます 。")
    assert trails_of(recipe) == {"塩": []}


CUT_TOGETHER = make_recipe(
    "two",
    "two",
    """
    水菜/F:mizuna
    レタス/F:lettuce
    """,
    """
    １ ． 水菜/F:mizuna1 と レタス/F:lettuce1 を 切り/Ac:cut ます 。
    ２ ． 水菜/F:mizuna2 を さらし/Ac:soak ます 。
    ３ ． 水菜/F:mizuna3 と レタス/F:lettuce2 を 盛り/Ac:serve ます 。
    """,
    """
    mizuna F-eq mizuna1
    lettuce F-eq lettuce1
    mizuna1 Targ cut
    lettuce1 Targ cut
    cut F-eq mizuna2
    mizuna2 Targ soak
    soak F-eq mizuna3
    cut F-eq lettuce2
    mizuna3 Targ serve
    lettuce2 Targ serve
    """,
)


def test_what_was_cut_together_is_distinguished_by_name():
    trails = trails_of(CUT_TOGETHER)
    assert [verb for verb, *_ in trails["水菜"]] == ["切り", "さらし", "盛り"]
    assert [verb for verb, *_ in trails["レタス"]] == ["切り", "盛り"]


def test_without_text_both_are_followed():
    blank = replace(
        CUT_TOGETHER,
        ingredients=tuple(Line(line.words) for line in CUT_TOGETHER.ingredients),
        instructions=tuple(Line(line.words) for line in CUT_TOGETHER.instructions),
    )
    carriers = carriers_of(blank)
    assert carriers["0-0-0"] & set(blank.entities) == carriers["0-0-0"]
    assert "1-1-4" in carriers["0-1-0"], "the second line's action may be on either"


def test_an_action_lights_its_objects_what_lies_between_and_where_they_come_from():
    lights = light_actions(SALAD, carriers_of(SALAD))
    put = next(action.id for action in SALAD.actions if action.text == "入れ")
    text = {key: [SALAD.entities[each].text for each in ids] for key, ids in lights[put].items()}
    assert text["objects"] == ["きゅうり", "ミニトマト", "塩"]
    assert text["through"] == ["具材", "切り"]
    assert text["origins"] == ["きゅうり", "ミニトマト", "塩"]


def test_an_action_without_objects_lights_nothing():
    recipe = make_recipe("x", "x", "塩/F:salt", "１ ． 休み/Ac:rest ます 。")
    assert light_actions(recipe, carriers_of(recipe)) == {"1-0-2": {"objects": [], "through": [], "origins": []}}


@pytest.mark.parametrize(
    "recipe", [SALAD, EGG, TEA, *(devise_recipe(3, i).recipe for i in range(8))], ids=lambda r: r.id
)
def test_trails_are_sound(recipe):
    check_sound(recipe)


def test_trails_of_every_official_recipe_are_sound(official):
    for recipe in read_release(official):
        check_sound(recipe)


def check_sound(recipe):
    program = make_program(recipe)
    pairs = pair_objects(recipe)
    carriers = find_carriers(recipe, program.foods)
    order = [step.id for step in program.steps.values()]
    trails = follow_ingredients(recipe, program, carriers, pairs)
    assert [trail["ingredient"] for trail in trails] == [mention.id for mention in program.inputs.values()]
    for trail in trails:
        positions = [order.index(step["action"]) for step in trail["steps"]]
        assert positions == sorted(set(positions)), "in the order of cooking, each action once"
        for step in trail["steps"]:
            assert all(pairs[row].action.id == step["action"] for row in step["rows"])
    lights = light_actions(recipe, carriers)
    assert {action: tuple(light["objects"]) for action, light in lights.items()} == trace_objects(recipe)
