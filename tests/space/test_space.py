import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType, SimpleNamespace

import pytest
import yaml
from packaging.requirements import Requirement
from PIL import Image

from processing_vrf import VRFProcessor
from tests.model_helpers import BACKBONE
from tests.space.spacing import APP

ROOT = APP.parents[1]
COLOURS = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}


def requirements(path) -> dict[str, Requirement]:
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return {Requirement(line).name: Requirement(line) for line in lines}


@pytest.fixture(scope="module")
def app() -> Iterator[ModuleType]:
    sys.path.insert(0, str(APP.parent))  # as where the app is the program
    spec = spec_from_file_location("space_app", APP)
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.path.remove(str(APP.parent))


@pytest.fixture(scope="module")
def model(app):
    processor = VRFProcessor.from_phrases(["薄切り に する", "薄 切り", "Ａｂ", "トマト"], BACKBONE)
    return app.Model("small", SimpleNamespace(processor=processor))


def page_text(page) -> str:
    return " ".join(str(part["props"].get("value")) for part in page.config["components"])


# The files of the Space.


def test_the_card_says_what_the_hub_wants_to_know():
    _, head, text = (ROOT / "space" / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    card = yaml.safe_load(head)
    assert card["sdk"] == "gradio" and (ROOT / "space" / card["app_file"]).is_file()
    assert card["license"] == "mit" and card["models"] and card["datasets"]
    assert len(card["short_description"]) <= 60
    assert {card["colorFrom"], card["colorTo"]} <= COLOURS
    assert requirements(ROOT / "space" / "requirements.txt")["gradio"].specifier.contains(card["sdk_version"])
    for variable in ("VRF_MODEL", "VRF_DATASET", "VRF_PARSER", "VRF_FOLD"):
        assert variable in text and variable in APP.read_text(encoding="utf-8")


def test_it_is_tested_with_what_it_asks_for():
    own, project = requirements(ROOT / "space" / "requirements.txt"), requirements(ROOT / "requirements.txt")
    project |= requirements(ROOT / "requirements-dev.txt")
    for name, wanted in own.items():
        if name != "pillow":  # which Gradio keeps below 13
            assert wanted == project[name]


# What it makes of words.


def test_phrases_are_split_into_the_fewest_words_that_the_model_knows(app, model):
    assert app.split_words("薄切りにする", model) == ["薄切り", "に", "する"]
    assert app.split_words("トマト薄", model) == ["トマト", "薄"]
    assert app.split_words("ab", model) == ["ab"]  # as the model compares words
    assert app.split_words("揚げ", model) == [] == app.split_words("", model)


def test_other_forms_of_a_word_are_understood_by_models_that_bring_them(app, model):
    assert model.missed("とまと うすぎりにする") == [] and model.missed("トマト 揚げる") == ["揚げる"]
    assert not model.knows("とまと")
    old = app.Model("old", SimpleNamespace(processor=SimpleNamespace(tokenizer=model.pipe.processor.tokenizer)))
    assert old.missed("とまと トマト") == ["とまと"]


def test_special_tokens_are_no_words(model):
    assert not model.knows("[UNK]") and not model.knows("[PAD]") and not model.knows(" ")


# What it says of an answer.


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"image_dropout": 0.5}, "as it did for 50% of the queries in training"),
        ({"image_dropout": 0.0}, "it may always have had a picture"),
        ({}, "it may always have had a picture"),  # an older model
    ],
)
def test_words_alone_are_answered_with_what_the_model_was_trained_for(app, config, said):
    note = note_of(app, config, None)
    assert "only the words" in note and said in note


@pytest.mark.parametrize(
    ("config", "said"), [({}, False), ({"ignores_image": False}, False), ({"ignores_image": True}, True)]
)
def test_a_model_that_ignores_pictures_says_so(app, config, said):
    assert ("It ignores the picture" in note_of(app, config, "before.jpg")) == said


@pytest.mark.parametrize("ignored", [False, True])
def test_a_storyboard_of_a_model_that_ignores_pictures_says_so(app, ignored):
    pipe = SimpleNamespace(
        imagine=lambda graph: [], model=SimpleNamespace(config=SimpleNamespace(ignores_image=ignored))
    )
    make_imagine = sys.modules["plain_words"].make_imagine
    _, _, note = make_imagine(app.Model("small", pipe), [lambda text: {}])("きゅうりを切る。")
    assert ("It ignores pictures" in note) == ignored


def note_of(app, config, image):
    """What the page says below an answer of a model with this config."""
    found = {"action": "切", "objects": ["トマト"], "title": "salad", "instruction": "", "score": 0.5}
    found |= {"recipe_id": "r1", "frame": 1, "image": Image.new("RGB", (8, 8))}

    class Pipe:
        index = (found,)
        model = SimpleNamespace(config=SimpleNamespace(inputs=["action", "object", "image"], **config))

        def __call__(self, query, k):
            return [found][:k]

    query = {"action": "切", "object": "トマト", "image": image}
    gallery, _, note = app.answer(app.Model("small", Pipe()), query, 5, None)
    assert len(gallery) == 1
    return note


# What is wrong is shown on the page.


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({}, "expected the environment variable VRF_MODEL"),
        ({"VRF_MODEL": " , "}, "expected the environment variable VRF_MODEL"),
        ({"VRF_MODEL": "no/such/folder/at/all"}, "expected a model with an index in 'no/such/folder/at/all'"),
    ],
)
def test_a_space_that_is_not_set_up_says_what_is_missing(app, environment, message):
    assert message in page_text(app.make_page(environment))


def test_a_dataset_that_is_none_is_reported(app, model, tmp_path):
    with pytest.raises(app.SetupError, match="VRF_DATASET"):
        app.load_examples(str(tmp_path / "nothing"), None, [model], tmp_path)
