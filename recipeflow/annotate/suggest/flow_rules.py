"""Flows by fixed rules on tags and order, for as long as no finished recipe shows how flows go here.

A quantity belongs to the food of its line; the ingredient list's food flows to its first mention; everything in a line
belongs to the nearest action, which follows in languages that put the verb last; an action's result goes to the next
action. Labels are the most frequent ones by tags in the official release.
"""

from __future__ import annotations

from collections.abc import Iterable

from recipeflow.annotate.document import AnnotatedFlow
from recipeflow.annotate.likely import LIKELY
from recipeflow.annotate.suggest.flow_features import EntityPairs
from recipeflow.annotate.suggest.guess import RULES, Guess
from recipeflow.release.recipe import Entity, Recipe
from recipeflow.release.scheme import Scheme

CONFIDENCE = 0.5
VERB_LAST = ("ja", "ko", "tr")
FOOD, QUANTITY, ACTION = "F", "Q", "Ac"


def guess_by_rules(recipe: Recipe, scheme: Scheme) -> list[Guess]:
    """Flows from the entities of a recipe that have none yet."""
    linked = {flow.start for flow in recipe.flows}
    pairs = EntityPairs(recipe)
    forward = scheme.language.partition("-")[0] in VERB_LAST
    guesses = []
    for start, entity in enumerate(pairs.entities):
        if entity.id in linked:
            continue
        end = _ingredient_end(pairs, start) if entity.section == 0 else _instruction_end(pairs, start, forward)
        if end is None:
            continue
        label = LIKELY.get(f"{entity.tag}>{pairs.entities[end].tag}", ("other-mod",))[0]
        if label in scheme.labels:
            guesses.append(Guess(AnnotatedFlow(entity.id, pairs.entities[end].id, label), CONFIDENCE, RULES))
    return guesses


def _ingredient_end(pairs: EntityPairs, start: int) -> int | None:
    """Where a flow from the ingredient list ends: the food of its line, or that food's first mention."""
    entity = pairs.entities[start]
    if entity.tag != FOOD:
        beside = (k for k, e in enumerate(pairs.entities) if _line(e) == _line(entity) and e.tag == FOOD)
        return min(beside, key=lambda k: abs(k - start), default=None)
    mentions = (k for k, e in enumerate(pairs.entities) if e.section == 1 and e.tag == FOOD)
    return next((k for k in mentions if pairs.relation(start, k) in ("same", "part")), None)


def _instruction_end(pairs: EntityPairs, start: int, forward: bool) -> int | None:
    entity = pairs.entities[start]
    if entity.tag == ACTION:
        return next(iter(_actions(pairs, range(start + 1, len(pairs.entities)))), None)
    after, before = range(start + 1, len(pairs.entities)), range(start - 1, -1, -1)
    for places in (after, before) if forward else (before, after):
        for k in _actions(pairs, places):
            if _line(pairs.entities[k]) == _line(entity):
                return k
    return None


def _actions(pairs: EntityPairs, places: Iterable[int]) -> Iterable[int]:
    return (k for k in places if pairs.entities[k].tag == ACTION)


def _line(entity: Entity) -> tuple[int, int]:
    return entity.section, entity.line
