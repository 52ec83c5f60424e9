"""A Hub with a lab, a reader of it and a stranger, and what the lab has to share."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants

from processing_vrf import VRFProcessor
from recipeflow.dataset.build import build_dataset
from recipeflow.hub.model_card import make_default_card
from recipeflow.kitchen import cook_release
from recipeflow.search import Retriever
from tests.hub.repositories import User
from tests.hub.server import HubServer
from tests.model_helpers import BACKBONE, small_model

TOKEN = "hf_theLabsOwnSecretToken"


@pytest.fixture
def hub() -> Iterator[HubServer]:
    with HubServer() as server:
        server.state.users = {
            TOKEN: User("lab", organisations=("kitchen",)),
            "hf_reader": User("lab", may_write=False),
            "hf_stranger": User("stranger"),
        }
        yield server


@pytest.fixture
def here(hub, monkeypatch, tmp_path) -> HubServer:
    """The same Hub for the client in this process, which is logged in."""
    template = constants.HUGGINGFACE_CO_URL_TEMPLATE.replace(constants.ENDPOINT, hub.url)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "ENDPOINT", hub.url)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub-cache"))
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setattr("transformers.utils.hub._hf_api", None)  # which keeps the address of its first use
    return hub


@pytest.fixture(scope="session")
def dataset(tmp_path_factory) -> Path:
    """A small dataset with pictures, of more than a megabyte, so that an upload can be interrupted."""
    folder = tmp_path_factory.mktemp("dataset")
    cook_release(folder / "kitchen", recipes=3, used_only=True, workers=1)
    build_dataset(folder / "kitchen", folder / "vrf")
    return folder / "vrf"


@pytest.fixture(scope="session")
def run(tmp_path_factory, dataset) -> Path:
    """What `vrf train` and `vrf index` leave behind, of a model that is quick to load."""
    folder = tmp_path_factory.mktemp("training") / "run"
    processor = VRFProcessor.from_phrases(["切る", "キャベツ"], backbone=BACKBONE)
    model = small_model(vocab_size=processor.vocab_size, freeze_backbone=False).eval()
    model.save_pretrained(folder / "model", processor=processor)
    card = make_default_card(model.config, processor.tokenizer.get_vocab())
    (folder / "model" / "README.md").write_text(card, encoding="utf-8")
    Retriever.build(model, processor, dataset).save(folder / "model")
    settings = {"inputs": ["action", "object", "image"], "epochs": 20, "learning_rate": 1e-4, "margin": 0.1, "seed": 0}
    figures = {"recall_at_1": 10.0, "recall_at_5": 30.0, "recall_at_10": 50.0, "median_rank": 11.0}
    figures |= {"mean_reciprocal_rank": 0.2, "queries": 300, "candidates": 290}
    (folder / "training.json").write_text(json.dumps(settings))
    (folder / "history.json").write_text(
        json.dumps([{"epoch": 1, "loss": 2.0}, {"epoch": 20, "loss": 1.0, **figures}])
    )
    (folder / "checkpoint-00000040").mkdir()
    (folder / "checkpoint-00000040" / "model.safetensors").write_bytes(b"not to be sent")
    return folder
