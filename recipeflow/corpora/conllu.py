"""CoNLL-U as the English recipe flow graph corpus is distributed (Yamakata et al. 2020; Donatelli et al. 2021).

A block between blank lines is one recipe, a line is one word::

    ID FORM LEMMA POS TAG FEATS HEAD DEPREL DEPRELS MISC      21  add  _  VV0  B-Ac  _  29  d  [(35,  'f-eq')]

Only the first word of an entity has edges: to ``HEAD`` with the label ``DEPREL``, and further ones as a list in
``DEPRELS``, which in the distributed files has a tab inside and is cut after its first member. ``0 root`` is no
edge. Labels have short names, which are the paper's in a release. There are no steps: each sentence becomes a line.

Comments before a block are optional: ``# newdoc id`` is the recipe's id, ``# recipe`` what the columns have no
place for (see ``skeleton``).
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from recipeflow.corpora.places import Places, check_recipe
from recipeflow.corpora.skeleton import (
    changes_from_json,
    changes_to_json,
    flat_words,
    not_equal,
    require_text,
    skeleton_from_json,
    skeleton_to_json,
    with_tags,
)
from recipeflow.errors import BrokenJSONError, ReleaseProblem, WrongTypeError, short, show
from recipeflow.language.languages import join_words
from recipeflow.release import CheckedRecipe, Recipe, Scheme
from recipeflow.release.recipe import LABELS, TAGS, Flow, Line, StateChange, Word, word_id
from recipeflow.release.recipe_files import read_text

SCHEME = Scheme(
    language="en",
    tags={**TAGS, "Ac2": "Discontinuous action", "At": "Action by tool"},
    labels={**LABELS, "s": "s (not described by the corpus)", "v": "v (not described by the corpus)"},
)
"""The scheme of the English corpus: what it has beyond the paper's comes after the paper's."""

SHORT_NAMES = {
    "a": "Agent",
    "t": "Targ",
    "d": "Dest",
    "o": "other-mod",
    **{label.lower(): label for label in LABELS if "-" in label and label != "other-mod"},
}
"""The corpus's names of the paper's labels."""

ID_COMMENT, RECIPE_COMMENT = "# newdoc id = ", "# recipe = "
COMMENTS = (ID_COMMENT, RECIPE_COMMENT)
ROOT = "root"
CUT = "words with further heads that the file cuts off"
_ENDS = frozenset((".", "!", "?", "。"))
_CLOSING = frozenset((")", "]", '"', "”", "’"))
_COLUMNS = re.compile(r"(\d+)\t([^\t]+)\t[^\t]*\t[^\t]*\t([^\t]+)\t[^\t]*\t(\d+)\t([^\t]+)\t(.*)")
_FURTHER = re.compile(r"\((\d+),\s*'([^']*)'\)")
_LIST = re.compile(r"\[(\(\d+,\s*'[^']*'\)(,\s*|(?=\])))+\]?(\t_)?")


@dataclass(frozen=True, slots=True)
class _Row:
    """A word with the numbers of its heads, as one line has them."""

    line: int
    form: str
    ne: str
    heads: tuple[tuple[int, str], ...]
    cut: bool = False


def read_conllu(source: Path, scheme: Scheme, notes: Counter[str]) -> Iterator[CheckedRecipe]:
    """Stream the recipes of a file, or of all ``*.conllu`` files of a folder, each with its problems."""
    for path in sorted(source.glob("*.conllu")) if source.is_dir() else [source]:
        blocks = list(_blocks(read_text(path, path.name)))
        for number, (start, lines) in enumerate(blocks, 1):
            default = path.stem if len(blocks) == 1 else f"{path.stem}-{number:04d}"
            yield read_block(lines, scheme, path.name, start, default, notes)


def _blocks(text: str) -> Iterator[tuple[int, list[str]]]:
    """The lines between blank ones, with the number of the first."""
    block: list[str] = []
    for number, line in enumerate([*text.split("\n"), ""], 1):
        line = line.removesuffix("\r")
        if line.strip():
            block.append(line)
        elif block:
            yield number - len(block), block
            block = []


def read_block(
    lines: Sequence[str], scheme: Scheme, file: str, start: int, default: str, notes: Counter[str]
) -> CheckedRecipe:
    """One recipe with its problems; ``default`` is its id if no comment names one."""
    comments = {key: line.removeprefix(key) for line in lines for key in COMMENTS if line.startswith(key)}
    recipe_id = comments.get(ID_COMMENT, default).strip()
    rows: list[_Row] = []
    problems: list[ReleaseProblem] = []
    words = [(number, line) for number, line in enumerate(lines, start) if not line.startswith("#")]
    for position, (number, line) in enumerate(words, 1):
        try:
            rows.append(_read_row(line, number, position, scheme))
        except WrongTypeError as problem:
            problem.file, problem.recipe = file, recipe_id
            problems.append(problem)
    if problems or not rows:
        message, place = "expected words, found only comments", f"line {start}"
        empty = WrongTypeError(message, file=file, recipe=recipe_id, place=place)
        return CheckedRecipe(recipe_id, None, tuple(problems or [empty]))
    notes.update({CUT: sum(row.cut for row in rows)})
    try:
        return _assemble(recipe_id, rows, comments.get(RECIPE_COMMENT), scheme, Places(file, start))
    except ReleaseProblem as problem:
        return CheckedRecipe(recipe_id, None, (problem,))


def _read_row(line: str, number: int, expected_id: int, scheme: Scheme) -> _Row:
    found = _COLUMNS.fullmatch(line)
    if found is None:
        message = f"expected ten columns with tabs between them, found {short(line)}"
        raise WrongTypeError(message, place=f"line {number}", value=line)
    name, form, tag, head, label, rest = found.groups()
    if int(name) != expected_id:
        message = f"expected the word's number {expected_id}, found {name}"
        raise WrongTypeError(message, place=f"line {number}", value=name)
    heads = [] if (head, label) == ("0", ROOT) else [(int(head), label)]
    cut = False
    if rest.startswith("["):
        if not _LIST.fullmatch(rest):
            message = f"expected further heads such as [(35, 'f-eq')], found {short(rest)}"
            raise WrongTypeError(message, place=f"line {number}", value=rest)
        heads += [(int(other), name) for other, name in _FURTHER.findall(rest)]
        cut = "]" not in rest
    position, _, kind = tag.partition("-")
    return _Row(number, form, f"{kind}-{position}" if kind else tag, _long_names(heads, scheme), cut)


def _long_names(heads: Sequence[tuple[int, str]], scheme: Scheme) -> tuple[tuple[int, str], ...]:
    return tuple((head, label if label in scheme.labels else SHORT_NAMES.get(label, label)) for head, label in heads)


def _assemble(
    recipe_id: str, rows: Sequence[_Row], comment: str | None, scheme: Scheme, places: Places
) -> CheckedRecipe:
    place = f"line {places.start}"
    extra = {} if comment is None else _read_comment(comment, recipe_id, places.file, place)
    if comment is None:
        skeleton = _from_sentences(recipe_id, rows, scheme)
    else:
        skeleton = skeleton_from_json(recipe_id, extra, places.file, place)
    tokens = [token for lines in skeleton.sections for line in lines for token in line.tokens or ()]
    if tokens != [row.form for row in rows]:
        message = "expected the same words in the comment and in the columns, found different ones"
        raise WrongTypeError(message, file=places.file, recipe=recipe_id, place=place)
    ids = [word_id(*position) for position in flat_words(skeleton)]
    flows, lines = [], []
    for name, row in zip(ids, rows, strict=True):
        for head, label in row.heads:
            flows.append(Flow(name, ids[head - 1] if 0 < head <= len(ids) else str(head), label))
            lines.append(row.line)
    order, changes = _read_extra(extra, len(flows), recipe_id, places)
    recipe = with_tags(skeleton, [row.ne for row in rows])
    recipe = replace(recipe, flows=tuple(flows[number] for number in order), state_changes=changes)
    places.words = dict(zip(ids, (row.line for row in rows), strict=True))
    places.flows = [lines[number] for number in order]
    return check_recipe(recipe, scheme, places)


def _read_extra(
    extra: dict[str, Any], flows: int, recipe_id: str, places: Places
) -> tuple[Sequence[int], tuple[StateChange, ...]]:
    """The order of the flows and the state changes, which only a comment has."""
    order = extra.get("flow_order", list(range(flows)))
    changes = changes_from_json(extra.get("state_changes", []))
    if changes is None or not isinstance(order, list) or sorted(map(str, order)) != sorted(map(str, range(flows))):
        message = (
            "expected the order of all flows, and state changes as [word id, before, after], found something else"
        )
        raise WrongTypeError(message, file=places.file, recipe=recipe_id, place=f"line {places.start}")
    return [int(number) for number in order], changes


def _read_comment(comment: str, recipe_id: str, file: str, place: str) -> dict[str, Any]:
    try:
        extra = json.loads(comment)
    except ValueError as error:
        message = f"expected JSON after {RECIPE_COMMENT.strip()}, found: {error}"
        raise BrokenJSONError(message, file=file, recipe=recipe_id, place=place) from None
    if not isinstance(extra, dict):
        message = f"expected an object after {RECIPE_COMMENT.strip()}, found {show(extra)}"
        raise WrongTypeError(message, file=file, recipe=recipe_id, place=place)
    return extra


def _from_sentences(recipe_id: str, rows: Sequence[_Row], scheme: Scheme) -> Recipe:
    """A recipe without title or ingredient list, each sentence a line."""
    lines, start = [], 0
    for position in range(1, len(rows) + 1):
        if position == len(rows) or _is_end(rows, position):
            text, spans = join_words([row.form for row in rows[start:position]], scheme.language)
            lines.append(Line(tuple(Word(*span) for span in spans), text))
            start = position
    return Recipe(recipe_id, (), tuple(lines), title="")


def _is_end(rows: Sequence[_Row], position: int) -> bool:
    """Whether a sentence ends before this word: after a full stop and closing brackets, never inside an entity."""
    word, before = rows[position], position - 1
    while before > 0 and rows[before].form in _CLOSING:
        before -= 1
    return rows[before].form in _ENDS and word.form not in _CLOSING and not word.ne.endswith("-I")


def write_conllu(recipe: Recipe, scheme: Scheme) -> dict[str, str]:
    """A recipe as a block; reading it gives an equal recipe.

    Raises:
        ReleaseProblem: If a word has a tab or line break inside, or the recipe no text.
    """
    require_text(recipe, "conllu")
    plain = _columns(recipe, scheme)
    head = f"{ID_COMMENT}{recipe.id}\n"
    if _read_again(head + plain, scheme) == recipe:
        return {"": f"{head}{plain}\n"}
    comment = f"{RECIPE_COMMENT}{json.dumps(_extra(recipe), ensure_ascii=False)}\n"
    if _read_again(head + comment + plain, scheme) != recipe:
        raise not_equal(recipe, "conllu", "found words with white space that would be lost")
    return {"": f"{head}{comment}{plain}\n"}


def _columns(recipe: Recipe, scheme: Scheme) -> str:
    positions = flat_words(recipe)
    numbers = {word_id(*position): number for number, position in enumerate(positions, 1)}
    heads: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for flow in recipe.flows:
        heads[flow.start].append((numbers[flow.end], _short_name(flow.label, scheme)))
    rows = []
    for name, (section, line, position) in zip(numbers, positions, strict=True):
        words = recipe.sections[section][line]
        first, *further = heads[name] or [(0, ROOT)]
        last = "_\t_" if not further else f"[{', '.join(f'({head}, {label!r})' for head, label in further)}]"
        # The distributed files have a tab in the place of the first space.
        last = last.replace(", ", ",\t", 1)
        columns = (numbers[name], (words.tokens or ())[position], "_", "_", words.words[position].iob2, "_", *first)
        rows.append("\t".join(map(str, (*columns, last))))
    return "".join(f"{row}\n" for row in rows)


def _short_name(label: str, scheme: Scheme) -> str:
    short_name = next((name for name, paper in SHORT_NAMES.items() if paper == label), label)
    return label if short_name in scheme.labels else short_name


def _extra(recipe: Recipe) -> dict[str, Any]:
    positions = {word_id(*position): number for number, position in enumerate(flat_words(recipe))}
    by_word = sorted(range(len(recipe.flows)), key=lambda number: positions[recipe.flows[number].start])
    order = sorted(range(len(by_word)), key=by_word.__getitem__)
    changes = changes_to_json(recipe.state_changes)
    return {**skeleton_to_json(recipe), "flow_order": order, "state_changes": changes}


def _read_again(text: str, scheme: Scheme) -> Recipe | None:
    blocks = list(_blocks(text))
    if len(blocks) != 1:
        return None
    return read_block(blocks[0][1], scheme, "", blocks[0][0], "", Counter()).recipe
