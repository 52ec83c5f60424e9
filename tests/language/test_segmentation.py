import sys
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recipeflow.errors import SegmenterError
from recipeflow.kitchen.cooking import devise_recipe
from recipeflow.language.japanese import normalise
from recipeflow.language.segmentation import load_segmenter, segment


def test_words_of_a_line():
    assert load_segmenter()("（Ａ）しょうゆ大さじ１") == ["（", "Ａ", "）", "しょうゆ", "大さじ", "１"]
    assert segment("薄く切る。", load_segmenter()) == [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]


def test_stems_and_endings_are_apart_as_in_the_release():
    words = load_segmenter()("１、２をお湯で茹で、切り、食べやすい大きさにし、熱します。")
    assert "|".join(words) == "１|、|２|を|お湯|で|茹で|、|切|り|、|食べやす|い|大きさ|に|し|、|熱|し|ま|す|。"


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"])).map(normalise))
def test_words_tile_any_line(text):
    spans = segment(text, load_segmenter())
    assert [start for start, _ in spans] == [0, *(end for _, end in spans[:-1])][: len(spans)]
    assert (spans[-1][1] if spans else 0) == len(text)


def test_word_ends_are_the_annotated_ones():
    """Measured against the kitchen, which writes words as the release divides them."""
    recipes = [devise_recipe(2, index).recipe for index in range(20)]
    right = found = wanted = 0
    for line in (line for recipe in recipes for lines in recipe.sections for line in lines):
        ends = {end for _, end in segment(line.text, load_segmenter())} - {len(line.text)}
        gold = {word.end for word in line.words} - {len(line.text)}
        right, found, wanted = right + len(ends & gold), found + len(ends), wanted + len(gold)
    print(f"word ends: precision {right / found:.3f}, recall {right / wanted:.3f}")
    assert 2 * right / (found + wanted) > 0.985  # 0.94 with MeCab's own words


def test_a_segmenter_that_loses_characters_is_an_error():
    with pytest.raises(SegmenterError, match="expected words that join to '塩 胡椒', found"):
        segment("塩 胡椒", load_segmenter())


def test_kytea_is_used_where_its_model_is_given(monkeypatch, tmp_path):
    given_options = []

    def kytea(options):
        given_options.append(options)
        return SimpleNamespace(getWS=lambda text: list(text))

    monkeypatch.setitem(sys.modules, "Mykytea", SimpleNamespace(Mykytea=kytea))
    assert segment("切る", load_segmenter(tmp_path / "jp.bin")) == [(0, 1), (1, 2)]
    assert given_options == [f"-model {tmp_path}/jp.bin"]


def test_without_kytea_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "Mykytea", None)
    with pytest.raises(SegmenterError, match="pip install kytea"):
        load_segmenter("jp.bin")


def test_a_model_that_is_none(tmp_path):
    pytest.importorskip("Mykytea")
    (tmp_path / "bad.bin").write_text("no model")
    for path in (tmp_path / "bad.bin", tmp_path / "none.bin", tmp_path / "with space.bin"):
        with pytest.raises(SegmenterError, match="expected a"):
            load_segmenter(path)
