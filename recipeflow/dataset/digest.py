"""What a built dataset holds, as one number: so that a run or a model knows its own dataset again."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pyarrow.dataset as pads

from recipeflow.dataset.frames import index_frames
from recipeflow.dataset.opening import CONFIG, FLOW_GRAPHS, RECIPES, has_table

COLUMNS = {
    RECIPES: ["recipe_id", "ingredients", "instructions"],
    FLOW_GRAPHS: ["recipe_id", "nodes", "edges"],
    CONFIG: ["recipe_id", "fold", "action_id", "object_id", "pre_frame", "post_frame"],
}
"""Everything that training reads, but for the images."""

WORDS = ["action", "object"]
"""What it reads of ``image_pairs`` as well, where there are no flow graphs."""


def dataset_digest(dataset: str | Path) -> str:
    """SHA-256 of words, flows, folds and images, in the order of the rows.

    It goes by content and not by files, so that the same release built again, or on another machine, is the same.

    Raises:
        DatasetFolderError: If there is no such dataset, or it holds no image.
    """
    index = index_frames(Path(dataset))
    digest = hashlib.sha256(b"".join(index.digests))
    digest.update(index.pre.numpy().tobytes() + index.post.numpy().tobytes())
    tables = [table for table in COLUMNS if has_table(dataset, table)]
    for config in tables:
        columns = COLUMNS[config] + (WORDS if config == CONFIG and FLOW_GRAPHS not in tables else [])
        table = pads.dataset(Path(dataset) / config).to_table(columns=columns)
        digest.update(json.dumps(table.to_pydict(), sort_keys=True).encode())
    return digest.hexdigest()
