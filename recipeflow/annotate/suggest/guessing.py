"""From all sources of guesses to suggestions that can be accepted together, one by one or all at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from recipeflow.annotate.document import Document
from recipeflow.annotate.effects import Effects
from recipeflow.annotate.items import accept_item, make_item
from recipeflow.annotate.suggest.dictionary import Dictionary
from recipeflow.annotate.suggest.film import FilmTraits
from recipeflow.annotate.suggest.flow_chances import FlowChances, read_flows
from recipeflow.annotate.suggest.flow_rules import guess_by_rules
from recipeflow.annotate.suggest.frames import FrameModel, Ranking
from recipeflow.annotate.suggest.guess import Guess
from recipeflow.annotate.suggest.learning import is_given
from recipeflow.annotate.suggest.word_chances import WordChances, read_entities
from recipeflow.errors import RefusedError

ENOUGH_FOR_FRAMES = 0.1
"""A wrong frame costs no more than a missing one: choosing the right one replaces it."""


def guess_tags(document: Document, dictionary: Dictionary, sources: Sequence[WordChances] = ()) -> list[Guess]:
    """Entities for untagged words.

    What is tagged in this recipe counts first, then what models say, then the dictionary of other recipes.
    """
    own = Dictionary.learn([document.tagged], finished=False).guess(document.words) if document.entities else []
    return choose(document, own, read_entities(sources, document.entities), dictionary.guess(document.words))


def guess_flows(document: Document, sources: Sequence[FlowChances] = ()) -> list[Guess]:
    """Flows between the entities that there are; by fixed rules where there is no other source."""
    if not sources:
        return choose(document, guess_by_rules(document.tagged, document.scheme))
    drawn = [(flow.start, flow.end) for flow in document.flows]
    return choose(document, read_flows(sources, drawn, document.scheme.labels))


def guess_frames(document: Document, model: FrameModel, film: FilmTraits, rank: Ranking | None = None) -> list[Guess]:
    """Frames for the objects without any; arguments as for ``FrameModel.guess``."""
    if "frames" in document.done or is_given(document, "frames"):
        return []
    return choose(document, model.guess(document, film, rank), enough=ENOUGH_FOR_FRAMES)


def choose(document: Document, *tiers: Iterable[Guess], enough: float = 0.0) -> list[Guess]:
    """The guesses that are sure enough and fit the document and each other, those of the first tier before others.

    What was rejected is kept, so that it can be taken back, but does not stand in the way of another guess.
    """
    rejected = {rejection.key: rejection.origin for rejection in document.rejected}
    kept, refused = [], []
    for tier in tiers:
        for guess in sorted(tier, key=lambda guess: -guess.confidence):
            item = make_item(guess.value)
            if guess.confidence < enough:
                continue
            if item.key in rejected:
                refused.append(replace(guess, origin=rejected[item.key]))
                continue
            try:
                document = accept_item(document, item, guess.origin, False, Effects())
            except RefusedError:
                continue
            kept.append(guess)
    return [*kept, *refused]
