"""JSON lines: one recipe per line, its words with IOB2 tags, its flows as edges.

::

    {"id": "r1", "title": "Salad", "url": null,
     "ingredients": [{"tokens": ["2", "tomatoes"], "ner_tags": ["B-Q", "B-F"], "text": "2 tomatoes", "starts": [0, 2],
                      "ends": [1, 10]}],
     "instructions": […],
     "edges": [{"start": "0-0-1", "end": "1-0-2", "label": "F-eq"}],
     "state_changes": [["1-0-0", 12, null]]}

Edges name an entity by its first word, ``section-line-word``. Only ``id``, ``instructions`` and their ``tokens`` and
``ner_tags`` are needed: text is made of the words where it is missing. ``tokens`` and ``text`` are null in a release
without text; then ``starts`` and ``ends`` are needed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from recipeflow.corpora.places import FoundRecipe, Places, check_recipe
from recipeflow.corpora.skeleton import changes_from_json, changes_to_json
from recipeflow.errors import BrokenJSONError, MissingFileError, ReleaseProblem, WrongTypeError
from recipeflow.language.languages import join_words
from recipeflow.release import CheckedRecipe, Recipe, Scheme
from recipeflow.release.recipe import SECTIONS, Flow, Line, Word


def write_jsonl(recipe: Recipe, scheme: Scheme) -> dict[str, str]:
    """A recipe as a line."""
    row = {
        "id": recipe.id,
        "title": recipe.title,
        "url": recipe.url,
        **{
            name: [_line_to_json(line) for line in lines]
            for name, lines in zip(SECTIONS, recipe.sections, strict=True)
        },
        "edges": [{"start": flow.start, "end": flow.end, "label": flow.label} for flow in recipe.flows],
        "state_changes": changes_to_json(recipe.state_changes),
    }
    return {"": json.dumps(row, ensure_ascii=False) + "\n"}


def _line_to_json(line: Line) -> dict[str, Any]:
    return {
        "tokens": line.tokens,
        "ner_tags": [word.iob2 for word in line.words],
        "text": line.text,
        "starts": [word.start for word in line.words],
        "ends": [word.end for word in line.words],
    }


def read_jsonl(source: Path, scheme: Scheme, notes: Counter[str]) -> Iterator[CheckedRecipe]:
    """Stream the recipes of a file, each with its problems; only one line is in memory at a time."""
    try:
        file = source.open("rb")
    except OSError as error:
        raise MissingFileError(f"expected to read {source}, found: {error.strerror}", hint="pass a file") from None
    with file:
        for number, data in enumerate(file, 1):
            if data.strip():
                yield _read_line(data, scheme, source.name, number)


def _read_line(data: bytes, scheme: Scheme, file: str, number: int) -> CheckedRecipe:
    recipe_id = f"line {number}"
    try:
        raw = _parse(data)
        recipe_id = str(raw.get("id", recipe_id))
        recipe = _recipe(recipe_id, raw, scheme)
    except ReleaseProblem as problem:
        problem.file, problem.recipe, problem.place = file, recipe_id, f"line {number}"
        return CheckedRecipe(recipe_id, None, (problem,))
    checked = check_recipe(recipe, scheme, Places(file, number))
    return FoundRecipe(checked.id, checked.recipe, checked.problems, recipe)


def _parse(data: bytes) -> dict[str, Any]:
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BrokenJSONError(f"expected a JSON object on the line, found: {error}") from None
    if not isinstance(raw, dict):
        raise WrongTypeError(f"expected a JSON object on the line, found {type(raw).__name__}")
    return raw


def _recipe(recipe_id: str, raw: dict[str, Any], scheme: Scheme) -> Recipe:
    title, url = raw.get("title", ""), raw.get("url")
    changes = changes_from_json(raw.get("state_changes", []))
    if not isinstance(title, str | None) or not isinstance(url, str | None) or changes is None:
        raise WrongTypeError("expected title and url as text, and state_changes as [word id, before, after]")
    try:
        sections = [tuple(_line_from_json(line, scheme) for line in raw.get(name, [])) for name in SECTIONS]
        flows = tuple(Flow(str(edge["start"]), str(edge["end"]), str(edge["label"])) for edge in raw.get("edges", []))
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        message = f"expected lines with tokens and ner_tags, and edges with start, end and label ({error!r})"
        raise WrongTypeError(message) from None
    return Recipe(recipe_id, sections[0], sections[1], flows, changes, title=title, url=url)


def _line_from_json(line: dict[str, Any], scheme: Scheme) -> Line:
    tokens, text = line.get("tokens"), line.get("text")
    if "starts" in line and "ends" in line:
        spans = [(int(start), int(end)) for start, end in zip(line["starts"], line["ends"], strict=True)]
    elif text is None:
        text, spans = join_words([str(token) for token in tokens or ()], scheme.language)
    else:
        spans = _find_words([str(token) for token in tokens or ()], str(text))
    nes = ["-".join(reversed(str(tag).split("-"))) for tag in line["ner_tags"]]
    found = Line(tuple(Word(*span, ne) for span, ne in zip(spans, nes, strict=True)), text)
    if not isinstance(text, str | None) or (text is not None and tokens is not None and found.tokens != tokens):
        raise ValueError(f"the tokens are not those of the text at starts and ends: {tokens}")
    return found


def _find_words(tokens: list[str], text: str) -> list[tuple[int, int]]:
    """Where each word is in its line; a ``ValueError`` if it is not there."""
    spans, end = [], 0
    for token in tokens:
        start = text.index(token, end)
        end = start + len(token)
        spans.append((start, end))
    return spans
