"""Plain text to words, as the words of a release are split."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recipeflow.language.japanese import normalise
from segmentation_rfg import normalise_line, split_line


def words(text: str, language: str) -> list[str]:
    line = normalise_line(text, language)
    return [line[start:end] for start, end in split_line(line, language)]


def test_japanese_is_split_as_the_release_has_it():
    assert words("キャベツは、細く切ります。", "ja") == [
        "キャベツ",
        "は",
        "、",
        "細",
        "く",
        "切",
        "り",
        "ま",
        "す",
        "。",
    ]
    assert words("塩 小さじ1/2", "ja") == ["塩", "小さじ", "１", "／", "２"]


def test_english_keeps_fractions_hyphens_and_apostrophes():
    text = "Heat  over medium-high\theat; don't add 1/2 cup (1.5cm)."
    expected = "Heat over medium-high heat ; don't add 1/2 cup ( 1.5cm ) ."
    assert words(text, "en") == words(text, "en-GB") == expected.split()


@settings(max_examples=40)
@given(st.text(st.characters(codec="utf-8"), max_size=60))
def test_no_letter_is_lost_in_any_language(text):
    for language in ("en", "ja", "fr"):
        try:
            line = normalise_line(text, language)
            spans = split_line(line, language)
        except ValueError as error:
            assert "expected text of the model's language" in str(error)
            continue
        assert "".join(line[start:end] for start, end in spans) == "".join(line.split())
        assert all(0 <= start < end <= len(line) for start, end in spans)


@pytest.mark.parametrize("text", ["材料（２人分）", "ｷｬﾍﾞﾂ 1/4個", "塩\u3000少々", "６００Wで3分"])
def test_japanese_lines_get_the_release_s_form(text):
    assert normalise_line(text, "ja") == normalise(text)


@pytest.mark.parametrize(
    ("text", "language", "message"),
    [
        ("Peel the potatoes.", "ja", "words would be joined into one"),
        ("キャベツを切ります。", "en", "with spaces between words"),
        ("把蒜切碎", "zh", "pass lists of words"),
        ("\ud83c", "en", "half of a surrogate pair"),
    ],
)
def test_text_of_another_language_is_refused(text, language, message):
    with pytest.raises(ValueError, match=message):
        words(text, language)


def test_control_characters_count_as_spaces():
    assert words("Mix\x00 the\x07\x1b flour\x7f.", "en") == ["Mix", "the", "flour", "."]
    assert words("塩\x00を\x07振る", "ja") == ["塩", "を", "振", "る"]
