from recipeflow.kitchen.world import BOWL, PAN, PLATE, POT, Effect, Portion, Stuff, perform

CABBAGE, CARROT, WATER = Portion("キャベツ"), Portion("にんじん"), Portion("お湯")


def test_a_cut_changes_each_object_by_itself():
    results = perform(Effect(form="julienned"), [Stuff((CABBAGE,)), Stuff((CARROT,))])
    assert [stuff.portions for stuff in results] == [
        (Portion("キャベツ", "julienned"),),
        (Portion("にんじん", "julienned"),),
    ]


def test_joining_brings_objects_and_destination_together_in_order():
    (result,) = perform(Effect(join=True), [Stuff((CABBAGE,)), Stuff((CARROT,))], BOWL, Stuff((WATER,), POT))
    assert result == Stuff((WATER, CABBAGE, CARROT), BOWL)


def test_joining_stays_where_the_destination_is():
    (result,) = perform(Effect(join=True), [Stuff((CABBAGE,))], destination=Stuff((WATER,), POT))
    assert result.container == POT


def test_heat_reaches_the_objects_and_not_what_they_are_added_to():
    oil = Stuff((Portion("ごま油"),), PAN)
    (result,) = perform(Effect(heat="fried", join=True, mix=True), [Stuff((CARROT,))], destination=oil)
    assert [portion.heat for portion in result.portions] == ["raw", "fried"]
    assert result.mixed == 2


def test_draining_takes_the_water_away_and_marks_the_rest():
    (result,) = perform(Effect(mark="drained", drain=True), [Stuff((WATER, CABBAGE), POT)], BOWL)
    assert result == Stuff((Portion("キャベツ", marks=frozenset({"drained"})),), BOWL)


def test_marks_add_up_and_mixing_lasts():
    (dressed,) = perform(Effect(mark="dressed", mix=True), [Stuff((CABBAGE,), BOWL)])
    (served,) = perform(Effect(mark="chilled"), [dressed], PLATE)
    assert served.portions[0].marks == {"dressed", "chilled"}
    assert served.mixed == 1


def test_what_is_added_lies_on_top_of_what_was_mixed():
    salad = Stuff((CABBAGE, CARROT), BOWL, mixed=2)
    (topped,) = perform(Effect(join=True), [Stuff((Portion("パセリ"),))], destination=salad)
    assert (len(topped.portions), topped.mixed) == (3, 2)


def test_draining_a_mixture_leaves_it_mixed():
    (drained,) = perform(Effect(drain=True), [Stuff((WATER, CABBAGE, CARROT), BOWL, mixed=3)])
    assert drained == Stuff((CABBAGE, CARROT), BOWL, mixed=2)
