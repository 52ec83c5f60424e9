"""What is pushed with a dataset folder: its card, and whether its frames may be published."""

from __future__ import annotations

import re
from pathlib import Path

from recipeflow.dataset.folder import MANIFEST, DatasetFolder, no_dataset
from recipeflow.hub.transfer import CARD
from recipeflow.tasks.folder import TasksFolder
from recipeflow.tasks.harness import harness_files


def open_built(folder: Path) -> DatasetFolder:
    """A dataset written by ``vrf build``.

    Raises:
        DatasetFolderError: If it has no manifest.
    """
    if not (folder / MANIFEST).is_file():
        raise no_dataset(folder, MANIFEST)
    return DatasetFolder(folder)


class TaskSetsPackage(TasksFolder):
    """Task sets, with what a push asks about a dataset."""

    @property
    def source(self) -> str | None:
        return self.manifest["source"]

    def has_images(self) -> bool:
        return self.manifest["has_images"]

    def harness_files(self, repo_id: str) -> dict[str, bytes]:
        """The files for harnesses, which load the repository and not the folder."""
        return {name: text.encode() for name, text in harness_files(repo_id, self.manifest["configs"])}


def card_for_repository(folder: Path, repo_id: str) -> str:
    """The dataset's card with code that loads the repository, not the folder it was built in."""
    try:
        card = (folder / CARD).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise no_dataset(folder, CARD) from error
    return re.sub(r'load_dataset\("[^"]*"', f'load_dataset("{repo_id}"', card)
