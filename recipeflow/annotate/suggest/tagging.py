"""Tags learned from finished recipes, by each word, its ending and its neighbours.

So words that were never tagged get a tag too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from recipeflow.annotate.document import AnnotatedEntity
from recipeflow.annotate.suggest.dictionary import lowered
from recipeflow.annotate.suggest.guess import FINISHED, Guess
from recipeflow.annotate.suggest.learner import Classifier, Features
from recipeflow.release.recipe import Recipe

IMPOSSIBLE = -1e9


@dataclass(frozen=True)
class Tagger:
    """Gives each word a tag in IOB2, and joins them to entities."""

    classifier: Classifier

    @classmethod
    def learn(cls, recipes: Iterable[Recipe]) -> Tagger | None:
        """From the tags of recipes with text; ``None`` if there are none."""
        examples, answers = [], []
        for recipe in recipes:
            for section, lines in enumerate(recipe.sections):
                for number, line in enumerate(lines):
                    words = lowered(recipe, section, number)
                    examples += [describe_word(words, place, section) for place in range(len(words))]
                    answers += [word.iob2 for word in line.words[: len(words)]]
        return cls(Classifier.train(examples, answers)) if len(set(answers)) > 1 else None

    def guess(self, recipe: Recipe) -> list[Guess]:
        """Entities for the words of a recipe."""
        return [
            guess
            for section, lines in enumerate(recipe.sections)
            for number in range(len(lines))
            if (words := lowered(recipe, section, number))
            for guess in self._guess_line(words, section, number)
        ]

    def _guess_line(self, words: Sequence[str], section: int, line: int) -> list[Guess]:
        chances = self.classifier.probabilities([describe_word(words, place, section) for place in range(len(words))])
        path = best_path(chances, self.classifier.classes)
        guesses, end = [], 0
        for start, name in enumerate(path):
            if start < end or not name.startswith("B-"):
                continue
            tag, end = name[2:], start + 1
            while end < len(path) and path[end] == f"I-{tag}":
                end += 1
            entity = AnnotatedEntity(section, line, start, end, tag)
            guesses.append(Guess(entity, self._confidence(chances, path, start, end), FINISHED))
        return guesses

    def _confidence(self, chances: np.ndarray, path: Sequence[str], start: int, end: int) -> float:
        """How likely all words of an entity have its tag, and that it ends where it does."""
        classes = self.classifier.classes
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


def describe_word(words: Sequence[str], place: int, section: int) -> Features:
    """The features of a word: what it is, how it looks, and what is around it."""

    def at(offset: int) -> str:
        other = place + offset
        return words[other] if 0 <= other < len(words) else "‹" if other < 0 else "›"

    word, before, after = at(0), at(-1), at(1)
    return (
        f"section {section}",
        f"place {section} {min(place, 2)}",
        f"word {word}",
        f"word {section} {word}",
        f"before {before}",
        f"after {after}",
        f"before that {at(-2)}",
        f"after that {at(2)}",
        f"with before {before} {word}",
        f"with after {word} {after}",
        f"around {before} {after}",
        *(f"ends {word[-length:]}" for length in (1, 2, 3)),
        *(f"begins {word[:length]}" for length in (2, 3)),
        f"before ends {before[-2:]}",
        f"after ends {after[-2:]}",
        f"look {look_of(word)}",
        f"look before {look_of(before)}",
        f"look after {look_of(after)}",
    )


def look_of(word: str) -> str:
    """The kinds of the first characters of a word: digits, Latin letters, hiragana, katakana, kanji, others."""
    return "".join(map(_kind_of, word[:4]))


def _kind_of(character: str) -> str:
    if character.isdigit():
        return "0"
    for first, last, kind in (("぀", "ゟ", "h"), ("゠", "ヿ", "k"), ("一", "鿿", "c")):
        if first <= character <= last:
            return kind
    return "a" if character.isalpha() else character
