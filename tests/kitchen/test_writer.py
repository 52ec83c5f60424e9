from random import Random

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from recipeflow.graph import build_graph, trace_objects
from recipeflow.kitchen.planner import plan_recipe
from recipeflow.kitchen.writer import Manuscript, add_meanings, write_recipe
from recipeflow.release.parsing import RecipeParser, recipe_to_json
from recipeflow.release.recipe import Recipe


def write(seed: int) -> tuple[Recipe, Manuscript]:
    rng = Random(seed)
    text = write_recipe(plan_recipe(rng), rng)
    return Recipe("r", text.lines(0), text.lines(1), text.sorted_flows()), text


written = st.integers(0, 10**9).map(write)


@given(written)
def test_what_is_written_is_a_valid_recipe(pair):
    recipe, _ = pair
    parser = RecipeParser("r")
    assert parser.parse(recipe_to_json(recipe)) is not None, parser.problems


@given(written)
def test_tracing_the_flows_finds_the_objects_that_the_cook_meant(pair):
    recipe, text = pair
    traced = trace_objects(recipe)
    assert {action.id: len(action.objects) for action in text.actions} == {
        action: len(objects) for action, objects in traced.items()
    }


@given(written)
def test_every_entity_has_an_english_name(pair):
    recipe, text = pair
    for entity in recipe.entities.values():
        assert text.glossary[entity.text].isascii(), entity


@given(written)
def test_the_graph_is_one_piece_and_ends_in_the_finished_dish(pair):
    recipe, _ = pair
    graph = build_graph(recipe)
    assert nx.is_weakly_connected(graph)
    ends = [node for node in graph if graph.out_degree(node) == 0]
    assert [recipe.entities[node].text for node in ends] == ["完成"]


@given(written)
def test_lines_read_like_the_release(pair):
    recipe, _ = pair
    labels = [line.text.split("．")[0] for line in recipe.instructions]
    numbers = [label for label in labels if label != "準備"]
    assert labels[0] in ("準備", "１")
    assert numbers == [chr(ord("０") + n) for n in range(1, len(numbers) + 1)]
    assert all(line.text.endswith("す。") for line in recipe.instructions)
    assert recipe.instructions[-1].text.endswith("て完成です。")
    for line in (*recipe.ingredients, *recipe.instructions):
        assert not any(character.isascii() or character.isspace() for character in line.text)


def test_a_word_with_two_meanings_keeps_both():
    glossary = {}
    for meanings in ({"切": "drain", "葱": "leek"}, {"切": "cut"}, {"切": "cut / drain"}):
        add_meanings(glossary, meanings)
    assert glossary == {"切": "cut / drain", "葱": "leek"}
