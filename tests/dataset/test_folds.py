import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recipeflow.dataset.folds import FOLDS, assign_folds
from recipeflow.release import read_release


@given(st.sets(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), max_size=60))
def test_sizes_differ_by_at_most_one_and_every_recipe_has_a_fold(ids):
    folds = assign_folds(ids)
    sizes = [list(folds.values()).count(fold) for fold in range(FOLDS)]
    assert folds.keys() == ids
    assert set(folds.values()) <= set(range(FOLDS))
    assert max(sizes) - min(sizes) <= 1


def test_the_order_of_the_recipes_does_not_count():
    ids = [f"recipe-{number}" for number in range(57)]
    shuffled = random.Random(1).sample(ids, len(ids))
    assert assign_folds(ids) == assign_folds(shuffled) == assign_folds(iter(shuffled + ids))


def test_neighbours_are_scattered():
    folds = assign_folds(f"recipe-{number:03}" for number in range(200))
    assert [folds[f"recipe-{number:03}"] for number in range(10)] != list(range(10))
    assert len({folds[f"recipe-{number:03}"] for number in range(20)}) > 5


def test_the_folds_of_these_recipes_stay_what_they_are():
    # Results of cross-validation can only be compared while nobody deals anew.
    assert assign_folds(["salad", "egg", "tea", "soup"]) == {"egg": 0, "soup": 1, "tea": 2, "salad": 3}


@pytest.mark.parametrize(("part", "sizes"), [(200, [20] * 10), (199, [19] + [20] * 9)])
def test_folds_of_the_official_release(official, part, sizes):
    ids = [recipe.id for recipe in read_release(official)][:part]
    assert sorted(Counter(assign_folds(ids).values()).values()) == sizes
