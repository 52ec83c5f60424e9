import json

import numpy as np
import pytest
from matplotlib.ft2font import FT2Font
from PIL import Image
from typer.testing import CliRunner

from recipeflow.cli import app
from recipeflow.drawing.lettering import font, japanese_font, with_english
from recipeflow.errors import QueryError
from recipeflow.search.picture import search_picture
from tests.search.searching import make_table, own_cache  # noqa: F401  (autouse)

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


def test_the_font_has_what_recipes_are_written_with():
    characters = FT2Font(japanese_font()).get_charmap()
    assert all(ord(character) in characters for character in "切りキャベツ茹、５ｍｍ々〆㎝")


def test_latin_text_keeps_its_own_font():
    assert font("切", 12).path == japanese_font()
    assert getattr(font("cut", 12), "path", None) != japanese_font()


def test_english_stands_beside_what_the_glossary_knows():
    assert with_english(["切", "茶", None], {"切": "cut"}) == {"切": "切 cut", "茶": "茶"}


@pytest.mark.parametrize("rows", [1, 5, 12])
def test_the_picture_grows_with_its_answers(rows):
    query = {"action": "切", "object": "とても長い名前の" * 5, "image": None}
    picture = search_picture(query, [ROW | {"score": 1 - n / 100} for n in range(rows)], {})
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
    printed = json.loads(vrf(*query, "--dataset", "vrf", *sources, "--json").stdout)
    assert len(printed["answers"]) == 5 and printed["unknown_words"] == ["豆腐"]
    assert "image" not in printed["answers"][0] and printed["query"]["image"] == "before.jpg"
    refused = vrf("search", "--action", "切")
    assert isinstance(refused.exception, QueryError) and "expected object in the query" in str(refused.exception)
