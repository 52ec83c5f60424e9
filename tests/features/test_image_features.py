"""What is read from the backbone besides its last layer: the same wherever a feature is computed."""

import json
from pathlib import Path

import pytest
import timm
import torch

from configuration_vrf import VRFConfig
from modeling_vrf import VRFModel
from processing_vrf import VRFProcessor
from recipeflow.dataset.frames import Frame
from recipeflow.errors import BackboneError
from recipeflow.features.backbone import decode
from recipeflow.search.index import build_index
from recipeflow.training.settings import PRESETS
from retrieval_vrf import image_features
from tests.features.test_features import BACKBONE, compute, picture, save_weights, write_pairs
from tests.model_helpers import small_model
from tests.search.searching import make_table


@pytest.fixture(scope="module")
def weights(tmp_path_factory) -> Path:
    return save_weights(tmp_path_factory.mktemp("weights") / "tiny.pth")


@pytest.fixture
def pairs(tmp_path) -> Path:
    return write_pairs(tmp_path / "vrf", [picture(1), None], [picture(2), picture(3)])


def parts_of(maps: list[torch.Tensor]) -> list[list[float]]:
    """Mean and deviation of each channel of each map, number by number."""
    parts = []
    for stage in maps:
        channels = [channel.flatten().tolist() for channel in stage]
        means = [sum(values) / len(values) for values in channels]
        squares = [
            sum((value - mean) ** 2 for value in values) / len(values)
            for values, mean in zip(channels, means, strict=True)
        ]
        parts += [means, [(square + 1e-6) ** 0.5 for square in squares]]
    return parts


@pytest.mark.parametrize("backbone", ["test_resnet", "test_vit", "test_convnext"])
def test_stages_are_the_last_layer_and_what_each_stage_shows(backbone):
    model = small_model(backbone=backbone, image_features="stages").eval()
    network = model.backbone.timm_model
    pixels = torch.randn(2, 3, *timm.get_pretrained_cfg(backbone).input_size[1:])
    with torch.no_grad():
        found = model.get_features(pixels)
        maps = network.forward_intermediates(pixels, intermediates_only=True)
        for row in range(2):
            parts = [network(pixels)[row].tolist(), *parts_of([stage[row] for stage in maps])]
            lengths = [sum(number**2 for number in part) ** 0.5 for part in parts]
            expected = [number / length for part, length in zip(parts, lengths, strict=True) for number in part]
            torch.testing.assert_close(found[row], torch.tensor(expected), rtol=1e-3, atol=1e-5)
    assert found.shape[1] == model.config.feature_dim > VRFConfig(backbone=backbone).feature_dim


def test_a_picture_of_one_colour_has_features_and_gradients():
    model = small_model(image_features="stages")
    model.unfreeze_backbone()
    model.eval().get_features(torch.zeros(1, 3, 160, 160)).sum().backward()
    gradients = [weight.grad for weight in model.backbone.parameters() if weight.grad is not None]
    assert gradients and all(gradient.isfinite().all() for gradient in gradients)


def test_a_backbone_without_stages_is_refused(monkeypatch):
    monkeypatch.delattr(timm.models.resnet.ResNet, "forward_intermediates")
    config = VRFConfig(backbone="resnet10t", image_features="stages")  # no other test asks for its width
    with pytest.raises(ValueError, match=r"'resnet10t', which fails with.*forward_intermediates"):
        _ = config.feature_dim


def test_cached_features_are_those_of_the_model_and_each_kind_has_its_own_cache(pairs, weights, tmp_path):
    pooled = compute(pairs, weights, tmp_path / "cache")
    before = {path: path.read_bytes() for path in (tmp_path / "cache").rglob("*") if path.is_file()}
    table = compute(pairs, weights, tmp_path / "cache", image_features="stages")
    assert {path: path.read_bytes() for path in before} == before and table.folder != pooled.folder
    model = VRFModel.from_backbone(VRFConfig(backbone=BACKBONE, image_features="stages"), weights).eval()
    images = [decode(Frame(b"", picture(seed), "file", "place")) for seed in (1, 2, 3)]
    expected = image_features(model, VRFProcessor.from_phrases(["切る"], BACKBONE), images)
    order = [int(table.pre[0]), int(table.post[0]), int(table.post[1])]
    torch.testing.assert_close(table.features[order], expected, rtol=1e-4, atol=1e-5)
    assert table.as_dict()["image_features"] == "stages" and "stages" in table.summary()
    table.check_model(model.config)
    with pytest.raises(BackboneError, match=r"stages.*found those of.*pooled"):
        pooled.check_model(model.config)
    again = compute(pairs, weights, tmp_path / "cache", image_features="stages")
    assert again.stats.computed == 0 and torch.equal(again.features, table.features)


def test_a_saved_model_and_its_index_read_the_same_and_an_older_model_its_last_layer(tmp_path):
    table = make_table(tmp_path, recipes=1)
    model, processor = table.make_model(image_features="stages")
    index = build_index(model, processor, table.folder, weights=table.weights, cache=table.cache)
    model.save_pretrained(tmp_path / "model")
    loaded = VRFModel.from_pretrained(tmp_path / "model").eval()
    shown = [record["image"] for record in index.read([0, 1])]
    expected = image_features(loaded, processor, shown)
    found = index.features_of(torch.tensor([0, 1]), loaded, processor)
    torch.testing.assert_close(found, expected, rtol=1e-2, atol=1e-3)  # an index keeps them in half precision
    older, _ = table.make_model()
    older.save_pretrained(tmp_path / "older")
    settings = json.loads((tmp_path / "older" / "config.json").read_text())
    del settings["image_features"]
    (tmp_path / "older" / "config.json").write_text(json.dumps(settings))
    loaded = VRFModel.from_pretrained(tmp_path / "older").eval()
    pixels = processor(post_images=shown)["post_pixel_values"]
    with torch.no_grad():
        assert torch.equal(loaded.get_features(pixels), loaded.backbone(pixels).pooler_output)


def test_only_best_reads_stages():
    assert {name: preset.image_features for name, preset in PRESETS.items()} == {
        "paper": "pooled",
        "fast": "pooled",
        "best": "stages",
    }
