"""Imagine every state of a recipe: the picture found for one state is the picture from before the next action.

A state continues another one (`flows_vrf.plan_states`). What is imagined is not one picture but a probability for each
candidate. The next query is asked with each of the likeliest pictures, and without a picture for the rest of the
probability; the answers are added up by these weights. So a doubtful picture does not lead the whole chain astray, and
the probability of a panel includes the doubt about the ones before it.

States of one depth are asked together. Features of candidates come from the index, and are never computed again.

This file is saved with every model that has an index and imports nothing from the project.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

try:
    from .flows_vrf import State
except ImportError:
    if __package__:  # inside a package the siblings exist: the error is a real one
        raise
    from flows_vrf import State

BEAM = 5
"""Pictures of a state that are carried along."""


@dataclass(frozen=True)
class Candidates:
    """The pictures that states are imagined with.

    Args:
        embeds: A unit vector per candidate.
        features: From rows of candidates to the backbone's features of their images.
    """

    embeds: torch.Tensor
    features: Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Questions:
    """What is asked about the states of a recipe, or of several.

    Args:
        states: In order.
        words: The tensors that the processor makes of their actions, objects and contexts, a row per state.
        temperatures: What similarities are divided by, states x 2: with a picture from before, and without one.
        before: Pictures from before the action that need not be imagined, as features, by the number of the state.
        after: The same for the state itself; what continues it is asked with this picture.
        unasked: States whose words the model does not know. Nothing is imagined for them.
    """

    states: Sequence[State]
    words: Mapping[str, torch.Tensor]
    temperatures: torch.Tensor
    before: Mapping[int, torch.Tensor] = field(default_factory=dict)
    after: Mapping[int, torch.Tensor] = field(default_factory=dict)
    unasked: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Imagined:
    """What was imagined.

    Args:
        chances: The probability of each candidate to show each state, states x candidates.
        queries: The embedding of the most important query about each state.
        has_picture: Whether that query had a picture from before.
    """

    chances: torch.Tensor
    queries: torch.Tensor
    has_picture: torch.Tensor


@dataclass(frozen=True)
class _Asked:
    """Queries about some states: for each the place of its state, its weight, and its picture, if it has one."""

    places: torch.Tensor
    weights: torch.Tensor
    pictures: list[torch.Tensor | None]


@torch.no_grad()
def imagine_states(
    model: Any, questions: Questions, candidates: Candidates, beam: int = BEAM, hedge: bool = True
) -> Imagined:
    """Imagine states, one depth after the other.

    Args:
        model: A `VRFModel` whose queries have words.
        questions: What to ask.
        candidates: The pictures to choose from.
        beam: How many pictures of a state are carried along; 0 carries none.
        hedge: Whether the rest of the probability is asked without a picture. Otherwise only the pictures count.
    """
    count, (size, width) = len(questions.states), candidates.embeds.shape
    found = Imagined(torch.zeros(count, size), torch.zeros(count, width), torch.zeros(count, dtype=torch.bool))
    by_depth: dict[int, list[int]] = {}
    for number, state in enumerate(questions.states):
        if number not in questions.unasked:
            by_depth.setdefault(state.depth, []).append(number)
    for _, numbers in sorted(by_depth.items()):
        before = [_pictures_before(number, questions, found, candidates, beam, hedge) for number in numbers]
        asked = _Asked(
            torch.tensor([place for place, pictures in enumerate(before) for _ in pictures]),
            torch.tensor([weight for pictures in before for weight, _ in pictures]),
            [picture for pictures in before for _, picture in pictures],
        )
        embeds, has_picture = _embed(model, asked, numbers, questions.words)
        steps = questions.temperatures[numbers][asked.places, (~has_picture).long()][:, None]
        chances = (embeds @ candidates.embeds.T / steps).softmax(dim=1) * asked.weights[:, None]
        found.chances[numbers] = torch.zeros(len(numbers), size).index_add_(0, asked.places, chances)
        starts = torch.tensor([len(pictures) for pictures in before]).cumsum(0)
        main = torch.stack([part.argmax() for part in asked.weights.tensor_split(starts[:-1])])
        main[1:] += starts[:-1]
        found.queries[numbers], found.has_picture[numbers] = embeds[main], has_picture[main]
    return found


def _pictures_before(
    number: int, questions: Questions, found: Imagined, candidates: Candidates, beam: int, hedge: bool
) -> list[tuple[float, torch.Tensor | None]]:
    """The pictures that may show a state before its action, each with its probability; None is no picture."""
    earlier = questions.states[number].before
    if number in questions.before:
        return [(1.0, questions.before[number])]
    if earlier is not None and earlier in questions.after:
        return [(1.0, questions.after[earlier])]
    if earlier is None or earlier in questions.unasked or not beam:
        return [(1.0, None)]
    chances, rows = found.chances[earlier].topk(min(beam, len(candidates.embeds)))
    if not hedge:
        chances = chances / chances.sum()
    pictures: list[tuple[float, torch.Tensor | None]] = list(
        zip(chances.tolist(), candidates.features(rows), strict=True)
    )
    rest = 1.0 - float(chances.sum())
    return [*pictures, (rest, None)] if hedge and rest > 0 else pictures


def _embed(
    model: Any, asked: _Asked, numbers: Sequence[int], words: Mapping[str, torch.Tensor]
) -> tuple[torch.Tensor, torch.Tensor]:
    """The embeddings of queries, and which of them had a picture."""
    rows = torch.tensor(numbers)[asked.places]
    inputs = {name: tensor[rows].to(model.device) for name, tensor in words.items()}
    mask = torch.tensor([picture is not None for picture in asked.pictures]) & model.config.use_image
    if model.config.use_image:
        features = torch.zeros(len(rows), model.image_encoder.hidden.in_features)
        if mask.any():
            features[mask] = torch.stack([picture.float() for picture in asked.pictures if picture is not None])
        inputs |= {"pre_features": features.to(model.device), "pre_mask": mask.to(model.device)}
    return model.get_query_embeds(**inputs).float().cpu(), mask


__all__ = ["BEAM", "Candidates", "Imagined", "Questions", "imagine_states"]
