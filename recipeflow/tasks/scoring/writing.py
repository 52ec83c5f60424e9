"""Metrics of written instructions: chrF and BLEU, and what they miss: verbs, ingredients, and the order of steps."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from recipeflow.language.segmentation import load_segmenter
from recipeflow.tasks.scoring.intervals import COVERED, Interval, draw_recipes, interval
from segmentation_rfg import is_spaced

Row = dict[str, Any]
Spotter = Callable[[str], list[str]]


def score_texts(rows: Sequence[Row], texts: Sequence[str], language: str) -> dict[str, Interval]:
    """Every metric in percent with its interval by recipe.

    Args:
        rows: Questions of ``instruction_writing``.
        texts: What was written for each; an empty text where there is none.
        language: The code of the language.
    """
    references = [row["answer"] for row in rows]
    recipes = [row["recipe_id"] for row in rows]
    spot_verb = make_spotter((step["action"] for row in rows for step in row["steps"]), language)
    spot_food = make_spotter((name for row in rows for name in row["ingredients"]), language)
    verbs = [overlap(spot_verb(text), spot_verb(right)) for text, right in zip(texts, references, strict=True)]
    foods = [
        overlap(set(spot_food(text)), set(spot_food(right))) for text, right in zip(texts, references, strict=True)
    ]
    orders = [broken_orders(row, text) for row, text in zip(rows, texts, strict=True)]
    known = [number for number, share in enumerate(orders) if share is not None]
    found = {
        "chrF": _chrf(texts, references, recipes),
        "BLEU": _bleu(texts, references, recipes, language),
        "verbs": interval(verbs, recipes),
        "ingredients": interval(foods, recipes),
    }
    if known:
        found["broken orders"] = interval([orders[n] or 0.0 for n in known], [recipes[n] for n in known])
    return found


def _chrf(texts: Sequence[str], references: Sequence[str], recipes: Sequence[str]) -> Interval:
    from sacrebleu.metrics import CHRF

    return _with_interval(CHRF(), texts, references, recipes)


def _bleu(texts: Sequence[str], references: Sequence[str], recipes: Sequence[str], language: str) -> Interval:
    """BLEU over words: those of the project's segmenter for Japanese, and sacrebleu's own for spaced languages."""
    from sacrebleu.metrics import BLEU

    if is_spaced(language):
        return _with_interval(BLEU(), texts, references, recipes)
    split = load_segmenter()
    words = [[_spaced(text, split) for text in side] for side in (texts, references)]
    return _with_interval(BLEU(tokenize="none", force=True), *words, recipes)


def _spaced(text: str, split: Callable[[str], list[str]]) -> str:
    return " ".join(word for line in text.split() for word in split(line))


def _with_interval(metric: Any, texts: Sequence[str], references: Sequence[str], recipes: Sequence[str]) -> Interval:
    """The score of the whole, and of draws of recipes.

    sacrebleu's own bootstrap draws texts, and fails where a draw scores 0; its counts per text have no public name.
    """
    counts = np.array(metric._extract_corpus_statistics(list(texts), [list(references)]))
    places, weights = draw_recipes(recipes)
    by_recipe = np.zeros((weights.shape[1], counts.shape[1]), int)
    np.add.at(by_recipe, places, counts)
    drawn = [metric._compute_score_from_stats(total.tolist()).score for total in weights @ by_recipe]
    low, high = np.percentile(np.array(drawn, float), COVERED)
    score = metric.corpus_score(list(texts), [list(references)]).score
    return Interval(float(score), float(low), float(high))


def make_spotter(words: Iterable[str], language: str) -> Spotter:
    """A function that finds these words in a text, the longest first."""
    known = sorted({word for word in words if word}, key=lambda word: (-len(word), word))
    pattern = "|".join(map(re.escape, known))
    if is_spaced(language):
        pattern = rf"\b(?:{pattern})\b"
    compiled = re.compile(pattern, re.IGNORECASE) if known else None
    return lambda text: [] if compiled is None else compiled.findall(text)


def overlap(found: Iterable[str], right: Iterable[str]) -> float:
    """The F measure of words, each as often as it is there."""
    one, other = Counter(found), Counter(right)
    shared = (one & other).total()
    return 2 * shared / (one.total() + other.total()) if one or other else 1.0


def broken_orders(row: Row, text: str) -> float | None:
    """The share of flows between two steps that the text turns round, among those whose verbs it names.

    Only verbs that the recipe has once count: of others, it is not known which step is meant. ``None`` if there are
    none.
    """
    actions = [step["action"] for step in row["steps"]]
    once = {action for action, count in Counter(actions).items() if count == 1 and action}
    places = {action: place for action in once if (place := text.find(action)) >= 0}
    pairs = [
        (actions[before - 1], step["action"])
        for step in row["steps"]
        for before in step["needs"]
        if actions[before - 1] in places and step["action"] in places
    ]
    return sum(places[first] > places[second] for first, second in pairs) / len(pairs) if pairs else None
