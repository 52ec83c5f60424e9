"""The processor: words to ids, images to pixels, saving and loading, and bad input."""

import pickle

import numpy as np
import pytest
import timm
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from transformers import AutoProcessor

from configuration_vrf import CONTEXT_ROLES
from processing_vrf import VRFProcessor
from tests.model_helpers import BACKBONE, small_model

PHRASES = ["千切り", ["薄切り", "に", "する"], "キャベツ", "キャベツ", ["Cut", "cut"], "ｶﾚｰ"]


@pytest.fixture(scope="module")
def processor():
    return VRFProcessor.from_phrases(PHRASES, BACKBONE)


@pytest.fixture(scope="module")
def photo():
    pixels = np.random.default_rng(0).integers(0, 256, (90, 120, 3), dtype=np.uint8)
    return Image.fromarray(pixels)


class TestWords:
    def test_the_vocabulary_is_that_of_the_phrases(self, processor):
        vocabulary = processor.tokenizer.get_vocab()
        assert (vocabulary["[PAD]"], vocabulary["[UNK]"]) == (0, 1)
        words = {"千切り", "薄切り", "に", "する", "キャベツ", "cut", "カレー"}
        assert vocabulary.keys() - {"[PAD]", "[UNK]"} == words
        assert sorted(vocabulary.values()) == list(range(processor.vocab_size)) == list(range(9))

    def test_it_does_not_depend_on_the_order_of_the_phrases(self, processor):
        again = VRFProcessor.from_phrases(reversed(PHRASES), BACKBONE)
        assert again.tokenizer.get_vocab() == processor.tokenizer.get_vocab()

    def test_rare_words_are_unknown_where_asked(self):
        counted = VRFProcessor.from_phrases(PHRASES, BACKBONE, min_count=2)
        assert counted.tokenizer.get_vocab().keys() == {"[PAD]", "[UNK]", "キャベツ", "cut"}

    def test_a_vocabulary_of_nothing_is_refused(self):
        with pytest.raises(ValueError, match="expected the phrases of the training recipes, found none"):
            VRFProcessor.from_phrases([], BACKBONE)

    def test_strings_and_lists_of_words_are_one(self, processor):
        strings = processor(actions=["薄切り に する", "千切り"])["action_ids"]
        lists = processor(actions=[["薄切り", "に", "する"], ["千切り"]])["action_ids"]
        assert torch.equal(strings, lists)
        assert (strings[1] == 0).tolist() == [False, True, True]
        assert torch.equal(processor(objects="千切り")["object_ids"], processor(objects=[["千切り"]])["object_ids"])

    def test_widths_and_cases_are_one(self, processor):
        ids = processor(actions=["カレー", "ｶﾚｰ", "CUT", "ｃｕｔ", "cut"])["action_ids"].flatten().tolist()
        assert len(set(ids[:2])) == len(set(ids[2:])) == 1 and 1 not in ids

    @given(st.lists(st.lists(st.text(min_size=1), min_size=1, max_size=4), min_size=1, max_size=4))
    def test_any_words_give_padded_ids_of_the_vocabulary(self, processor, phrases):
        if any(not " ".join(words).split() for words in phrases):
            with pytest.raises(ValueError, match="at least one word in every row of actions"):
                processor(actions=phrases)
            return
        ids = processor(actions=phrases)["action_ids"]
        is_word = ids != 0
        assert ids.shape[0] == len(phrases) and ids.min() >= 0 and ids.max() < processor.vocab_size
        assert is_word[:, 0].all() and not (is_word[:, 1:] & ~is_word[:, :-1]).any()

    def test_unknown_words_and_the_names_of_special_ones(self, processor):
        assert processor(actions=[["大根", "[PAD]", "[UNK]", "千切り"]])["action_ids"][0, :3].tolist() == [1, 1, 1]

    @pytest.mark.parametrize(
        ("phrases", "error", "message"),
        [
            ([["千切り"], []], ValueError, r"at least one word in every row of objects, found \[\] in row 1"),
            (["千切り", "　 "], ValueError, "in every row of objects.* in row 1"),
            ([], ValueError, "at least one phrase in objects, found an empty list"),
            ([None], TypeError, "a string or a list of words in objects, found None in row 0"),
            ([["千切り", 3]], TypeError, r"found \['千切り', 3\] in row 0"),
        ],
    )
    def test_what_is_no_phrase_is_refused(self, processor, phrases, error, message):
        with pytest.raises(error, match=message):
            processor(objects=phrases)


class TestImages:
    @pytest.mark.parametrize("backbone", ["resnet152.tv_in1k", "tf_efficientnet_lite0", "test_vit"])
    def test_the_transform_is_the_one_the_backbone_asks_for(self, backbone, photo):
        config = timm.data.resolve_data_config(timm.get_pretrained_cfg(backbone).to_dict())
        expected = timm.data.create_transform(**config, is_training=False)(photo)
        made = VRFProcessor.from_phrases(PHRASES, backbone)
        assert torch.equal(made(post_images=photo)["post_pixel_values"], expected[None])

    def test_a_misspelt_backbone_is_answered_with_the_right_one(self):
        with pytest.raises(ValueError, match=r"found 'resnet152\.tv_in1'; nearest: resnet152\.tv_in1k"):
            VRFProcessor.from_phrases(PHRASES, "resnet152.tv_in1")

    def test_every_kind_of_image_gives_the_same_pixels(self, processor, photo, tmp_path):
        photo.save(tmp_path / "photo.png")
        array = np.asarray(photo)
        kinds = [
            photo,
            tmp_path / "photo.png",
            str(tmp_path / "photo.png"),
            array,
            array.transpose(2, 0, 1),
            torch.from_numpy(array.copy()).permute(2, 0, 1),
            array / 255,
            (array / 255).astype(np.float32),
            photo.convert("RGBA"),
        ]
        pixels = processor(post_images=kinds)["post_pixel_values"]
        assert pixels.shape == (len(kinds), 3, 160, 160) and pixels.dtype == torch.float32
        for row in pixels[1:]:
            assert torch.equal(row, pixels[0])

    def test_one_image_and_a_stack_of_arrays_are_batches(self, processor, photo):
        stack = np.stack([np.asarray(photo)] * 3)
        assert processor(post_images=stack)["post_pixel_values"].shape[0] == 3
        assert processor(post_images=stack[0])["post_pixel_values"].shape[0] == 1
        assert processor(pre_images=photo)["pre_mask"].tolist() == [True]

    def test_grey_images_and_turned_ones(self, processor, photo, tmp_path):
        grey = photo.convert("L")
        grey_pixels = processor(post_images=[grey, np.asarray(grey), np.asarray(grey)[..., None]])["post_pixel_values"]
        assert torch.equal(grey_pixels[0], grey_pixels[1]) and torch.equal(grey_pixels[0], grey_pixels[2])

        exif = Image.Exif()
        exif[0x0112] = 6  # to be turned by a quarter, as phones write it
        photo.rotate(90, expand=True).save(tmp_path / "turned.png", exif=exif)
        turned, upright = processor(post_images=[tmp_path / "turned.png", photo])["post_pixel_values"]
        assert torch.equal(turned, upright)

    def test_null_images_are_zeros_and_masked(self, processor, photo):
        batch = processor(pre_images=[None, photo, None])
        assert batch["pre_mask"].tolist() == [False, True, False]
        assert batch["pre_pixel_values"][0].count_nonzero() == 0 == batch["pre_pixel_values"][2].count_nonzero()
        assert torch.equal(batch["pre_pixel_values"][1:2], processor(post_images=photo)["post_pixel_values"])
        assert processor(pre_images=[None])["pre_pixel_values"].shape == (1, 3, 160, 160)

    def test_a_missing_result_is_refused(self, processor, photo):
        with pytest.raises(ValueError, match=r"every row of post_images, found None in row 1; omit such pairs"):
            processor(post_images=[photo, None])

    def test_what_is_no_image_is_refused(self, processor, photo, tmp_path):
        (tmp_path / "text.jpg").write_text("no image")
        photo.save(tmp_path / "cut.jpg")
        whole = (tmp_path / "cut.jpg").read_bytes()
        (tmp_path / "cut.jpg").write_bytes(whole[: len(whole) // 2])
        with pytest.raises(FileNotFoundError, match=r"row 1 of post_images, found no file at .*none\.jpg"):
            processor(post_images=[photo, tmp_path / "none.jpg"])
        for name in ("text.jpg", "cut.jpg"):
            with pytest.raises(OSError, match=rf"readable image in row 0 of pre_images, found .*{name}"):
                processor(pre_images=[tmp_path / name])
        with pytest.raises(TypeError, match=r"a PIL image, an array or None in row 0 of pre_images, found int: 7"):
            processor(pre_images=[7])
        with pytest.raises(ValueError, match="at least one image in post_images, found an empty list"):
            processor(post_images=[])

    @pytest.mark.parametrize(
        ("array", "message"),
        [
            (np.zeros((5, 5, 2), np.uint8), r"found shape \(5, 5, 2\)"),
            (np.zeros(7, np.uint8), r"found shape \(7,\)"),
            (np.zeros((0, 5, 3), np.uint8), r"found shape \(0, 5, 3\)"),
            (np.zeros((4, 4, 3), np.int64), "of int64"),
            (
                np.full((4, 4, 3), 255.0),
                "from 0 to 1.*found 255.0 to 255.0; arrays from 0 to 255 have to be of type uint8",
            ),
            (np.full((4, 4, 3), np.nan), "from 0 to 1.*found nan"),
        ],
    )
    def test_arrays_that_are_no_images_are_refused(self, processor, array, message):
        with pytest.raises(ValueError, match=message):
            processor(post_images=[array])


class TestTogether:
    def test_a_call_without_input_and_other_tensors_are_refused(self, processor):
        with pytest.raises(ValueError, match="at least one of actions, objects, pre_images, post_images and contexts"):
            processor()
        with pytest.raises(ValueError, match=r"return_tensors='pt'.*found 'np'"):
            processor(actions="千切り", return_tensors="np")

    @given(st.lists(st.dictionaries(st.sampled_from(CONTEXT_ROLES), st.sampled_from(["千切り", "大根 に"]))))
    def test_any_context_gives_a_role_beside_each_word_and_padding_on_the_right(self, processor, contexts):
        batch = processor(contexts=[*contexts, {"state": ""}], as_written=True)
        is_word = batch["context_ids"] != 0
        roles = batch["context_roles"][is_word]
        assert ((roles >= 1) & (roles <= len(CONTEXT_ROLES))).all() and not batch["context_roles"][~is_word].any()
        assert not (is_word[:, 1:] & ~is_word[:, :-1]).any()
        assert is_word.sum(dim=1).tolist() == [len(" ".join(row.values()).split()) for row in [*contexts, {}]]

    def test_the_model_takes_what_the_processor_makes(self, processor, photo):
        model = small_model(vocab_size=processor.vocab_size).eval()
        batch = processor(
            actions=["千切り", "薄切り に する"],
            objects=["キャベツ", "大根"],
            pre_images=[photo, None],
            post_images=[photo, photo.rotate(180)],
            contexts=[{"modifier": ["薄切り"]}, {}],
        )
        assert set(batch) == set(processor.model_input_names)
        assert model(**batch).query_embeds.shape == (2, 8)

    def test_saving_loading_and_pickling_keep_everything(self, processor, photo, tmp_path):
        processor.save_pretrained(tmp_path)
        assert {path.name for path in tmp_path.glob("*.py")} == {
            "configuration_vrf.py",
            "processing_vrf.py",
            "vocabulary_hub.py",
            "words_vrf.py",
        }
        inputs = {"actions": ["千切り 大根", "CUT"], "pre_images": [None, photo]}
        expected = processor(**inputs)
        loaded = VRFProcessor.from_pretrained(tmp_path)
        automatic = AutoProcessor.from_pretrained(tmp_path, trust_remote_code=True)
        for other in (loaded, automatic, pickle.loads(pickle.dumps(processor))):
            assert other.vocab_size == processor.vocab_size
            assert all(torch.equal(tensor, expected[name]) for name, tensor in other(**inputs).items())

    def test_loading_the_class_itself_neither_runs_nor_asks_to_run_code_of_the_folder(
        self, processor, tmp_path, capfd
    ):
        small_model(vocab_size=processor.vocab_size).save_pretrained(tmp_path, processor=processor)
        for name in ("configuration_vrf.py", "modeling_vrf.py", "processing_vrf.py"):
            (tmp_path / name).write_text("raise SystemExit('the folder was trusted')")
        capfd.readouterr()
        assert VRFProcessor.from_pretrained(tmp_path).vocab_size == processor.vocab_size
        assert "custom code" not in "".join(capfd.readouterr())
