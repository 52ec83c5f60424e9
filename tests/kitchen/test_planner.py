from random import Random

from hypothesis import given
from hypothesis import strategies as st

from recipeflow.kitchen.pantry import DRESSINGS, PANTRY
from recipeflow.kitchen.plan import Plan
from recipeflow.kitchen.planner import plan_recipe
from recipeflow.kitchen.world import PLATE

plans = st.integers(0, 10**9).map(lambda seed: plan_recipe(Random(seed)))


def steps_of(plan: Plan):
    return [step for instruction in plan.instructions for step in instruction]


def test_dressings_draw_from_the_pantry():
    for dressing in DRESSINGS:
        assert set(dressing.seasonings) <= PANTRY.keys(), dressing.name


@given(plans)
def test_everything_is_used_exactly_once_and_ends_on_one_plate(plan):
    used = [number for step in steps_of(plan) for number in (*step.objects, step.into) if number is not None]
    made = set(range(len(plan.stuff)))
    assert len(used) == len(set(used))
    (dish,) = made - set(used)
    assert dish == steps_of(plan)[-1].results[0]
    assert plan.stuff[dish].container == PLATE


@given(plans)
def test_nothing_is_used_before_it_is_there(plan):
    made_by = {number: position for position, step in enumerate(steps_of(plan)) for number in step.results}
    for position, step in enumerate(steps_of(plan)):
        assert all(made_by.get(number, -1) < position for number in (*step.objects, step.into))


@given(plans)
def test_every_listed_ingredient_ends_in_the_dish_unless_it_is_water(plan):
    dish = {portion.ingredient for portion in plan.stuff[-1].portions}
    listed = {line.ingredient.name for line in plan.ingredients}
    assert listed - {"お湯"} <= dish


@given(plans)
def test_meat_and_noodles_are_never_served_raw(plan):
    for portion in plan.stuff[-1].portions:
        item = PANTRY[portion.ingredient]
        if item.heats and (item.shape in {"slab", "eggs", "curls"} or item.name in {"春雨", "マカロニ"}):
            assert portion.heat != "raw", item.name


@given(plans)
def test_no_instruction_is_empty(plan):
    assert all(plan.instructions)


@given(st.integers(0, 10**9), st.sampled_from(["first", "second"]))
def test_half_a_pantry_gives_recipes_of_that_half_only(seed, pantry):
    plan = plan_recipe(Random(seed), pantry)
    used = {portion.ingredient for stuff in plan.stuff for portion in stuff.portions}
    assert {PANTRY[name].half for name in used} <= {pantry, "both"}
