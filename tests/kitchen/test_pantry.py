from recipeflow.kitchen.pantry import PANTRY, in_group, widen
from recipeflow.kitchen.verbs import CUT_MANNERS, CUT_VERBS, TRIM_VERBS, VERBS
from recipeflow.kitchen.world import FORMS, HEATS


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
