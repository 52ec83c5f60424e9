"""What is pushed with a dataset folder: its card, and whether its frames may be published."""

from __future__ import annotations

import re
from pathlib import Path

from recipeflow.dataset.folder import MANIFEST, DatasetFolder, no_dataset
from recipeflow.hub.transfer import CARD


def open_built(folder: Path) -> DatasetFolder:
    """A dataset written by ``vrf build``.

    Raises:
        DatasetFolderError: If it has no manifest.
    """
    if not (folder / MANIFEST).is_file():
        raise no_dataset(folder, MANIFEST)
    return DatasetFolder(folder)


def card_for_repository(folder: Path, repo_id: str) -> str:
    """The dataset's card with code that loads the repository, not the folder it was built in."""
    try:
        card = (folder / CARD).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise no_dataset(folder, CARD) from error
    return re.sub(r'load_dataset\("[^"]*"', f'load_dataset("{repo_id}"', card)
