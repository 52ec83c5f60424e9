from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import pytest

from recipeflow.release.recipe import IOB2_TAGS, LABELS, TAGS, Line, Recipe, Word, frame_name, word_id
from tests.making import EGG, SALAD, make_recipe


def test_the_papers_tags_and_labels():
    assert list(TAGS) == ["F", "T", "D", "Q", "Ac", "Af", "Sf", "St"]
    assert len(LABELS) == 13
    assert IOB2_TAGS[:3] == ("O", "B-F", "I-F")
    assert len(IOB2_TAGS) == 1 + 2 * 8


@pytest.mark.parametrize(("ne", "iob2"), [("O", "O"), ("F-B", "B-F"), ("Ac-I", "I-Ac")])
def test_word_tags_in_iob2(ne, iob2):
    assert Word(0, 1, ne).iob2 == iob2


def test_words_cut_their_line():
    line = SALAD.ingredients[1]
    assert line.text == "（Ａ）ミニトマト２個"
    assert line.tokens == ["（", "Ａ", "）", "ミニ", "トマト", "２", "個"]
    assert line.length == len(line.text) == 10


def test_a_line_without_text_has_no_tokens():
    assert Line((Word(0, 2), Word(2, 5))).tokens is None
    assert Line((Word(0, 2), Word(2, 5))).length == 5


def test_entities_span_their_inside_words():
    tomato = SALAD.entities["0-1-3"]
    assert (tomato.tag, tomato.text, tomato.start_word, tomato.end_word) == ("F", "ミニトマト", 3, 5)
    assert [entity.text for entity in EGG.entities.values()][:4] == ["卵", "２個", "水", "適量"]


def test_neighbouring_entities_are_not_joined():
    recipe = make_recipe("a", "a", "砂糖/F 塩/F 油/F+", "終わり")
    assert [entity.text for entity in recipe.entities.values()] == ["砂糖", "塩油"]


def test_entities_without_text():
    lines = tuple(replace(line, text=None) for line in SALAD.ingredients)
    bare = Recipe("bare", lines, ())
    assert [entity.text for entity in bare.entities.values()] == [None] * 6
    assert list(bare.entities) == [entity.id for entity in SALAD.entities.values() if entity.section == 0]
    assert not bare.has_text
    assert SALAD.has_text


def test_actions_and_used_frames():
    assert [action.text for action in SALAD.actions] == ["切り", "切り", "入れ", "混ぜ"]
    assert SALAD.used_frames == (1, 3, 5, 7)


def test_frame_paths():
    assert SALAD.frame_path(3) is None
    assert replace(SALAD, frames_folder=Path("x")).frame_path(3) == Path("x") / frame_name(3) == Path("x/frame_3.jpg")


def test_recipes_are_equal_wherever_their_frames_lie():
    assert replace(SALAD, frames_folder=Path("x")) == SALAD
    assert replace(SALAD, title="other") != SALAD


def test_recipes_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        SALAD.title = "other"
    with pytest.raises(FrozenInstanceError):
        SALAD.flows[0].label = "Targ"


def test_word_ids_are_positions():
    assert word_id(1, 2, 10) == "1-2-10"
