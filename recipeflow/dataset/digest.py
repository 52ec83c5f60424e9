"""A digest of a built dataset's content, so that a run or a model recognises its own dataset."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from recipeflow.dataset.folder import FLOW_GRAPHS, PAIRS, RECIPES, DatasetFolder
from recipeflow.dataset.frames import index_frames

COLUMNS = {
    RECIPES: ["recipe_id", "ingredients", "instructions"],
    FLOW_GRAPHS: ["recipe_id", "nodes", "edges"],
    PAIRS: ["recipe_id", "fold", "action_id", "object_id", "pre_frame", "post_frame"],
}
"""Everything that training reads, except the images."""

WORDS = ["action", "object"]
"""What it also reads from ``image_pairs`` if there are no flow graphs."""


def dataset_digest(dataset: str | Path) -> str:
    """SHA-256 of words, flows, folds and images, in the order of the rows.

    It depends on content and not on files, so that the same release built again, or on another machine, has the same.

    Raises:
        DatasetFolderError: If there is no such dataset, or it has no image.
    """
    index = index_frames(Path(dataset))
    digest = hashlib.sha256(b"".join(index.digests))
    digest.update(index.pre.tobytes() + index.post.tobytes())
    folder = DatasetFolder(dataset)
    tables = [table for table in COLUMNS if folder.has(table)]
    for config in tables:
        columns = COLUMNS[config] + (WORDS if config == PAIRS and FLOW_GRAPHS not in tables else [])
        digest.update(json.dumps(folder.columns(config, columns), sort_keys=True).encode())
    return digest.hexdigest()
