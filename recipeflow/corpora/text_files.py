"""The text files of the authors' annotation tool (GitHub ``kskshr/Flow-Graph-Annotation-Tool``).

One folder per recipe, with what that tool reads (``title.txt``, ``ingredients.tok``, ``instructions.tok``: words with
spaces between them) and what it writes::

    ingredients.iob2, instructions.iob2    word_id word ne            0-0-0 きゅうり F-B
    recipe_flows.txt                       start end label            0-0-0 1-0-2 F-eq
    state_changes.txt                      word_id-n before after     1-0-5-0 12 -1      n counts the action's objects
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from recipeflow.release.parsing import NO_FRAME
from recipeflow.release.recipe import SECTIONS, Recipe, word_id
from recipeflow.release.recipe_files import TITLE


def write_text_files(folder: Path, recipe: Recipe) -> None:
    """Write a recipe that has text into ``folder/<id>``."""
    home = folder / recipe.id
    home.mkdir()
    files: dict[str, Iterable[str]] = {
        TITLE: [recipe.title or ""],
        "recipe_flows.txt": _flow_lines(recipe),
        "state_changes.txt": _change_lines(recipe),
    }
    for section, (name, lines) in enumerate(zip(SECTIONS, recipe.sections, strict=True)):
        files[f"{name}.tok"] = [" ".join(line.tokens or ()) for line in lines]
        files[f"{name}.iob2"] = [
            f"{word_id(section, number, position)} {token} {word.ne}"
            for number, line in enumerate(lines)
            for position, (word, token) in enumerate(zip(line.words, line.tokens or (), strict=True))
        ]
    for name, rows in files.items():
        (home / name).write_text("".join(f"{row}\n" for row in rows), encoding="utf-8", newline="\n")


def _flow_lines(recipe: Recipe) -> Iterator[str]:
    return (f"{flow.start} {flow.end} {flow.label}" for flow in recipe.flows)


def _change_lines(recipe: Recipe) -> Iterator[str]:
    counted: Counter[str] = Counter()
    for change in recipe.state_changes:
        frames = (NO_FRAME if frame is None else frame for frame in (change.before, change.after))
        yield " ".join(map(str, (f"{change.action}-{counted[change.action]}", *frames)))
        counted[change.action] += 1
