"""Import a corpus of another format as a release folder."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from recipeflow.corpora.exporting import info_path
from recipeflow.corpora.formats import Format, find_format
from recipeflow.corpora.places import FoundRecipe
from recipeflow.corpora.repairing import without_bad_flows
from recipeflow.errors import (
    CycleError,
    EmptyReleaseError,
    InvalidReleaseError,
    MissingFileError,
    ReleaseProblem,
    UnknownLabelError,
    UsageError,
)
from recipeflow.language.languages import CODE
from recipeflow.progress import progress_bar
from recipeflow.release import CheckedRecipe, ReleaseInfo, ReleaseWriter, Scheme
from recipeflow.release.info import info_from_dict, read_object
from recipeflow.release.scheme import LABEL_NAME, PAPER, TAG_NAME

ADVICE = "Fix them, or leave those recipes out with --skip-bad, or only their bad flows with --drop-flows."


@dataclass
class Imported:
    """The outcome.

    Attributes:
        recipes: How many were written.
        problems: What is wrong with those that were not.
        left_out: Their ids.
        dropped: What was wrong with single flows that were left out of recipes that were written.
        notes: What was counted on the way.
    """

    recipes: int = 0
    problems: list[ReleaseProblem] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    dropped: list[ReleaseProblem] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class About:
    """What the user says about a corpus; anything else is as its own ``release.json`` says, or the format's.

    Attributes:
        language: The code of its language.
        tags: Further tags with their meanings.
        labels: Further labels with their meanings.
        source: Where it comes from.
        licence: Its licence.
    """

    language: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    source: str | None = None
    licence: str | None = None


def import_corpus(
    form: str,
    source: str | Path,
    out: str | Path,
    about: About | None = None,
    *,
    skip_bad: bool = False,
    drop_flows: bool = False,
    overwrite: bool = False,
) -> Imported:
    """Write a corpus as a release folder, recipe by recipe; all of it or nothing.

    Args:
        form: The name of its format.
        source: The file or folder to read.
        out: The release folder to write.
        about: What the user says about it.
        skip_bad: Leave out recipes with problems instead of refusing the corpus.
        drop_flows: Leave out only the flows that have an unknown label or close a cycle.
        overwrite: Replace an existing release.

    Raises:
        InvalidReleaseError: With every problem of the corpus.
    """
    found, source = find_format(form), Path(source)
    if not source.exists():
        raise MissingFileError(f"expected a file or folder in the format {form}, found no {source}", hint="check it")
    info = describe(found, source, about or About())
    imported = Imported()
    with ReleaseWriter(out, info, overwrite) as writer:
        checked = found.read(source, info.scheme, imported.notes)
        for each in progress_bar(checked, None, "importing recipes"):
            _add(writer, _repaired(each, info.scheme, imported) if drop_flows else each, imported)
        if imported.problems and not skip_bad:
            raise InvalidReleaseError(imported.problems, ADVICE)
        if not imported.recipes:
            empty = EmptyReleaseError(f"expected at least one recipe in {source}, found none")
            raise InvalidReleaseError(imported.problems or [empty], "So there is nothing to import.")
    return imported


def _repaired(checked: CheckedRecipe, scheme: Scheme, imported: Imported) -> CheckedRecipe:
    """The recipe without bad flows, if these are its only problems."""
    problems = checked.problems
    only_flows = all(isinstance(problem, UnknownLabelError | CycleError) for problem in problems)
    if not problems or not only_flows or not isinstance(checked, FoundRecipe) or checked.found is None:
        return checked
    recipe, dropped = without_bad_flows(checked.found, scheme)
    imported.dropped.extend(problems)
    imported.notes["flows left out"] += len(dropped)
    return CheckedRecipe(checked.id, recipe)


def _add(writer: ReleaseWriter, checked: CheckedRecipe, imported: Imported) -> None:
    problems = list(checked.problems)
    if checked.recipe is not None:
        try:
            writer.add(checked.recipe)
        except InvalidReleaseError as error:
            problems = error.problems
    if problems:
        imported.problems.extend(problems)
        imported.left_out.append(checked.id)
    else:
        imported.recipes += 1


def describe(form: Format, source: Path, about: About) -> ReleaseInfo:
    """What ``release.json`` will say: as beside the source, with what the user says instead or besides.

    Raises:
        UsageError: If the language is not known, or a name is not one.
    """
    info = _info_beside(form, source)
    scheme = info.scheme if info is not None else form.scheme
    if scheme is None and about.language is None:
        raise UsageError(
            f"expected the language of {source}, which {form.name} files do not name; pass it, such as --language en"
        )
    scheme = scheme or PAPER
    language = about.language or scheme.language
    if not CODE.fullmatch(language):
        raise UsageError(f"expected the code of a language, such as en, found {language!r}; check --language")
    _check_names(about.tags, TAG_NAME, "--tag")
    _check_names(about.labels, LABEL_NAME, "--label")
    scheme = Scheme(language, {**scheme.tags, **about.tags}, {**scheme.labels, **about.labels})
    info = replace(info or ReleaseInfo(), scheme=scheme)
    return replace(info, source=about.source or info.source, licence=about.licence or info.licence)


def _info_beside(form: Format, source: Path) -> ReleaseInfo | None:
    """The ``release.json`` that an export wrote beside its data."""
    path = info_path(form, source)
    if not path.is_file():
        return None
    info, problems = info_from_dict(read_object(path))
    if problems:
        raise InvalidReleaseError(problems, f"Fix {path}, or remove it.")
    return info


def _check_names(names: Iterable[str], pattern: re.Pattern[str], option: str) -> None:
    for name in names:
        if not pattern.fullmatch(name):
            raise UsageError(f"expected a plain name, found {name!r}; check {option}")
