"""What the process that computes suggestions can be asked to do, and what it knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from recipeflow.annotate.document import Document, LineWords
from recipeflow.annotate.suggest.guess import Guess
from recipeflow.annotate.suggest.guessing import guess_flows, guess_tags
from recipeflow.annotate.suggest.learning import Learned, Lesson
from recipeflow.release.scheme import Scheme

if TYPE_CHECKING:
    from recipeflow.annotate.suggest.parsing import ParserGuesser

READ_TEXTS = 1000
"""Recipes whose tags by the parser are kept: they change only with the words."""


class Tasks:
    """All calls are made one after the other, by one server."""

    def __init__(self) -> None:
        self.learned: dict[str, Learned] = {}
        self.parsers: dict[str | None, ParserGuesser] = {}
        self.read: dict[tuple[str | None, str, tuple[LineWords, ...]], list[Guess]] = {}

    def open_parser(self, name: str, scheme: Scheme, layer: str | None = None) -> None:
        """Use a parser from now on: for a layer, or for all that have none of their own."""
        from recipeflow.annotate.suggest.parsing import ParserGuesser

        parser = ParserGuesser(name)
        parser.check(scheme)
        self.parsers[layer] = parser
        self.read.clear()

    def learn(self, layer: str, lessons: Sequence[Lesson]) -> None:
        """Train on the finished recipes of a layer."""
        self.learned[layer] = Learned.learn(lessons)

    def suggest(self, layer: str, document: Document) -> list[Guess]:
        """Suggestions for a recipe."""
        learned = self.learned[layer]
        owner = layer if layer in self.parsers else None
        parser = self.parsers.get(owner) if document.base.has_text else None
        if parser is None:
            return [*guess_tags(document, learned), *guess_flows(document, learned)]
        tags = guess_tags(document, learned, self._read(parser, owner, document))
        return [*tags, *guess_flows(document, learned, parser.guess_flows(document) if document.entities else ())]

    def _read(self, parser: ParserGuesser, owner: str | None, document: Document) -> list[Guess]:
        key = owner, document.base.id, document.cuts
        if key not in self.read:
            if len(self.read) >= READ_TEXTS:
                self.read.clear()
            self.read[key] = parser.guess_tags(document)
        return self.read[key]
