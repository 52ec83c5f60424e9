"""Flows learned from finished recipes: where a flow from each entity ends, if anywhere, and its label."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from recipeflow.annotate.suggest.flow_chances import FlowChances
from recipeflow.annotate.suggest.flow_features import EntityPairs
from recipeflow.annotate.suggest.guess import FINISHED
from recipeflow.annotate.suggest.learner import Chooser, Classifier
from recipeflow.release.recipe import Recipe


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

    def read(self, recipe: Recipe) -> FlowChances:
        """Where flows from each entity of a recipe end."""
        pairs = EntityPairs(recipe)
        count = len(pairs.entities)
        ends = np.zeros((count, count + 1), np.float32)
        for start in range(count):
            candidates = pairs.candidates(start)
            features = [*(pairs.describe(start, end) for end in candidates), pairs.describe_none(start)]
            ends[start, [*candidates, count]] = self.ends.probabilities(features)

        def name(start: int, end: int) -> dict[str, float]:
            (row,) = self.labels.probabilities([pairs.describe_label(start, end)])
            return dict(zip(self.labels.classes, map(float, row), strict=True))

        return FlowChances(FINISHED, tuple(entity.id for entity in pairs.entities), ends, name)
