import json
from dataclasses import replace

from recipeflow.explore.catalogue import catalogue_entry, find_cover, recipe_page, translate
from recipeflow.explore.graph_view import graph_views
from recipeflow.graph import build_graph
from recipeflow.graph.folding import fold_modifiers
from recipeflow.graph.program import make_program
from recipeflow.graph.program_text import format_program, parse_program
from recipeflow.release import read_release
from tests.making import EGG, SALAD, TEA

GLOSSARY = {"きゅうり": "cucumber", "切り": "cut", SALAD.title: "salad of cucumber and tomato", "__proto__": "odd"}


def everywhere(number):
    return True


def test_an_entry_says_what_is_in_a_recipe():
    entry = catalogue_entry(SALAD, GLOSSARY, everywhere)
    assert (entry.title, entry.english) == (SALAD.title, "salad of cucumber and tomato")
    assert entry.ingredients == ["きゅうり", "ミニトマト", "塩"]
    assert entry.verbs == ["切り", "入れ", "混ぜ"], "each once, though two things are cut"
    assert entry.labels == ["Targ", "Dest", "F-eq", "F-set", "other-mod"]
    assert (entry.actions, entry.objects) == (4, 7)


def test_an_entry_is_packed_with_places_of_words():
    entry = catalogue_entry(SALAD, GLOSSARY, everywhere)
    places = {word: place for place, word in enumerate(entry.words)}
    packed = json.loads(json.dumps(entry.packed(places)))
    assert packed[:4] == [SALAD.id, SALAD.title, "salad of cucumber and tomato", 7]
    assert [[entry.words[place] for place in places] for places in packed[4:7]] == [
        entry.ingredients,
        entry.verbs,
        entry.labels,
    ]


def test_the_cover_is_the_last_result_that_is_there():
    assert find_cover(SALAD, everywhere) == 7
    assert find_cover(EGG, everywhere) == 9
    assert find_cover(EGG, lambda number: number < 4) == 2
    assert find_cover(TEA, everywhere) == 3
    assert find_cover(TEA, lambda number: False) is None


def test_a_page_is_json_and_names_what_is_there():
    page = json.loads(json.dumps(recipe_page(SALAD, GLOSSARY, lambda number: number != 5)))
    assert page["view"]["id"] == SALAD.id
    assert page["pictures"] == [1, 3, 7]
    assert dict(map(tuple, page["english"])) == {
        SALAD.title: "salad of cucumber and tomato",
        "きゅうり": "cucumber",
        "切り": "cut",
    }
    assert parse_program(page["program"]) == make_program(SALAD)
    assert page["results"] == ["1-1-7", "1-2-10"]


def test_an_english_program_is_the_same_program_in_other_words():
    program = make_program(SALAD)
    english = translate(program, GLOSSARY)
    assert "x1 = cut(cucumber(is=i1), how=薄く)" in format_program(english)
    assert english.results == program.results
    assert list(english.flows()) == list(program.flows())
    assert recipe_page(SALAD, {}, everywhere)["english_program"] is None


def test_modifiers_fold_into_what_they_modify():
    notes = fold_modifiers(build_graph(SALAD))
    texts = {SALAD.entities[note].text: SALAD.entities[owner].text for note, owner in notes.items()}
    assert texts == {"薄く": "切り", "半分": "切り"}
    views = graph_views(SALAD)
    assert {row[0] for row in views["all"]} == set(SALAD.entities)
    assert {row[0] for row in views["folded"]} == set(SALAD.entities) - set(notes)


def test_every_official_recipe_has_a_page(official):
    for recipe in read_release(official):
        page = recipe_page(recipe, {}, lambda number: False)
        assert page["pictures"] == []
        assert len(page["graph"]["all"]) == len(recipe.entities)
        assert len(page["graph"]["folded"]) + len(page["graph"]["notes"]) == len(recipe.entities)
        levels = max((row[2] for row in page["graph"]["folded"]), default=0)
        assert levels < 20, "a graph of 112 nodes stays narrow enough to be read"


def test_a_recipe_without_anything_has_a_page():
    bare = replace(SALAD, flows=(), state_changes=(), title=None)
    page = recipe_page(bare, GLOSSARY, everywhere)
    assert page["trails"][0]["steps"] == []
    assert catalogue_entry(bare, GLOSSARY, everywhere).cover is None
