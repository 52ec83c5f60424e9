"""Several views of each frame: computed once, and kept apart."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from configuration_vrf import VRFConfig
from modeling_vrf import VRFModel
from processing_vrf import VIEWS, VRFProcessor
from recipeflow.dataset.frames import Frame
from recipeflow.errors import UsageError
from recipeflow.features import backbone as backbone_module
from recipeflow.features.backbone import decode
from recipeflow.features.views import NAMES, first_views
from tests.features.test_features import BACKBONE, compute, picture, save_weights, write_pairs


@pytest.fixture(scope="module")
def weights(tmp_path_factory) -> Path:
    return save_weights(tmp_path_factory.mktemp("weights") / "tiny.pth")


@pytest.fixture
def pairs(tmp_path) -> Path:
    return write_pairs(tmp_path / "vrf", [picture(1), None, picture(2)], [picture(2), picture(3), picture(3)])


@pytest.fixture
def decoded(monkeypatch) -> list[Frame]:
    """Every frame that is decoded from here on."""
    frames = []

    def decode_and_count(frame: Frame) -> Image.Image:
        frames.append(frame)
        return decode(frame)

    monkeypatch.setattr(backbone_module, "decode", decode_and_count)
    return frames


def test_views_are_what_they_say():
    pixels = np.arange(10 * 20 * 3, dtype=np.uint8).reshape(10, 20, 3)
    seen = {name: np.asarray(view(Image.fromarray(pixels))) for name, view in VIEWS.items()}
    assert np.array_equal(seen["centre"], pixels)
    assert np.array_equal(seen["flip"], pixels[:, ::-1])
    assert np.array_equal(seen["upper left"], pixels[:8, :16])
    assert np.array_equal(seen["lower right"], pixels[2:, 4:])
    assert all(view(Image.new("RGB", (1, 1))).size == (1, 1) for view in VIEWS.values())
    assert tuple(VIEWS) == NAMES and first_views(2) == ("centre", "flip")


@pytest.mark.parametrize("number", [1, 2, 4])
def test_every_view_is_what_the_model_computes_and_the_centre_is_the_feature(pairs, weights, tmp_path, number):
    table = compute(pairs, weights, tmp_path / "cache", views=number)
    model = VRFModel.from_backbone(VRFConfig(backbone=BACKBONE), weights).eval()
    processor = VRFProcessor.from_phrases(["切る"], BACKBONE)
    images = [decode(Frame(b"", picture(seed), "file", "place")) for seed in (1, 2, 3)]
    with torch.no_grad():
        expected = torch.stack(
            [
                model.backbone(
                    processor(post_images=[view(image) for image in images])["post_pixel_values"]
                ).pooler_output
                for view in list(VIEWS.values())[:number]
            ]
        )
    order = [int(table.pre[0]), int(table.pre[2]), int(table.post[1])]
    torch.testing.assert_close(table.views[:, order], expected, rtol=1e-4, atol=1e-5)
    assert torch.equal(table.features, table.views[0])
    assert table.as_dict()["views"] == number == len(table.views)


def test_more_views_cost_only_what_is_new_and_one_decoding(pairs, weights, tmp_path, decoded):
    cache = tmp_path / "cache"
    one = compute(pairs, weights, cache)
    before = {path: path.read_bytes() for path in cache.rglob("*") if path.is_file()}
    decoded.clear()
    four = compute(pairs, weights, cache, views=4)
    assert len(decoded) == 3 == four.stats.computed  # once per frame, for all three new views
    assert torch.equal(four.views[0], one.features)
    assert {path: path.read_bytes() for path in before} == before
    assert len(list(cache.iterdir())) == 4
    decoded.clear()
    two, again = (compute(pairs, weights, cache, views=number) for number in (2, 4))
    assert not decoded and two.stats.computed == again.stats.computed == 0
    assert torch.equal(two.views, four.views[:2]) and torch.equal(again.features, four.features)
    assert torch.equal(compute(pairs, weights, cache).features, one.features)


def test_a_new_frame_costs_its_own_views_only(pairs, weights, tmp_path, decoded):
    compute(pairs, weights, tmp_path / "cache", views=2)
    more = write_pairs(tmp_path / "more", [picture(1), picture(4)], [picture(2), picture(3)])
    decoded.clear()
    table = compute(more, weights, tmp_path / "cache", views=2)
    assert table.stats.computed == 1 and len(decoded) <= 3  # its centre, once more to settle the precision, its views
    assert {frame.digest for frame in decoded} == {decoded[0].digest}


@pytest.mark.parametrize("number", [0, 3, 8])
def test_other_numbers_of_views_are_refused(pairs, weights, tmp_path, number):
    with pytest.raises(UsageError, match=f"expected a number of views among 1, 2, 4, found {number}"):
        compute(pairs, weights, tmp_path / "cache", views=number)
