"""Notes in exported files.

A release folder has them in ``recipes/<id>/notes.json``, which an import reads again::

    [{"target": "ne:1-0-5", "unsure": true, "text": "part of the action?"}, …]

brat has notes on entities and relations of its own; notes on images go to the action. The files of the authors' tool
have no place for them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from recipeflow.annotate.document import Note, as_row
from recipeflow.annotate.notes import ENTITY, FLOW, notes_from_json
from recipeflow.errors import BrokenJSONError, RequestError, WrongTypeError
from recipeflow.release.recipe import Recipe
from recipeflow.release.recipe_files import read_text, recipe_folder

NOTES = "notes.json"


def write_notes(folder: Path, recipe_id: str, notes: Sequence[Note]) -> None:
    """Write the notes on a recipe into a release folder that is being written."""
    if notes:
        home = recipe_folder(folder, recipe_id)
        home.mkdir(parents=True, exist_ok=True)
        text = json.dumps([as_row(note) for note in notes], ensure_ascii=False, indent=1)
        (home / NOTES).write_text(f"{text}\n", encoding="utf-8")


def read_notes(folder: Path, recipe_id: str) -> tuple[Note, ...]:
    """The notes on a recipe of a release folder, if it has some.

    Raises:
        ReleaseProblem: If the file is something else.
    """
    path = recipe_folder(folder, recipe_id) / NOTES
    if not path.is_file():
        return ()
    file = f"recipes/{recipe_id}/{NOTES}"
    try:
        return notes_from_json(json.loads(read_text(path, file, recipe_id)), file)
    except (ValueError, RecursionError) as error:
        raise BrokenJSONError(f"expected JSON, found: {error}", file=file, recipe=recipe_id) from None
    except RequestError as error:
        raise WrongTypeError(str(error), file=file, recipe=recipe_id) from None


def brat_notes(recipe: Recipe, notes: Sequence[Note], first: int) -> Iterator[str]:
    """Notes as lines of an ``.ann`` file, numbered from ``first``; its entities and flows are numbered as there."""
    entities = {entity: f"T{number}" for number, entity in enumerate(recipe.entities, 1)}
    flows = {(flow.start, flow.end, flow.label): f"R{number}" for number, flow in enumerate(recipe.flows, 1)}
    for number, note in enumerate(notes, first):
        kind, _, rest = note.target.partition(":")
        words = f"{'unsure' if note.unsure else 'note'}: {note.text}".rstrip(": ")
        if kind == ENTITY:
            name = entities[rest]
        elif kind == FLOW:
            ends, _, label = rest.partition(":")
            start, _, end = ends.partition(">")
            name = flows[start, end, label]
        else:
            action, _, image = rest.partition("/")
            thing, _, side = image.partition(":")
            name, words = entities[action], f"{words} ({side} of {entities.get(thing, thing)})"
        yield f"#{number}\tAnnotatorNotes {name}\t{' '.join(words.split())}"
