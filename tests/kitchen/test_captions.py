"""Which frames of a kitchen have a caption is found again from the recipe alone."""

from dataclasses import replace

import numpy as np
import pytest

from recipeflow.images import open_small
from recipeflow.kitchen.camera import open_camera
from recipeflow.kitchen.captions import captions_of
from recipeflow.kitchen.cooking import devise_recipe
from recipeflow.kitchen.film import render_film


def captioned_recipe():
    """A recipe with a caption after its first key frame."""
    recipes = (devise_recipe(0, index) for index in range(50))
    return next(each for each in recipes if captions_of(each.recipe) and any(k.caption for k in each.film.keys[1:]))


@pytest.mark.parametrize(("seed", "pantry"), [(0, "all"), (3, "second"), (-2, "all")])
def test_the_captions_of_a_kitchen_are_known(seed, pantry):
    found = 0
    for index in range(12):
        devised = devise_recipe(seed, index, pantry)
        keys = {key.number: key.caption for key in devised.film.keys}
        captions = captions_of(devised.recipe)
        assert captions == {n: keys[n] for n in devised.recipe.used_frames if keys[n]}
        found += len(captions)
    assert found > 5


def test_a_frame_that_leads_up_to_a_captioned_one_has_its_caption():
    devised = captioned_recipe()
    numbers = [key.number for key in devised.film.keys]
    key = next(key for key in devised.film.keys[1:] if key.caption)
    before = numbers[numbers.index(key.number) - 1]
    assert devised.film.caption_at(before + 1) == key.caption
    assert devised.film.caption_at(numbers[-1] + 1) is None


def test_what_is_called_captioned_is_what_the_camera_draws():
    """The same film without captions differs in exactly these frames."""
    devised = captioned_recipe()
    bare = replace(devised.film, keys=[replace(key, caption=None) for key in devised.film.keys])
    drawn, plain = (dict(render_film(film, open_camera(devised.look), True)) for film in (devised.film, bare))
    differing = {n for n in drawn if not np.array_equal(pixels(drawn[n]), pixels(plain[n]))}
    assert differing & set(devised.recipe.used_frames) == set(captions_of(devised.recipe))


def pixels(data):
    return np.asarray(open_small(data, (224, 224)))


def test_recipes_of_elsewhere_have_unknown_captions():
    recipe = devise_recipe(0, 1).recipe
    assert captions_of(replace(recipe, id="123456")) is None
    assert captions_of(replace(recipe, title="別のサラダ")) is None
