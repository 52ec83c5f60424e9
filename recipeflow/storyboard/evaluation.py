"""How well a model imagines whole recipes: chains of states on a held-out fold, by their depth in the graph.

Every state of a recipe is imagined, but only those with an annotated picture from before and from after the action are
measured, so that all ways to begin are measured on the same queries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from configuration_vrf import VRFConfig
from imagination_vrf import BEAM, Questions, imagine_states
from modeling_vrf import VRFModel
from processing_vrf import VRFProcessor
from recipeflow.errors import StoryboardError
from recipeflow.evaluation.metrics import RetrievalMetrics, summarize_ranks
from recipeflow.evaluation.ranking import features_of_images
from recipeflow.pairs.loading import Pairs
from recipeflow.storyboard.chains import embed_candidates, image_of, read_chains
from recipeflow.tables import Cell, Table
from storyboard_vrf import word_tensors

DEEPEST = 8
"""States deeper than this are counted together: there are few of each."""

WORDS, NOTHING, NEAREST, RAW, GOLD = "words", "nothing", "nearest", "raw", "gold"
WAYS = {
    WORDS: "words and context alone",
    NEAREST: "carried, only the best picture",
    NOTHING: "carried, from no picture",
    RAW: "carried, from pictures of raw food",
    GOLD: "annotated picture at every step",
}
"""The ways to ask about a chain, with titles for tables and plots."""


@dataclass(frozen=True)
class Measured:
    """The ranks of the right pictures.

    Args:
        depths: For each measured state its depth, at most `DEEPEST`.
        ranks: By the way of asking, the rank of each state's own picture.
        candidates: How many pictures each was ranked among.
    """

    depths: torch.Tensor
    ranks: Mapping[str, torch.Tensor]
    candidates: Sequence[int]

    def metrics(self, way: str, depth: int | None = None) -> RetrievalMetrics | None:
        """The metrics of a way of asking at one depth, or at all; ``None`` where there is no state."""
        chosen = self.ranks[way] if depth is None else self.ranks[way][self.depths == depth]
        return summarize_ranks(chosen, round(sum(self.candidates) / len(self.candidates))) if len(chosen) else None

    def as_dict(self) -> dict[str, Any]:
        """Everything as JSON."""
        return {
            "candidates": list(self.candidates),
            "depths": {
                name: {way: found.as_dict() for way in self.ranks if (found := self.metrics(way, depth)) is not None}
                for name, depth in _depth_names(self.depths)
            },
        }

    def table(self) -> Table:
        """R@1, R@5 and MedR by depth, one column per way of asking."""
        rows = []
        for name, depth in _depth_names(self.depths):
            found = [self.metrics(way, depth) for way in WAYS]
            shown: list[Cell] = [
                f"{one.recall_at_1:.1f} / {one.recall_at_5:.1f} / {one.median_rank:g}" for one in found if one
            ]
            rows.append((name, found[0].queries if found[0] else 0, *shown))
        return Table("R@1 / R@5 / MedR by depth in the flow graph", ("depth", "states", *WAYS.values()), rows)


def _depth_names(depths: torch.Tensor) -> list[tuple[str, int | None]]:
    found = sorted(set(depths.tolist()))
    return [*((f"{depth}+" if depth == DEEPEST else str(depth), depth) for depth in found), ("all", None)]


def merge(parts: Sequence[Measured]) -> Measured:
    """Several folds as one."""
    return Measured(
        torch.cat([part.depths for part in parts]),
        {way: torch.cat([part.ranks[way] for part in parts]) for way in WAYS},
        [count for part in parts for count in part.candidates],
    )


def held_out_fold(config: VRFConfig, digest: str, name: str) -> int:
    """The fold that a model was not trained on.

    Args:
        config: The model's.
        digest: Of the dataset that it is measured on.
        name: Of the model, for the error.

    Raises:
        StoryboardError: If it was trained on all folds, or on another dataset.
    """
    if config.trained_on not in (None, digest) or config.held_out_fold is None:
        found = "one trained on all folds" if config.held_out_fold is None else "one trained on another dataset"
        raise StoryboardError(
            f"expected a model that was trained on this dataset without one fold, found {found} ({name}); train one "
            "with `vrf train --fold K`"
        )
    return config.held_out_fold


def measure_fold(
    model: VRFModel, processor: VRFProcessor, pairs: Pairs, dataset: Path, fold: int, beam: int = BEAM
) -> Measured:
    """Imagine all recipes of a fold in every way, among the post-action images of that fold, as in an experiment.

    Args:
        model: It must not have been trained on this fold.
        processor: Its processor.
        pairs: The dataset with its images.
        dataset: Its folder.
        fold: The fold.
        beam: How many pictures of a state are carried along.
    """
    chains = read_chains(dataset, pairs, [fold], model, processor)
    numbers = pairs.images.post[pairs.rows((), [fold])].unique()
    pre, post = (image_of(side, chains.rows) for side in (pairs.images.pre, pairs.images.post))
    features = features_of_images(model, pairs, torch.cat([numbers, pre[pre >= 0]]))
    candidates = embed_candidates(model, features, numbers)
    temperatures = torch.full((len(chains.states), 2), model.config.expected_temperature)
    gold = {number: features.look(pre[number : number + 1])[0] for number in (pre >= 0).nonzero().flatten().tolist()}
    raw = {number: picture for number, picture in gold.items() if chains.states[number].before is None}
    asked = Questions(chains.states, word_tensors(chains.queries, processor), temperatures)
    found = {
        WORDS: imagine_states(model, asked, candidates, beam=0),
        NEAREST: imagine_states(model, asked, candidates, beam=1, hedge=False),
        NOTHING: imagine_states(model, asked, candidates, beam),
        RAW: imagine_states(model, replace(asked, before=raw), candidates, beam),
        GOLD: imagine_states(model, replace(asked, before=gold), candidates, beam=0),
    }
    known = ((pre >= 0) & (post >= 0)).nonzero().flatten()
    targets = torch.searchsorted(numbers, post[known])
    depths = torch.tensor([min(chains.states[number].depth, DEEPEST) for number in known.tolist()])
    ranks = {way: rank_chances(imagined.chances[known], targets) for way, imagined in found.items()}
    return Measured(depths, ranks, [len(numbers)])


def rank_chances(chances: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """The rank of each target by its probability, counted from 1; equal ones count half, as in `rank_targets`."""
    own = chances.gather(1, targets[:, None])
    return 1 + (chances > own).sum(1) + ((chances == own).sum(1) - 1).double() / 2
