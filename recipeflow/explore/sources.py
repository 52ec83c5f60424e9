"""Where the explorer's recipes come from: a release folder, or the Parquet files of a built dataset."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from recipeflow.errors import SourceFolderError
from recipeflow.release import CheckedRecipe, ReleaseInfo, read_info, scan_release
from recipeflow.release.parsing import ANNOTATIONS
from recipeflow.release.recipe import Recipe

BUILT = "recipes/*.parquet"


class Source(Protocol):
    """What the explorer needs from a source of recipes."""

    folder: Path
    info: ReleaseInfo

    def recipes(self) -> Iterator[CheckedRecipe]:
        """All recipes in order, one at a time, each with its problems."""

    def has_picture(self, recipe: Recipe, number: int) -> bool:
        """Whether frame ``number`` of a recipe exists."""

    def picture(self, recipe: Recipe, number: int) -> bytes | None:
        """The encoded frame, or ``None`` if there is none."""


class ReleaseSource:
    """A release folder. Frames are opened on demand."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.info = read_info(folder)

    def recipes(self) -> Iterator[CheckedRecipe]:
        return scan_release(self.folder)

    def has_picture(self, recipe: Recipe, number: int) -> bool:
        """Whether the frame's file exists; nothing is opened."""
        path = recipe.frame_path(number)
        return path is not None and path.is_file()

    def picture(self, recipe: Recipe, number: int) -> bytes | None:
        path = recipe.frame_path(number)
        try:
            return None if path is None else path.read_bytes()
        except OSError:
            return None


def open_source(folder: str | Path) -> Source:
    """A release folder or a built dataset, whichever it is.

    Raises:
        SourceFolderError: If it is neither.
    """
    folder = Path(folder)
    if (folder / ANNOTATIONS).exists():
        return ReleaseSource(folder)
    if any(folder.glob(BUILT)):
        # Only here, because a release folder is read without Parquet.
        from recipeflow.dataset.recipes import DatasetSource

        return DatasetSource(folder)
    found = "no such folder" if not folder.exists() else "neither of the two" if folder.is_dir() else "a file"
    raise SourceFolderError(
        f"expected {folder} to be a release folder, with {ANNOTATIONS}, or a built dataset, with {BUILT}; found "
        f"{found}; make a release with `vrf kitchen OUT`, or build a dataset with `vrf build`"
    )
