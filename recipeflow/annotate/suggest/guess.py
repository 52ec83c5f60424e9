"""A guess: a decision that an annotator may take over, how sure it is, and where it comes from."""

from __future__ import annotations

from dataclasses import dataclass

from recipeflow.annotate.document import AnnotatedEntity, AnnotatedFlow, AnnotatedPair

DICTIONARY = "the dictionary"
FINISHED = "finished recipes"
RULES = "the rules"
PARSER = "the parser"
FILM = "the film"
MODEL = "the model"
ORIGINS = (DICTIONARY, FINISHED, RULES, PARSER, FILM, MODEL)
"""Names of what guesses. No layer or imported origin can have one: those names have no spaces."""


@dataclass(frozen=True, slots=True)
class Guess:
    """One decision.

    Args:
        value: The entity, flow or pair.
        confidence: About how likely it is right, from 0 to 1.
        origin: One of ``ORIGINS``.
    """

    value: AnnotatedEntity | AnnotatedFlow | AnnotatedPair
    confidence: float
    origin: str
