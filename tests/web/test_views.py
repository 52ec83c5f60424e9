import json
from dataclasses import replace

from recipeflow.release import read_release
from recipeflow.release.recipe import Line, Recipe
from recipeflow.web.views import recipe_view
from tests.making import SALAD


def test_every_part_of_a_recipe_is_in_its_view():
    view = recipe_view(SALAD)
    assert view["title"] == SALAD.title
    assert [section["name"] for section in view["sections"]] == ["ingredients", "instructions"]
    line = view["sections"][1]["lines"][0]
    assert line["text"] == "１．きゅうりは薄く切ります。"
    assert line["words"][2] == {"id": "1-0-2", "text": "きゅうり", "start": 2, "end": 6}
    assert "".join(word["text"] for word in line["words"]) == line["text"]
    tomato = next(entity for entity in view["entities"] if entity["text"] == "ミニトマト")
    assert tomato == {"id": "0-1-3", "tag": "F", "section": 0, "line": 1, "start": 3, "end": 5, "text": "ミニトマト"}
    assert {"start": "1-0-5", "end": "1-2-4", "label": "F-set"} in view["flows"]
    assert len(view["flows"]) == len(SALAD.flows)


def test_objects_are_traced_and_what_is_missing_is_null():
    objects = [tuple(row.values()) for row in recipe_view(SALAD)["objects"]]
    assert objects == [
        ("1-0-5", "1-0-2", 1, 3),
        ("1-1-7", "1-1-2", 3, 5),
        ("1-2-8", "1-0-2", 3, 7),
        ("1-2-8", "1-1-2", 5, 7),
        ("1-2-8", "1-2-6", None, 7),
        ("1-2-10", "1-2-8", 7, None),
        ("1-2-10", None, None, None),
    ]


def test_a_view_is_plain_json_with_or_without_text(official):
    for recipe in read_release(official):
        view = recipe_view(recipe)
        assert json.loads(json.dumps(view)) == view
        assert view["title"] is None
        assert all(
            word["text"] is None for part in view["sections"] for line in part["lines"] for word in line["words"]
        )
        ids = {entity["id"] for entity in view["entities"]}
        words = {word["id"] for part in view["sections"] for line in part["lines"] for word in line["words"]}
        assert ids <= words
        assert all({flow["start"], flow["end"]} <= ids for flow in view["flows"])
        assert len(view["objects"]) == len(recipe.state_changes)


def test_lines_without_words_and_empty_text_are_kept():
    view = recipe_view(Recipe("x", (Line((), ""),), ()))
    assert view["sections"][0]["lines"] == [{"text": "", "words": []}]
    assert recipe_view(replace(SALAD, url=None))["url"] is None
