"""What the tests of the Space share: three small models with an index each, and the app as a process of its own."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch

from configuration_vrf import VRFConfig
from modeling_vrf import VRFModel
from processing_vrf import VRFProcessor
from recipeflow.release.recipe import Flow, Line, Recipe, Word
from recipeflow.search import Retriever
from segmentation_rfg import split_line
from tests.building import read_rows
from tests.making import make_release
from tests.model_helpers import BACKBONE
from tests.pairs.pairing import SMALL
from tests.parser.reading import train_by_heart
from tests.search.searching import make_table

APP = Path(__file__).parents[2] / "space" / "app.py"
INPUTS = {"text": ("action", "object"), "image": ("image",), "both": ("action", "object", "image")}
OWN = (
    "recipeflow",
    "configuration_vrf",
    "modeling_vrf",
    "processing_vrf",
    "retrieval_vrf",
    "storyboard_vrf",
    "parsing_rfg",
)
ALONE = """
import runpy, sys
for name in sys.argv[2:]:
    sys.modules[name] = None  # importing it fails, as where this project is not installed
sys.path.insert(0, sys.argv[1].rpartition("/")[0])  # as where the app is the program
runpy.run_path(sys.argv[1], run_name="__main__")
"""


@dataclass
class Kitchen:
    """A dataset, and the folders of models by name."""

    dataset: Path
    models: dict[str, Path]


RECIPE = "きゅうりを薄切りにします。\nボウルにきゅうりを入れます。"
TAGS = {"きゅうり": "F", "薄切り": "Ac", "ボウル": "T", "入れ": "Ac"}
FLOWS = (
    ("1-0-0", "1-0-2", "Targ"),
    ("1-0-2", "1-1-2", "F-eq"),
    ("1-1-0", "1-1-4", "Dest"),
    ("1-1-2", "1-1-4", "Targ"),
)


def make_parser(folder: Path) -> Path:
    """A parser that has learnt one short recipe by heart."""
    lines = []
    for text in RECIPE.splitlines():
        spans = split_line(text, "ja")
        tags = [TAGS.get(text[start:end]) for start, end in spans]
        words = [Word(*span, f"{tag}-B" if tag else "O") for span, tag in zip(spans, tags, strict=True)]
        lines.append(Line(tuple(words), text))
    flows = tuple(Flow(*flow) for flow in FLOWS)
    recipes = [Recipe(f"r{number}", (), tuple(lines), flows, title="r") for number in range(12)]
    return train_by_heart(make_release(folder / "learnt", recipes, frames=False), folder / "parser")


def make_models(folder: Path) -> Kitchen:
    table = make_table(folder, recipes=6)
    rows = read_rows(table.folder, "image_pairs")
    phrases = [row[part] for row in rows for part in ("action", "object") if row[part] is not None]
    phrases += TAGS
    models = {}
    for name, inputs in INPUTS.items():
        processor = VRFProcessor.from_phrases(phrases, BACKBONE)
        uses = {f"use_{part}": part in inputs for part in ("action", "object", "image")}
        torch.manual_seed(0)
        config = VRFConfig(backbone=BACKBONE, vocab_size=processor.vocab_size, **SMALL, **uses)
        model = VRFModel.from_backbone(config, table.weights).eval()
        models[name] = folder / "models" / name
        model.save_pretrained(models[name], processor=processor)
        Retriever.build(model, processor, table.folder, weights=table.weights, cache=table.cache).save(models[name])
    return Kitchen(table.folder, models)


@contextmanager
def running_app(folder: Path, **variables: str) -> Iterator[str]:
    """Start the app on loopback, offline and without this project, and give its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "CI")}
    own = {"HF_HOME": str(folder / "hf"), "HF_HUB_OFFLINE": "1", "GRADIO_SERVER_PORT": str(port)}
    own |= {"GRADIO_TEMP_DIR": str(folder / "gradio"), "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    folder.mkdir(exist_ok=True)
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", ALONE, APP, *OWN], cwd=folder, env=clean | own | variables, stdout=log, stderr=log
        )
        try:
            _wait_for_port(port, process, folder / "log")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(timeout=120)


def _wait_for_port(port: int, process: subprocess.Popen, log: Path, seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise AssertionError(f"the app did not start within {seconds} s: {log.read_text()}")
