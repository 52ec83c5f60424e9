"""brat standoff: ``<id>.txt`` and ``<id>.ann``, with the ``annotation.conf`` that brat needs.

The text is one line of the recipe per line, ingredients first; offsets count its characters. Entities are ``T`` lines,
flows ``R`` lines. brat has no frames: they are notes on the action, one per object.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from recipeflow.graph import pair_objects
from recipeflow.release.recipe import LABELS, TAGS, Entity, Recipe

CONFIGURATION = "annotation.conf"


def write_brat(folder: Path, recipe: Recipe) -> None:
    """Write a recipe that has text into ``folder``."""
    text = "".join(f"{line.text}\n" for lines in recipe.sections for line in lines)
    rows = "".join(f"{row}\n" for row in annotation_lines(recipe))
    for suffix, content in (("txt", text), ("ann", rows)):
        (folder / f"{recipe.id}.{suffix}").write_text(content, encoding="utf-8", newline="\n")


def annotation_lines(recipe: Recipe) -> Iterator[str]:
    """The lines of an ``.ann`` file."""
    starts = _line_starts(recipe)
    names = {entity: f"T{number}" for number, entity in enumerate(recipe.entities, 1)}
    for entity in recipe.entities.values():
        start, end = (starts[entity.section, entity.line] + offset for offset in _span(recipe, entity))
        yield f"{names[entity.id]}\t{entity.tag} {start} {end}\t{entity.text}"
    for number, flow in enumerate(recipe.flows, 1):
        yield f"R{number}\t{flow.label} Arg1:{names[flow.start]} Arg2:{names[flow.end]}"
    for number, pair in enumerate(pair_objects(recipe), 1):
        thing = names[pair.object.id] if pair.object else "-"
        frames = ("-" if frame is None else frame for frame in (pair.change.before, pair.change.after))
        note = "object={} before={} after={}".format(thing, *frames)
        yield f"#{number}\tAnnotatorNotes {names[pair.action.id]}\t{note}"


def _line_starts(recipe: Recipe) -> dict[tuple[int, int], int]:
    starts, offset = {}, 0
    for section, lines in enumerate(recipe.sections):
        for number, line in enumerate(lines):
            starts[section, number] = offset
            offset += line.length + 1
    return starts


def _span(recipe: Recipe, entity: Entity) -> tuple[int, int]:
    words = recipe.sections[entity.section][entity.line].words
    return words[entity.start_word].start, words[entity.end_word - 1].end


def configuration() -> str:
    """The ``annotation.conf`` with tags and labels."""
    ends = "Arg1:<ENTITY>, Arg2:<ENTITY>"
    relations = "\n".join(f"{label}\t{ends}" for label in LABELS)
    return f"[entities]\n{chr(10).join(TAGS)}\n\n[relations]\n{relations}\n\n[events]\n\n[attributes]\n"
