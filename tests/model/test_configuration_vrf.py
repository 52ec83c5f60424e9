"""The configuration: the paper's defaults, strict fields, and answers to misspellings."""

import json

import pytest
import timm
import torch
from huggingface_hub.errors import StrictDataclassError
from hypothesis import assume, given
from hypothesis import strategies as st
from transformers import AutoConfig

from configuration_vrf import VRFConfig
from tests.model_helpers import INPUT_SUBSETS, small_config


def test_defaults_are_the_papers():
    config = VRFConfig()
    assert (config.word_dim, config.text_dim, config.feature_dim, config.embedding_dim) == (496, 512, 2048, 128)
    assert (config.backbone, config.freeze_backbone) == ("resnet152.tv_in1k", True)
    assert (config.margin, config.negatives) == (0.1, "one")
    assert config.inputs == ["action", "object", "image"]
    assert config.model_type == "vrf"


@pytest.mark.parametrize(
    "backbone",
    [
        "test_resnet",
        "test_efficientnet",
        "test_vit",
        "test_convnext",
        "mobilenetv3_small_050",
        "tf_efficientnet_lite0",
    ],
)
def test_feature_dim_is_what_the_backbone_gives(backbone):
    network = timm.create_model(backbone, num_classes=0).eval()
    pixels = torch.zeros(1, *timm.get_pretrained_cfg(backbone).input_size)
    with torch.no_grad():
        assert network(pixels).shape == (1, VRFConfig(backbone=backbone).feature_dim)


def test_a_backbone_without_one_feature_vector_is_refused():
    config = VRFConfig(backbone="mobilenetv5_300m_enc")
    with pytest.raises(ValueError, match="pools an image into one vector, found 'mobilenetv5_300m_enc'"):
        _ = config.feature_dim


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"word_dim": "496"}, "expected int, got str"),
        ({"word_dim": 496.0}, "expected int, got float"),
        ({"embedding_dim": 0}, "at least 1, found 0"),
        ({"vocab_size": -5}, "at least 1, found -5"),
        ({"vocab_size": True}, "expected int, got bool"),
        ({"text_dim": 511}, "even text_dim.*found 511; try 512"),
        ({"pad_token_id": 2000}, "pad_token_id inside the vocabulary of 2000, found 2000"),
        ({"architecture": "residual", "word_dropout": 0.1, "unk_token_id": -1}, "unk_token_id inside .*, found -1"),
        ({"margin": -0.1}, "from 0 to 2, found -0.1"),
        ({"margin": 2.5}, "from 0 to 2, found 2.5"),
        ({"margin": float("nan")}, "from 0 to 2, found nan"),
        ({"margin": "0.1"}, "margin"),
        ({"use_image": 1}, "expected bool, got int"),
        ({"freeze_backbone": "yes"}, "expected bool, got str"),
        ({"negatives": "semi"}, r"'one', 'all', 'hardest'\), got semi"),
        ({"use_action": False, "use_object": False, "use_image": False}, "at least one input"),
        ({"backbone": "resnet153"}, "found 'resnet153'; nearest: .*resnet152"),
        ({"backbone": "resnet152.tv_in1"}, r"nearest: resnet152\.tv_in1k"),
        ({"backbone": "hf-hub:timm/resnet18.a1_in1k"}, r"nearest: resnet18\.a1_in1k"),
        ({"backbone": ""}, "nearest: none"),
        ({"architecture": "residual", "dropout": 1.0}, "share of at least 0 and less than 1, found 1.0"),
        ({"architecture": "residual", "image_dropout": 1.1}, "share from 0 to 1, found 1.1"),
        ({"architecture": "residual", "hidden_dim": 0}, "field 'hidden_dim'"),
        (
            {"architecture": "residual", "image_dropout": 0.5, "use_action": False, "use_object": False},
            "an image and words as inputs for image_dropout=0.5, found image alone",
        ),
        ({"architecture": "residual", "image_dropout": 0.5, "use_image": False}, "found action and object alone"),
        ({"loss": "contrastive", "temperature": 0.0}, "temperature above 0, found 0.0"),
        ({"architecture": "residual", "feature_length": 0.0}, "norm above 0, or None, found 0.0"),
        ({"loss": "triple"}, r"'triplet', 'contrastive'\), got triple"),
    ],
)
def test_bad_values_are_refused(change, message):
    with pytest.raises(StrictDataclassError, match=message):
        VRFConfig(**change)


@pytest.mark.parametrize(
    ("setting", "choice", "other"),
    [
        ({"hidden_dim": 64}, {"architecture": "residual"}, {"architecture": "paper"}),
        ({"dropout": 0.1}, {"architecture": "residual"}, {"architecture": "paper"}),
        ({"feature_dropout": 0.1}, {"architecture": "residual"}, {"architecture": "paper"}),
        ({"image_dropout": 0.1}, {"architecture": "residual"}, {"architecture": "paper"}),
        ({"word_dropout": 0.1}, {"architecture": "residual"}, {"architecture": "paper"}),
        ({"feature_length": 1.0}, {"architecture": "residual"}, {"architecture": "paper"}),
        ({"shared_map": True}, {"architecture": "residual"}, {"architecture": "paper"}),
        ({"context": "history"}, {"architecture": "residual"}, {"architecture": "paper"}),
        ({"temperature": 0.5}, {"loss": "contrastive"}, {"loss": "triplet"}),
        ({"margin": 0.2}, {"loss": "triplet"}, {"loss": "contrastive"}),
        ({"negatives": "all"}, {"loss": "triplet"}, {"loss": "contrastive"}),
    ],
)
def test_a_setting_without_effect_is_refused(setting, choice, other):
    (field, wanted), (name, value), found = *choice.items(), *setting.items(), *other.values()
    with pytest.raises(StrictDataclassError, match=f"expected {field}='{wanted}' for {name}, found '{found}'"):
        VRFConfig(**setting, **other)
    assert getattr(VRFConfig(**setting, **choice), name) == value


def test_all_settings_without_effect_are_named():
    with pytest.raises(StrictDataclassError, match=r"for hidden_dim, dropout, found 'paper'.*omit"):
        VRFConfig(hidden_dim=64, dropout=0.5)


@pytest.mark.parametrize("architecture", ["paper", "residual"])
@pytest.mark.parametrize("loss", ["triplet", "contrastive"])
def test_defaults_go_with_every_architecture_and_loss(architecture, loss, tmp_path):
    VRFConfig(architecture=architecture, loss=loss).save_pretrained(tmp_path)
    loaded = VRFConfig.from_pretrained(tmp_path)
    assert (loaded.architecture, loaded.loss) == (architecture, loss)


def test_only_a_bilstm_needs_an_even_text_dim():
    assert VRFConfig(architecture="residual", text_dim=511).text_dim == 511


def test_values_are_checked_when_assigned_too():
    config = VRFConfig()
    with pytest.raises(StrictDataclassError, match="from 0 to 2"):
        config.margin = 7.0
    with pytest.raises(StrictDataclassError, match="expected int, got str"):
        config.word_dim = "12"


@given(st.sampled_from(VRFConfig.own_fields()), st.data())
def test_a_misspelt_field_is_answered_with_the_right_one(field, data):
    at = data.draw(st.integers(0, len(field) - 1))
    letter = data.draw(st.sampled_from(["", "x", field[at] * 2]))
    misspelt = field[:at] + letter + field[at + 1 :]
    assume(misspelt != field)
    with pytest.raises(TypeError, match=rf"found '{misspelt}'; nearest: .*\b{field}\b"):
        VRFConfig(**{misspelt: 1})


def test_an_unknown_field_is_answered_with_all_of_them():
    with pytest.raises(TypeError, match=r"found 'zzz'; its fields are word_dim, text_dim, .*negatives"):
        VRFConfig(zzz=1)


@pytest.mark.parametrize("inputs", INPUT_SUBSETS)
def test_saving_and_loading_keeps_every_field(inputs, tmp_path):
    config = small_config(**inputs, margin=0.25, negatives="hardest", freeze_backbone=False, backbone_weights="file")
    config.save_pretrained(tmp_path)
    loaded = VRFConfig.from_pretrained(tmp_path)
    assert {name: getattr(loaded, name) for name in VRFConfig.own_fields()} == {
        name: getattr(config, name) for name in VRFConfig.own_fields()
    }


def test_loading_accepts_what_transformers_adds(tmp_path):
    config = small_config()
    config.save_pretrained(tmp_path)
    saved = json.loads((tmp_path / "config.json").read_text())
    added = {
        "architectures": ["VRFModel"],
        "dtype": "float32",
        "torch_dtype": "float32",
        "_name_or_path": "x",
        "id2label": None,
    }
    (tmp_path / "config.json").write_text(json.dumps(saved | added))
    assert VRFConfig.from_pretrained(tmp_path).margin == config.margin
    assert AutoConfig.from_pretrained(tmp_path, trust_remote_code=True, margin=0.5).margin == 0.5


def test_a_misspelt_override_is_not_dropped(tmp_path):
    small_config().save_pretrained(tmp_path)
    with pytest.raises(TypeError, match="found 'margn'; nearest: margin"):
        VRFConfig.from_pretrained(tmp_path, margn=0.3)
