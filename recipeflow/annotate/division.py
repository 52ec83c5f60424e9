"""How lines are divided into words, and what follows when a person divides one otherwise.

Word ids count words, so a division moves the id of everything behind it in its line. Entities keep their characters:
their ids, and all flows, frames, lists and rejections that refer to them, are updated.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from recipeflow.annotate.document import (
    AnnotatedEntity,
    AnnotatedFlow,
    Document,
    LineWords,
    Rejection,
    place,
    spaces_of,
)
from recipeflow.annotate.effects import Effects
from recipeflow.annotate.items import Item, make_item
from recipeflow.annotate.words import remove, rename_entities
from recipeflow.errors import RefusedError
from recipeflow.release.recipe import word_id

Ends = tuple[int, ...]
"""Where each word of a line ends, in characters."""

Divisions = Mapping[tuple[int, int], Ends]
"""How some lines, each given by section and number, are divided."""

_ID = re.compile(r"\d+-\d+-\d+")


def cut_word(document: Document, section: int, line: int, word: int, at: int, effects: Effects) -> Document:
    """Divide a word after ``at`` of its characters."""
    ends = _known_ends(document, section, line)
    if not 0 <= word < len(ends):
        raise _no_words(len(ends), word, word + 1)
    start = document.words.sections[section][line].words[word].start
    if not 0 < at < ends[word] - start:
        reason = f"expected a place inside a word of {ends[word] - start} characters, found {at}"
        raise RefusedError("cut", reason, at=at)
    return divide_line(document, section, line, (*ends[:word], start + at, *ends[word:]), effects)


def join_words(document: Document, section: int, line: int, start: int, end: int, effects: Effects) -> Document:
    """Make one word of words ``start`` up to, not including, ``end``; there must be no space between them."""
    ends = _known_ends(document, section, line)
    if not 0 <= start < end <= len(ends) or end - start < 2:
        raise _no_words(len(ends), start, end)
    return divide_line(document, section, line, (*ends[:start], *ends[end - 1 :]), effects)


def divide_line(
    document: Document, section: int, line: int, ends: Ends, effects: Effects, drops: bool = False
) -> Document:
    """Divide a line into other words.

    An entity that ends inside a new word takes in all of that word.

    Args:
        document: The document.
        section: The section.
        line: The line.
        ends: Where each of the new words ends.
        effects: Collects side effects.
        drops: Remove an entity that would share a word with the one before it, instead of refusing.
    """
    old = _known_ends(document, section, line)
    if ends == old:
        return document
    if not ends or ends[-1:] != old[-1:] or any(b <= a for a, b in zip((0, *ends), ends, strict=False)):
        raise RefusedError(
            "cut", f"expected ends of words up to {max(old, default=0)}, found {list(ends)}", ends=list(ends)
        )
    _check_spaces(document, section, line, ends)
    to_start, to_end = _movers(old, ends)
    last = 0
    for entity in _of_line(document, section, line):
        if to_start(entity.start) >= last:
            last = to_end(entity.end)
        elif drops:
            document = remove(document, entity.id, effects)
        else:
            reason = f"expected a word of one entity, found {entity.id} in it too"
            raise RefusedError("join", reason, entity=entity.id)
    moved = {entity: _moved(entity, to_start, to_end) for entity in _of_line(document, section, line)}
    names = {old_entity.id: entity.id for old_entity, entity in moved.items()}
    document = document.change(
        cuts=_with_line(document, LineWords(section, line, ends)),
        entities=tuple(moved.get(entity, entity) for entity in document.entities),
        rejected=_moved_rejections(document.rejected, section, line, to_start, to_end),
    )
    return rename_entities(document, names, effects)


def _check_spaces(document: Document, section: int, line: int, ends: Ends) -> None:
    """Refuse a word with a space inside, which no format could tell from two words, or one that is only a space."""
    spaces = spaces_of(document.base.sections[section][line])
    before = {space for space in spaces if space - 1 not in spaces}
    if (joined := sorted(before - set(ends))) or any(end - 1 in spaces for end in ends):
        reason = "expected words without a space inside, found one; tag several words as one entity instead"
        raise RefusedError("space", reason, at=joined[0] if joined else None)


def follow_division(document: Document, wanted: Document) -> Document:
    """The document with its lines divided as in ``wanted``, a document of the same text."""
    lines = {(cut.section, cut.line) for cut in (*document.cuts, *wanted.cuts)}
    for section, line in sorted(lines):
        document = divide_line(document, section, line, line_ends(wanted, section, line), Effects(), drops=True)
    return document


def by_character(document: Document, lines: Iterable[tuple[int, int]]) -> Document:
    """The document with some lines divided into characters, so that different divisions can be compared."""
    for section, line in lines:
        words = document.words.sections[section][line].words
        ends = tuple(end for word in words for end in range(word.start + 1, word.end + 1))
        document = divide_line(document, section, line, ends, Effects())
    return document


def take_over(document: Document, item: Item, divisions: Divisions, effects: Effects) -> tuple[Document, Item]:
    """An item of an annotation that divides some lines otherwise, for this document.

    Words of the document are cut where an entity begins or ends inside them.

    Raises:
        RefusedError: If a flow or frame belongs to something that is inside a word here.
    """
    value = item.value
    if isinstance(value, AnnotatedEntity):
        if (ends := divisions.get((value.section, value.line))) is None:
            return document, item
        first, last = _characters(ends, value.start, value.end)
        wanted = tuple(sorted({*_known_ends(document, value.section, value.line), last} | ({first} - {0})))
        document = divide_line(document, value.section, value.line, wanted, effects)
        here = replace(value, start=bisect_right(wanted, first), end=wanted.index(last) + 1)
        return document, make_item(here)
    moved = {word: _moved_word(document, word, divisions) for word in item.words}
    if isinstance(value, AnnotatedFlow):
        return document, make_item(replace(value, start=moved[value.start], end=moved[value.end]))
    return document, make_item(
        replace(value, action=moved[value.action], object=moved.get(value.object, value.object))
    )


def _moved_word(document: Document, word: str, divisions: Divisions) -> str:
    section, line, number = place(word)
    if (ends := divisions.get((section, line))) is None:
        return word
    first, _ = _characters(ends, number, number + 1)
    starts = (0, *_known_ends(document, section, line)[:-1])
    if first not in starts:
        raise RefusedError("words", f"expected a word that begins at character {first}, found it inside another one")
    return word_id(section, line, starts.index(first))


def _characters(ends: Ends, start: int, end: int) -> tuple[int, int]:
    """The first character of words ``start`` to ``end``, and the one after the last."""
    if not 0 <= start < end <= len(ends):
        raise _no_words(len(ends), start, end)
    return ends[start - 1] if start else 0, ends[end - 1]


def line_ends(document: Document, section: int, line: int) -> Ends:
    """Where each word of a line ends."""
    return tuple(word.end for word in document.words.sections[section][line].words)


def _known_ends(document: Document, section: int, line: int) -> Ends:
    sections = document.words.sections
    if not (0 <= section < len(sections) and 0 <= line < len(sections[section])):
        raise RefusedError("span", f"expected a line of the recipe, found {section}-{line}", line=line)
    return line_ends(document, section, line)


def _no_words(count: int, start: int, end: int) -> RefusedError:
    reason = f"expected words of a line of {count}, found {start} to {end}"
    return RefusedError("span", reason, start=start, end=end, words=count)


def _of_line(document: Document, section: int, line: int) -> list[AnnotatedEntity]:
    return [entity for entity in document.entities if (entity.section, entity.line) == (section, line)]


def _movers(old: Ends, new: Ends) -> tuple[Callable[[int], int], Callable[[int], int]]:
    """Functions that give the new number of a first word, and of the word after a last one."""

    def to_start(word: int) -> int:
        return bisect_right(new, old[word - 1]) if word else 0

    def to_end(word: int) -> int:
        return bisect_left(new, old[word - 1]) + 1

    return to_start, to_end


def _moved(entity: AnnotatedEntity, to_start: Callable[[int], int], to_end: Callable[[int], int]) -> AnnotatedEntity:
    return replace(entity, start=to_start(entity.start), end=to_end(entity.end))


def _with_line(document: Document, changed: LineWords) -> tuple[LineWords, ...]:
    """The divisions that differ from the imported one, with this one."""
    place = changed.section, changed.line
    rest = [cut for cut in document.cuts if (cut.section, cut.line) != place]
    imported = tuple(word.end for word in document.base.sections[changed.section][changed.line].words)
    return tuple(sorted(rest if changed.ends == imported else [*rest, changed]))


def _moved_rejections(
    rejected: Sequence[Rejection],
    section: int,
    line: int,
    to_start: Callable[[int], int],
    to_end: Callable[[int], int],
) -> tuple[Rejection, ...]:
    """Rejections of suggestions, whose keys are made of word ids (``recipeflow.annotate.items``)."""

    def move(found: re.Match[str]) -> str:
        here, row, word = map(int, found[0].split("-"))
        return word_id(here, row, to_start(word)) if (here, row) == (section, line) else found[0]

    def move_key(key: str) -> str:
        kind, _, rest = key.partition(":")
        if kind == "ne" and rest.startswith(f"{section}-{line}-"):
            name, end, tag = rest.split(":")
            return f"ne:{_ID.sub(move, name)}:{to_end(int(end))}:{tag}"
        return _ID.sub(move, key)

    return tuple(sorted({Rejection(each.origin, move_key(each.key)) for each in rejected}))
