"""Tags learned from finished recipes, by each word, its ending and its neighbours.

So words that were never tagged get a tag too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from recipeflow.annotate.suggest.dictionary import lowered
from recipeflow.annotate.suggest.guess import FINISHED
from recipeflow.annotate.suggest.learner import Classifier, Features
from recipeflow.annotate.suggest.word_chances import WordChances
from recipeflow.release.recipe import Recipe


@dataclass(frozen=True)
class Tagger:
    """Gives each word a tag in IOB2."""

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

    def read(self, recipe: Recipe) -> WordChances:
        """How likely each word of a recipe has which tag."""
        lines = {}
        for section, content in enumerate(recipe.sections):
            for number in range(len(content)):
                if words := lowered(recipe, section, number):
                    described = [describe_word(words, place, section) for place in range(len(words))]
                    lines[section, number] = self.classifier.probabilities(described)
        return WordChances(FINISHED, self.classifier.classes, lines)


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
