"""The explorer as a static site: one folder that opens without a server, and can be put on any web host."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count, takewhile
from pathlib import Path

import recipeflow
from recipeflow.errors import BrokenImageError, ReleaseProblem, UsageError, VRFError
from recipeflow.explore.library import Library
from recipeflow.explore.site import data_script, page_files
from recipeflow.files import StagedFolder
from recipeflow.images import page_picture
from recipeflow.release.recipe import Recipe, frame_name

MARKER = "vrf_explore.json"
"""A manifest of the site. Only this module writes it, so a folder that has it may be replaced."""


@dataclass(frozen=True)
class Export:
    """A finished site: its size, and what could not be shown."""

    folder: Path
    recipes: int
    pictures: int
    problems: tuple[VRFError, ...]


def export_site(
    library: Library,
    folder: str | Path,
    overwrite: bool = False,
    watch: Callable[[Iterator[int]], Iterable[int]] = iter,
) -> Export:
    """Write the whole site of a library; it appears only when it is complete.

    Args:
        library: The recipes.
        folder: The folder to write.
        overwrite: Replace an existing site.
        watch: Passes the numbers of the recipes through, to show progress.

    Raises:
        OutputExistsError: If the folder exists and may not be replaced.
    """
    folder = Path(folder)
    if library.source.folder.resolve().is_relative_to(folder.resolve()):
        raise UsageError(
            f"expected a site outside its source, found {library.source.folder} inside {folder}, which the site "
            "would replace; choose another --export"
        )
    with StagedFolder(folder, MARKER, overwrite) as staged:
        for name, content in page_files().items():
            (staged / name).write_bytes(content)
        _write_data(staged, "data/about", {**library.about(), "stamp": None})
        writer = _RecipeWriter(library, staged)
        for number in watch(_numbers(library)):
            writer.write(number)
        for number, chunk in enumerate(library.chunks()):
            _write_data(staged, f"data/index/{number}", chunk)
        problems = (*library.problems, *writer.problems)
        known = {"recipeflow": recipeflow.__version__, "recipes": writer.recipes, "pictures": writer.pictures}
        (staged / MARKER).write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")
    return Export(folder, writer.recipes, writer.pictures, problems)


def _numbers(library: Library) -> Iterator[int]:
    return takewhile(lambda number: library.recipe(number) is not None, count())


def _write_data(folder: Path, name: str, data: object) -> None:
    path = folder / f"{name}.js"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data_script(name, data))


class _RecipeWriter:
    """Writes and counts recipes."""

    def __init__(self, library: Library, folder: Path) -> None:
        self.library = library
        self.folder = folder
        self.recipes = 0
        self.pictures = 0
        self.problems: list[ReleaseProblem] = []

    def write(self, number: int) -> None:
        """Write the page data and the pictures of a recipe; a damaged picture is left out and reported."""
        recipe, page = self.library.recipe(number), self.library.page(number)
        assert recipe is not None and page is not None  # the index counts the existing recipes
        written = [frame for frame in recipe.used_frames if self._write_picture(number, recipe, frame)]
        _write_data(self.folder, f"data/recipes/{number}", {**page, "pictures": written})
        self.recipes += 1
        self.pictures += len(written)

    def _write_picture(self, number: int, recipe: Recipe, frame: int) -> bool:
        data = self.library.source.picture(recipe, frame)
        if data is None:
            return False
        try:
            small = page_picture(data, f"recipes/{recipe.id}/frames/{frame_name(frame)}")
        except BrokenImageError as problem:
            self.problems.append(problem)
            return False
        path = self.folder / "pictures" / str(number) / f"{frame}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(small)
        return True
