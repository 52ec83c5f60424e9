import json

import numpy as np
import pytest
from matplotlib import get_data_path
from PIL import Image
from typer.testing import CliRunner

from recipeflow import lettering
from recipeflow.cli import app
from recipeflow.errors import QueryError
from recipeflow.lettering import japanese_font, legible
from recipeflow.search_picture import kitchen_glossary, search_picture
from tests.searching import make_table, own_cache  # noqa: F401  (autouse)

ROW = {
    "score": 0.5,
    "recipe_id": "kitchen-0-0000",
    "title": "title",
    "action": "切",
    "object": "キャベツ",
    "object_tag": 0,
    "objects": ["キャベツ", "トマト"],
    "image": Image.new("RGB", (320, 200), "green"),
}


@pytest.fixture
def without_font(monkeypatch):
    monkeypatch.setattr(lettering, "japanese_font", lambda: None)


def test_the_font_of_last_resort_is_not_taken_for_japanese():
    """Matplotlib brings one that has a box for every character there is."""
    assert "LastResort" not in (japanese_font() or "")


def test_words_are_english_or_spelled_where_no_font_has_them(without_font):
    words = legible(["cut", "切", "キャベツ", "きゅうり 茶", "５ｍｍ", None], {"切": "cut"})
    spelled = {"cut": "cut", "切": "cut", "キャベツ": "kiyabetu", "きゅうり 茶": "kiyuuri <8336>", "５ｍｍ": "5mm"}
    assert words == spelled


def test_words_stay_japanese_where_a_font_has_them(monkeypatch):
    path = f"{get_data_path()}/fonts/ttf/DejaVuSans.ttf"
    monkeypatch.setattr(lettering, "japanese_font", lambda: path)
    assert legible(["切"], {"切": "cut"}) == {"切": "切"}
    assert lettering.font("切", 12).path == path
    assert getattr(lettering.font("cut", 12), "path", None) != path


def test_the_kitchens_words_are_known_in_english():
    from recipeflow.kitchen.cooking import devise_recipe

    recipe = devise_recipe(0, 3).recipe
    words = kitchen_glossary([ROW, {"recipe_id": recipe.id, "title": recipe.title}])
    assert words["切"] == "cut" and words["キャベツ"] == "cabbage"
    assert "salad of" in words[recipe.title]
    assert "title" not in words  # another recipe of that number


@pytest.mark.parametrize("rows", [1, 5, 12])
def test_the_picture_grows_with_its_answers(without_font, rows):
    query = {"action": "切", "object": "とても長い名前の" * 5, "image": None}
    picture = search_picture(query, [ROW | {"score": 1 - n / 100} for n in range(rows)])
    assert picture.width == pytest.approx(350 + 236 * min(rows, 5), abs=60)
    assert picture.height == pytest.approx(100 + 340 * -(-rows // 5), abs=60)
    green = (np.asarray(picture) == (0, 128, 0)).all(axis=2).sum()
    assert green == pytest.approx(rows * 190 * 119, rel=0.15)  # whole pictures, fitted and not stretched


def vrf(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_the_commands_from_index_to_picture(tmp_path, monkeypatch):
    table = make_table(tmp_path, recipes=3)
    model, processor = table.make_model()
    model.save_pretrained(tmp_path / "run" / "model", processor=processor)
    ROW["image"].save(tmp_path / "before.jpg")
    monkeypatch.chdir(tmp_path)
    sources = ("--cache", "cache", "--weights", "backbone.pth")
    assert vrf("index", "vrf", *sources).stdout.startswith("wrote run/model/index: ")
    query = ("search", "--action", "千切り", "--object", "豆腐", "--image", "before.jpg")
    answered = vrf(*query, "-k", 3, "--picture", "found.png")
    assert answered.exit_code == 0
    assert "The best 3 of" in answered.stdout and "0." in answered.stdout
    assert "not in the model's vocabulary: 豆腐" in answered.stderr and "wrote found.png" in answered.stderr
    assert "UserWarning" not in answered.stderr
    with Image.open("found.png") as picture:
        assert picture.format == "PNG"
    told = json.loads(vrf(*query, "--dataset", "vrf", *sources, "--json").stdout)
    assert len(told["answers"]) == 5 and told["unknown_words"] == ["豆腐"]
    assert "image" not in told["answers"][0] and told["query"]["image"] == "before.jpg"
    refused = vrf("search", "--action", "切")
    assert isinstance(refused.exception, QueryError) and "expected object in the query" in str(refused.exception)
