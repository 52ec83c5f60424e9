"""``vrf new``: texts and films to a release folder without annotation, ready for ``vrf annotate``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from plaintext_rfg import PlainRecipe, read_plain_text
from recipeflow.download.frames import VIDEO
from recipeflow.errors import RefusedError, SegmenterError, UsageError
from recipeflow.language.languages import guess_language
from recipeflow.own.film import FilmFacts, inspect_film
from recipeflow.own.text import make_id, recipe_from_text
from recipeflow.progress import progress_bar
from recipeflow.release import Recipe, ReleaseInfo, ReleaseWriter, Scheme
from recipeflow.release.recipe_files import read_text, recipe_folder

TEXTS = (".txt", ".md", ".markdown", ".text")
FILMS = (".mp4", ".m4v", ".mov")
PIECE = 4 << 20


@dataclass(frozen=True)
class Source:
    """One recipe's text file, and its film if it has one."""

    text: Path
    film: Path | None = None


@dataclass(frozen=True)
class NewRecipe:
    """What was made of a source.

    Attributes:
        source: Its files.
        recipe: The recipe, in words.
        left_out: Lines of the text that belong to no section.
        has_title: Whether the text has a title; otherwise the file's name is used.
        film: What its film is.
    """

    source: Source
    recipe: Recipe
    left_out: tuple[str, ...]
    has_title: bool
    film: FilmFacts | None = None


def pair_sources(texts: Iterable[Path], films: Iterable[Path]) -> list[Source]:
    """Which film belongs to which text: the only one, that of the same name, or else those in the same place.

    Folders stand for the text files, or the films, in them.

    Raises:
        UsageError: If there is no text, or a film that belongs to none.
    """
    texts, films = _expand(texts, TEXTS, "text files"), _expand(films, FILMS, "films")
    if not texts:
        raise UsageError("expected the text of a recipe, found none; pass --text FILE")
    by_name = {film.stem: film for film in films}
    if len(texts) == len(films) == 1 or (len(texts) == len(films) and not by_name.keys() & {t.stem for t in texts}):
        return [Source(text, film) for text, film in zip(texts, films, strict=True)]
    sources = [Source(text, by_name.pop(text.stem, None)) for text in texts]
    if by_name or len(films) != len({film.stem for film in films}):
        odd = next(iter(by_name.values()), films[0])
        raise UsageError(
            "expected each film to have the name of a text file, or one film per text in the same order, found "
            f"{odd}; rename it, or pass the recipes one by one"
        )
    return sources


def _expand(paths: Iterable[Path], endings: Sequence[str], what: str) -> list[Path]:
    found: list[Path] = []
    for path in paths:
        inside = sorted(each for each in path.iterdir() if each.suffix.lower() in endings) if path.is_dir() else [path]
        if not inside:
            raise UsageError(f"expected {what} ({', '.join(endings)}) in {path}, found none; check the folder")
        if missing := [each for each in inside if not each.is_file()]:
            raise UsageError(f"expected a file, found no {missing[0]}; check the name")
        found += inside
    return found


def make_release(
    out: str | Path, sources: Sequence[Source], language: str | None = None, *, overwrite: bool = False
) -> tuple[str, list[NewRecipe]]:
    """Write a release folder with a copy of every film; all of it or nothing. Frames are not sampled yet.

    Args:
        out: The folder.
        sources: Texts and films.
        language: The code of their language; guessed by default.
        overwrite: Replace an existing release.

    Returns:
        The language, and what was made of each source.

    Raises:
        UsageError: If a text has no instructions, or its language cannot be told.
        BrokenVideoError: If a film cannot be used.
    """
    texts = {source: read_plain_text(read_text(source.text, str(source.text))) for source in sources}
    language = language or _guess(texts.values())
    made: list[NewRecipe] = []
    for source, found in texts.items():
        made.append(_read_source(source, found, language, {each.recipe.id for each in made}))
    with ReleaseWriter(out, ReleaseInfo(source="own", scheme=Scheme(language)), overwrite) as writer:
        for each in made:
            writer.add(each.recipe)
            if each.source.film is not None:
                _copy(each.source.film, recipe_folder(writer.folder, each.recipe.id) / VIDEO)
    return language, made


def _guess(texts: Iterable[PlainRecipe]) -> str:
    try:
        codes = {guess_language("\n".join([*found.ingredients, *found.instructions])) for found in texts}
    except SegmenterError as error:
        raise UsageError(f"{error}, with --language") from None
    if len(codes) > 1:
        raise UsageError("expected recipes in one language, found English and Japanese; make a release of each")
    return codes.pop()


def _read_source(source: Source, found: PlainRecipe, language: str, taken: set[str]) -> NewRecipe:
    name = make_id(source.text.stem, taken)
    title = found.title or re.sub(r"[\s_-]+", " ", source.text.stem)
    try:
        sections = ("\n".join(lines) for lines in (found.ingredients, found.instructions))
        recipe = recipe_from_text(name, title, *sections, language)
    except RefusedError as error:
        raise UsageError(f"{source.text}: {error}") from None
    facts = None if source.film is None else inspect_film(source.film, str(source.film), name)
    return NewRecipe(source, recipe, tuple(found.left_out), found.title is not None, facts)


def _copy(source: Path, target: Path) -> None:
    size = source.stat().st_size
    with source.open("rb") as old, target.open("wb") as new:
        pieces = iter(lambda: old.read(PIECE), b"")
        for piece in progress_bar(pieces, -(-size // PIECE), f"copying {source.name}"):
            new.write(piece)
