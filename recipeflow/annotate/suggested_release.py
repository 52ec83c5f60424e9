"""A release as suggestions for recipes of a database, where both have the same text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from recipeflow.annotate.document import Document, LineWords, annotated_document, blank_document, spaces_of
from recipeflow.annotate.store import Store
from recipeflow.release import Scheme, scan_release
from recipeflow.release.recipe import Line, Recipe


def read_suggestions(store: Store, folder: Path, scheme: Scheme) -> tuple[list[Document], list[tuple[str, str]]]:
    """What a release suggests for the recipes of a database, and why some of its recipes suggest nothing."""
    known = set(store.recipe_ids())
    documents, skipped = [], []
    for checked in scan_release(folder):
        if checked.id not in known:
            skipped.append((checked.id, "not one of the recipes here"))
        elif checked.recipe is None:
            skipped.append((checked.id, str(checked.problems[0])))
        elif (document := _on_words_of(store.known_recipe(checked.id), checked.recipe, scheme)) is None:
            skipped.append((checked.id, "another text than here"))
        else:
            documents.append(document)
    return documents, skipped


def _on_words_of(ours: Recipe, suggested: Recipe, scheme: Scheme) -> Document | None:
    """A suggestion for our recipe; None if it is about another text. It may divide the same text otherwise."""
    for our_lines, lines in zip(ours.sections, suggested.sections, strict=True):
        if len(our_lines) != len(lines):
            return None
        for our_line, line in zip(our_lines, lines, strict=True):
            if line.length != our_line.length or (suggested.has_text and line.text != our_line.text):
                return None
            if spaces_of(line) != spaces_of(our_line):
                return None
    document = annotated_document(suggested, scheme)
    cuts = [
        LineWords(section, number, ends)
        for section, lines in enumerate(suggested.sections)
        for number, line in enumerate(lines)
        if (ends := _ends(line)) != _ends(ours.sections[section][number])
    ]
    return replace(document, base=blank_document(ours).base, cuts=tuple(cuts))


def _ends(line: Line) -> tuple[int, ...]:
    return tuple(word.end for word in line.words)
