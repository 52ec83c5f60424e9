"""From all sources of guesses to suggestions that can be accepted together, one by one or all at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from recipeflow.annotate.document import Document
from recipeflow.annotate.effects import Effects
from recipeflow.annotate.items import accept_item, make_item
from recipeflow.annotate.suggest.dictionary import Dictionary
from recipeflow.annotate.suggest.film import FilmTraits
from recipeflow.annotate.suggest.flow_rules import guess_by_rules
from recipeflow.annotate.suggest.frames import FrameModel, Ranking
from recipeflow.annotate.suggest.guess import Guess
from recipeflow.annotate.suggest.learning import Learned, is_given
from recipeflow.errors import RefusedError

ENOUGH = 0.4
"""The lowest confidence of a suggestion. A right one saves two or three clicks and a decision; a wrong one costs one
click and one decision."""


ENOUGH_FOR_FRAMES = 0.1
"""A wrong frame costs no more than a missing one: choosing the right one replaces it."""


def guess_tags(document: Document, learned: Learned, parsed: Sequence[Guess] = ()) -> list[Guess]:
    """Entities for untagged words.

    What is tagged in this recipe counts first, then what models say, then the dictionary of other recipes.
    """
    if "words" in document.done or is_given(document, "words"):
        return []
    own = Dictionary.learn([document.tagged], finished=False).guess(document.words) if document.entities else []
    tagged = learned.tagger.guess(document.words) if learned.tagger else []
    models = [guesses for guesses in (parsed, tagged) if guesses]
    return choose(document, own, average(models), learned.dictionary.guess(document.words))


def guess_flows(document: Document, learned: Learned, parsed: Sequence[Guess] = ()) -> list[Guess]:
    """Flows between the entities that there are."""
    if "flows" in document.done or is_given(document, "flows") or len(document.entities) < 2:
        return []
    linked = learned.flows.guess(document.tagged) if learned.flows else []
    models = [guesses for guesses in (parsed, linked) if guesses]
    rules = [] if models else guess_by_rules(document.tagged, document.scheme)
    return choose(document, average(models), rules)


def guess_frames(document: Document, model: FrameModel, film: FilmTraits, rank: Ranking | None = None) -> list[Guess]:
    """Frames for the objects without any; arguments as for ``FrameModel.guess``."""
    if "frames" in document.done or is_given(document, "frames"):
        return []
    return choose(document, model.guess(document, film, rank), enough=ENOUGH_FOR_FRAMES)


def average(sources: Sequence[Iterable[Guess]]) -> list[Guess]:
    """The guesses of several models with their mean confidence; one that a model does not have counts as 0 there."""
    found: dict[str, list[Guess]] = {}
    for guess in (guess for source in sources for guess in source):
        found.setdefault(make_item(guess.value).key, []).append(guess)
    surest = (max(same, key=lambda guess: guess.confidence) for same in found.values())
    means = (sum(guess.confidence for guess in same) / len(sources) for same in found.values())
    return [replace(guess, confidence=mean) for guess, mean in zip(surest, means, strict=True)]


def choose(document: Document, *tiers: Iterable[Guess], enough: float = ENOUGH) -> list[Guess]:
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
