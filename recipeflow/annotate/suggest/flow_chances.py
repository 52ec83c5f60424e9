"""Where a flow from each entity may end, by one source or several together, and the flows that follow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from recipeflow.annotate.document import AnnotatedFlow
from recipeflow.annotate.suggest.guess import Guess

FURTHER = 0.35
"""How likely every further flow from the same entity has to be."""


@dataclass(frozen=True)
class FlowChances:
    """What one source says about the flows of a recipe.

    Args:
        origin: Its name, one of ``ORIGINS``.
        entities: The ids of the entities, in reading order.
        ends: For each entity, how likely a flow from it ends at each entity; in the last column, that there is none.
        name: The probability of each label, for the numbers of two entities.
        weight: How much it counts among others.
    """

    origin: str
    entities: tuple[str, ...]
    ends: np.ndarray
    name: Callable[[int, int], Mapping[str, float]]
    weight: float = 1.0


def read_flows(
    sources: Sequence[FlowChances], drawn: Collection[tuple[str, str]], labels: Collection[str]
) -> list[Guess]:
    """The likeliest flows, all sources together; two of them may close a cycle.

    From each entity, that to the likeliest end is returned if it is likelier than no flow. A wrong one costs no more
    than a missing one, because the right flow, drawn from the same entity, replaces it: where somebody drew a flow
    that would not have been returned, the sources are wrong, and nothing is.

    Args:
        sources: About the same entities.
        drawn: The ends of flows that there are.
        labels: Those that a flow may have.
    """
    if not sources:
        return []
    entities = sources[0].entities
    mean = np.average([source.ends for source in sources], axis=0, weights=[source.weight for source in sources])
    guesses = []
    for start, row in enumerate(mean):
        likeliest = int(row[:-1].argmax())
        ends = [
            int(end)
            for end in np.flatnonzero(row[:-1])
            if row[end] > row[-1] and (end == likeliest or row[end] >= FURTHER)
        ]
        known = {end for beginning, end in drawn if beginning == entities[start]}
        if known <= {entities[end] for end in ends}:
            guesses += [_name_flow(sources, start, end, float(row[end]), labels) for end in ends]
    return [guess for guess in guesses if guess is not None]


def _name_flow(
    sources: Sequence[FlowChances], start: int, end: int, chance: float, labels: Collection[str]
) -> Guess | None:
    """The flow with its likeliest label; each source is heard as far as it believes in the flow."""
    names: defaultdict[str, float] = defaultdict(float)
    for source in sources:
        for label, likely in source.name(start, end).items():
            if label in labels:
                names[label] += source.weight * float(source.ends[start, end]) * likely
    if not names:
        return None
    label = max(names, key=lambda name: names[name])
    surest = max(sources, key=lambda source: source.ends[start, end])
    flow = AnnotatedFlow(sources[0].entities[start], sources[0].entities[end], label)
    return Guess(flow, chance * names[label] / sum(names.values()), surest.origin)
