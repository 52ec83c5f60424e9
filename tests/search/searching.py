"""What the tests of the search share: a small cooked dataset, and a small model over timm's network for tests."""

import json
from dataclasses import dataclass
from pathlib import Path

import datasets
import pytest
import timm
import torch

from configuration_vrf import VRFConfig
from modeling_vrf import VRFModel
from processing_vrf import VRFProcessor
from recipeflow.dataset.build import build_dataset
from recipeflow.kitchen import cook_release
from tests.model_helpers import BACKBONE
from tests.pairs.pairing import SMALL

WORDS = ["切", "茹で", "千切り", "トマト", "卵", "キャベツ"]
"""All that the models know."""


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory):
    """Keep what `datasets` caches of test data out of the user's cache; for modules that import this."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path_factory.mktemp("datasets"))
        yield


@dataclass
class Table:
    """A dataset folder, and the file that the backbone's weights are from."""

    folder: Path
    weights: Path

    @property
    def cache(self) -> Path:
        return self.folder.parent / "cache"

    def make_model(self, seed: int = 0, **changes) -> tuple[VRFModel, VRFProcessor]:
        processor = VRFProcessor.from_phrases(WORDS, BACKBONE)
        torch.manual_seed(seed)
        config = VRFConfig(backbone=BACKBONE, vocab_size=processor.vocab_size, **SMALL, **changes)
        return VRFModel.from_backbone(config, self.weights).eval(), processor


def make_table(folder: Path, recipes: int = 6) -> Table:
    cook_release(folder / "kitchen", recipes=recipes, used_only=True, workers=1)
    build_dataset(folder / "kitchen", folder / "vrf")
    torch.manual_seed(5)
    torch.save(timm.create_model(BACKBONE).state_dict(), folder / "backbone.pth")
    return Table(folder / "vrf", folder / "backbone.pth")


def make_hub_cache(folder: Path, name: str, model: Path) -> Path:
    """What a download of a repository leaves behind."""
    commit = "0123456789abcdef0123456789abcdef01234567"
    repo = folder / f"models--{name.replace('/', '--')}"
    for part in ("refs", "blobs", "snapshots"):
        (repo / part).mkdir(parents=True)
    (repo / "refs" / "main").write_text(commit)
    (repo / "snapshots" / commit).symlink_to(model.resolve())
    return folder


def write_calibration(
    folder: Path, complete: tuple[float, float], no_image: tuple[float, float], absence: dict | None = None
) -> None:
    """Calibrate a saved model that has an index, by hand: a temperature and a threshold for either kind of query."""
    weights = json.loads((folder / "index" / "index.json").read_text())["weights"]
    same = {"absence": absence and {"weights": absence}}
    first, second = ({"temperature": pair[0], "min_confidence": pair[1], **same} for pair in (complete, no_image))
    numbers = {"format": 3, "weights": weights, **first, "incomplete": [{"without": ["image"], **second}]}
    (folder / "calibration.json").write_text(json.dumps(numbers))
