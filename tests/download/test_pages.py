import json

import pytest

from recipeflow.download.pages import JSON_LD, STATE, PageIngredient, PageInstruction, find_video, read_page
from recipeflow.errors import PageError
from tests.download.site.pages import json_ld_page, page_fields, state_page
from tests.making import EGG, SALAD

URL = "https://www.example.org/recipes/1"
VIDEO = "https://video.example.org/a/b-1.mp4"


def json_ld(recipe: dict) -> str:
    return f'<script type="application/ld+json">{json.dumps(recipe)}</script>'


def test_the_state_of_a_page():
    page = read_page(state_page(page_fields(SALAD), VIDEO), URL)
    assert page.way == STATE
    assert page.title == " きゅうりとトマトのサラダ"
    assert page.ingredients[1] == PageIngredient("ミニト", "\u3000マト2個\r\n", "A")
    assert [item.heading for item in page.ingredients] == [None, "A", None]
    assert [step.order for step in page.instructions] == [1, 2, 3]
    assert page.instructions[0] == PageInstruction("きゅうりは\r\n薄く切ります。 ", 1)
    assert page.video == VIDEO


def test_an_ingredient_may_have_no_quantity_and_no_group():
    fields = page_fields(EGG)
    fields["ingredients"][0] = {"type": "ingredients", "name": "卵", "quantity-amount": None}
    assert read_page(state_page(fields, None), URL).ingredients[0] == PageIngredient("卵", "", None)


def test_search_engines_data_where_there_is_no_state():
    page = read_page(json_ld_page(page_fields(SALAD), VIDEO), URL)
    assert page.way == JSON_LD
    assert page.ingredients[1].name == "(A) ミニト \u3000マト2個\r\n"
    assert [step.order for step in page.instructions] == [None] * 3
    assert page.video == VIDEO


@pytest.mark.parametrize(
    "instructions",
    [
        "切る\n煮る",
        ["切る", "煮る"],
        [{"@type": "HowToStep", "text": "<b>切る</b>"}, "煮る"],
        [{"@type": "HowToSection", "itemListElement": [{"text": "切る"}, {"text": "煮る"}]}],
        {"@type": "ItemList", "itemListElement": [{"text": "切る"}, {"text": "煮る"}]},
    ],
)
def test_every_form_of_instructions_in_json_ld(instructions):
    recipe = {"@type": "Recipe", "name": "a", "recipeIngredient": ["塩"], "recipeInstructions": instructions}
    assert [step.body for step in read_page(json_ld([recipe]), URL).instructions] == ["切る", "煮る"]


def test_a_changed_state_falls_back_to_json_ld():
    fields = page_fields(SALAD)
    page = state_page(fields, VIDEO).replace('"fetchVideo"', '"fetchRecipe"') + json_ld_page(fields, VIDEO)
    assert read_page(page, URL).way == JSON_LD


def broken(**change):
    return state_page(page_fields(SALAD) | change, None)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("", "ssrContext: no script sets it; JSON-LD: no script of that type"),
        ("<p>ssrContext = {}</p>", "ssrContext: no script sets it"),
        ("<script>ssrContext = {};</script>", "ssrContext: no 'state' where it used to be"),
        ("<script>ssrContext = {nothing};</script>", "ssrContext: it is not JSON"),
        ("<script>ssrContext = " + '{"a":' * 100_000 + "</script>", "ssrContext: it is not JSON"),
        (broken(title=None), "'title' is NoneType None, not str"),
        (broken(ingredients=[]), "0 ingredients and 3 instructions"),
        (broken(ingredients=["塩"]), "no 'type' where it used to be"),
        (broken(instructions=[{"body": "切る", "sort-order": "1"}]), "'sort-order' is str '1', not int"),
        (json_ld({"@type": "WebPage"}), "JSON-LD: no Recipe in it"),
        (json_ld({"@type": "Recipe", "name": "a"}), "no 'recipeIngredient' where it used to be"),
        (json_ld({"@type": "Recipe", "name": "a", "recipeIngredient": [1]}), "expected a text, found int 1"),
        (json_ld({"@type": "Recipe", "recipeIngredient": ["塩"]}), "expected instructions, found NoneType None"),
    ],
)
def test_a_page_without_a_recipe_is_named_with_the_reason(source, reason):
    with pytest.raises(PageError) as error:
        read_page(source, URL)
    assert URL in str(error.value)
    assert reason in str(error.value)


@pytest.mark.parametrize(
    ("source", "video"),
    [
        ('<video src="https://a.example/x.mp4?t=1"> https://a.example/y.mp4', "https://a.example/x.mp4"),
        (r'{"url":"https:\/\/a.example\/v\/x.mp4"}', "https://a.example/v/x.mp4"),
        (r'{"url":"https:\u002F\u002Fa.example\u002fx.mp4"}', "https://a.example/x.mp4"),
        ('"https://a.example/x.jpg" "https://a.example/x.mp4"', "https://a.example/x.mp4"),
        ('<a href="https://a.example/?a=1&amp;b=2.mp4">', "https://a.example/?a=1&b=2.mp4"),
        ("https://a.example/x.webm", None),
    ],
)
def test_the_video_is_the_first_mp4_address_of_the_source(source, video):
    assert find_video(source) == video
