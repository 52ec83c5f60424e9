"""Write a release folder, recipe by recipe; it appears only when it is complete.

Recipes are checked as on reading, so that a release on disk is always valid.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from recipeflow.errors import (
    DanglingEdgeError,
    DuplicateRecipeError,
    EmptyReleaseError,
    EncodingError,
    InvalidReleaseError,
    LineCountError,
    MissingFrameError,
    ReleaseProblem,
    UrlListError,
    short,
)
from recipeflow.files import StagedFolder
from recipeflow.release.info import INFO, ReleaseInfo
from recipeflow.release.parsing import ANNOTATIONS, RecipeParser, recipe_to_json
from recipeflow.release.recipe import SECTIONS, Recipe, frame_name
from recipeflow.release.recipe_files import TITLE, read_frames, recipe_folder, text_problems
from recipeflow.release.scheme import PAPER, Scheme
from recipeflow.release.scores import SCORES, Scores
from recipeflow.release.urls import URLS, line_id, url_line

ADVICE = "Nothing was written; fix these recipes first."


def write_release(
    folder: str | Path, recipes: Iterable[Recipe], info: ReleaseInfo | None = None, overwrite: bool = False
) -> None:
    """Write recipes, with their text and used frames, as a release folder; all of it or nothing.

    Args:
        folder: The folder to write; it appears only when everything is written.
        recipes: In the order of the file.
        info: The content of ``release.json``; no such file by default.
        overwrite: Replace an existing release.
    """
    with ReleaseWriter(folder, info, overwrite) as writer:
        for recipe in recipes:
            frames, problems = read_frames(recipe)
            if problems:
                raise InvalidReleaseError(problems, ADVICE)
            writer.add(recipe, frames if recipe.frames_folder else None)


class ReleaseWriter:
    """Writes a release recipe by recipe to a temporary folder; renames it at the end of the ``with`` block."""

    def __init__(self, folder: str | Path, info: ReleaseInfo | None = None, overwrite: bool = False) -> None:
        self.info = info
        self.staged = StagedFolder(Path(folder), marker=ANNOTATIONS, overwrite=overwrite)
        self.urls: dict[str, str | None] = {}

    def __enter__(self) -> ReleaseWriter:
        with ExitStack() as stack:
            self.folder = stack.enter_context(self.staged)
            self.annotations = stack.enter_context((self.folder / ANNOTATIONS).open("w", encoding="utf-8"))
            self.annotations.write("{")
            self.stack = stack.pop_all()
        return self

    def add(self, recipe: Recipe, frames: Mapping[int, bytes] | None = None, scores: Scores | None = None) -> None:
        """Append a recipe.

        Args:
            recipe: The recipe.
            frames: JPEG bytes by frame number; ``None`` means a recipe without frames.
            scores: How sure its parser was, if it was predicted.

        Raises:
            InvalidReleaseError: If reading the recipe back would find problems, with all of them.
        """
        problems = list(_problems(recipe, self.info.scheme if self.info else PAPER))
        if recipe.id in self.urls:
            message = "expected each recipe id once, found it again"
            problems.append(DuplicateRecipeError(message, file=ANNOTATIONS, recipe=recipe.id, value=recipe.id))
        for number in recipe.used_frames:
            if frames is not None and number not in frames:
                place = f"frame {number}"
                message = f"expected an image of every used frame, found only {short(sorted(frames))}"
                problems.append(MissingFrameError(message, recipe=recipe.id, place=place, value=number))
        if problems:
            raise InvalidReleaseError(problems, ADVICE)
        separator = ", " if self.urls else ""
        self.annotations.write(f"{separator}{json.dumps(recipe.id)}: {json.dumps(recipe_to_json(recipe))}")
        self.urls[recipe.id] = recipe.url
        self._write_files(recipe, frames)
        if scores is not None:
            home = recipe_folder(self.folder, recipe.id)
            home.mkdir(parents=True, exist_ok=True)
            (home / SCORES).write_text(scores.to_json(), encoding="utf-8")

    def _write_files(self, recipe: Recipe, frames: Mapping[int, bytes] | None) -> None:
        home = recipe_folder(self.folder, recipe.id)
        if recipe.title is not None:
            home.mkdir(parents=True)
            contents: dict[str, list[str | None]] = {TITLE: [recipe.title]}
            for section, lines in zip(SECTIONS, recipe.sections, strict=True):
                contents[f"{section}.txt"] = [line.text for line in lines]
            for name, lines in contents.items():
                (home / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
        if frames is not None:
            (home / "frames").mkdir(parents=True)
            for number, data in frames.items():
                (home / "frames" / frame_name(number)).write_bytes(data)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Leaving the stack closes the file and moves the folder into place, or removes it if anything failed.
        if kind is not None:
            self.stack.__exit__(kind, error, trace)
            return
        with self.stack:
            self._finish()

    def _finish(self) -> None:
        if not self.urls:
            raise InvalidReleaseError([EmptyReleaseError("expected at least one recipe, found none")], ADVICE)
        without = [recipe_id for recipe_id, url in self.urls.items() if url is None]
        urls = [url for url in self.urls.values() if url is not None]
        if without and urls:
            message = f"expected a URL for every recipe or for none, found {len(without)} without"
            raise InvalidReleaseError([UrlListError(message, file=URLS, recipe=without[0])], ADVICE)
        self.annotations.write("}")
        if urls:
            lines = "".join(f"{url_line(url)}\n" for url in urls)
            (self.folder / URLS).write_text(lines, encoding="utf-8")
        if self.info is not None:
            (self.folder / INFO).write_text(self.info.to_json(), encoding="utf-8")


def _problems(recipe: Recipe, scheme: Scheme) -> Iterator[ReleaseProblem]:
    """The problems that reading this recipe would find."""
    unknown = [change.action for change in recipe.state_changes if change.action not in recipe.entities]
    for action in unknown:
        message = f"expected state changes of an entity, found one of {short(action)}"
        yield DanglingEdgeError(message, file=ANNOTATIONS, recipe=recipe.id, value=action)
    if not unknown:
        parser = RecipeParser(recipe.id, scheme)
        parser.parse(recipe_to_json(recipe))
        yield from parser.problems
    if recipe.url is not None and line_id(url_line(recipe.url)) != recipe.id:
        message = f"expected a URL that ends in the recipe's id, found {short(recipe.url)}"
        yield UrlListError(message, file=URLS, recipe=recipe.id, value=recipe.url)
    yield from _text_problems(recipe)


def _text_problems(recipe: Recipe) -> Iterator[ReleaseProblem]:
    wanted = [recipe.title, *(line.text for lines in recipe.sections for line in lines)]
    texts = [text for text in wanted if text is not None]
    if not texts:
        return
    if missing := len(wanted) - len(texts):
        message = f"expected a title and text on every line, or neither, found {missing} of {len(wanted)} missing"
        yield LineCountError(message, recipe=recipe.id, value=missing)
        return
    for text in texts:
        if "\n" in text or "\r" in text:
            message = f"expected lines without line breaks, found {short(text)}"
            yield LineCountError(message, recipe=recipe.id, value=text)
        if any("\ud800" <= character <= "\udfff" for character in text):
            message = f"expected text, found half of a surrogate pair in {short(text)}"
            yield EncodingError(message, recipe=recipe.id, value=text)
    for section, lines in zip(SECTIONS, recipe.sections, strict=True):
        yield from text_problems(recipe.id, section, lines, [line.text or "" for line in lines])
