from dataclasses import replace
from itertools import pairwise

import networkx as nx
import pytest
from PIL import Image

from recipeflow.graph import build_graph
from recipeflow.graph.drawing import draw_graph
from recipeflow.graph.layout import lay_out
from recipeflow.kitchen.cooking import devise_recipe
from recipeflow.release import read_release
from recipeflow.release.recipe import Flow, Line, Recipe, Word
from tests.making import RECIPES
from tests.making_english import ENGLISH_INFO, SOUP


def check_places(recipe):
    graph = build_graph(recipe)
    places = lay_out(graph)
    assert places.keys() == recipe.entities.keys()
    assert all(places[start][0] < places[end][0] for start, end in graph.edges())
    columns = {}
    for x, y in places.values():
        columns.setdefault(x, []).append(y)
    for rows in map(sorted, columns.values()):
        assert all(below - above >= 1 for above, below in pairwise(rows))


@pytest.mark.parametrize("recipe", [*RECIPES, *(devise_recipe(4, i).recipe for i in range(10))], ids=lambda r: r.id)
def test_flows_go_right_and_nodes_do_not_overlap(recipe):
    check_places(recipe)


def test_every_official_graph_can_be_laid_out(official):
    for recipe in read_release(official):
        check_places(recipe)


def test_long_chains_and_empty_graphs():
    words = tuple(Word(i, i + 1, "Ac-B") for i in range(3000))
    flows = tuple(Flow(f"1-0-{i}", f"1-0-{i + 1}", "Targ") for i in range(2999))
    check_places(Recipe("chain", (), (Line(words),), flows))
    assert lay_out(nx.MultiDiGraph()) == {}


def test_a_picture_with_and_without_text(tmp_path, official):
    draw_graph(RECIPES[0], tmp_path / "pictures/salad.png", {"きゅうり": "cucumber"})
    draw_graph(next(read_release(official)), tmp_path / "pictures/official.png")
    for path in (tmp_path / "pictures").iterdir():
        with Image.open(path) as picture:
            assert picture.width > 500 and len(picture.convert("RGB").getcolors(10**7)) > 50
    assert sorted(path.name for path in (tmp_path / "pictures").iterdir()) == ["official.png", "salad.png"]


def test_a_corpus_with_other_tags_is_drawn_too(tmp_path):
    draw_graph(SOUP, tmp_path / "soup.png", tags=ENGLISH_INFO.scheme.tags)
    draw_graph(replace(SOUP, title=""), tmp_path / "untitled.png")
    with Image.open(tmp_path / "soup.png") as picture:
        assert picture.width > 300
