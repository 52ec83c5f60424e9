"""The files of one recipe, ``recipes/<id>/…``: its title, its two texts, its frames.

Text and frames are both optional: a recipe without them has ``None`` there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from recipeflow.errors import (
    BrokenImageError,
    EncodingError,
    LineCountError,
    LineLengthError,
    MissingFileError,
    MissingFrameError,
    OffsetError,
    ReleaseProblem,
    short,
)
from recipeflow.images import image_problem
from recipeflow.release.recipe import SECTIONS, Line, Recipe

TITLE = "title.txt"
TEXTS = (TITLE, *(f"{section}.txt" for section in SECTIONS))


def recipe_folder(folder: Path, recipe_id: str) -> Path:
    return folder / "recipes" / recipe_id


def attach_files(recipe: Recipe, folder: Path) -> tuple[Recipe, list[ReleaseProblem]]:
    """The recipe with title, text and frames folder, as far as the release has them, and their problems."""
    home = recipe_folder(folder, recipe.id)
    frames = home / "frames"
    recipe = replace(recipe, frames_folder=frames if frames.is_dir() else None)
    if not any((home / name).is_file() for name in TEXTS):
        return recipe, []
    problems: list[ReleaseProblem] = []
    texts: dict[str, str] = {}
    for name in TEXTS:
        try:
            texts[name] = read_text(home / name, f"recipes/{recipe.id}/{name}", recipe.id)
        except ReleaseProblem as problem:
            problems.append(problem)
    problems.extend(_line_break_problems(recipe.id, texts))
    sections = {}
    for section, lines in zip(SECTIONS, recipe.sections, strict=True):
        if f"{section}.txt" in texts:
            contents = split_lines(texts[f"{section}.txt"])
            found = list(text_problems(recipe.id, section, lines, contents))
            problems.extend(found)
            if not found:
                pairs = zip(lines, contents, strict=True)
                sections[section] = tuple(replace(line, text=content) for line, content in pairs)
    title = "\n".join(split_lines(texts.get(TITLE, "")))
    return replace(recipe, title=title, **sections), problems


def _line_break_problems(recipe_id: str, texts: Mapping[str, str]) -> Iterator[ReleaseProblem]:
    """What no writer could write again: a carriage return inside a line, or a title of several lines."""
    for name, text in texts.items():
        file, lines = f"recipes/{recipe_id}/{name}", split_lines(text)
        for number, line in enumerate(lines):
            if "\r" in line:
                message = f"expected lines that end in a line feed, found a carriage return inside {short(line)}"
                yield LineCountError(message, file=file, recipe=recipe_id, place=f"line {number}", value=line)
        if name == TITLE and len(lines) > 1:
            message = f"expected a title of one line, found {len(lines)}"
            yield LineCountError(message, file=file, recipe=recipe_id, place="line 1", value=len(lines))


def read_text(path: Path, name: str, recipe_id: str | None = None) -> str:
    """Read a whole text file.

    Args:
        path: The file.
        name: Its name in errors.
        recipe_id: The recipe it belongs to, for errors.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        message = f"expected a text file, found none ({error.strerror})"
        hint = f"provide all of {', '.join(TEXTS)}, or none of them" if recipe_id else None
        raise MissingFileError(message, file=name, recipe=recipe_id, value=path.name, hint=hint) from None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        byte = f"0x{data[error.start]:02x}"
        raise EncodingError(
            f"expected UTF-8, found the byte {byte}",
            file=name,
            recipe=recipe_id,
            place=f"byte {error.start}",
            value=byte,
            hint="save the file as UTF-8",
        ) from None


def split_lines(text: str) -> list[str]:
    """The lines of a text file. Windows' line ends are not part of the text, and offsets do not count them."""
    text = text.replace("\r\n", "\n")
    return text.removesuffix("\n").split("\n") if text else []


def text_problems(
    recipe_id: str, section: str, lines: Sequence[Line], texts: Sequence[str]
) -> Iterator[ReleaseProblem]:
    """Check text against the number and the lengths of the annotated lines.

    Lines without words could not be read, which was reported when they were parsed.
    """
    file = f"recipes/{recipe_id}/{section}.txt"
    hint = "the page may have changed since it was annotated: use the text of that time, or leave the recipe out"
    if len(texts) != len(lines):
        message = f"expected {len(lines)} lines as annotated, found {len(texts)}"
        place = f"line {min(len(texts), len(lines))}"
        yield LineCountError(message, file=file, recipe=recipe_id, place=place, value=len(texts), hint=hint)
        return
    for number, (line, content) in enumerate(zip(lines, texts, strict=True)):
        if line.words and line.length != len(content):
            message = f"expected {line.length} characters as annotated, found {len(content)}: {short(content)}"
            place = f"line {number}"
            yield LineLengthError(message, file=file, recipe=recipe_id, place=place, value=content, hint=hint)
            continue
        for before, after in pairwise(line.words):
            if (between := content[before.end : after.start]).strip():
                message = (
                    f"expected only spaces between words, found {short(between)} at {before.end}: {short(content)}"
                )
                yield OffsetError(
                    message, file=file, recipe=recipe_id, place=f"line {number}", value=between, hint=hint
                )


def read_frames(recipe: Recipe) -> tuple[dict[int, bytes], list[ReleaseProblem]]:
    """The bytes of every frame the recipe uses, each read once, and their problems.

    A recipe without a frames folder has no frames: its images are null, which is not a problem.
    """
    frames: dict[int, bytes] = {}
    problems: list[ReleaseProblem] = []
    for number in recipe.used_frames:
        path = recipe.frame_path(number)
        if path is None:
            break
        where = {"file": f"recipes/{recipe.id}/frames/{path.name}", "recipe": recipe.id, "place": f"frame {number}"}
        try:
            frames[number] = path.read_bytes()
        except OSError as error:
            message = f"expected an image file, found none ({error.strerror})"
            hint = "sample the video again with `vrf frames`, or fetch it with `vrf download`"
            problems.append(MissingFrameError(message, **where, value=number, hint=hint))
            continue
        if (reason := image_problem(frames[number])) is not None:
            hint = "sample the video again with `vrf frames`"
            problems.append(BrokenImageError(f"expected an image, {reason}", **where, value=path.name, hint=hint))
    return frames, problems
