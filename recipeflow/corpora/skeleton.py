"""What another format has no place for: title, URL, lines, and the exact place of each word in the text.

An export writes it beside the format's own data, only where reading these alone would not give the same recipe.
Reading puts the annotation back onto it, so that what went out comes in equal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from recipeflow.errors import BrokenJSONError, ReleaseProblem, WrongTypeError, show
from recipeflow.release.recipe import SECTIONS, Line, Recipe, StateChange, Word
from recipeflow.release.recipe_files import read_text, split_lines

LIST = "recipes.txt"
"""Lists the recipes of an export that is a folder, in order."""

_WORD_ID = re.compile(r"\d+-\d+-\d+")


def skeleton_to_json(recipe: Recipe) -> dict[str, Any]:
    """Title, URL and lines with their words, without annotation."""
    return {
        "title": recipe.title,
        "url": recipe.url,
        **{
            name: [{"text": line.text, "words": [[word.start, word.end] for word in line.words]} for line in lines]
            for name, lines in zip(SECTIONS, recipe.sections, strict=True)
        },
    }


def skeleton_from_json(recipe_id: str, raw: Any, file: str, place: str | None = None) -> Recipe:
    """The inverse of ``skeleton_to_json``.

    Raises:
        WrongTypeError: If it has another form.
    """
    try:
        sections = [
            tuple(
                Line(tuple(Word(int(start), int(end)) for start, end in line["words"]), str(line["text"]))
                for line in raw[name]
            )
            for name in SECTIONS
        ]
        title, url = raw["title"], raw["url"]
        if not isinstance(title, str) or not isinstance(url, str | None):
            raise TypeError(f"title {show(title)} and url {show(url)}")
    except (LookupError, TypeError, ValueError) as error:
        message = f"expected title, url and lines as an export writes them, found something else ({error})"
        raise WrongTypeError(message, file=file, recipe=recipe_id, place=place) from None
    return Recipe(recipe_id, sections[0], sections[1], title=title, url=url)


def read_skeleton(recipe_id: str, text: str, file: str) -> Recipe:
    """A skeleton from the text of its file.

    Raises:
        ReleaseProblem: If it is not one.
    """
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BrokenJSONError(f"expected JSON, found: {error}", file=file, recipe=recipe_id) from None
    return skeleton_from_json(recipe_id, raw, file)


def in_order(folder: Path, recipe_ids: Iterable[str]) -> list[str]:
    """Recipe ids in the order of the folder's list, if it has one; others by name."""
    path = folder / LIST
    listed = split_lines(read_text(path, LIST)) if path.is_file() else []
    places = {name: place for place, name in enumerate(listed)}
    return sorted(recipe_ids, key=lambda name: (places.get(name, len(places)), name))


def tokens_of(recipe: Recipe) -> list[list[list[str]]]:
    """The words of every line of both sections."""
    return [[line.tokens or [] for line in lines] for lines in recipe.sections]


def changes_to_json(changes: Sequence[StateChange]) -> list[list[str | int | None]]:
    """State changes as ``[word id, before, after]``."""
    return [[change.action, change.before, change.after] for change in changes]


def changes_from_json(raw: Any) -> tuple[StateChange, ...] | None:
    """The inverse of ``changes_to_json``; ``None`` for anything else."""
    if not isinstance(raw, list) or not all(isinstance(change, list) and len(change) == 3 for change in raw):
        return None
    named = all(isinstance(action, str) and _WORD_ID.fullmatch(action) for action, _, _ in raw)
    numbered = all(frame is None or type(frame) is int for _, *frames in raw for frame in frames)
    return tuple(StateChange(*change) for change in raw) if named and numbered else None


def flat_words(recipe: Recipe) -> list[tuple[int, int, int]]:
    """Section, line and position of every word, in reading order."""
    return [
        (section, number, position)
        for section, lines in enumerate(recipe.sections)
        for number, line in enumerate(lines)
        for position in range(len(line.words))
    ]


def with_tags(recipe: Recipe, nes: Sequence[str]) -> Recipe:
    """A recipe with the tags of its words replaced, in reading order."""
    tags = iter(nes)
    ingredients, instructions = (
        tuple(replace(line, words=tuple(replace(word, ne=next(tags)) for word in line.words)) for line in lines)
        for lines in recipe.sections
    )
    return replace(recipe, ingredients=ingredients, instructions=instructions)


def require_text(recipe: Recipe, form: str) -> None:
    """Refuse a recipe without text, such as one of the official annotations alone."""
    if recipe.title is None:
        raise ReleaseProblem(
            f"expected text, which {form} files consist of, found none",
            recipe=recipe.id,
            hint="export as jsonl, which needs none, or fetch the text with `vrf download`",
        )


def not_equal(recipe: Recipe, form: str, reason: str) -> ReleaseProblem:
    """The problem of a recipe that this format cannot represent."""
    return ReleaseProblem(
        f"expected a recipe that can be written as {form}, {reason}", recipe=recipe.id, hint="export it as jsonl"
    )
