"""The queries of a fold, asked as people ask them: with and without a picture, with and without a context.

People who search have no flow graph and often no picture. The confidence of such queries has to be calibrated with
queries that lack the same parts, among all the candidates that a search has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from configuration_vrf import READ_ROLES
from modeling_vrf import VRFModel
from processing_vrf import VRFProcessor
from recipeflow.dataset.folds import FOLDS
from recipeflow.evaluation.ranking import embed_set, leave_out, make_evaluation_set, read_features
from recipeflow.pairs.loading import Pairs
from recipeflow.search.absence import Evidence, Names
from recipeflow.search.confidence import Queries
from retrieval_vrf import Kind, query_kinds


@dataclass(frozen=True)
class Asked:
    """Queries of one kind.

    Args:
        data: The queries among all candidates.
        recipes: For each query, its recipe.
        evidence: What shows whether the right answers are among the candidates; ``None`` where rows have no names.
    """

    data: Queries
    recipes: torch.Tensor
    evidence: Evidence | None = None


def ask_by_kind(model: VRFModel, processor: VRFProcessor, pairs: Pairs, folds: Sequence[int]) -> dict[Kind, Asked]:
    """Ask about the rows of these folds with every kind of query, among the images of the whole dataset, as an index
    of it has them.

    A kind is asked with all rows that have its parts: without a picture these are also the rows that have none.
    """
    config = model.config
    rows = pairs.rows(config.inputs, folds, incomplete=True)
    data = make_evaluation_set(pairs, config.inputs, folds, processor, config.context, rows, among=range(FOLDS))
    data = read_features(model, data)
    names = Names(pairs, data.candidates)
    asked = {}
    for kind in query_kinds(config.read_parts):
        has_parts = _has_parts(pairs, rows, set(config.read_parts) - set(kind), config.context)
        queries, candidates = (side.float().cpu() for side in embed_set(model, leave_out(data, kind)))
        chosen, found = rows[has_parts], Queries(queries, candidates, data.targets).select(has_parts)
        evidence = names.collect(found, chosen, config.inputs) if names.known else None
        asked[kind] = Asked(found, pairs.recipes[chosen], evidence)
    return asked


def _has_parts(pairs: Pairs, rows: torch.Tensor, parts: set[str], context: str) -> torch.Tensor:
    """Which rows have these optional parts; all of them have the words."""
    mask = torch.ones(len(rows), dtype=torch.bool)
    if "image" in parts:
        mask &= pairs.images.pre[rows] >= 0
    if "context" in parts:
        mask &= torch.from_numpy(pairs.contexts.has_role(rows.numpy(), READ_ROLES[context]))
    return mask
