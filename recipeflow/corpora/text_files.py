"""The text files of the authors' annotation tool (GitHub ``kskshr/Flow-Graph-Annotation-Tool``).

One folder per recipe, with what that tool reads (``title.txt``, ``ingredients.tok``, ``instructions.tok``: words with
spaces between them) and what it writes::

    ingredients.iob2, instructions.iob2    word_id word ne            0-0-0 きゅうり F-B
    recipe_flows.txt                       start end label            0-0-0 1-0-2 F-eq
    state_changes.txt                      word_id-n before after     1-0-5-0 12 -1      n counts the action's objects

Where these lose something, such as the URL or unusual spaces, an export adds ``recipe.json`` (see ``skeleton``).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from recipeflow.corpora.places import Places, check_recipe
from recipeflow.corpora.skeleton import (
    in_order,
    not_equal,
    read_skeleton,
    require_text,
    skeleton_to_json,
    tokens_of,
    with_tags,
)
from recipeflow.errors import MissingFileError, ReleaseProblem, WrongTypeError, short
from recipeflow.language.languages import join_words
from recipeflow.release import CheckedRecipe, Scheme
from recipeflow.release.parsing import NO_FRAME
from recipeflow.release.recipe import SECTIONS, Flow, Line, Recipe, StateChange, Word, word_id
from recipeflow.release.recipe_files import TITLE, read_text, split_lines

FLOWS, CHANGES, SKELETON = "recipe_flows.txt", "state_changes.txt", "recipe.json"
TAGGED = tuple(f"{name}.iob2" for name in SECTIONS)
_WORD_ID = re.compile(r"(\d+)-(\d+)-(\d+)")


def write_tool(recipe: Recipe, scheme: Scheme) -> dict[str, str]:
    """The files of a recipe; reading them gives an equal recipe.

    Raises:
        ReleaseProblem: If the recipe has no text, or a word with white space inside.
    """
    require_text(recipe, "tool")
    files = _files(recipe)
    if _read_files(recipe.id, files, scheme).recipe != recipe:
        files[SKELETON] = json.dumps(skeleton_to_json(recipe), ensure_ascii=False) + "\n"
        if _read_files(recipe.id, files, scheme).recipe != recipe:
            raise not_equal(recipe, "tool", "found white space inside a word, or state changes in another order")
    return {f"{recipe.id}/{name}": content for name, content in files.items()}


def _files(recipe: Recipe) -> dict[str, str]:
    rows: dict[str, Iterable[str]] = {
        TITLE: [recipe.title or ""],
        FLOWS: _flow_lines(recipe),
        CHANGES: _change_lines(recipe),
    }
    for section, (name, lines) in enumerate(zip(SECTIONS, recipe.sections, strict=True)):
        rows[f"{name}.tok"] = [" ".join(line.tokens or ()) for line in lines]
        rows[f"{name}.iob2"] = [
            f"{word_id(section, number, position)} {token} {word.ne}"
            for number, line in enumerate(lines)
            for position, (word, token) in enumerate(zip(line.words, line.tokens or (), strict=True))
        ]
    return {name: "".join(f"{row}\n" for row in lines) for name, lines in rows.items()}


def _flow_lines(recipe: Recipe) -> Iterator[str]:
    return (f"{flow.start} {flow.end} {flow.label}" for flow in recipe.flows)


def _change_lines(recipe: Recipe) -> Iterator[str]:
    counted: Counter[str] = Counter()
    for change in recipe.state_changes:
        frames = (NO_FRAME if frame is None else frame for frame in (change.before, change.after))
        yield " ".join(map(str, (f"{change.action}-{counted[change.action]}", *frames)))
        counted[change.action] += 1


def read_tool(source: Path, scheme: Scheme, notes: Counter[str]) -> Iterator[CheckedRecipe]:
    """Stream the recipes of a folder that has one folder per recipe, each with its problems."""
    if not source.is_dir():
        raise MissingFileError(f"expected a folder with one folder per recipe, found the file {source}")
    for name in in_order(source, (path.name for path in source.iterdir() if path.is_dir())):
        home = source / name
        try:
            paths = [home / file for file in (TITLE, *TAGGED, FLOWS, CHANGES, SKELETON)]
            files = {path.name: read_text(path, f"{name}/{path.name}") for path in paths if path.is_file()}
        except ReleaseProblem as problem:
            problem.recipe = name
            yield CheckedRecipe(name, None, (problem,))
            continue
        yield _read_files(name, files, scheme)


def _read_files(recipe_id: str, files: Mapping[str, str], scheme: Scheme) -> CheckedRecipe:
    try:
        return _assemble(recipe_id, files, scheme)
    except ReleaseProblem as problem:
        problem.recipe = recipe_id
        return CheckedRecipe(recipe_id, None, (problem,))


def _assemble(recipe_id: str, files: Mapping[str, str], scheme: Scheme) -> CheckedRecipe:
    if missing := [name for name in (TITLE, TAGGED[1]) if name not in files]:
        raise MissingFileError(f"expected the tool's files, found no {missing[0]}", file=f"{recipe_id}/{missing[0]}")
    words = [_tagged_words(files.get(name, ""), section, f"{recipe_id}/{name}") for section, name in enumerate(TAGGED)]
    if SKELETON in files:
        skeleton = read_skeleton(recipe_id, files[SKELETON], f"{recipe_id}/{SKELETON}")
    else:
        title = "\n".join(split_lines(files[TITLE]))
        sections = [tuple(_line([token for token, _ in line], scheme) for line in lines) for lines in words]
        skeleton = Recipe(recipe_id, sections[0], sections[1], title=title)
    if tokens_of(skeleton) != [[[token for token, _ in line] for line in lines] for lines in words]:
        message = f"expected the words of {TAGGED[0]} and {TAGGED[1]} in {SKELETON} too, found others"
        raise WrongTypeError(message, file=f"{recipe_id}/{SKELETON}")
    recipe = with_tags(skeleton, [ne for lines in words for line in lines for _, ne in line])
    flows = tuple(Flow(*row) for row in _rows(files.get(FLOWS, ""), 3, f"{recipe_id}/{FLOWS}"))
    changes = tuple(_changes(files.get(CHANGES, ""), f"{recipe_id}/{CHANGES}"))
    recipe = replace(recipe, flows=flows, state_changes=changes)
    return check_recipe(recipe, scheme, _places(recipe, f"{recipe_id}/{FLOWS}"))


def _places(recipe: Recipe, file: str) -> Places:
    """Words are named by their line in their section's file, everything else by its line in its own."""
    words: dict[str, int] = {}
    for section, lines in enumerate(recipe.sections):
        names = [word_id(section, number, k) for number, line in enumerate(lines) for k in range(len(line.words))]
        words |= {name: number for number, name in enumerate(names, 1)}
    numbers = range(1, 1 + max(len(recipe.flows), len(recipe.state_changes)))
    return Places(file, 1, words, numbers, numbers, {"word": TAGGED, "state change": (CHANGES,)})


def _tagged_words(text: str, section: int, file: str) -> list[list[tuple[str, str]]]:
    """The words of each line of a section, with their tags."""
    lines: list[list[tuple[str, str]]] = []
    for number, (name, token, ne) in enumerate(_rows(text, 3, file), 1):
        position = _WORD_ID.fullmatch(name)
        here = (section, len(lines) - 1, len(lines[-1])) if lines else None
        found = tuple(map(int, position.groups())) if position else None
        if found == (section, len(lines), 0):
            lines.append([])
        elif found != here:
            message = f"expected the id of the next word, found {short(name)}"
            raise WrongTypeError(message, file=file, place=f"line {number}", value=name)
        lines[-1].append((token, ne))
    return lines


def _rows(text: str, columns: int, file: str) -> Iterator[list[str]]:
    for number, line in enumerate(split_lines(text), 1):
        parts = line.split(" ")
        if len(parts) != columns:
            message = f"expected {columns} columns with spaces between them, found {short(line)}"
            raise WrongTypeError(message, file=file, place=f"line {number}", value=line)
        yield parts


def _line(tokens: list[str], scheme: Scheme) -> Line:
    text, spans = join_words(tokens, scheme.language)
    return Line(tuple(Word(*span) for span in spans), text)


def _changes(text: str, file: str) -> Iterator[StateChange]:
    for number, (name, *frames) in enumerate(_rows(text, 3, file), 1):
        action, _, _ = name.rpartition("-")
        if not _WORD_ID.fullmatch(action) or not all(re.fullmatch(r"-1|\d{1,9}", frame) for frame in frames):
            message = f"expected word_id-n and two frame numbers, found {short(name)} {' '.join(frames)}"
            raise WrongTypeError(message, file=file, place=f"line {number}")
        before, after = (None if int(frame) == NO_FRAME else int(frame) for frame in frames)
        yield StateChange(action, before, after)
