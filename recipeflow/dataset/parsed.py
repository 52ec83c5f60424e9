"""The parsed and checked recipes of a release, kept on disk so that its three tables parse it once."""

from __future__ import annotations

import json
import pickle
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from recipeflow.errors import EmptyReleaseError, InvalidReleaseError, ReleaseProblem, UsageError
from recipeflow.release import Recipe, scan_release

RECIPES, PLACES = "recipes.pickle", "places.json"


def valid_recipes(release: str | Path, exclude: Collection[str] = ()) -> Iterator[Recipe]:
    """All recipes of a release in file order, without those to exclude. Frames are not opened.

    Raises:
        InvalidReleaseError: After the last recipe, with every problem of the release.
        EmptyReleaseError: If no recipe is left.
        UsageError: If ``exclude`` lists an unknown recipe.
    """
    seen: set[str] = set()
    problems: list[ReleaseProblem] = []
    for checked in scan_release(release):
        seen.add(checked.id)
        if checked.id not in exclude:
            problems.extend(checked.problems)
            if checked.recipe is not None:
                yield checked.recipe
    if unknown := sorted(set(exclude) - seen):
        raise UsageError(f"expected exclude to list recipes of {release}, found {', '.join(unknown)}")
    if problems:
        raise InvalidReleaseError(problems)
    if seen <= set(exclude):
        left_out = f" once {len(seen)} are left out" if seen else ""
        raise EmptyReleaseError(f"expected at least one recipe in {release}, found none{left_out}")


class ParsedRelease:
    """Parsed recipes in a folder; each can be read on its own.

    Args:
        folder: The folder.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._places: dict[str, tuple[int, int]] = json.loads((self.folder / PLACES).read_text(encoding="utf-8"))

    @classmethod
    def write(cls, release: str | Path, folder: str | Path, exclude: Collection[str] = ()) -> ParsedRelease:
        """Parse a release into the folder; the arguments and errors are those of ``valid_recipes``."""
        folder = Path(folder)
        folder.mkdir(parents=True)
        places: dict[str, tuple[int, int]] = {}
        with (folder / RECIPES).open("wb") as file:
            for recipe in valid_recipes(release, exclude):
                places[recipe.id] = (file.tell(), len(recipe.state_changes))
                pickle.dump(recipe, file, pickle.HIGHEST_PROTOCOL)
        (folder / PLACES).write_text(json.dumps(places), encoding="utf-8")
        return cls(folder)

    @property
    def state_changes(self) -> dict[str, int]:
        """The number of state changes of every recipe, by id, in file order."""
        return {recipe_id: changes for recipe_id, (_, changes) in self._places.items()}

    def recipes(self, recipe_ids: Iterable[str]) -> Iterator[Recipe]:
        with (self.folder / RECIPES).open("rb") as file:
            for recipe_id in recipe_ids:
                file.seek(self._places[recipe_id][0])
                yield pickle.load(file)
