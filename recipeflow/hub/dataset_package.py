"""What goes to the Hub with a dataset folder: its card, and the answer to whether its frames are ours to publish."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from recipeflow.dataset.folder import MANIFEST, no_dataset
from recipeflow.hub.transfer import CARD

OFFICIAL_SITE = "kurashiru.com"
"""Where the official release's videos are from."""


def read_source(folder: Path) -> str | None:
    """What the release that a dataset was built from says of its source.

    Where it says nothing, the official release is known by the addresses of its recipes.
    """
    try:
        source = json.loads(_read(folder, MANIFEST))["release"]["source"]
    except (ValueError, LookupError, TypeError) as error:
        raise no_dataset(folder, MANIFEST) from error
    if source is None and any(OFFICIAL_SITE in (url or "") for url in _values(folder / "recipes", "url")):
        return "official"
    return source


def known_source(folder: Path) -> str | None:
    """The same of a dataset that may come from elsewhere, of which nothing is known."""
    return read_source(folder) if (folder / MANIFEST).is_file() else None


def has_images(folder: Path) -> bool:
    """Whether a dataset holds a single image."""
    sides = ("pre_image", "post_image")
    return any(image is not None for side in sides for image in _values(folder / "image_pairs", f"{side}.path"))


def make_card(folder: Path, repo_id: str) -> str:
    """The dataset's card with code that loads the repository, not the folder it was built in."""
    return re.sub(r'load_dataset\("[^"]*"', f'load_dataset("{repo_id}"', _read(folder, CARD))


def _read(folder: Path, name: str) -> str:
    try:
        return (folder / name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise no_dataset(folder, name) from error


def _values(folder: Path, column: str) -> Iterator[Any]:
    """A column of a table; of an image only its name is read, not the bytes."""
    for path in sorted(folder.glob("*.parquet")):
        try:
            yield from pq.read_table(path, columns=[column]).column(0).to_pylist()
        except (OSError, LookupError, pa.ArrowException) as error:
            raise no_dataset(folder.parent, str(path.relative_to(folder.parent))) from error
