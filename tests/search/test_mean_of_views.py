"""The mean of several views of each picture: the same for candidates, which are cached, and for queries."""

import json

import pytest
import torch

from processing_vrf import VIEWS, VRFProcessor
from recipeflow.errors import UsageError
from recipeflow.search import Retriever
from retrieval_vrf import PostActionRetrievalPipeline, VRFIndex, image_features
from tests.cli.commanding import vrf
from tests.search.searching import make_table, write_calibration

RESIDUAL = {"architecture": "residual", "hidden_dim": 8, "loss": "contrastive", "image_features": "stages"}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return make_table(tmp_path_factory.mktemp("views"), recipes=2)


@pytest.fixture(scope="module")
def saved(table):
    """The folder of a model whose index has two views of each picture."""
    folder = table.folder.parent / "model"
    model, processor = table.make_model(**RESIDUAL)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    options = {"weights": table.weights, "cache": table.cache, "views": 2}
    Retriever.build(model, processor, table.folder, **options).save(folder)
    return folder


@pytest.mark.parametrize("number", [2, 4])
def test_the_mean_of_views_is_that_of_their_features(table, saved, number):
    model, processor = table.make_model(**RESIDUAL)
    shown = [record["image"] for record in VRFIndex.load(saved).read([0, 1])]
    views = [[view(image.convert("RGB")) for image in shown] for view in list(VIEWS.values())[:number]]
    expected = torch.stack([image_features(model, processor, images) for images in views]).mean(0)
    processor.views = number
    torch.testing.assert_close(image_features(model, processor, shown), expected, rtol=1e-4, atol=1e-5)
    pixels = processor(pre_images=[shown[0], None])
    assert pixels["pre_pixel_values"].shape[:2] == (2, number) and pixels["pre_mask"].tolist() == [True, False]


def test_an_index_decides_how_pictures_of_queries_are_read(saved):
    index = VRFIndex.load(saved)
    assert index.views == 2 and VRFProcessor.from_pretrained(saved).views == 1
    retriever = Retriever.from_pretrained(saved)
    pipe = PostActionRetrievalPipeline(retriever.model, saved, processor=VRFProcessor.from_pretrained(saved))
    assert retriever.processor.views == pipe.processor.views == 2
    shown = index.read([0, 1])
    stored = index.features_of(torch.tensor([0, 1]), retriever.model, retriever.processor)
    computed = image_features(retriever.model, retriever.processor, [record["image"] for record in shown])
    torch.testing.assert_close(stored, computed, rtol=1e-2, atol=1e-3)  # an index keeps them in half precision
    query = {"action": "切", "object": "トマト", "image": shown[0]["image"]}
    found, piped = retriever.search(**query, k=3), pipe(query, top_k=3)
    assert [row["score"] for row in found] == pytest.approx([row["score"] for row in piped], abs=1e-5)


def test_a_calibration_with_other_views_is_refused(table, saved):
    write_calibration(saved, (0.1, 0.5), (0.1, 0.5))
    with pytest.raises(ValueError, match="2 views of each picture, as in the index, found one with 1"):
        VRFIndex.load(saved)
    about = json.loads((saved / "calibration.json").read_text()) | {"views": 2}
    (saved / "calibration.json").write_text(json.dumps(about))
    assert VRFIndex.load(saved).calibration is not None
    (saved / "calibration.json").unlink()


def test_the_commands_read_as_many_views_as_asked(table, saved):
    options = ["--model", saved, "--weights", table.weights, "--cache", table.cache]
    one, two = (vrf("evaluate", table.folder, *options, "--views", number) for number in (1, 2))
    assert one.code == two.code == 0, two.stderr
    assert json.loads(one.stdout)["queries"] == json.loads(two.stdout)["queries"]
    assert one.stdout != two.stdout
    assert vrf("index", table.folder, *options, "--views", 1).code == 0
    assert VRFIndex.load(saved).views == 1
    refused = vrf("index", table.folder, *options, "--views", 3)
    assert refused.code != 0 and "expected 1, 2 or 4 views, found 3" in " ".join(refused.stderr.split())


def test_an_unsupported_number_is_refused_in_python(table):
    with pytest.raises(UsageError, match="found 3"):
        Retriever.build(*table.make_model(**RESIDUAL), table.folder, weights=table.weights, cache=table.cache, views=3)
