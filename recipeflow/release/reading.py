"""Stream the recipes of a release folder, each with its problems."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from recipeflow.errors import (
    DuplicateRecipeError,
    EmptyReleaseError,
    InvalidReleaseError,
    ReleaseProblem,
    UrlListError,
)
from recipeflow.release.info import INFO, check_info, read_scheme
from recipeflow.release.jsonstream import stream_object
from recipeflow.release.parsing import ANNOTATIONS, RecipeParser, id_problem
from recipeflow.release.recipe import Recipe
from recipeflow.release.recipe_files import attach_files, read_frames
from recipeflow.release.scheme import Scheme
from recipeflow.release.urls import URLS, read_urls

FOLDER_HINT = "pass the folder that contains annotations.json, or make one with `vrf kitchen OUT`"


@dataclass(frozen=True)
class CheckedRecipe:
    """A recipe with its problems; ``recipe`` is ``None`` when there are any."""

    id: str
    recipe: Recipe | None
    problems: tuple[ReleaseProblem, ...] = ()


def read_release(folder: str | Path, recipe_ids: Collection[str] | None = None) -> Iterator[Recipe]:
    """Stream the recipes of a release, one at a time, in file order. Frames are not opened.

    Args:
        folder: The release folder.
        recipe_ids: Only these recipes; all of them by default.

    Raises:
        InvalidReleaseError: At the first recipe with a problem, with all problems of that recipe.
        ReleaseProblem: Where the folder as a whole cannot be read.
    """
    for checked in scan_release(folder, recipe_ids):
        if checked.recipe is None:
            raise InvalidReleaseError(checked.problems)
        yield checked.recipe


def scan_release(folder: str | Path, recipe_ids: Collection[str] | None = None) -> Iterator[CheckedRecipe]:
    """Stream every recipe with its problems: annotations, text and URL, but not the frames.

    Args:
        folder: The release folder.
        recipe_ids: Only these recipes; the others are not even parsed. All of them by default.

    Raises:
        ReleaseProblem: Where the folder as a whole cannot be read.
    """
    urls, problems = read_urls(Path(folder))
    if problems:
        raise problems[0]
    return _scan(Path(folder), urls, recipe_ids)


def check_release(
    folder: str | Path, watch: Callable[[Iterator[CheckedRecipe]], Iterable[CheckedRecipe]] = iter
) -> list[ReleaseProblem]:
    """Every problem of a release: annotations, texts, URLs and frames. An empty list means a valid release.

    Args:
        folder: The release folder.
        watch: Passes the checked recipes through, to count them or to show progress.
    """
    urls, problems = read_urls(Path(folder))
    try:
        for checked in watch(_scan(Path(folder), urls, with_frames=True)):
            problems.extend(checked.problems)
    except ReleaseProblem as problem:
        if problem.file != INFO:  # reported below, with all others of that file
            problems.append(problem)
    return problems + check_info(folder)[1]


def _scan(
    folder: Path,
    urls: dict[str, list[str]] | None,
    recipe_ids: Collection[str] | None = None,
    with_frames: bool = False,
) -> Iterator[CheckedRecipe]:
    seen: set[str] = set()
    scheme = read_scheme(folder)
    for recipe_id, raw in stream_object(folder / ANNOTATIONS, ANNOTATIONS, FOLDER_HINT, of_recipes=True):
        if recipe_ids is None or recipe_id in recipe_ids:
            recipe, problems = _examine(recipe_id, raw, folder, scheme, with_frames)
            if recipe_id in seen:
                message = "expected each recipe id once, found it again"
                problems.append(DuplicateRecipeError(message, file=ANNOTATIONS, recipe=recipe_id, value=recipe_id))
            if urls is not None and len(urls.get(recipe_id, ())) != 1:
                found = f"found {len(urls.get(recipe_id, ()))}"
                problems.append(_url_problem(recipe_id, f"expected one line that ends in this recipe's id, {found}"))
            if recipe is not None and urls and not problems:
                recipe = replace(recipe, url=urls[recipe_id][0])
            yield CheckedRecipe(recipe_id, None if problems else recipe, tuple(problems))
        seen.add(recipe_id)
    if not seen:
        hint = "nothing was exported into this file: export it again"
        raise EmptyReleaseError("expected at least one recipe, found none", file=ANNOTATIONS, hint=hint)
    for recipe_id in urls or {}:
        if recipe_id not in seen and (recipe_ids is None or recipe_id in recipe_ids):
            problem = _url_problem(recipe_id, f"expected only recipes of {ANNOTATIONS}, found one that is not in it")
            yield CheckedRecipe(recipe_id, None, (problem,))


def _examine(
    recipe_id: str, raw: Any, folder: Path, scheme: Scheme, with_frames: bool
) -> tuple[Recipe | None, list[ReleaseProblem]]:
    """The recipe as far as it can be read, and every problem of its annotation and its files."""
    parser = RecipeParser(recipe_id, scheme)
    recipe = parser.parse(raw)
    problems = parser.problems
    if recipe is not None and id_problem(recipe_id) is None:
        recipe, found = attach_files(recipe, folder)
        problems.extend(found)
        if with_frames:
            problems.extend(read_frames(recipe)[1])
    return recipe, problems


def _url_problem(recipe_id: str, message: str) -> UrlListError:
    hint = f"fix the list, or remove {URLS}: it is optional"
    return UrlListError(message, file=URLS, recipe=recipe_id, value=recipe_id, hint=hint)


def release_fingerprint(folder: str | Path) -> str:
    """A hash that changes whenever any file of the release changes, so that no stale cache is served.

    Annotations count by content. Text and frames, which may be many gigabytes, count by name, size and change times.
    """
    digest = hashlib.sha256()
    for name in (ANNOTATIONS, URLS, INFO):
        path = Path(folder) / name
        if path.is_file():
            with path.open("rb") as source:
                digest.update(name.encode() + hashlib.file_digest(source, "sha256").digest())
    for recipe in _entries(Path(folder, "recipes")):
        for entry in (*_entries(recipe.path), *_entries(Path(recipe.path, "frames"))):
            digest.update(repr((recipe.name, entry.name, _stamp(entry))).encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _entries(folder: str | Path) -> list[os.DirEntry]:
    """The entries of a folder in a fixed order; none if it does not exist. Folders may be links."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _stamp(entry: os.DirEntry) -> tuple[int, int, int] | None:
    try:
        stat = entry.stat()
    except FileNotFoundError:
        return None  # a dangling link
    return stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns
