"""The objects that everything else uses: recipe, line, word, entity, flow, state change.

All are frozen: a recipe that was read and checked cannot become wrong later. Sections, lines and words are
counted from 0, as in the release; a word's id ``section-line-word`` is its position and never stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

SECTIONS = ("ingredients", "instructions")

TAGS = {
    "F": "Food",
    "T": "Tool",
    "D": "Duration",
    "Q": "Quantity",
    "Ac": "Action by chef",
    "Af": "Action by food",
    "Sf": "State of food",
    "St": "State of tool",
}
"""The paper's eight r-NE tags with their meanings, in its order."""

LABELS = {
    "Agent": "Action agent",
    "Targ": "Action target",
    "Dest": "Action destination",
    "T-comp": "Tool complement",
    "F-comp": "Food complement",
    "F-eq": "Food equality",
    "F-part-of": "Food part-of",
    "F-set": "Food set",
    "T-eq": "Tool equality",
    "T-part-of": "Tool part-of",
    "A-eq": "Action equality",
    "V-tm": "Head of clause for timing",
    "other-mod": "Other relationships",
}
"""The paper's thirteen r-FG labels with their meanings, in its order."""

IOB2_TAGS = ("O", *(f"{position}-{tag}" for tag in TAGS for position in "BI"))
"""The word tags in the Hugging Face convention: ``O, B-F, I-F, …``."""


def word_id(section: int, line: int, word: int) -> str:
    """The release's id of a word, which is its position."""
    return f"{section}-{line}-{word}"


@dataclass(frozen=True, slots=True)
class Word:
    """A segment of a line: characters ``start`` to ``end`` and the release's tag (``O``, ``F-B``, ``F-I``, …)."""

    start: int
    end: int
    ne: str = "O"

    @property
    def iob2(self) -> str:
        """The tag in IOB2 order, ``B-F`` for the release's ``F-B``."""
        return "-".join(reversed(self.ne.split("-")))


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the ingredient or instruction list; its text is ``None`` where the release has no text files."""

    words: tuple[Word, ...]
    text: str | None = None

    @property
    def length(self) -> int:
        """The number of characters according to the annotation."""
        return self.words[-1].end if self.words else 0

    @property
    def tokens(self) -> list[str] | None:
        return None if self.text is None else [self.text[word.start : word.end] for word in self.words]


@dataclass(frozen=True, slots=True)
class Entity:
    """A recipe named entity (r-NE): words ``start_word`` up to, not including, ``end_word`` of a line."""

    id: str
    tag: str
    section: int
    line: int
    start_word: int
    end_word: int
    text: str | None


@dataclass(frozen=True, slots=True)
class Flow:
    """A directed, labelled edge of the flow graph between two entities, named by their ids."""

    start: str
    end: str
    label: str


@dataclass(frozen=True, slots=True)
class StateChange:
    """What an action does to one object: the frames before and after, ``None`` where there is no image."""

    action: str
    before: int | None
    after: int | None


@dataclass(frozen=True)
class Recipe:
    """One annotated recipe. The location of its files is ignored when two recipes are compared."""

    id: str
    ingredients: tuple[Line, ...]
    instructions: tuple[Line, ...]
    flows: tuple[Flow, ...] = ()
    state_changes: tuple[StateChange, ...] = ()
    title: str | None = None
    url: str | None = None
    frames_folder: Path | None = field(default=None, compare=False)

    @property
    def sections(self) -> tuple[tuple[Line, ...], tuple[Line, ...]]:
        """Ingredients and instructions, in the order of ``SECTIONS``."""
        return self.ingredients, self.instructions

    @property
    def has_text(self) -> bool:
        return any(line.text is not None for lines in self.sections for line in lines)

    @cached_property
    def entities(self) -> dict[str, Entity]:
        """The r-NEs by id, in reading order."""
        return {entity.id: entity for entity in self._find_entities()}

    def _find_entities(self) -> Iterator[Entity]:
        for section, lines in enumerate(self.sections):
            for number, line in enumerate(lines):
                starts = [i for i, word in enumerate(line.words) if word.ne.endswith("-B")]
                for start in starts:
                    end = start + 1
                    while end < len(line.words) and line.words[end].ne.endswith("-I"):
                        end += 1
                    text = line.text and line.text[line.words[start].start : line.words[end - 1].end]
                    tag = line.words[start].ne.removesuffix("-B")
                    yield Entity(word_id(section, number, start), tag, section, number, start, end, text)

    @cached_property
    def actions(self) -> tuple[Entity, ...]:
        """The cooking actions (``Ac`` entities), in reading order."""
        return tuple(entity for entity in self.entities.values() if entity.tag == "Ac")

    @cached_property
    def used_frames(self) -> tuple[int, ...]:
        """The distinct frame numbers that state changes name, ascending."""
        numbers = {n for change in self.state_changes for n in (change.before, change.after) if n is not None}
        return tuple(sorted(numbers))

    def frame_path(self, number: int) -> Path | None:
        """The path of frame ``number``, or ``None`` if the release has no frames for this recipe."""
        return None if self.frames_folder is None else self.frames_folder / frame_name(number)


def frame_name(number: int) -> str:
    """The release's file name of a frame; numbers count from 1."""
    return f"frame_{number}.jpg"
