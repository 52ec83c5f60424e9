"""Flows learned from finished recipes: where a flow from each entity ends, if anywhere, and its label."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from recipeflow.annotate.document import AnnotatedFlow
from recipeflow.annotate.suggest.flow_features import EntityPairs
from recipeflow.annotate.suggest.guess import FINISHED, Guess
from recipeflow.annotate.suggest.learner import Chooser, Classifier
from recipeflow.release.recipe import Recipe

UNLIKELY = 0.05
"""What is less likely is not even ranked."""


@dataclass(frozen=True)
class FlowModel:
    """Chooses the end of a flow among the entities, then names the flow."""

    ends: Chooser
    labels: Classifier

    @classmethod
    def learn(cls, recipes: Iterable[Recipe]) -> FlowModel | None:
        """From the flows of finished recipes; ``None`` if there are none."""
        choices, chosen, named, labels = [], [], [], []
        for recipe in recipes:
            pairs = EntityPairs(recipe)
            numbers = dict(pairs.numbered())
            found: defaultdict[int, dict[int, str]] = defaultdict(dict)
            for flow in recipe.flows:
                found[numbers[flow.start]][numbers[flow.end]] = flow.label
            for start in range(len(pairs.entities)):
                ends = pairs.candidates(start)
                right = [place for place, end in enumerate(ends) if end in found[start]]
                choices.append([*(pairs.describe(start, end) for end in ends), pairs.describe_none(start)])
                chosen.append(right or [len(ends)])
                named += [pairs.describe_label(start, end) for end in found[start]]
                labels += found[start].values()
        if not labels:
            return None
        return cls(Chooser.train(choices, chosen), Classifier.train(named, labels))

    def guess(self, recipe: Recipe) -> list[Guess]:
        """Flows between the entities of a recipe; two of them may close a cycle."""
        pairs = EntityPairs(recipe)
        likely = []
        for start in range(len(pairs.entities)):
            ends = pairs.candidates(start)
            features = [*(pairs.describe(start, end) for end in ends), pairs.describe_none(start)]
            chances = self.ends.probabilities(features)[:-1]
            likely += [(start, end, float(p)) for end, p in zip(ends, chances, strict=True) if p > UNLIKELY]
        names = self.labels.probabilities([pairs.describe_label(start, end) for start, end, _ in likely])
        return [
            Guess(self._flow(pairs, start, end, row.argmax()), chance, FINISHED)
            for (start, end, chance), row in zip(likely, names, strict=True)
        ]

    def _flow(self, pairs: EntityPairs, start: int, end: int, label: int) -> AnnotatedFlow:
        return AnnotatedFlow(pairs.entities[start].id, pairs.entities[end].id, self.labels.classes[label])
