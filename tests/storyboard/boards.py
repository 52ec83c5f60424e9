"""What the tests of storyboards share: a small model that reads context, and the text of a recipe."""

import json
from pathlib import Path

import torch

from configuration_vrf import VRFConfig
from modeling_vrf import VRFModel
from processing_vrf import VRFProcessor
from recipeflow.search import Retriever
from tests.building import read_rows
from tests.making import SALAD
from tests.model_helpers import BACKBONE
from tests.search.searching import Table

KINDS = ([], ["image"], ["context"], ["image", "context"])
SMALL = {"architecture": "residual", "context": "history", "word_dim": 8, "hidden_dim": 16, "embedding_dim": 8}
TEXT = {
    name: [line.tokens for line in lines]
    for name, lines in zip(("ingredients", "instructions"), SALAD.sections, strict=True)
}
"""In the words that the parser of these tests has learnt by heart."""


def make_model(table: Table) -> Path:
    """A model that knows the words of the dataset and of a salad, saved with an index and a calibration."""
    rows = read_rows(table.folder, "image_pairs")
    phrases = [row[part] for row in rows for part in ("action", "object") if row[part] is not None]
    own = [words for lines in SALAD.sections for line in lines for words in line.tokens or ()]
    processor = VRFProcessor.from_phrases([*phrases, *own], BACKBONE)
    torch.manual_seed(0)
    config = VRFConfig(backbone=BACKBONE, vocab_size=processor.vocab_size, **SMALL)
    model = VRFModel.from_backbone(config, table.weights).eval()
    folder = table.folder.parent / "model"
    model.save_pretrained(folder, processor=processor)
    Retriever.build(model, processor, table.folder, weights=table.weights, cache=table.cache).save(folder)
    calibrate(folder)
    return folder


def calibrate(folder: Path) -> None:
    """A calibration by hand: one temperature for all kinds of queries."""
    weights = json.loads((folder / "index" / "index.json").read_text())["weights"]
    scale = {"temperature": 0.05, "min_confidence": 0.5, "absence": None}
    rows = [{"without": kind, **scale} for kind in KINDS[1:]]
    (folder / "calibration.json").write_text(
        json.dumps({"format": 3, "weights": weights, **scale, "incomplete": rows})
    )
