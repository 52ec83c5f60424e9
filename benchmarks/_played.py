"""An annotator who knows the gold annotation: real operations, and what they cost. Not a benchmark by itself."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from recipeflow.annotate.accepting import Accept, Accepted, Reject
from recipeflow.annotate.document import SIDES, AnnotatedEntity, AnnotatedFlow, AnnotatedPair, Document
from recipeflow.annotate.items import Decision, list_items, make_item
from recipeflow.annotate.operations import AddFlow, Operation, SetFrame, Tag, apply
from recipeflow.annotate.suggest.guess import Guess

ACTS_PER_TAG, ACTS_PER_FLOW, ACTS_PER_OBJECT = 2.0, 3.0, 3.4
"""By hand, as measured in the pages."""

RELABEL = 2.0
"""Click a suggested flow, choose another label."""

Guesser = Callable[[Document], list[Guess]]


@dataclass
class Effort:
    """What a step took: clicks or keys, and decisions; ``checked`` are right suggestions, which were read.

    ``lines`` are those in which suggestions were accepted, line by line, after the first one.
    """

    acts: float = 0.0
    decisions: float = 0
    checked: float = 0
    lines: float = 0

    def pay(self, acts: float, decisions: float = 1) -> None:
        """Count something that the annotator does."""
        self.acts += acts
        self.decisions += decisions

    def add(self, other: Effort, share: float = 1.0) -> None:
        """Add a share of another effort."""
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + share * getattr(other, field.name))


def by_hand(gold: Document) -> dict[str, Effort]:
    """The effort without suggestions."""
    pairs = _pairs(gold)
    return {
        "words": Effort(ACTS_PER_TAG * len(gold.entities), len(gold.entities)),
        "flows": Effort(ACTS_PER_FLOW * len(gold.flows), len(gold.flows)),
        "frames": Effort(ACTS_PER_OBJECT * len(pairs), 2 * len(pairs)),
    }


def play_words(document: Document, gold: Document, guess: Guesser) -> tuple[Document, Effort]:
    """Reject what is wrong, tag what is missing, accept the rest; suggestions are computed anew after each tag."""
    effort, wanted = Effort(), {make_item(entity).key: entity for entity in gold.entities}
    while True:
        guesses = _open(document, guess(document))
        have = {make_item(entity).key for entity in document.entities} | guesses.keys()
        missing = [entity for key, entity in wanted.items() if key not in have]
        wrong = {key: each for key, each in guesses.items() if key not in wanted}
        # A wrong suggestion vanishes once its words are tagged rightly.
        if useless := {key: each for key, each in wrong.items() if not _is_in_the_way(each.value, missing)}:
            document = _reject(document, useless, effort)
        elif missing:
            entity = missing[0]
            document = _do(document, Tag(entity.section, entity.line, entity.start, entity.end, entity.tag))
            effort.pay(ACTS_PER_TAG)
        else:
            return _accept_all(document, guesses, effort), effort


def play_flows(document: Document, gold: Document, guess: Guesser) -> tuple[Document, Effort]:
    """Reject flows from where there is none to draw, correct labels, draw what is missing, accept the rest.

    Suggestions are computed anew after each flow.
    """
    effort, wanted = Effort(), {_ends(flow): flow for flow in gold.flows}
    while True:
        guesses = _open(document, guess(document))
        right = {key: each for key, each in guesses.items() if wanted.get(_ends(each.value)) == each.value}
        have = {make_item(flow).key for flow in document.flows} | right.keys()
        missing = [flow for flow in gold.flows if make_item(flow).key not in have]
        wrong = {key: each for key, each in guesses.items() if _ends(each.value) not in wanted}
        # A wrong suggestion vanishes once the right flow from the same entity is drawn.
        starts = {flow.start for flow in missing}
        if useless := {key: each for key, each in wrong.items() if _ends(each.value)[0] not in starts}:
            document = _reject(document, useless, effort)
        elif missing:
            flow = missing[0]
            document = _do(document, AddFlow(flow.start, flow.end, flow.label))
            linked = {_ends(each.value) for each in guesses.values()}
            effort.pay(RELABEL if _ends(flow) in linked else ACTS_PER_FLOW)
        else:
            return _accept_all(document, right, effort), effort


def play_frames(document: Document, gold: Document, guess: Guesser, near: int = 0) -> tuple[Document, Effort]:
    """Object by object, choose each frame that is not suggested; then accept the others.

    Suggestions are computed anew after each choice. One that is at most ``near`` frames away is accepted too.
    """
    effort, wanted = Effort(), {pair.key: pair for pair in _pairs(gold)}
    while True:
        guesses = {make_item(each.value).key: each for each in guess(document)}
        suggested = {pair.key: pair for each in guesses.values() if isinstance(pair := each.value, AnnotatedPair)}
        wrong = _first_wrong(document, wanted, suggested, near)
        if wrong is None:
            return _accept_all(document, guesses, effort), effort
        pair, side = wrong
        document = _do(document, SetFrame(pair.key, side, getattr(pair, side)))
        effort.pay(ACTS_PER_OBJECT / 2)


def _first_wrong(
    document: Document, wanted: dict[str, AnnotatedPair], suggested: dict[str, AnnotatedPair], near: int
) -> tuple[AnnotatedPair, str] | None:
    """The first side of an object that is neither chosen nor rightly suggested."""
    chosen = {pair.key: pair for pair in document.pairs}
    for key, pair in wanted.items():
        for side in SIDES:
            if key in chosen and getattr(chosen[key], side) is not None:
                continue
            if key not in suggested or not _is_near(getattr(pair, side), getattr(suggested[key], side), near):
                return pair, side
    return None


def _is_near(value: object, offered: object, near: int) -> bool:
    if isinstance(value, int) and isinstance(offered, int):
        return abs(value - offered) <= near
    return value == offered


def _pairs(document: Document) -> list[AnnotatedPair]:
    return [pair for listed in document.objects.values() for pair in listed]


def _open(document: Document, guesses: Sequence[Guess]) -> dict[str, Guess]:
    """Suggestions by key, without rejected ones."""
    rejected = {rejection.key for rejection in document.rejected}
    found = {make_item(guess.value).key: guess for guess in guesses}
    return {key: guess for key, guess in found.items() if key not in rejected}


def _reject(document: Document, guesses: dict[str, Guess], effort: Effort) -> Document:
    for key, guess in guesses.items():
        document = _do(document, Reject(guess.origin, (key,)))
        effort.pay(1)
    return document


def _accept_all(document: Document, guesses: dict[str, Guess], effort: Effort) -> Document:
    """One click for everything that is left."""
    if not guesses:
        return document
    effort.pay(1)
    effort.checked += len(guesses)
    effort.lines += len({make_item(guess.value).words[0].rpartition("-")[0] for guess in guesses.values()}) - 1
    for origin in dict.fromkeys(guess.origin for guess in guesses.values()):
        items = [make_item(guess.value).as_dict(document) for guess in guesses.values() if guess.origin == origin]
        accepted = tuple(Accepted(item["key"], item["kind"], item["item"]) for item in items)
        document = _do(document, Accept(origin, accepted))
    return document


def _do(document: Document, operation: Operation) -> Document:
    return apply(document, operation).document


def _is_in_the_way(one: Decision, entities: Sequence[AnnotatedEntity]) -> bool:
    """Whether an entity has words of another one."""
    assert isinstance(one, AnnotatedEntity)
    line = [other for other in entities if (other.section, other.line) == (one.section, one.line)]
    return any(one.start < other.end and other.start < one.end for other in line)


def _ends(flow: Decision) -> tuple[str, str]:
    assert isinstance(flow, AnnotatedFlow)
    return flow.start, flow.end


def check_reached(document: Document, gold: Document, kinds: Sequence[str]) -> None:
    """The annotator must have reached the gold annotation: otherwise the costs mean nothing."""
    have, want = ({key for key, item in list_items(each).items() if item.kind in kinds} for each in (document, gold))
    assert have == want, f"{gold.base.id}: {sorted(want ^ have)[:5]}"
