"""Tags from a dictionary: words that were tagged before are probably to be tagged again.

The confidence of a phrase is how often it was tagged among all places where it occurs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from recipeflow.annotate.document import AnnotatedEntity
from recipeflow.annotate.suggest.guess import DICTIONARY, Guess
from recipeflow.release.recipe import Recipe

Phrase = tuple[str, ...]
LONGEST = 8
"""Words of the longest phrase that is looked up."""


@dataclass(frozen=True)
class Dictionary:
    """The phrases that were tagged.

    Args:
        tagged: How often each had which tag.
        seen: How often each occurred, tagged or not.
    """

    tagged: dict[Phrase, Counter[str]]
    seen: Counter[Phrase]

    @classmethod
    def learn(cls, recipes: Iterable[Recipe], finished: bool = True) -> Dictionary:
        """Every phrase that is an entity in one of these recipes; those without text have nothing to learn.

        Args:
            recipes: Recipes with tags.
            finished: Whether words without a tag are meant to have none. If not, only tagged places count.
        """
        recipes = [recipe for recipe in recipes if recipe.has_text]
        tagged: defaultdict[Phrase, Counter[str]] = defaultdict(Counter)
        for recipe in recipes:
            for entity in recipe.entities.values():
                words = lowered(recipe, entity.section, entity.line)[entity.start_word : entity.end_word]
                tagged[tuple(words[:LONGEST])][entity.tag] += 1
        seen: Counter[Phrase] = Counter({} if finished else {phrase: c.total() for phrase, c in tagged.items()})
        for recipe in recipes if finished else ():
            seen.update(phrase for _, _, _, phrase in _phrases(recipe) if phrase in tagged)
        return cls(dict(tagged), seen)

    def guess(self, recipe: Recipe) -> list[Guess]:
        """Entities for the words of a recipe, at each place the longest phrase that more often is one than not."""
        guesses: list[Guess] = []
        taken: dict[tuple[int, int], int] = defaultdict(int)
        for section, line, start, phrase in _phrases(recipe):
            if phrase not in self.tagged or start < taken[section, line]:
                continue
            tag, times = self.tagged[phrase].most_common(1)[0]
            confidence = times / (self.seen[phrase] + 0.5)
            if confidence > 0.5:
                entity = AnnotatedEntity(section, line, start, start + len(phrase), tag)
                guesses.append(Guess(entity, confidence, DICTIONARY))
                taken[section, line] = start + len(phrase)
        return guesses


def lowered(recipe: Recipe, section: int, line: int) -> list[str]:
    """The words of a line in small letters; nothing where there is no text."""
    return [word.lower() for word in recipe.sections[section][line].tokens or ()]


def _phrases(recipe: Recipe) -> Iterator[tuple[int, int, int, Phrase]]:
    """Every phrase with its place, at each word the longest one first."""
    for section, lines in enumerate(recipe.sections):
        for number in range(len(lines)):
            words = lowered(recipe, section, number)
            for start in range(len(words)):
                for end in range(min(len(words), start + LONGEST), start, -1):
                    yield section, number, start, tuple(words[start:end])
