"""A digest of a built dataset's content, so that a run or a model recognises its own dataset."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from recipeflow.dataset.folder import FLOW_GRAPHS, PAIRS, RECIPES, TABLES, DatasetFolder
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
    ``vrf build`` records it in the manifest, from where it is taken as long as the files are those of the build.

    Raises:
        DatasetFolderError: If there is no such dataset, or it has no image.
    """
    folder = DatasetFolder(dataset)
    return folder.recorded_digest() or compute_digest(folder)


def compute_digest(folder: DatasetFolder) -> str:
    """The same from the content of the files, a row group at a time."""
    index = index_frames(folder.path)
    digest = hashlib.sha256(index.digests.tobytes())
    digest.update(index.pre.tobytes() + index.post.tobytes())
    tables = [table for table in COLUMNS if folder.has(table)]
    for config in tables:
        columns = COLUMNS[config] + (WORDS if config == PAIRS and FLOW_GRAPHS not in tables else [])
        for part in _json_columns(folder, config, columns):
            digest.update(part)
    return digest.hexdigest()


def _json_columns(folder: DatasetFolder, table: str, names: Sequence[str]) -> Iterator[bytes]:
    """The JSON of these columns as an object with sorted keys, a row group of one column at a time."""
    for number, name in enumerate(sorted(names)):
        yield f"{', ' if number else '{'}{json.dumps(name)}: [".encode()
        is_first = True
        for _, _, rows in folder.row_groups(table, [name]):
            if len(rows):
                items = json.dumps(rows[name].to_pylist(), sort_keys=True)[1:-1]
                yield f"{'' if is_first else ', '}{items}".encode()
                is_first = False
        yield b"]"
    yield b"}"


def describe_content(folder: DatasetFolder) -> dict[str, Any] | None:
    """For the manifest: the digest, and the sizes of the files, by which a later change is noticed.

    Without an image there is nothing to train on, and no digest.
    """
    if not folder.has_images():
        return None
    files = [path for table in TABLES for path in folder.files(table)]
    sizes = {str(path.relative_to(folder.path)): path.stat().st_size for path in files}
    return {"digest": compute_digest(folder), "files": sizes}
