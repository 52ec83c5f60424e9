"""Recipes of the kitchen without its camera: each frame is a tiny picture of its own, which takes no time to draw."""

import hashlib
import io
from pathlib import Path

import pytest
from PIL import Image

from recipeflow.dataset.build import build_dataset
from recipeflow.kitchen.cooking import devise_recipe
from recipeflow.release import ReleaseInfo, ReleaseWriter
from recipeflow.tasks.making import make_tasks
from tests.model_helpers import small_config

SIMULATED = ReleaseInfo(source="simulated", licence="MIT")


def draw_frame(recipe_id: str, number: int) -> bytes:
    colours = hashlib.sha256(f"{recipe_id}/{number}".encode()).digest()
    buffer = io.BytesIO()
    Image.frombytes("RGB", (3, 3), colours[:27]).resize((24, 24)).save(buffer, "JPEG")
    return buffer.getvalue()


def write_kitchen(folder: Path, recipes: int, info: ReleaseInfo = SIMULATED, *, frames: bool = True) -> Path:
    with ReleaseWriter(folder, info) as writer:
        for index in range(recipes):
            recipe = devise_recipe(0, index).recipe
            pictures = {number: draw_frame(recipe.id, number) for number in recipe.used_frames}
            writer.add(recipe, pictures if frames else None)
    return folder


@pytest.fixture(scope="session")
def dataset(tmp_path_factory) -> Path:
    """A dataset of forty recipes: four in the test split."""
    folder = tmp_path_factory.mktemp("tasks")
    build_dataset(write_kitchen(folder / "kitchen", 40), folder / "vrf")
    return folder / "vrf"


@pytest.fixture(scope="session")
def task_sets(dataset) -> Path:
    folder = dataset.parent / "vrf-tasks"
    make_tasks(dataset, folder)
    return folder


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory) -> Path:
    """A retrieval model that knows four words and has learned nothing."""
    from modeling_vrf import VRFModel
    from processing_vrf import VRFProcessor

    processor = VRFProcessor.from_phrases(["切", "茹で", "加え", "キャベツ"], backbone=small_config().backbone)
    folder = tmp_path_factory.mktemp("tiny") / "model"
    VRFModel(small_config(vocab_size=processor.vocab_size)).save_pretrained(folder, processor=processor)
    return folder
