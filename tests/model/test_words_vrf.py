"""Words under other forms: found where they are sure, reported where not, and never in place of a known one."""

import json
import pickle
import warnings

import pytest
import torch
from transformers import AutoProcessor

from processing_vrf import VRFProcessor
from recipeflow.kitchen.verbs import VERBS
from tests.model.test_hub_package import run_isolated
from tests.model_helpers import BACKBONE, small_model
from words_vrf import UnknownWordsWarning, WordFinder, describe_words

STEMS = ["切", "切り", "茹で", "混ぜ", "刻", "洗", "剥", "まぶ", "のせ", "かけ", "加熱", "千切り", "ささがき"]
FOODS = ["キャベツ", "にんじん", "玉ねぎ", "卵", "大根", "から", "に", "を", "cut"]


@pytest.fixture(scope="module")
def processor() -> VRFProcessor:
    return VRFProcessor.from_phrases([*STEMS, *FOODS], BACKBONE)


def ids(processor: VRFProcessor, word: str) -> list[int]:
    return processor(actions=word)["action_ids"][0].tolist()


@pytest.mark.parametrize(
    ("written", "word"),
    [
        *[("切る", "切"), ("きる", "切"), ("キル", "切"), ("切って", "切"), ("切った", "切"), ("切ります", "切り")],
        *[
            ("茹でる", "茹で"),
            ("ゆでる", "茹で"),
            ("ゆで", "茹で"),
            ("茹でて", "茹で"),
            ("ゆでて", "茹で"),
            ("ユデル", "茹で"),
        ],
        *[("混ぜる", "混ぜ"), ("まぜます", "混ぜ"), ("刻む", "刻"), ("刻んで", "刻"), ("きざむ", "刻")],
        *[("洗う", "洗"), ("洗って", "洗"), ("あらう", "洗"), ("剥く", "剥"), ("むく", "剥"), ("まぶす", "まぶ")],
        *[("のせる", "のせ"), ("のせて", "のせ"), ("かける", "かけ"), ("加熱する", "加熱"), ("加熱して", "加熱")],
        *[("千切りにする", "千切り"), ("せんぎり", "千切り"), ("ささがきにします", "ささがき")],
        *[("きゃべつ", "キャベツ"), ("ｷｬﾍﾞﾂ", "キャベツ"), ("ニンジン", "にんじん"), ("たまねぎ", "玉ねぎ")],
        *[("タマゴ", "卵"), ("だいこん", "大根"), ("CUT", "cut")],
    ],
)
def test_other_forms_are_found(processor, written, word):
    with warnings.catch_warnings(action="error"):
        assert ids(processor, written) == ids(processor, word)
        assert ids(processor, word) == [processor.tokenizer.get_vocab()[word]]


@pytest.mark.parametrize("word", ["豆腐", "からし", "にる", "をる", "きゅうり", "煮る", "る", "する", "[PAD]"])
def test_what_is_unknown_stays_unknown_and_is_named(processor, word):
    with pytest.warns(UnknownWordsWarning, match="the model does not know: "):
        assert ids(processor, word) == [processor.tokenizer.unk_token_id]


def test_a_name_written_without_spaces_is_the_words_that_it_has(processor):
    """Names of objects, as answers show them, are several words of the vocabulary in one."""
    with warnings.catch_warnings(action="error"):
        assert ids(processor, "玉ねぎ千切り") == ids(processor, "玉ねぎ 千切り")
        both = processor(objects=["玉ねぎ千切り 切る", "卵"], contexts=[{"modifier": "大根卵"}, {}])
    assert both["object_ids"].tolist() == [
        [*ids(processor, "玉ねぎ 千切り"), *ids(processor, "切")],
        [*ids(processor, "卵"), 0, 0],
    ]
    assert both["context_roles"].tolist() == [[1, 1], [0, 0]]
    # part of it is unknown; words of one kana prove nothing; in scripts with spaces, words are not split
    for name in ("玉ねぎ豆腐", "卵を", "ににん", "cutcut"):
        with pytest.warns(UnknownWordsWarning, match=name):
            assert ids(processor, name) == [processor.tokenizer.unk_token_id]


def test_a_word_of_one_digit_letter_or_kanji_is_a_word():
    processor = VRFProcessor.from_phrases(["1 センチ l サイズ 葉 大根"], BACKBONE)
    with warnings.catch_warnings(action="error"):
        for name in ("1センチ", "Lサイズ", "大根葉"):
            assert len(ids(processor, name)) == 2


def test_a_warning_names_all_words_of_a_call_once(processor):
    with pytest.warns(UnknownWordsWarning) as caught:
        processor(actions=["豆腐 切る", "豆腐"], objects=["味噌", "卵"], contexts=[{"modifier": "薄く"}, {}])
    assert [str(warning.message) for warning in caught] == ["the model does not know: 豆腐, 味噌, 薄く"]
    assert processor.missed_words(["豆腐 切る", ["味噌"]]) == {"豆腐": [], "味噌": []}


def test_what_may_stand_for_several_words_is_reported_and_not_guessed():
    processor = VRFProcessor.from_phrases(["柿", "牡蠣", "切"], BACKBONE)
    message = "かき may mean 柿 or 牡蠣, and counts as unknown: write one of these"
    with pytest.warns(UnknownWordsWarning, match=message):
        assert ids(processor, "かき") == [processor.tokenizer.unk_token_id]
    known = VRFProcessor.from_phrases(["柿", "牡蠣", "切", "かき"], BACKBONE)
    with warnings.catch_warnings(action="error"):
        assert ids(known, "かき") == [known.tokenizer.get_vocab()["かき"]]
    assert ids(known, "カキ") == ids(known, "かき")  # the same word in other kana, before all that is read so


def test_known_words_have_the_ids_that_they_have_without_other_forms(processor):
    plain = VRFProcessor(processor.tokenizer, processor.data_config)
    phrases = [*STEMS, *FOODS, "切 に まぶ"]
    expected = processor(actions=phrases, as_written=True)["action_ids"]
    for other in (processor, plain):
        assert torch.equal(other(actions=phrases)["action_ids"], expected)


def test_words_of_recipes_are_taken_as_they_are_written(processor):
    with warnings.catch_warnings(action="error"):
        batch = processor(actions=["切る", "切"], contexts=[{"modifier": "きる"}, {}], as_written=True)
    unknown = processor.tokenizer.unk_token_id
    assert batch["action_ids"][0].tolist() == [unknown] == batch["context_ids"][0].tolist()


def test_every_verb_of_the_kitchen_is_found_by_its_dictionary_form():
    """Stems of one letter (ひ, ふ) are left out: nothing distinguishes ふる from ふく."""
    stems = {name: verb.stem[0] for name, verb in VERBS.items() if len(verb.stem) == 1}
    words = {*stems.values(), "切り", "に"}
    finder = WordFinder(words, describe_words(words))
    assert {name for name, stem in stems.items() if finder.find(name) != [stem]} == {"ひく", "ふる", "水気を切る"}


def test_it_is_saved_with_the_processor_and_needs_no_dictionary_then(processor, tmp_path):
    small_model(vocab_size=processor.vocab_size).save_pretrained(tmp_path / "model", processor=processor)
    for other in (
        VRFProcessor.from_pretrained(tmp_path / "model"),
        AutoProcessor.from_pretrained(tmp_path / "model", trust_remote_code=True),
        pickle.loads(pickle.dumps(processor)),
    ):
        assert ids(other, "ゆでる") == ids(processor, "茹で")
    code = f"""
    HIDDEN |= {{"fugashi", "unidic_lite"}}
    from transformers import AutoProcessor
    processor = AutoProcessor.from_pretrained({str(tmp_path / "model")!r}, trust_remote_code=True)
    print(processor(actions=["切る", "きる", "とうふ"])["action_ids"].tolist())
    """
    cut, unknown = ids(processor, "切"), [processor.tokenizer.unk_token_id]
    assert json.loads(run_isolated(code, tmp_path / "process")) == [cut, cut, unknown]


def test_a_processor_that_was_saved_without_it_works(processor, tmp_path):
    processor.save_pretrained(tmp_path)
    settings = json.loads((tmp_path / "processor_config.json").read_text())
    del settings["word_forms"]
    (tmp_path / "processor_config.json").write_text(json.dumps(settings))
    old = VRFProcessor.from_pretrained(tmp_path)
    assert old.word_forms is None
    assert ids(old, "茹でる") == ids(processor, "茹で") and ids(old, "きゃべつ") == ids(processor, "キャベツ")
    with pytest.warns(UnknownWordsWarning, match="does not know: きる"):
        ids(old, "きる")
