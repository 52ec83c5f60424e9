import pytest

from recipeflow.errors import UsageError
from recipeflow.kitchen.pantry import DRESSINGS, PANTRY, in_group, open_shelf
from recipeflow.kitchen.verbs import CUT_MANNERS, CUT_VERBS, TRIM_VERBS, VERBS
from recipeflow.kitchen.world import FORMS, HEATS
from recipeflow.language.japanese import widen


def test_the_pantry_is_large_enough():
    assert len(PANTRY) >= 60
    assert len(VERBS) >= 30


def test_every_cut_heat_and_part_is_known_to_the_kitchen():
    for item in PANTRY.values():
        assert set(item.cuts) <= set(FORMS), item.name
        assert set(item.cuts) <= CUT_VERBS.keys() | CUT_MANNERS.keys(), item.name
        assert set(item.heats) <= set(HEATS), item.name
        assert set(item.parts) <= TRIM_VERBS.keys(), item.name
        assert item.amounts, item.name


def test_words_that_name_actions_exist():
    assert set(CUT_VERBS.values()) <= VERBS.keys()
    assert {verb for _, verb in TRIM_VERBS.values()} <= VERBS.keys()
    for form, verb in CUT_VERBS.items():
        assert VERBS[verb].effect.form == form


def test_text_is_full_width_without_spaces():
    assert widen("1/2") == "１／２"
    for item in PANTRY.values():
        for word in (*item.words, *(word for amount in item.amounts for word in amount)):
            assert word and not any(character.isascii() or character.isspace() for character in word)


def test_groups_cover_the_pantry():
    groups = ("food", "seasoning", "topping", "water")
    assert sum(len(in_group(group)) for group in groups) == len(PANTRY)


def words_on(name: str) -> set[str]:
    return {word for item in PANTRY.values() if item.half == name for word in item.words}


def test_the_halves_share_no_word_and_leave_out_only_water():
    assert words_on("first").isdisjoint(words_on("second"))
    assert {item.half for item in PANTRY.values()} == {"first", "second", "both"}
    assert {item.name for item in PANTRY.values() if item.half == "both"} == {item.name for item in in_group("water")}


@pytest.mark.parametrize("name", ["first", "second"])
def test_each_half_is_a_pantry_of_its_own(name):
    shelf = open_shelf(name)
    assert len(shelf.foods) >= 30 and len(shelf.toppings) >= 4 and len(shelf.dressings) >= 4
    assert all(len(dressing.seasonings) >= 2 for dressing in shelf.dressings)
    assert all(set(dressing.seasonings) <= shelf.names for dressing in shelf.dressings)
    assert shelf.among(("サラダ油", "ごま油", "オリーブオイル"))


def test_the_whole_pantry_is_everything_in_its_order():
    shelf = open_shelf("all")
    assert (shelf.foods, shelf.toppings, shelf.dressings) == (in_group("food"), in_group("topping"), DRESSINGS)
    with pytest.raises(UsageError, match="expected a pantry among all, first, second, found 'third'"):
        open_shelf("third")
