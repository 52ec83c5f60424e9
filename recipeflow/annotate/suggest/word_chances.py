"""How likely each word has which tag, by one source or several together, and the entities that follow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from recipeflow.annotate.document import AnnotatedEntity
from recipeflow.annotate.suggest.guess import Guess

IMPOSSIBLE = -1e9
Place = tuple[int, int]
"""Section and line."""


@dataclass(frozen=True)
class WordChances:
    """What one source says about the words of a recipe.

    Args:
        origin: Its name, one of ``ORIGINS``.
        classes: IOB2 tags, ``O`` among them.
        lines: For each line a row per word, with the probability of each class.
        weight: How much it counts among others.
    """

    origin: str
    classes: tuple[str, ...]
    lines: Mapping[Place, np.ndarray]
    weight: float = 1.0

    def over(self, classes: Sequence[str]) -> dict[Place, np.ndarray]:
        """The same with these classes as columns; one that the source does not know has no probability."""
        columns = [classes.index(name) for name in self.classes]
        wide = {place: np.zeros((len(rows), len(classes)), np.float32) for place, rows in self.lines.items()}
        for place, rows in self.lines.items():
            wide[place][:, columns] = rows
        return wide


def read_entities(sources: Sequence[WordChances], given: Iterable[AnnotatedEntity]) -> list[Guess]:
    """The likeliest entities, all sources together, besides the given ones, which decide how their words are read.

    A wrong entity in the place of a right one costs nothing more, because tagging its words rightly replaces it: so
    all are returned that are likelier than no entity.
    """
    if not sources:
        return []
    classes = sorted({"O", *(name for source in sources for name in source.classes)})
    each = [source.over(classes) for source in sources]
    settled: dict[Place, list[AnnotatedEntity]] = {}
    for entity in given:
        settled.setdefault((entity.section, entity.line), []).append(entity)
    guesses = []
    for place in each[0]:
        taken = settled.get(place, [])
        mean = np.average([lines[place] for lines in each], axis=0, weights=[source.weight for source in sources])
        path = best_path(_settle(mean, classes, taken), classes)
        for start, end in find_spans(path):
            if any(entity.start < end and start < entity.end for entity in taken):
                continue
            by_source = [_confidence(lines[place], classes, path, start, end) for lines in each]
            entity = AnnotatedEntity(*place, start, end, path[start][2:])
            confidence = _confidence(mean, classes, path, start, end)
            guesses.append(Guess(entity, confidence, sources[int(np.argmax(by_source))].origin))
    return guesses


def _settle(chances: np.ndarray, classes: Sequence[str], given: Iterable[AnnotatedEntity]) -> np.ndarray:
    """Let the words of given entities have their tags, and nothing continue them."""
    settled = chances.copy()
    for entity in given:
        for place in range(entity.start, entity.end):
            name = f"{'I' if place > entity.start else 'B'}-{entity.tag}"
            settled[place] = 0
            settled[place, classes.index(name if name in classes else "O")] = 1
        further = f"I-{entity.tag}"
        if entity.end < len(settled) and further in classes:
            settled[entity.end, classes.index(further)] = 0
    return settled


def find_spans(path: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where entities begin and end in a sequence of IOB2 tags."""
    for start, name in enumerate(path):
        if name.startswith("B-"):
            end = start + 1
            while end < len(path) and path[end] == f"I-{name[2:]}":
                end += 1
            yield start, end


def _confidence(chances: np.ndarray, classes: Sequence[str], path: Sequence[str], start: int, end: int) -> float:
    """How likely all words of an entity have its tag, and that it ends where it does."""
    inside = np.prod([chances[place, classes.index(path[place])] for place in range(start, end)])
    further = f"I-{path[start][2:]}"
    beyond = chances[end, classes.index(further)] if end < len(path) and further in classes else 0.0
    return float(inside * (1 - beyond))


def best_path(chances: np.ndarray, classes: Sequence[str]) -> list[str]:
    """The likeliest sequence of classes in which an entity begins before it continues (Viterbi)."""
    follows = np.array([[_follows(before, after) for after in classes] for before in classes])
    scores = np.log(chances + 1e-9)
    best = scores[0] + [_follows("O", name) for name in classes]
    came_from = []
    for row in scores[1:]:
        reached = best[:, None] + follows
        came_from.append(reached.argmax(axis=0))
        best = reached.max(axis=0) + row
    path = [int(best.argmax())]
    for back in reversed(came_from):
        path.append(int(back[path[-1]]))
    return [classes[number] for number in reversed(path)]


def _follows(before: str, after: str) -> float:
    return 0.0 if not after.startswith("I-") or before[2:] == after[2:] else IMPOSSIBLE
