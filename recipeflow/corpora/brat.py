"""brat standoff: ``<id>.txt`` and ``<id>.ann``, with the ``annotation.conf`` that brat needs.

The text is one line of the recipe per line, ingredients first; offsets count its characters. Entities are ``T`` lines,
flows ``R`` lines. brat has no frames: they are notes on the action, one per object. It has no words either: reading
splits the lines by the rules of their language, and at the ends of entities. Where that loses something, an export
adds ``<id>.json`` (see ``skeleton``), which brat ignores.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

from recipeflow.corpora.places import Places, check_recipe
from recipeflow.corpora.skeleton import in_order, not_equal, read_skeleton, require_text, skeleton_to_json
from recipeflow.errors import MissingFileError, ReleaseProblem, SegmenterError, WrongTypeError, short
from recipeflow.graph import pair_objects
from recipeflow.language.languages import find_language
from recipeflow.release import CheckedRecipe
from recipeflow.release.recipe import Entity, Flow, Line, Recipe, StateChange, Word, word_id
from recipeflow.release.recipe_files import read_text, split_lines
from recipeflow.release.scheme import Scheme

CONFIGURATION = "annotation.conf"
IGNORED = "brat lines of other kinds (events, attributes, notes), which are left out"
_ENTITY = re.compile(r"(T\d+)\t(\S+) (\d+) (\d+)\t.*")
_RELATION = re.compile(r"R\d+\t(\S+) Arg1:(T\d+) Arg2:(T\d+)\s*")
_FRAMES = re.compile(r"#\d+\tAnnotatorNotes (T\d+)\tobject=\S+ before=(-|\d{1,9}) after=(-|\d{1,9})")


def brat_files(recipe: Recipe, scheme: Scheme) -> dict[str, str]:
    """The files of a recipe; reading them gives an equal recipe.

    Raises:
        ReleaseProblem: If the recipe has no text, or cannot be represented.
    """
    require_text(recipe, "brat")
    files = _contents(recipe)
    if _read_files(recipe.id, files, scheme, Counter()).recipe != recipe:
        files["json"] = json.dumps(skeleton_to_json(recipe), ensure_ascii=False) + "\n"
        if _read_files(recipe.id, files, scheme, Counter()).recipe != recipe:
            raise not_equal(recipe, "brat", "found text that reads differently, such as unusual line breaks")
    return {f"{recipe.id}.{suffix}": content for suffix, content in files.items()}


def _contents(recipe: Recipe) -> dict[str, str]:
    text = "".join(f"{line.text}\n" for lines in recipe.sections for line in lines)
    return {"txt": text, "ann": "".join(f"{row}\n" for row in annotation_lines(recipe))}


def annotation_lines(recipe: Recipe) -> Iterator[str]:
    """The lines of an ``.ann`` file."""
    starts = _line_starts(recipe)
    names = {entity: f"T{number}" for number, entity in enumerate(recipe.entities, 1)}
    for entity in recipe.entities.values():
        start, end = (starts[entity.section, entity.line] + offset for offset in _span(recipe, entity))
        yield f"{names[entity.id]}\t{entity.tag} {start} {end}\t{entity.text}"
    for number, flow in enumerate(recipe.flows, 1):
        yield f"R{number}\t{flow.label} Arg1:{names[flow.start]} Arg2:{names[flow.end]}"
    for number, pair in enumerate(pair_objects(recipe), 1):
        thing = names[pair.object.id] if pair.object else "-"
        frames = ("-" if frame is None else frame for frame in (pair.change.before, pair.change.after))
        note = "object={} before={} after={}".format(thing, *frames)
        yield f"#{number}\tAnnotatorNotes {names[pair.action.id]}\t{note}"


def _line_starts(recipe: Recipe) -> dict[tuple[int, int], int]:
    starts, offset = {}, 0
    for section, lines in enumerate(recipe.sections):
        for number, line in enumerate(lines):
            starts[section, number] = offset
            offset += len(line.text or "") + 1
    return starts


def _span(recipe: Recipe, entity: Entity) -> tuple[int, int]:
    words = recipe.sections[entity.section][entity.line].words
    return words[entity.start_word].start, words[entity.end_word - 1].end


def configuration(scheme: Scheme) -> str:
    """The ``annotation.conf`` with tags and labels."""
    ends = "Arg1:<ENTITY>, Arg2:<ENTITY>"
    relations = "\n".join(f"{label}\t{ends}" for label in scheme.labels)
    return f"[entities]\n{chr(10).join(scheme.tags)}\n\n[relations]\n{relations}\n\n[events]\n\n[attributes]\n"


@dataclass(frozen=True, slots=True)
class _Mark:
    """An entity of an ``.ann`` file: its tag, its characters and its line in that file."""

    tag: str
    start: int
    end: int
    line: int


@dataclass
class _Annotation:
    """An ``.ann`` file; flows and state changes name entities as it does, each with its line."""

    marks: dict[str, _Mark] = field(default_factory=dict)
    flows: list[tuple[str, str, str, int]] = field(default_factory=list)
    changes: list[tuple[str, int | None, int | None, int]] = field(default_factory=list)


def read_brat(source: Path, scheme: Scheme, notes: Counter[str]) -> Iterator[CheckedRecipe]:
    """Stream the recipes of a folder, each with its problems."""
    if not source.is_dir():
        raise MissingFileError(f"expected a folder of .txt and .ann files, found the file {source}")
    for recipe_id in in_order(source, (path.stem for path in source.glob("*.ann"))):
        try:
            paths = {suffix: source / f"{recipe_id}.{suffix}" for suffix in ("txt", "ann", "json")}
            needed = {suffix: path for suffix, path in paths.items() if suffix != "json" or path.is_file()}
            files = {suffix: read_text(path, path.name) for suffix, path in needed.items()}
        except ReleaseProblem as problem:
            problem.recipe = recipe_id
            yield CheckedRecipe(recipe_id, None, (problem,))
            continue
        yield _read_files(recipe_id, files, scheme, notes)


def _read_files(recipe_id: str, files: Mapping[str, str], scheme: Scheme, notes: Counter[str]) -> CheckedRecipe:
    try:
        found = _read_annotation(files["ann"], f"{recipe_id}.ann", notes)
        if "json" in files:
            recipe = read_skeleton(recipe_id, files["json"], f"{recipe_id}.json")
            if "".join(f"{line.text}\n" for lines in recipe.sections for line in lines) != files["txt"]:
                message = f"expected the lines of {recipe_id}.txt, found others"
                raise WrongTypeError(message, file=f"{recipe_id}.json")
            starts = _line_starts(recipe)
        else:
            recipe, starts = _segmented(recipe_id, files["txt"], found.marks, scheme)
        return _annotated(recipe, starts, found, scheme)
    except ReleaseProblem as problem:
        problem.recipe = recipe_id
        return CheckedRecipe(recipe_id, None, (problem,))


def _read_annotation(text: str, file: str, notes: Counter[str]) -> _Annotation:
    found = _Annotation()
    for number, line in enumerate(split_lines(text), 1):
        if match := _ENTITY.fullmatch(line):
            found.marks[match[1]] = _Mark(match[2], int(match[3]), int(match[4]), number)
        elif match := _RELATION.fullmatch(line):
            found.flows.append((match[2], match[3], match[1], number))
        elif match := _FRAMES.fullmatch(line):
            before, after = (None if frame == "-" else int(frame) for frame in match.groups()[1:])
            found.changes.append((match[1], before, after, number))
        elif line.startswith(("T", "R")):
            message = f"expected an entity of one span, or a relation of two entities, found {short(line)}"
            raise WrongTypeError(message, file=file, place=f"line {number}", value=line)
        elif line.strip():
            notes[IGNORED] += 1
    return found


def _segmented(
    recipe_id: str, text: str, marks: Mapping[str, _Mark], scheme: Scheme
) -> tuple[Recipe, dict[tuple[int, int], int]]:
    """A recipe of instructions only, split into words; also the place of each line in the text."""
    cuts = sorted({offset for mark in marks.values() for offset in (mark.start, mark.end)})
    lines: list[Line] = []
    starts: dict[tuple[int, int], int] = {}
    offset = 0
    for number, raw in enumerate(text.split("\n"), 1):
        content = raw.strip()
        if content:
            start = offset + raw.index(content)
            try:
                spans = find_language(scheme.language).segment(content)
            except SegmenterError as error:
                raise WrongTypeError(str(error), file=f"{recipe_id}.txt", place=f"line {number}") from None
            starts[1, len(lines)] = start
            inside = [cut - start for cut in cuts if start < cut < start + len(content)]
            lines.append(Line(tuple(Word(*span) for span in _cut(spans, inside)), content))
        offset += len(raw) + 1
    return Recipe(recipe_id, (), tuple(lines), title=""), starts


def _cut(spans: Sequence[tuple[int, int]], cuts: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Words, split further where an entity begins or ends inside one."""
    for start, end in spans:
        ends = [*(cut for cut in cuts if start < cut < end), end]
        yield from pairwise([start, *ends])


def _annotated(
    recipe: Recipe, starts: Mapping[tuple[int, int], int], found: _Annotation, scheme: Scheme
) -> CheckedRecipe:
    file = f"{recipe.id}.ann"
    tags: dict[tuple[int, int, int], str] = {}
    ids: dict[str, str] = {}
    for name, mark in found.marks.items():
        words = _covered(recipe, starts, mark)
        if not words or any(word in tags for word in words):
            message = f"expected an entity of whole words of one line, apart from others, found {name} {mark.tag}"
            raise WrongTypeError(message, file=file, place=f"line {mark.line}", value=name)
        ids[name] = word_id(*words[0])
        tags |= {word: f"{mark.tag}-{'I' if number else 'B'}" for number, word in enumerate(words)}
    sections = [
        tuple(
            replace(line, words=tuple(replace(word, ne=tags.get((s, i, j), "O")) for j, word in enumerate(line.words)))
            for i, line in enumerate(lines)
        )
        for s, lines in enumerate(recipe.sections)
    ]
    flows = tuple(Flow(ids.get(start, start), ids.get(end, end), label) for start, end, label, _ in found.flows)
    if unknown := [(name, line) for name, *_, line in found.changes if name not in ids]:
        message = f"expected a note on an entity, found {unknown[0][0]}"
        raise WrongTypeError(message, file=file, place=f"line {unknown[0][1]}")
    changes = tuple(StateChange(ids[name], before, after) for name, before, after, _ in found.changes)
    words_at = {ids[name]: mark.line for name, mark in found.marks.items()}
    places = Places(file, 1, words_at, [row[-1] for row in found.flows], [row[-1] for row in found.changes])
    ingredients, instructions = sections
    full = replace(recipe, ingredients=ingredients, instructions=instructions, flows=flows, state_changes=changes)
    return check_recipe(full, scheme, places)


def _covered(recipe: Recipe, starts: Mapping[tuple[int, int], int], mark: _Mark) -> list[tuple[int, int, int]]:
    """The words of an entity; none if it is not made of whole words of one line."""
    for (section, number), start in starts.items():
        line = recipe.sections[section][number]
        if start <= mark.start < mark.end <= start + len(line.text or ""):
            inside = range(mark.start - start, mark.end - start)
            covered = [
                (section, number, position)
                for position, word in enumerate(line.words)
                if word.start in inside and word.end - 1 in inside
            ]
            whole = covered and line.words[covered[0][2]].start == inside.start
            return covered if whole and line.words[covered[-1][2]].end == inside.stop else []
    return []
