"""A model on its way to the Hub: what is sent, and what a stranger can do with it."""

import json
import re
import shutil
from pathlib import Path

import pytest
from huggingface_hub import ModelCard
from PIL import Image

from recipeflow.dataset.build import build_dataset
from recipeflow.dataset.digest import dataset_digest
from recipeflow.errors import HubNotFoundError, ModelFolderError, OfficialFramesError, UsageError
from recipeflow.hub import pull_model, push_dataset, push_model
from recipeflow.release import ReleaseInfo
from tests.building import all_files
from tests.hub.clients import run_python, vrf
from tests.hub.conftest import TOKEN
from tests.making import make_frame, make_release

SEARCHING = {"storyboard_vrf.py", "imagination_vrf.py", "flows_vrf.py", "requests_vrf.py"}
"""What a model with an index has besides `retrieval_vrf.py`."""

FILES = {
    "README.md",
    "config.json",
    "configuration_vrf.py",
    "index/index.json",
    "index/rows.arrow",
    "index/features.npy",
    "index/vectors.faiss",
    "model.safetensors",
    "modeling_vrf.py",
    "package_hub.py",
    "package_vrf.py",
    "vocabulary_hub.py",
    "processing_vrf.py",
    "processor_config.json",
    "residual_vrf.py",
    "retrieval_vrf.py",
    *SEARCHING,
    "tokenizer.json",
    "tokenizer_config.json",
    "words_vrf.py",
}


def files_of(hub):
    files = hub.state.repositories["model", "lab/model"].find("main").files
    return {path: file for path, file in files.items() if path != ".gitattributes"}


def card_of(hub) -> ModelCard:
    return ModelCard(files_of(hub)["README.md"].content.decode())


@pytest.fixture
def model(run, tmp_path):
    """A copy of the run's model that a test may change, without the run."""
    return Path(shutil.copytree(run / "model", tmp_path / "saved"))


REFUSED = """
from transformers import AutoConfig
for token in (False, "hf_nobody", "hf_stranger"):
    try:
        AutoConfig.from_pretrained("lab/model", trust_remote_code=True, token=token)
    except OSError:
        print("refused")
"""


def test_the_code_in_the_card_runs_anywhere_with_the_token_and_only_with_it(hub, run, tmp_path):
    done = vrf(hub, tmp_path, "push", "model", run, "lab/model", token=TOKEN)
    assert (done.returncode, done.stderr) == (0, "")
    assert set(files_of(hub)) == FILES
    for number, name in enumerate(("before", "after_1", "after_2")):
        (tmp_path / f"{name}.jpg").write_bytes(make_frame(number, (64, 48)))
    compare, search = re.findall(r"```python\n(.*?)```", card_of(hub).text, re.DOTALL)
    assert 'repo = "lab/model"' in compare
    code = f"{REFUSED}\n{compare}\n{search}\nprint(type(model).__module__)"
    lines = run_python(hub, tmp_path, code, token=TOKEN).splitlines()
    assert lines[:3] == ["refused"] * 3
    assert len(re.findall(r"-?\d\.\d+", lines[3])) == 2
    assert len(lines[4:-1]) == 5 and all("JpegImageFile" in line for line in lines[4:-1])
    assert lines[-1].startswith("transformers_modules.lab.model.")
    assert not hub.state.tokens_at_storage


def test_a_run_and_its_model_are_the_same_to_a_push(here, run):
    push_model(run, "lab/model")
    here.state.forget()
    assert push_model(run / "model", "lab/model").sent == [] and here.state.writes == []
    card = card_of(here)
    assert "| R@5 | 30.00 | 37.01 |" in card.text and "| epochs | 20 |" in card.text
    assert [result.metric_value for result in card.data.eval_results] == [10.0, 30.0, 50.0, 11.0, 0.2]


def test_an_index_travels_with_its_model_and_scratch_does_not(here, model, tmp_path):
    (model / "index" / ".index.json.partial").write_text("half")
    (model / "training_args.bin").write_bytes(b"not to be sent")
    push_model(model, "lab/model")
    assert set(files_of(here)) == FILES
    assert "**This is simulated data.**" in card_of(here).text
    pulled = all_files(pull_model("lab/model", tmp_path / "pulled"))
    kept = {path: digest for path, digest in all_files(model).items() if path in FILES}
    assert {path for path in FILES if pulled[path] != kept[path]} == {"README.md"}
    assert push_model(tmp_path / "pulled", "lab/model").sent == []


def test_a_calibration_is_pushed_with_its_model_and_shown_in_the_card(here, model, tmp_path):
    answered = {"min_confidence": 0.345, "coverage": 0.45, "accuracy": 0.44}
    measured = {"queries": 121, "expected_calibration_error": 0.0736, "answered": answered}
    measured |= {"candidates": 2916, "accuracy": 0.19, "mean_confidence": 0.21}
    measured |= {"expected_calibration_error_by_chance": 0.0612}
    numbers = {"format": 3, "weights": "0" * 64, "temperature": 0.05, "min_confidence": 0.345}
    lacking = {"accuracy": 0.18, "mean_confidence": 0.229, "expected_calibration_error": 0.0531}
    lacking = {"without": ["image"], "temperature": 0.08, "min_confidence": 0.6, "measured": lacking}
    path = model / "calibration.json"
    weights = dict.fromkeys(("bias", "similarity", "same_action", "same_object", "same_state"), 0.5)
    numbers |= {"measured": measured, "absence": {"weights": weights, "auroc": 0.876}, "incomplete": [lacking]}
    path.write_text(json.dumps(numbers))
    push_model(model, "lab/model")
    assert set(files_of(here)) == FILES | {"calibration.json"}
    text = card_of(here).text.replace("\n", " ")
    assert "## How sure it is" in text and "121 complete queries" in text and "among 2,916 candidates" in text
    assert "right in 19% of cases" in text and "off by 7.4%" in text and "an AUROC of 0.88" in text
    assert "perfect confidences would be off by 6.1%" in text
    assert (
        "confidence of 0.34 or more" in text
        and "these are 45% of the queries (coverage), 44% of them right (accuracy)." in text
    )
    assert "| no image | 18% | 23% | 5.3% | 0.60 |" in text
    assert json.loads((pull_model("lab/model", tmp_path / "pulled") / path.name).read_text()) == json.loads(
        path.read_text()
    )
    path.write_text("{")
    with pytest.raises(ModelFolderError, match="expected a calibration in"):
        push_model(model, "lab/model")


def test_the_card_links_the_dataset_and_shows_the_picture(here, run, tmp_path):
    build_dataset(make_release(tmp_path / "release", info=ReleaseInfo(source="simulated")), tmp_path / "vrf")
    with pytest.raises(HubNotFoundError, match="lab/vrf"):
        push_model(run, "lab/model", dataset="lab/vrf")
    push_dataset(tmp_path / "vrf", "lab/vrf")
    Image.new("RGB", (8, 8)).save(tmp_path / "found.PNG")
    push_model(run, "lab/model", dataset="lab/vrf", picture=tmp_path / "found.PNG", license="cc-by-4.0")
    card = card_of(here)
    assert "(examples.png)" in card.text and "examples.png" in files_of(here)
    assert "do not compare" in card.text and "datasets/lab/vrf)" in card.text
    assert (card.data.datasets, card.data.license) == (["lab/vrf"], "cc-by-4.0")
    assert card.data.eval_results[0].dataset_type == "lab/vrf"


def test_the_named_dataset_has_to_be_the_one_it_was_trained_on(here, model, dataset, tmp_path):
    config = json.loads((model / "config.json").read_text())
    unknown = push_model(model, "lab/model", dataset=dataset)
    assert unknown.notes[-1].startswith("not verified that the model was trained on this dataset: the model does not")
    (model / "config.json").write_text(json.dumps(config | {"trained_on": dataset_digest(dataset)}))
    assert push_model(model, "lab/model", dataset=dataset).notes == ()
    other = _folder(tmp_path, "hand-made")
    with pytest.raises(ModelFolderError, match=r"that the model was trained on .*, found another in .*hand-made"):
        push_model(model, "lab/model", dataset=other)
    push_dataset(other, "lab/vrf")
    (note,) = push_model(model, "lab/model", dataset="lab/vrf").notes
    assert note.startswith("not verified that the model was trained on this dataset: the dataset is on the Hub")
    assert "datasets/lab/vrf) (not verified)." in card_of(here).text


def test_a_text_file_is_no_picture(here, model, tmp_path):
    (tmp_path / "found.png").write_text("a picture of cabbage")
    with pytest.raises(UsageError, match=r"expected a picture \(PNG\) at .*found\.png, found something else"):
        push_model(model, "lab/model", picture=tmp_path / "found.png")
    Image.new("RGB", (8, 8)).save(tmp_path / "found.jpg", "PNG")
    with pytest.raises(UsageError, match=r"expected a picture \(JPEG\)"):
        push_model(model, "lab/model", picture=tmp_path / "found.jpg")


def test_a_card_that_somebody_wrote_is_kept(here, model, tmp_path):
    (model / "README.md").write_text("---\nlicense: mit\n---\nby hand")
    push_model(model, "lab/model")
    assert card_of(here).text == "by hand"
    push_model(model, "lab/model", dataset=_folder(tmp_path, "hand-made"))
    assert "calls its source “hand-made”" in card_of(here).text


def _folder(tmp_path, source):
    build_dataset(make_release(tmp_path / f"{source}-release", info=ReleaseInfo(source=source)), tmp_path / source)
    return tmp_path / source


def test_official_frames_do_not_slip_out_with_a_model(here, model, tmp_path):
    official = _folder(tmp_path, "official")
    with pytest.raises(OfficialFramesError, match="the index"):
        push_model(model, "lab/model", dataset=official)
    index = model / "index" / "index.json"
    index.write_text(json.dumps({"dataset": {"release": {"source": "official"}}}))
    with pytest.raises(OfficialFramesError, match="the index"):
        push_model(model, "lab/model")
    shutil.rmtree(model / "index")
    assert push_model(model, "lab/model", dataset=official).commit
    Image.new("RGB", (8, 8)).save(tmp_path / "found.png")
    with pytest.raises(OfficialFramesError, match="--with-official-frames"):
        push_model(model, "lab/model", dataset=official, picture=tmp_path / "found.png")
    assert push_model(
        model, "lab/model", dataset=official, picture=tmp_path / "found.png", allow_official_frames=True
    ).commit


def test_what_is_no_model_is_refused_before_anything_is_sent(here, run, model):
    with pytest.raises(ModelFolderError, match=r"found no config\.json, .* finish `vrf train`"):
        push_model(run / "checkpoint-00000040", "lab/model")
    with pytest.raises(UsageError, match=r"\.png or \.jpg"):
        push_model(run, "lab/model", picture=run / "history.json")
    (model / "index" / "index.json").write_text("{}")
    with pytest.raises(ModelFolderError, match="vrf index"):
        push_model(model, "lab/model")
    (model / "config.json").write_text('{"model_type": "bert", "hidden_size": 5}')
    with pytest.raises(ModelFolderError, match="expected a VRFModel"):
        push_model(model, "lab/model")
    assert not here.state.requests
