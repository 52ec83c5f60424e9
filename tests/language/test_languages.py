import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from recipeflow.errors import SegmenterError
from recipeflow.language import english, japanese
from recipeflow.language.languages import find_language, guess_language, is_spaced, join_words, language_name
from segmentation_rfg import UNSPACED


def words(text: str, code: str = "en") -> list[str]:
    language = find_language(code)
    line = language.normalise(text)
    return [line[start:end] for start, end in language.segment(line)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2 large tomatoes", ["2", "large", "tomatoes"]),
        ("Add 1/2 tsp  salt,\tthen stir.", ["Add", "1/2", "tsp", "salt", ",", "then", "stir", "."]),
        ("medium-high (don't burn)", ["medium-high", "(", "don't", "burn", ")"]),
        ("1.5cm, 2,5 l", ["1.5cm", ",", "2,5", "l"]),
        ("purée at 180°C", ["purée", "at", "180", "°", "C"]),
        ("", []),
    ],
)
def test_english_is_split_at_spaces_and_punctuation_and_kept_as_it_is(text, expected):
    assert words(text) == expected


@given(st.text(st.characters(exclude_categories=["Cs", "Lo"])))
def test_only_spaces_are_between_english_words(text):
    assume(not UNSPACED.search(text))  # such as digits and marks of scripts without spaces
    line = english.normalise(text)
    spans = english.segment(line)
    rest = list(line)
    for start, end in spans:
        assert start < end
        rest[start:end] = [" "] * (end - start)
    assert not "".join(rest).strip()
    assert english.normalise(line) == line


@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Zs"]), min_size=1), min_size=1))
def test_joined_words_stand_where_they_are_said_to(tokens):
    for code in ("en", "ja", "sv"):
        line, spans = join_words(tokens, code)
        assert [line[start:end] for start, end in spans] == tokens


def test_words_are_joined_readably():
    tokens = ["Stir", "(", "gently", ")", ",", "it", "'s", "hot", "."]
    assert join_words(tokens, "en")[0] == "Stir (gently), it's hot."
    assert join_words(["切", "り", "。"], "ja")[0] == "切り。"


def test_japanese_is_normalised_as_before():
    assert "".join(words("塩 少々 1g", "ja")) == "塩少々１ｇ"
    assert japanese.normalise("Ａ A") == "ＡＡ"


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("2 large tomatoes", "ja", 'expected Japanese text, found .*large.*"language": "en"'),
        ("切る", "en", "expected words with spaces between them, found '切る'"),
        ("un peu de sel", "fr", r"can be split into words here \(ja, en\), found 'fr'; .*vrf import jsonl"),
    ],
)
def test_what_cannot_be_segmented_is_refused(text, code, message):
    with pytest.raises(SegmenterError, match=message):
        words(text, code)


def test_codes():
    assert find_language("en-GB").code == "en"
    assert (is_spaced("en-GB"), is_spaced("ja"), is_spaced("zh-Hant")) == (True, False, False)
    assert (language_name("en-GB"), language_name("fr")) == ("English", "fr")


@pytest.mark.parametrize(
    ("text", "code"),
    [("卵を茹でる。", "ja"), ("Boil the eggs.", "en"), ("Chop. Fry.", "en"), ("ゆで卵 boiled egg with salt", "ja")],
)
def test_the_language_of_a_text_is_told(text, code):
    assert guess_language(text) == code


@pytest.mark.parametrize(
    "text", ["把鸡蛋煮熟", "Сварить яйца", "Couper les tomates et mélanger avec un peu de sel fin"]
)
def test_a_language_that_is_not_certain_is_asked_for(text):
    with pytest.raises(SegmenterError, match="name its language"):
        guess_language(text)
