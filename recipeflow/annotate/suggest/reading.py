"""Suggested tags and flows from all that there is: finished recipes, a dictionary, a parser where one is given."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from recipeflow.annotate.document import Document
from recipeflow.annotate.suggest.flow_chances import FlowChances
from recipeflow.annotate.suggest.guess import Guess
from recipeflow.annotate.suggest.guessing import guess_flows, guess_tags
from recipeflow.annotate.suggest.kept import KEPT_FLOWS, KEPT_WORDS, Kept, entities_key, words_key
from recipeflow.annotate.suggest.learning import Learned, is_given
from recipeflow.annotate.suggest.word_chances import WordChances

if TYPE_CHECKING:
    from recipeflow.annotate.suggest.parsing import ParserReader

MANY = 100
"""Finished recipes that count half as much as a parser, which has usually seen more of them."""


class Reader:
    """Makes suggestions for a layer.

    Args:
        learned: From its finished recipes.
        parser: Reads recipes that have text.
    """

    def __init__(self, learned: Learned, parser: ParserReader | None = None) -> None:
        self.learned, self.parser = learned, parser
        self.words: Kept[WordChances] = Kept(KEPT_WORDS)
        self.ends: Kept[FlowChances] = Kept(KEPT_FLOWS)

    @property
    def _weight(self) -> float:
        """How much finished recipes count beside the parser; one that was trained on them counts no more than they."""
        if self.parser is None or self.parser.is_own:
            return 1.0
        return self.learned.recipes / (self.learned.recipes + MANY)

    def tags(self, document: Document) -> list[Guess]:
        """Suggested entities."""
        if "words" in document.done or is_given(document, "words"):
            return []
        sources, tagger = [], self.learned.tagger
        if self.parser is not None and document.base.has_text:
            sources.append(self.parser.read_words(document))
        if tagger is not None:
            found = self.words.get(words_key(document), lambda: tagger.read(document.words))
            sources.append(replace(found, weight=self._weight))
        return guess_tags(document, self.learned.dictionary, sources)

    def flows(self, document: Document) -> list[Guess]:
        """Suggested flows."""
        if "flows" in document.done or is_given(document, "flows") or len(document.entities) < 2:
            return []
        sources, model = [], self.learned.flows
        if self.parser is not None and document.base.has_text:
            sources.append(self.parser.read_flows(document))
        if model is not None:
            ends = self.ends.get(entities_key(document), lambda: model.read(document.tagged))
            sources.append(replace(ends, weight=self._weight))
        return guess_flows(document, sources)
