"""A model from the Hub that is saved or pushed again, with the real client, still has all that it is made of."""

import json
import shutil

import pytest

from modeling_vrf import VRFModel
from processing_vrf import VRFProcessor
from recipeflow.dataset.build import build_dataset
from recipeflow.hub import push_model
from recipeflow.kitchen import cook_release
from recipeflow.search import Retriever
from tests.hub.clients import run_python
from tests.hub.conftest import TOKEN
from tests.hub.test_push_model import FILES, SEARCHING
from tests.model_helpers import BACKBONE, small_model
from tests.search.searching import write_calibration

LOAD_AND_SEND = """
import torch
from transformers import AutoModel

model = AutoModel.from_pretrained("lab/model", trust_remote_code=True)
model.save_pretrained("copy")
model.push_to_hub("lab/again", private=True)
with torch.no_grad():
    model.query_encoder.hidden.weight += 1
model.save_pretrained("trained", push_to_hub=True, repo_id="lab/trained", private=True)
"""
ASK = """
from transformers import AutoProcessor, pipeline

for name in ("lab/model", "lab/again", "copy"):
    pipe = pipeline("post-action-retrieval", model=name, trust_remote_code=True)
    rows = pipe({"action": "切る", "object": "キャベツ"}, top_k=3)
    print([(round(row["score"], 5), row["confidence"], row["recipe_id"], row["frame"]) for row in rows])
try:
    pipeline(model="lab/trained", trust_remote_code=True)
except (RuntimeError, ValueError, KeyError) as error:
    print("no pipeline")
assert AutoProcessor.from_pretrained("lab/trained", trust_remote_code=True).vocab_size == 4
"""


def files_of(hub, name):
    files = hub.state.repositories["model", name].find("main").files
    return {path: file.content for path, file in files.items() if path != ".gitattributes"}


@pytest.fixture
def calibrated(run, tmp_path):
    """The run's model with a calibration, too."""
    VRFModel.from_pretrained(run / "model").save_pretrained(tmp_path / "calibrated")
    write_calibration(tmp_path / "calibrated", complete=(0.05, 0.2), no_image=(0.5, 0.9))
    return tmp_path / "calibrated"


def test_everything_travels_on_and_answers_anywhere(hub, here, calibrated, tmp_path):
    push_model(calibrated, "lab/model")
    run_python(hub, tmp_path, LOAD_AND_SEND, token=TOKEN)
    first, again, trained = (files_of(hub, f"lab/{name}") for name in ("model", "again", "trained"))
    assert set(first) == set(again) == FILES | {"calibration.json"}
    assert {path for path in first if first[path] != again[path]} <= {"tokenizer_config.json"}
    assert trained["README.md"] == first["README.md"]
    without = {"calibration.json", "retrieval_vrf.py", *SEARCHING}
    assert set(trained) == {path for path in FILES if not path.startswith("index/")} - without
    assert "custom_pipelines" not in json.loads(trained["config.json"])
    answers = run_python(hub, tmp_path, ASK, token=TOKEN).splitlines()
    assert answers[0] == answers[1] == answers[2] != "[]" and answers[3:] == ["no pipeline"]


def test_a_model_made_in_memory_is_pushed_with_the_processor_it_is_saved_with(hub, here, tmp_path):
    processor = VRFProcessor.from_phrases(["切る", "キャベツ"], backbone=BACKBONE)
    model = small_model(vocab_size=processor.vocab_size)
    model.save_pretrained(tmp_path / "saved", processor=processor, push_to_hub=True, repo_id="lab/new", private=True)
    saved = {path.name for path in (tmp_path / "saved").iterdir()}
    assert {"processor_config.json", "tokenizer.json", "model.safetensors", "modeling_vrf.py"} <= saved
    assert set(files_of(hub, "lab/new")) - {"README.md"} == saved


ASK_EACH = """
from transformers import pipeline

for revision in REVISIONS:
    pipe = pipeline("post-action-retrieval", model="lab/model", revision=revision, trust_remote_code=True)
    print(len(pipe.index), pipe.index.about["dataset"]["name"], pipe.model.processor.vocab_size)
"""


def test_a_pipeline_of_a_revision_searches_the_index_of_that_revision(hub, here, run, dataset, tmp_path):
    """The weights are the same, so that nothing but the candidates shows which index it is."""
    shutil.copytree(run / "model", tmp_path / "model")
    first = push_model(tmp_path / "model", "lab/model").commit
    cook_release(tmp_path / "kitchen", recipes=1, seed=5, used_only=True, workers=1)
    build_dataset(tmp_path / "kitchen", tmp_path / "other")
    before = Retriever.from_pretrained(tmp_path / "model")
    after = Retriever.build(before.model, before.processor, tmp_path / "other")
    after.save(tmp_path / "model")
    push_model(tmp_path / "model", "lab/model")
    assert len(before.index) != len(after.index)
    code = ASK_EACH.replace("REVISIONS", repr([first, "main"]))
    lines = run_python(hub, tmp_path, code, token=TOKEN).splitlines()
    assert lines == [f"{len(before.index)} vrf 4", f"{len(after.index)} other 4"]


def test_a_folder_that_is_loaded_and_saved_is_whole_again(run, tmp_path, caplog):
    model = VRFModel.from_pretrained(run / "model")
    model.save_pretrained(tmp_path / "copy")
    saved = {str(path.relative_to(tmp_path / "copy")) for path in (tmp_path / "copy").rglob("*") if path.is_file()}
    assert saved == FILES
    question = {"action": "切る", "object": "キャベツ", "k": 2}
    before, after = (
        Retriever.from_pretrained(folder).search(**question) for folder in (run / "model", tmp_path / "copy")
    )
    assert [row["score"] for row in before] == [row["score"] for row in after]
    model.save_pretrained(tmp_path / "copy")  # over itself, which changes nothing
    VRFModel.from_pretrained(tmp_path / "copy").save_pretrained(tmp_path / "copy")
    assert (
        Retriever.from_pretrained(tmp_path / "copy").index.about
        == Retriever.from_pretrained(run / "model").index.about
    )
    write_calibration(tmp_path / "copy", complete=(0.05, 0.2), no_image=(0.5, 0.9))
    VRFModel.from_pretrained(tmp_path / "copy").save_pretrained(tmp_path / "calibrated")
    assert (tmp_path / "calibrated" / "calibration.json").is_file() and not caplog.text
    model.half().save_pretrained(tmp_path / "half")
    assert "saved without its pipeline (post-action-retrieval): expected weights that the index" in caplog.text
    assert not (tmp_path / "half" / "index").exists() and (tmp_path / "half" / "tokenizer.json").is_file()


def test_a_folder_that_is_gone_is_not_looked_up_on_the_hub(here, run, tmp_path, monkeypatch, caplog):
    shutil.copytree(run / "model", tmp_path / "lab" / "model")
    monkeypatch.chdir(tmp_path)
    model = VRFModel.from_pretrained("lab/model")
    monkeypatch.chdir(tmp_path / "lab")
    model.save_pretrained(tmp_path / "copy")
    assert (tmp_path / "copy" / "index" / "index.json").is_file() and not caplog.text
    shutil.rmtree(tmp_path / "lab" / "model")
    model.save_pretrained(tmp_path / "later")
    assert "found it gone" in caplog.text and (tmp_path / "later" / "tokenizer.json").is_file()
    assert "custom_pipelines" not in json.loads((tmp_path / "later" / "config.json").read_text())
    assert not here.state.requests
