"""The formats that releases are imported from and exported to: one module each, all of them listed here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from recipeflow.corpora.brat import CONFIGURATION, brat_files, configuration, read_brat
from recipeflow.corpora.conllu import SCHEME as ENGLISH
from recipeflow.corpora.conllu import read_conllu, write_conllu
from recipeflow.corpora.jsonl import read_jsonl, write_jsonl
from recipeflow.corpora.text_files import read_tool, write_tool
from recipeflow.errors import UsageError
from recipeflow.release import CheckedRecipe, Recipe, Scheme
from recipeflow.release.scheme import PAPER

Reader = Callable[[Path, Scheme, Counter[str]], Iterator[CheckedRecipe]]
"""Streams the recipes of a source, each with its problems; what is worth a note is counted."""


@dataclass(frozen=True)
class Format:
    """A format.

    Attributes:
        name: Its name on the command line.
        about: What it is, in a line.
        read: Reads a source.
        write: The files of one recipe, by name; a format of one file for all recipes has parts of it under ``""``.
        scheme: What its data are tagged with, unless they say otherwise; ``None`` where the user has to name at
            least the language.
        one_file: Whether all recipes are in one file.
        common: The files that describe the whole folder.
    """

    name: str
    about: str
    read: Reader
    write: Callable[[Recipe, Scheme], Mapping[str, str]]
    scheme: Scheme | None = None
    one_file: bool = False
    common: Callable[[Scheme], Mapping[str, str]] = lambda scheme: {}


def _brat_configuration(scheme: Scheme) -> dict[str, str]:
    return {CONFIGURATION: configuration(scheme)}


FORMATS = {
    form.name: form
    for form in (
        Format("conllu", "the English recipe flow graph corpus", read_conllu, write_conllu, ENGLISH, one_file=True),
        Format("brat", "brat stand-off files", read_brat, brat_files, common=_brat_configuration),
        Format("tool", "the files of the authors' annotation tool", read_tool, write_tool, PAPER),
        Format("jsonl", "words with IOB2 tags and edges, one recipe per line", read_jsonl, write_jsonl, one_file=True),
    )
}


def find_format(name: str) -> Format:
    """The format of this name.

    Raises:
        UsageError: If there is none.
    """
    if name not in FORMATS:
        raise UsageError(f"expected a format of {', '.join(FORMATS)}, found {name!r}; choose one")
    return FORMATS[name]
