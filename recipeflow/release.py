"""Read, check and write a release folder, the one format everything here reads and writes.

::

    <release>/annotations.json   recipe_urls.txt (optional)   release.json (optional)
    <release>/recipes/<id>/{title.txt, ingredients.txt, instructions.txt, frames/frame_N.jpg}   (optional)

The official annotations alone are a valid release: text and images are then ``None``, never invented.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from recipeflow.errors import (
    BrokenImageError,
    DuplicateRecipeError,
    EncodingError,
    InvalidReleaseError,
    LineCountError,
    LineLengthError,
    MissingFileError,
    MissingFrameError,
    ReleaseProblem,
    UrlListError,
    WrongTypeError,
)
from recipeflow.images import image_problem
from recipeflow.jsonstream import stream_object
from recipeflow.parsing import ANNOTATIONS, RecipeParser, id_problem, recipe_to_json
from recipeflow.recipe import SECTIONS, Entity, Flow, Line, Recipe, StateChange, Word, frame_name
from recipeflow.staging import StagedFolder

__all__ = [
    "CheckedRecipe",
    "Entity",
    "Flow",
    "Line",
    "Recipe",
    "ReleaseInfo",
    "ReleaseWriter",
    "StateChange",
    "Word",
    "check_release",
    "read_frames",
    "read_info",
    "read_release",
    "release_fingerprint",
    "scan_release",
    "write_release",
]

URLS = "recipe_urls.txt"
INFO = "release.json"
TITLE = "title.txt"
FOLDER_HINT = "give the folder that holds annotations.json, or cook one with `vrf kitchen OUT`"

OFFICIAL_SHA256 = "ffb2d7da4448613aeb830ce9313ae3bc0edb868084bf5546f48a1b69af9d57fc"
"""The checksum of the authors' ``annotations.json``, by which a bare copy of it is recognised."""


@dataclass(frozen=True)
class ReleaseInfo:
    """What ``release.json`` says of the whole release.

    ``glossary`` gives English for Japanese words; ``details`` holds every other key as it was read.
    """

    source: str | None = None
    licence: str | None = None
    version: str | None = None
    glossary: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)


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
        InvalidReleaseError: At the first recipe with a problem, holding all problems of that recipe.
        ReleaseProblem: Where the folder as a whole cannot be read.
    """
    for checked in scan_release(folder):
        if recipe_ids is None or checked.id in recipe_ids:
            if checked.recipe is None:
                raise InvalidReleaseError(checked.problems)
            yield checked.recipe


def scan_release(folder: str | Path) -> Iterator[CheckedRecipe]:
    """Stream every recipe with what is wrong with it: annotations, text and URL, but not the frames."""
    folder = Path(folder)
    urls = _read_urls(folder)
    seen: set[str] = set()
    for recipe_id, raw in stream_object(folder / ANNOTATIONS, ANNOTATIONS, FOLDER_HINT):
        parser = RecipeParser(recipe_id)
        recipe = parser.parse(raw)
        problems = parser.problems
        if recipe_id in seen:
            message = "expected each recipe id once, found it again"
            problems.append(DuplicateRecipeError(message, file=ANNOTATIONS, recipe=recipe_id, value=recipe_id))
        seen.add(recipe_id)
        if urls is not None and recipe_id not in urls:
            message = "expected a line that ends in this recipe's id, found none"
            problems.append(UrlListError(message, file=URLS, recipe=recipe_id, value=recipe_id))
        if recipe is not None:
            recipe = _attach_files(recipe, folder, problems)
            recipe = replace(recipe, url=(urls or {}).get(recipe_id))
        yield CheckedRecipe(recipe_id, None if problems else recipe, tuple(problems))
    for recipe_id in (urls or {}).keys() - seen:
        message = f"expected only recipes of {ANNOTATIONS}, found one that is not there"
        problem = UrlListError(message, file=URLS, recipe=recipe_id, value=recipe_id)
        yield CheckedRecipe(recipe_id, None, (problem,))


def check_release(folder: str | Path) -> list[ReleaseProblem]:
    """Every problem of a release: annotations, texts, URLs and frames. An empty list means a valid release."""
    problems: list[ReleaseProblem] = []
    try:
        for checked in scan_release(folder):
            problems.extend(checked.problems)
            if checked.recipe is not None:
                problems.extend(read_frames(checked.recipe)[1])
    except ReleaseProblem as problem:
        problems.append(problem)
    try:
        read_info(folder)
    except ReleaseProblem as problem:
        problems.append(problem)
    return problems


def read_frames(recipe: Recipe) -> tuple[dict[int, bytes], list[ReleaseProblem]]:
    """The bytes of every frame the recipe uses, each read once, and what is wrong with them.

    Frames are empty for a recipe without a frames folder: images are then null, which is no problem.
    """
    frames: dict[int, bytes] = {}
    problems: list[ReleaseProblem] = []
    for number in recipe.used_frames if recipe.frames_folder else ():
        path = recipe.frame_path(number)
        where = {"file": f"recipes/{recipe.id}/frames/{path.name}", "recipe": recipe.id, "place": f"frame {number}"}
        try:
            frames[number] = path.read_bytes()
        except OSError as error:
            hint = f"sample the video again with `vrf frames`, or fetch it with `vrf download` ({error.strerror})"
            problems.append(MissingFrameError("expected a file, found none", **where, value=number, hint=hint))
            continue
        if (reason := image_problem(frames[number])) is not None:
            problems.append(BrokenImageError(f"expected an image, {reason}", **where, value=path.name))
    return frames, problems


def read_info(folder: str | Path) -> ReleaseInfo:
    """What ``release.json`` says; a bare copy of the official annotations is recognised by its checksum."""
    path = Path(folder) / INFO
    if not path.exists():
        annotations = Path(folder) / ANNOTATIONS
        if annotations.exists() and hashlib.sha256(annotations.read_bytes()).hexdigest() == OFFICIAL_SHA256:
            return ReleaseInfo(source="official", licence="MIT")
        return ReleaseInfo()
    known = dict(stream_object(path, INFO))
    for key in ("source", "licence", "version"):
        if not isinstance(known.get(key), str | None):
            message = f"expected {key!r} to be a string or null, found {known[key]!r}"
            raise WrongTypeError(message, file=INFO, place=key, value=known[key])
    glossary = known.get("glossary", {})
    if not isinstance(glossary, dict) or not all(isinstance(text, str) for text in glossary.values()):
        raise WrongTypeError("expected 'glossary' to map words to strings", file=INFO, place="glossary")
    main = {key: known.pop(key, None) for key in ("source", "licence", "version")}
    known.pop("glossary", None)
    return ReleaseInfo(**main, glossary=glossary, details=known)


def release_fingerprint(folder: str | Path) -> str:
    """A hash that changes whenever any file of the release changes, so that no stale cache is served.

    Annotations go in by content. Text and frames, which may be many gigabytes, go in by name, size and change times.
    """
    folder = Path(folder)
    digest = hashlib.sha256()
    for name in (ANNOTATIONS, URLS, INFO):
        path = folder / name
        digest.update(path.read_bytes() if path.is_file() else b"\0")
    for root, folders, files in os.walk(folder / "recipes"):
        folders.sort()
        for name in sorted(files):
            path = Path(root, name)
            stat = path.stat()
            entry = (str(path.relative_to(folder)), stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
            digest.update(repr(entry).encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _read_urls(folder: Path) -> dict[str, str] | None:
    """Recipe id (the last part of the address) to address."""
    path = folder / URLS
    if not path.exists():
        return None
    lines = [line.strip() for line in _read_text(path, URLS, None).splitlines()]
    urls = {line.rstrip("/").rpartition("/")[2]: line for line in lines if line}
    return {key: line if "://" in line else f"https://www.{line}" for key, line in urls.items()}


def _attach_files(recipe: Recipe, folder: Path, problems: list[ReleaseProblem]) -> Recipe:
    """The recipe with title, text and frames folder, as far as the release has them."""
    home = folder / "recipes" / recipe.id
    frames = home / "frames"
    recipe = replace(recipe, frames_folder=frames if frames.is_dir() else None)
    names = [TITLE, *(f"{section}.txt" for section in SECTIONS)]
    missing = [name for name in names if not (home / name).is_file()]
    if len(missing) == len(names):
        return recipe
    try:
        if missing:
            message = f"expected {', '.join(names)} together or none of them, found no {missing[0]}"
            raise MissingFileError(message, file=f"recipes/{recipe.id}/{missing[0]}", recipe=recipe.id)
        title, *texts = (_read_text(home / name, f"recipes/{recipe.id}/{name}", recipe.id) for name in names)
    except ReleaseProblem as problem:
        problems.append(problem)
        return recipe
    sections = {
        name: _with_text(recipe.id, name, lines, text, problems)
        for name, lines, text in zip(SECTIONS, recipe.sections, texts, strict=True)
    }
    return replace(recipe, title=title.removesuffix("\n"), **sections)


def _with_text(
    recipe_id: str, section: str, lines: tuple[Line, ...], text: str, problems: list[ReleaseProblem]
) -> tuple[Line, ...]:
    """The lines with their text, each checked against the length that the annotation gives it."""
    file = f"recipes/{recipe_id}/{section}.txt"
    texts = text.removesuffix("\n").split("\n") if text else []
    if len(texts) != len(lines):
        message = f"expected {len(lines)} lines as annotated, found {len(texts)}"
        problems.append(LineCountError(message, file=file, recipe=recipe_id, value=len(texts)))
        return lines
    for number, (line, content) in enumerate(zip(lines, texts, strict=True)):
        if line.length != len(content):
            message = f"expected {line.length} characters as annotated, found {len(content)}: {content!r}"
            place = f"line {number}"
            problems.append(LineLengthError(message, file=file, recipe=recipe_id, place=place, value=content))
    return tuple(replace(line, text=content) for line, content in zip(lines, texts, strict=True))


def _read_text(path: Path, name: str, recipe_id: str | None) -> str:
    data = path.read_bytes()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise EncodingError(
            f"expected UTF-8, found the byte 0x{data[error.start]:02x}",
            file=name,
            recipe=recipe_id,
            place=f"byte {error.start}",
            hint="save the file as UTF-8",
        ) from None


def write_release(
    folder: str | Path, recipes: Iterable[Recipe], info: ReleaseInfo | None = None, overwrite: bool = False
) -> None:
    """Write recipes, with their text and used frames, as a release folder; all of it or nothing.

    Args:
        folder: Where to; it appears only when everything is written.
        recipes: In the order in which they are to stand in the file.
        info: What ``release.json`` is to say; no such file by default.
        overwrite: Replace an existing release.
    """
    with ReleaseWriter(folder, info, overwrite) as writer:
        for recipe in recipes:
            frames, problems = read_frames(recipe)
            if problems:
                raise InvalidReleaseError(problems)
            writer.add(recipe, frames if recipe.frames_folder else None)


class ReleaseWriter:
    """Writes a release recipe by recipe, aside, and renames it into place at the end of the ``with`` block."""

    def __init__(self, folder: str | Path, info: ReleaseInfo | None = None, overwrite: bool = False) -> None:
        self.info = info
        self.staged = StagedFolder(Path(folder), marker=ANNOTATIONS, overwrite=overwrite)
        self.urls: list[str] = []
        self.count = 0

    def __enter__(self) -> ReleaseWriter:
        self.folder = self.staged.__enter__()
        self.annotations = (self.folder / ANNOTATIONS).open("w", encoding="utf-8")
        self.annotations.write("{")
        return self

    def add(self, recipe: Recipe, frames: Mapping[int, bytes] | None = None) -> None:
        """Append a recipe; ``frames`` maps frame numbers to JPEG bytes, ``None`` means a recipe without frames."""
        if (problem := id_problem(recipe.id)) is not None:
            raise problem
        separator = ", " if self.count else ""
        self.annotations.write(f"{separator}{json.dumps(recipe.id)}: {json.dumps(recipe_to_json(recipe))}")
        self.count += 1
        if recipe.url is not None:
            self.urls.append(recipe.url.removeprefix("https://www."))
        if recipe.has_text:
            self._write_text(recipe)
        if frames is not None:
            home = self.folder / "recipes" / recipe.id / "frames"
            home.mkdir(parents=True, exist_ok=True)
            for number, data in frames.items():
                (home / frame_name(number)).write_bytes(data)

    def _write_text(self, recipe: Recipe) -> None:
        home = self.folder / "recipes" / recipe.id
        home.mkdir(parents=True, exist_ok=True)
        contents = {TITLE: [recipe.title or ""]}
        texts = zip(SECTIONS, recipe.sections, strict=True)
        contents |= {f"{name}.txt": [line.text for line in lines] for name, lines in texts}
        for name, lines in contents.items():
            (home / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.annotations.write("}")
        self.annotations.close()
        if self.urls:
            (self.folder / URLS).write_text("".join(f"{url}\n" for url in self.urls), encoding="utf-8")
        if self.info is not None:
            row = {key: getattr(self.info, key) for key in ("source", "licence", "version")}
            row |= {"glossary": dict(self.info.glossary), **self.info.details}
            text = json.dumps(row, ensure_ascii=False, indent=2)
            (self.folder / INFO).write_text(text + "\n", encoding="utf-8")
        self.staged.__exit__(kind, error, trace)
