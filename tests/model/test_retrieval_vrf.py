"""``pipeline("post-action-retrieval")`` in a fresh process, with nothing of this project at hand."""

import json
import shutil
from pathlib import Path

import datasets
import numpy as np
import pytest
import torch
from PIL import Image

from modeling_vrf import VRFModel
from recipeflow.search import Retriever
from retrieval_vrf import PostActionRetrievalPipeline, VRFIndex
from tests.model.test_hub_package import ROOT, run_isolated
from tests.search.searching import make_hub_cache, make_table, own_cache, write_calibration  # noqa: F401  (autouse)

datasets.disable_progress_bars()
QUERIES = [{"action": "切", "object": "トマト", "image": "before.jpg"}, {"action": "千切り 卵", "object": "キャベツ"}]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A picture, and a model of which a copy has an index and a calibration."""
    folder = tmp_path_factory.mktemp("pipeline")
    pixels = np.random.default_rng(0).integers(0, 256, (60, 80, 3), np.uint8)
    Image.fromarray(pixels).save(folder / "before.jpg")
    table = make_table(folder, recipes=3)
    retriever = Retriever.build(*table.make_model(), table.folder, weights=table.weights, cache=table.cache)
    retriever.model.save_pretrained(folder / "bare", processor=retriever.processor)
    shutil.copytree(folder / "bare", folder / "model")
    retriever.save(folder / "model")
    weights = {"bias": 0.3, "similarity": -1.0, "same_action": -2.0, "same_object": -3.0, "same_state": -1.0}
    write_calibration(folder / "model", complete=(0.05, 0.2), no_image=(0.5, 0.9), absence=weights)
    return folder


ASK = """
import json
from transformers import pipeline

pipe = pipeline("post-action-retrieval", model={model!r}, trust_remote_code=True)
assert type(pipe).__module__.startswith("transformers_modules."), type(pipe).__module__
queries = {queries}
for query in queries:
    if "image" in query:
        query["image"] = {image!r}
one = [pipe(query, top_k=4) for query in queries]
assert all(row["image"].convert("RGB").size == (320, 320) for rows in one for row in rows)
batch = pipe(queries, k=4, batch_size=2)
keys = ("score", "confidence", "absent", "recipe_id", "frame", "sure")
print(json.dumps([[[[row[key] for key in keys] for row in rows] for rows in side] for side in (one, batch)]))
assert type(pipeline(model={model!r}, trust_remote_code=True)).__name__ == "PostActionRetrievalPipeline"
try:
    pipeline("post-action-retrieval", model={model!r}, trust_remote_code=False)
except ValueError as error:
    assert "trust_remote_code" in str(error)
else:
    raise AssertionError("code ran without trust")
"""


ASK_EACH = """
import json
from transformers import pipeline

answers = []
for model in {models!r}:
    pipe = pipeline("post-action-retrieval", model=model, trust_remote_code=True)
    rows = pipe({{"action": "切", "object": "トマト", "image": {image!r}}}, top_k=3)
    answers.append([[row["score"], row["recipe_id"], row["frame"]] for row in rows])
print(json.dumps(answers))
"""


def answers_here(folder: Path) -> list:
    retriever = Retriever.from_pretrained(folder / "model")
    pictures = [query.get("image") and folder / query["image"] for query in QUERIES]
    queries = [query | {"image": picture} for query, picture in zip(QUERIES, pictures, strict=True)]
    found = [retriever.search(**query, k=4) for query in queries]
    keys = ("score", "confidence", "absent", "recipe_id", "frame", "sure")
    return [[[row[key] for key in keys] for row in rows] for rows in found]


@pytest.mark.parametrize("where", ["folder", "hub"])
def test_a_fresh_process_gets_the_same_answers(folder, tmp_path, where):
    model, caches = str(folder / "model"), {}
    if where == "hub":
        model = "lab/salad"
        caches = {"HF_HUB_CACHE": str(make_hub_cache(tmp_path / "hub", model, folder / "model"))}
    code = ASK.format(model=model, queries=QUERIES, image=str(folder / "before.jpg"))
    one, batch = json.loads(run_isolated(code, tmp_path / "process", **caches))
    for found in (one, batch):
        for rows, expected in zip(found, answers_here(folder), strict=True):
            assert [row[3:] for row in rows] == [row[3:] for row in expected]
            for number in (0, 1, 2):
                found_numbers, expected_numbers = ([row[number] for row in side] for side in (rows, expected))
                assert found_numbers == pytest.approx(expected_numbers, abs=1e-4)


def test_the_package_has_the_code_and_says_so(folder):
    for name in ("retrieval_vrf.py", "package_vrf.py", "modeling_vrf.py", "configuration_vrf.py"):
        assert (folder / "model" / name).read_bytes() == (ROOT / name).read_bytes()
    assert not (folder / "bare" / "retrieval_vrf.py").exists()
    config = json.loads((folder / "model" / "config.json").read_text())
    bare = json.loads((folder / "bare" / "config.json").read_text())
    named = config.pop("custom_pipelines")["post-action-retrieval"]["impl"]
    assert named == "retrieval_vrf.PostActionRetrievalPipeline"
    assert config == bare


def make_earlier(model: Path, folder: Path) -> Path:
    """A model as earlier versions saved it: losses, index and pipeline in files of their own."""
    shutil.copytree(model, folder)
    (folder / "retrieval_vrf.py").rename(folder / "index_vrf.py")
    for path in folder.glob("*_vrf.py"):
        path.write_text(path.read_text(encoding="utf-8").replace("retrieval_vrf", "index_vrf"), encoding="utf-8")
    (folder / "pipeline_vrf.py").write_text("from .index_vrf import PostActionRetrievalPipeline\n")
    (folder / "losses_vrf.py").write_text("EARLIER = True\n")
    code = (folder / "modeling_vrf.py").read_text(encoding="utf-8")
    (folder / "modeling_vrf.py").write_text(code.replace("try:\n", "try:\n    from .losses_vrf import EARLIER\n", 1))
    config = (folder / "config.json").read_text().replace("retrieval_vrf.", "pipeline_vrf.")
    (folder / "config.json").write_text(config)
    return folder


def test_a_model_of_earlier_files_loads_answers_and_is_saved_with_todays(folder, tmp_path, caplog):
    earlier = make_earlier(folder / "model", tmp_path / "earlier")
    model, today = VRFModel.from_pretrained(earlier), VRFModel.from_pretrained(folder / "model")
    queries = {"actions": ["切", "千切り"], "objects": "トマト", "images": [folder / "before.jpg", None]}
    assert torch.equal(model.encode_queries(**queries), today.encode_queries(**queries))
    model.save_pretrained(tmp_path / "copy")
    indexed = shutil.copytree(earlier, tmp_path / "indexed")
    Retriever.from_pretrained(indexed).save(indexed)
    assert not caplog.text
    todays = {path.name for path in (folder / "model").glob("*_vrf.py")}
    assert {path.name for path in (tmp_path / "copy").glob("*_vrf.py")} == todays
    for name in ("copy", "indexed"):
        config = json.loads((tmp_path / name / "config.json").read_text())
        named = config["custom_pipelines"]["post-action-retrieval"]["impl"]
        assert named == "retrieval_vrf.PostActionRetrievalPipeline"
        assert all((tmp_path / name / code).read_bytes() == (ROOT / code).read_bytes() for code in todays)
    code = ASK_EACH.format(
        models=[str(tmp_path / name) for name in ("earlier", "copy", "indexed")], image=str(folder / "before.jpg")
    )
    answers = json.loads(run_isolated(code, tmp_path / "process"))
    (expected,) = [row[:3] for row in answers_here(folder)[:1]]
    for rows in answers:
        assert [row[1:] for row in rows] == [row[3:5] for row in expected]
        assert [row[0] for row in rows] == pytest.approx([row[0] for row in expected], abs=1e-4)


def test_mistakes_are_reported(folder):
    retriever = Retriever.from_pretrained(folder / "model")
    model, processor = retriever.model, retriever.processor
    with pytest.raises(ValueError, match="expected a processor, found none"):
        PostActionRetrievalPipeline(model)
    with pytest.raises(ValueError, match=r"expected an index of candidates in .*bare"):
        PostActionRetrievalPipeline(model, processor=processor, index=folder / "bare")
    pipe = PostActionRetrievalPipeline(model, processor=processor, index=VRFIndex.load(folder / "model"))
    with pytest.raises(ValueError, match="expected object in the query"):
        pipe({"action": "切"})
    with pytest.raises(ValueError, match="the number of candidates, found 10000"):
        pipe({"action": "切", "object": "卵"}, k=10_000)
    assert (
        len(pipe({"action": "切", "object": "卵"}, top_k=2)) == len(pipe({"action": "切る", "object": "卵"}, k=2)) == 2
    )
    with pytest.warns(UserWarning, match="the model does not know: blorb"):
        pipe({"action": "切", "object": "blorb"})
    assert [row["sure"] for row in pipe({"action": "切", "object": "卵"}, top_k=2, min_confidence=0.0)] == [True, True]
    with pytest.raises(ValueError, match="expected a confidence from 0 to 1, found 3"):
        pipe({"action": "切", "object": "卵"}, min_confidence=3)
    with pytest.raises(ValueError, match="made with this model's weights"):
        PostActionRetrievalPipeline(model.half(), processor=processor, index=folder / "model")
