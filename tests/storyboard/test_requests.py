"""Sentences in plain words."""

import pytest

from processing_vrf import VRFProcessor
from recipeflow.errors import QueryError
from recipeflow.parser.runs import open_pipeline
from requests_vrf import Names, find_form, read_request
from tests.model_helpers import BACKBONE
from words_vrf import Translator

GLOSSARY = {
    "千切り": "julienne",
    "切": "cut / drain",
    "入れ": "put in",
    "キャベツ": "cabbage",
    "茹で": "boil",
    "沸騰": "boil",
}
GLOSSARY |= {"ミニトマト": "cherry tomato", "きゅうり": "cucumber"}
NAMES = Names({"千切り", "切", "茹で", "切り", "入れ"}, {"キャベツ", "きゅうり", "ミニトマト", "切り"}, GLOSSARY)


@pytest.fixture(scope="module")
def processor() -> VRFProcessor:
    words = ["千切り", "切", "切り", "入れ", "茹で", "沸騰", "キャベツ", "きゅうり", "ミニ", "トマト", "薄く"]
    return VRFProcessor.from_phrases(words, BACKBONE)


@pytest.fixture(scope="module")
def read(parser, processor):
    pipe = open_pipeline(str(parser))
    return lambda sentence, context="history": read_request(sentence, pipe, processor, NAMES, context)


def test_the_parser_finds_verb_object_and_modifiers(read):
    words = {"instructions": [["１", "．", "きゅうり", "は", "薄く", "切り", "ます", "。"]]}
    found = read(words)
    assert (found.action, found.object, found.context) == (["切り"], ["きゅうり"], {"modifier": ["薄く"]})
    assert read(words, "none").context == {}


@pytest.mark.parametrize("sentence", ["キャベツを千切りにする", "きゃべつを千切りに", "キャベツ、千切り"])
def test_what_the_parser_misses_is_found_among_the_names_of_pictures(read, sentence):
    found = read(sentence)
    assert (found.action, found.object) == (["千切り"], ["キャベツ"])


def test_dictionary_forms_readings_and_kana_find_the_stems(processor):
    assert [find_form(word, processor) for word in ("切る", "きゃべつ", "ゆでる", "胡瓜鉢")] == [
        "切",
        "キャベツ",
        "茹で",
        "胡瓜鉢",
    ]


@pytest.mark.parametrize("sentence", ["", "  ", "おいしい"])
def test_a_sentence_without_an_action_is_refused(read, sentence):
    with pytest.raises(ValueError, match=r"expected (a sentence|an action)"):
        read(sentence)


def test_a_sentence_in_another_language_is_refused(retriever, parser):
    with pytest.raises(QueryError, match="expected text of the model's language"):
        retriever.read_request("shred the cabbage", open_pipeline(str(parser)))


@pytest.mark.parametrize(
    ("english", "words"),
    [
        ("cabbage", ["キャベツ"]),
        ("the Cabbages", ["キャベツ"]),
        ("cherry tomatoes", ["ミニ", "トマト"]),
        ("cherry tomatoes thinly", ["ミニ", "トマト"]),
        ("shred", ["千切り"]),
        ("put", ["入れ"]),
        ("drain", ["切"]),
        ("boil", ["茹で"]),
        ("fly", []),
        ("キャベツ", ["キャベツ"]),
    ],
)
def test_english_is_translated_by_the_glossary(processor, english, words):
    assert Translator(GLOSSARY, processor).known(english.split(), NAMES.actions) == words
