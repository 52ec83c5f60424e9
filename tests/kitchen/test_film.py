from hypothesis import given
from hypothesis import strategies as st

from recipeflow.graph import pair_objects
from recipeflow.kitchen.cooking import devise_recipe

devised = st.integers(0, 10**6).map(lambda index: devise_recipe(7, index))


@given(devised)
def test_every_object_has_one_state_change(cooked):
    pairs = pair_objects(cooked.recipe)
    assert all(pair.object is not None for pair in pairs)
    assert {pair.action.id for pair in pairs} == {action.id for action in cooked.recipe.actions}


@given(devised)
def test_before_comes_before_after_and_both_are_on_the_film(cooked):
    numbers = [key.number for key in cooked.film.keys]
    assert numbers == sorted(set(numbers)) and numbers[0] >= 1
    for change in cooked.recipe.state_changes:
        if change.before and change.after:
            assert change.before < change.after
        assert {change.before, change.after} - {None} <= set(numbers)


@given(devised)
def test_the_last_picture_shows_the_dish(cooked):
    dish = cooked.plan.stuff[-1]
    scene = cooked.film.keys[-1].scene
    assert (scene.container, scene.portions, scene.mixed, scene.aside) == (
        dish.container,
        dish.portions,
        dish.mixed,
        (),
    )


@given(devised)
def test_a_change_leads_from_what_there_was_to_what_came_of_it(cooked):
    scenes = {key.number: key.scene for key in cooked.film.keys}
    results = [cooked.plan.stuff[number] for steps in cooked.plan.instructions for s in steps for number in s.results]
    shown = {(scene.container, scene.portions) for scene in scenes.values()}
    single = [stuff for stuff in results if len(stuff.portions) > 1 or stuff.container != "board"]
    assert all((stuff.container, stuff.portions) in shown for stuff in single)


def test_the_after_frame_is_often_the_next_before_frame():
    recipes = [devise_recipe(0, index).recipe for index in range(50)]
    shared = before = 0
    for recipe in recipes:
        ends = {change.after for change in recipe.state_changes}
        starts = [change.before for change in recipe.state_changes if change.before]
        shared += sum(number in ends for number in starts)
        before += len(starts)
    assert 0.3 < shared / before < 0.8
