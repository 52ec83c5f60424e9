"""Frames before and after an action, learned from finished recipes and from what can be seen in the film.

Objects are taken in reading order, as a film goes forward. Candidates for *before* are the frames that were chosen
last and those that follow; for *after* the frames from *before* on. *Not visible* is a candidate too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from recipeflow.annotate.document import NOT_VISIBLE, AnnotatedPair, Document, FrameChoice, place
from recipeflow.annotate.items import entity_text
from recipeflow.annotate.suggest.film import FilmTraits
from recipeflow.annotate.suggest.guess import FILM, MODEL, Guess
from recipeflow.annotate.suggest.learner import Chooser, Features

Ranking = Callable[[AnnotatedPair, Sequence[int]], np.ndarray]

AHEAD = 18
"""How many frames after the last one are candidates."""


@dataclass
class Shown:
    """What the film has shown so far, while objects are taken in order."""

    last: AnnotatedPair | None = None
    before: int | None = None
    after: int = 0
    by_object: dict[str, int] | None = None

    def own(self, name: str) -> int | None:
        """Where this object was seen last."""
        return (self.by_object or {}).get(name)

    def add(self, pair: AnnotatedPair) -> None:
        """The film went on to this pair."""
        self.last = pair
        self.before = pair.before if isinstance(pair.before, int) else self.before
        if isinstance(pair.after, int):
            self.after = max(self.after, pair.after)
            self.by_object = {**(self.by_object or {}), pair.object: pair.after, pair.action: pair.after}


@dataclass(frozen=True)
class FrameModel:
    """Chooses the frames of every object."""

    before: Chooser
    after: Chooser

    @classmethod
    def learn(cls, recipes: Iterable[tuple[Document, FilmTraits]]) -> FrameModel | None:
        """From finished recipes with their films; ``None`` if there are none."""
        sides: dict[str, tuple[list, list]] = {"before": ([], []), "after": ([], [])}
        for document, film in recipes:
            shown = Shown()
            for pair in _in_order(document):
                filled = replace(pair, before=None, after=None)
                for side, (choices, chosen) in sides.items():
                    candidates, wanted = _candidates(side, shown, filled, film), getattr(pair, side)
                    if wanted in candidates:
                        choices.append([_describe(side, each, shown, filled, film, document) for each in candidates])
                        chosen.append([candidates.index(wanted)])
                    filled = replace(filled, **{side: wanted})
                shown.add(pair)
        if not all(choices for choices, _ in sides.values()):
            return None
        return cls(*(Chooser.train(choices, chosen) for choices, chosen in sides.values()))

    @classmethod
    def untrained(cls) -> FrameModel:
        """For as long as no recipe is finished: the film stays where it was, then goes on to a clear, still frame."""
        before = {"same after": 3.0, "hidden": -2.0} | {f"distance {n}": -0.3 * n for n in range(AHEAD + 1)}
        after = {"hidden": -2.0, "clear less more": 1.0, "clear less much more": 1.0, "clear same more": 0.5}
        after |= {f"distance {n}": -0.3 * abs(n - 5) for n in range(AHEAD + 1)}
        return cls(*(Chooser.from_weights(weights) for weights in (before, after)))

    def guess(self, document: Document, film: FilmTraits, rank: Ranking | None = None) -> list[Guess]:
        """Frames for the objects that have none yet, in view of those that have.

        Args:
            document: The recipe.
            film: Its film.
            rank: How well frames show an object after its action, by another model.
        """
        shown, guesses = Shown(), []
        for pair in _in_order(document):
            filled, sure = pair, 1.0
            for side in ("before", "after"):
                if getattr(filled, side) is None:
                    choice, chance = self._choose(side, shown, filled, film, document, rank)
                    filled, sure = replace(filled, **{side: choice}), sure * chance
            if filled != pair:
                guesses.append(Guess(replace(filled, origin=None), sure, MODEL if rank else FILM))
            shown.add(filled)
        return guesses

    def _choose(
        self,
        side: str,
        shown: Shown,
        pair: AnnotatedPair,
        film: FilmTraits,
        document: Document,
        rank: Ranking | None,
    ) -> tuple[FrameChoice, float]:
        """The likeliest frame, or *not visible* if that is likelier than all frames together."""
        candidates = _candidates(side, shown, pair, film)
        chooser = self.before if side == "before" else self.after
        chances = chooser.probabilities([_describe(side, each, shown, pair, film, document) for each in candidates])
        frames, hidden = [each for each in candidates if isinstance(each, int)], float(chances[-1])
        if not frames or hidden > 0.5:
            return NOT_VISIBLE, hidden
        visible = chances[:-1]
        if rank is not None and side == "after":
            ranked = visible * rank(pair, frames)
            visible = ranked * (visible.sum() / ranked.sum())
        best = int(visible.argmax())
        return frames[best], float(visible[best])


def _in_order(document: Document) -> Iterator[AnnotatedPair]:
    return (pair for listed in document.objects.values() for pair in listed)


def _candidates(side: str, shown: Shown, pair: AnnotatedPair, film: FilmTraits) -> list[FrameChoice]:
    """The frames to choose from, each once, then *not visible*; no after-frame is earlier than its before-frame."""
    first = pair.before if side == "after" and isinstance(pair.before, int) else None
    start = shown.after if first is None else first
    ahead = [number for number in film.numbers if start <= number <= max(start, shown.after) + AHEAD]
    known: list[int | None] = [shown.after, shown.before, shown.own(pair.object)]
    if shown.last is not None and isinstance(shown.last.after, int):
        known.append(shown.last.after)
    frames = [number for number in known if number in film.names and (first is None or number >= first)]
    return [*dict.fromkeys([*frames, *ahead]), NOT_VISIBLE]


def _describe(
    side: str, choice: FrameChoice, shown: Shown, pair: AnnotatedPair, film: FilmTraits, document: Document
) -> Features:
    """The features of a candidate."""
    verb = entity_text(document, document.entities_by_id[pair.action])
    line = place(pair.action)[1]
    same_action = shown.last is not None and shown.last.action == pair.action
    new_line = shown.last is None or place(shown.last.action)[1] != line
    seen = pair.before if side == "after" else "open"
    if choice == NOT_VISIBLE:
        last = getattr(shown.last, side) == NOT_VISIBLE if shown.last else False
        return (
            "hidden",
            f"hidden {line == 0}",
            f"hidden {seen == NOT_VISIBLE}",
            f"hidden {same_action} {last}",
            f"hidden verb {verb}",
        )
    assert isinstance(choice, int)
    own = shown.own(pair.object)
    same = [
        name
        for name, frame in (("after", shown.after), ("before", shown.before), ("own", own), ("this", pair.before))
        if frame == choice
    ]
    origin = pair.before if side == "after" and isinstance(pair.before, int) else shown.after
    distance = max(-1, min(choice - origin, AHEAD))
    known = f"{own is not None} {same_action} {new_line}"
    return (
        "frame",
        f"distance {distance}",
        f"distance {distance} {known}",
        f"distance {verb} {distance}",
        f"same {' '.join(same)}",
        f"same {' '.join(same)} {known}",
        f"same verb {' '.join(same)} {verb}",
        *film.names[choice],
        *(f"{name} {distance > 0}" for name in film.names[choice]),
    )
