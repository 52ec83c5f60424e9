"""Recipes from a built dataset: the three tables joined again, pictures read one row group at a time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby, zip_longest
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from recipeflow.dataset.folder import FLOW_GRAPHS, PAIRS, RECIPES, DatasetFolder
from recipeflow.dataset.frames import image_bytes
from recipeflow.errors import DatasetFolderError
from recipeflow.release import CheckedRecipe
from recipeflow.release.parsing import NO_FRAME, RecipeParser
from recipeflow.release.recipe import Line, Recipe, word_id
from recipeflow.release.scheme import Scheme

COLUMNS = {
    RECIPES: ["recipe_id", "title", "url", "ingredients", "instructions"],
    FLOW_GRAPHS: ["recipe_id", "edges"],
    # Only the names of the images, not their bytes.
    PAIRS: ["recipe_id", "action_id", "pre_frame", "post_frame", "pre_image.path", "post_image.path"],
}
SIDES = {"pre_frame": "pre_image", "post_frame": "post_image"}
HELD_GROUPS = 4
"""Columns of row groups kept in memory: pictures of one recipe are next to each other."""

Row = dict[str, Any]


class Place(NamedTuple):
    """Where the bytes of a frame are in the dataset."""

    file: Path
    group: int
    column: str
    row: int


class DatasetSource:
    """A built dataset. Recipes are streamed; the places of their pictures are recorded on the way."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tables = DatasetFolder(folder)
        self.info = self.tables.info
        self._places: dict[str, dict[int, Place]] = {}
        self._held: OrderedDict[tuple[Path, int, str], pa.ChunkedArray] = OrderedDict()
        self._lock = threading.Lock()

    def recipes(self) -> Iterator[CheckedRecipe]:
        """All recipes in the order of the tables, checked like a release.

        Raises:
            DatasetFolderError: If a table cannot be read, or the tables are not of the same recipes.
        """
        pairs = groupby(self._rows(PAIRS) if self.tables.has(PAIRS) else (), key=itemgetter("recipe_id"))
        next_id, next_pairs = next(pairs, (None, ()))
        for row, graph in zip_longest(self._rows(RECIPES), self._rows(FLOW_GRAPHS), fillvalue={}):
            recipe_id = row.get("recipe_id")
            if recipe_id is None or recipe_id != graph.get("recipe_id"):
                raise self._mixed(f"{recipe_id!r} beside {graph.get('recipe_id')!r} in flow_graphs")
            changes = list(next_pairs) if next_id == recipe_id else []
            if changes:
                next_id, next_pairs = next(pairs, (None, ()))
            self._note_places(recipe_id, changes)
            yield _check(row, graph["edges"], changes, self.info.scheme)
        if next_id is not None:
            raise self._mixed(f"{next_id!r} out of order in image_pairs")

    def _rows(self, table: str) -> Iterator[Row]:
        """The rows of a table, each with its file, row group and position in that."""
        for path, group, rows in self.tables.row_groups(table, COLUMNS[table]):
            for number, row in enumerate(rows.to_pylist()):
                yield {**row, "place": (path, group), "row": number}

    def _mixed(self, found: str) -> DatasetFolderError:
        return DatasetFolderError(
            f"expected the same recipes in the same order in all tables of {self.folder}, found {found}; build "
            "the dataset again"
        )

    def _note_places(self, recipe_id: str, changes: list[Row]) -> None:
        places = self._places[recipe_id] = {}
        for change in changes:
            for frame, image in SIDES.items():
                if change[image] is not None and change[frame] is not None:
                    places.setdefault(change[frame], Place(*change["place"], image, change["row"]))

    def has_picture(self, recipe: Recipe, number: int) -> bool:
        """Whether the tables have this frame."""
        return number in self._places.get(recipe.id, {})

    def picture(self, recipe: Recipe, number: int) -> bytes | None:
        """The encoded frame; its row group stays in memory for a while."""
        place = self._places.get(recipe.id, {}).get(number)
        if place is None:
            return None
        key = place[:3]
        with self._lock:
            if key not in self._held:
                self._held[key] = self._read_images(place)
                if len(self._held) > HELD_GROUPS:
                    self._held.popitem(last=False)
            self._held.move_to_end(key)
            images = self._held[key]
        return images[place.row].as_py() if place.row < len(images) else None

    def _read_images(self, place: Place) -> pa.ChunkedArray:
        try:
            _, _, table = next(self.tables.row_groups(PAIRS, [place.column], [(place.file, place.group)]))
        except DatasetFolderError as error:
            raise DatasetFolderError(f"{error}; was it rebuilt meanwhile? Start again") from error
        return image_bytes(table[place.column], place.file, 0)


def _check(row: Row, edges: list[Row], changes: list[Row], scheme: Scheme) -> CheckedRecipe:
    """A recipe from its rows, through the parser of releases, so that it is checked like them."""
    labels = list(scheme.labels)
    try:
        raw = {
            "ingredients": [_raw_line(0, number, line, scheme) for number, line in enumerate(row["ingredients"])],
            "instructions": [_raw_line(1, number, line, scheme) for number, line in enumerate(row["instructions"])],
            "recipe_flows": [
                {"start_vertex": edge["start"], "end_vertex": edge["end"], "label": labels[edge["label"]]}
                for edge in edges
            ],
            "state_changes": [_raw_change(change) for change in changes],
        }
    except (LookupError, TypeError, ValueError) as error:
        raise DatasetFolderError(
            f"expected recipe {row['recipe_id']} with the columns that `vrf build` writes, found something else "
            f"({type(error).__name__}: {error}); build the dataset again"
        ) from error
    parser = RecipeParser(row["recipe_id"], scheme)
    recipe = parser.parse(raw)
    if recipe is None or parser.problems:
        return CheckedRecipe(row["recipe_id"], None, tuple(parser.problems))
    ingredients, instructions = (
        tuple(Line(line.words, raw_line["text"]) for line, raw_line in zip(lines, row[name], strict=True))
        for name, lines in (("ingredients", recipe.ingredients), ("instructions", recipe.instructions))
    )
    recipe = replace(recipe, title=row["title"], url=row["url"], ingredients=ingredients, instructions=instructions)
    return CheckedRecipe(recipe.id, recipe)


def _raw_line(section: int, number: int, line: Row, scheme: Scheme) -> list[Row]:
    tags = scheme.iob2_tags
    columns = zip(line["starts"], line["ends"], line["ner_tags"], strict=True)
    return [
        {
            "word_id": word_id(section, number, position),
            "start_char": start,
            "end_char": end,
            "ne": "-".join(reversed(tags[tag].split("-"))),
        }
        for position, (start, end, tag) in enumerate(columns)
    ]


def _raw_change(change: Row) -> Row:
    frames = {"before": change["pre_frame"], "after": change["post_frame"]}
    place = [int(part) for part in change["action_id"].split("-")]
    return {"word_id": place, **{side: NO_FRAME if number is None else number for side, number in frames.items()}}
