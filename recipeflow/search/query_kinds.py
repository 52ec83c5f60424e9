"""The queries of a fold, asked as people ask them: with and without a picture, with and without a context.

People who search have no flow graph and often no picture. The confidence of such queries has to be calibrated with
queries that lack the same parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from configuration_vrf import READ_ROLES
from modeling_vrf import VRFModel
from processing_vrf import VRFProcessor
from recipeflow.evaluation.ranking import embed_set, leave_out, make_evaluation_set, read_features
from recipeflow.pairs.loading import Pairs
from recipeflow.search.confidence import Queries
from retrieval_vrf import Kind, query_kinds


@dataclass(frozen=True)
class Asked:
    """Queries of one kind.

    Args:
        data: The queries among all candidates.
        recipes: For each query, its recipe.
    """

    data: Queries
    recipes: torch.Tensor

    def select(self, mask: torch.Tensor) -> Queries:
        """Some of the queries."""
        return self.data.select(mask)


def ask_by_kind(model: VRFModel, processor: VRFProcessor, pairs: Pairs, folds: Sequence[int]) -> dict[Kind, Asked]:
    """Ask about the rows of these folds with every kind of query, among all candidates of the folds.

    A kind is asked with all rows that have its parts: without a picture these are also the rows that have none.
    """
    config = model.config
    rows = pairs.rows(config.inputs, folds, incomplete=True)
    data = make_evaluation_set(pairs, config.inputs, folds, processor, config.context, rows)
    data = read_features(model, data)
    asked = {}
    for kind in query_kinds(config.query_parts):
        has_parts = _has_parts(pairs, rows, set(config.query_parts) - set(kind), config.context)
        queries, candidates = (side.float().cpu() for side in embed_set(model, leave_out(data, kind)))
        whole = Queries(queries, candidates, data.targets.cpu())
        asked[kind] = Asked(whole.select(has_parts), pairs.recipes[rows[has_parts]])
    return asked


def _has_parts(pairs: Pairs, rows: torch.Tensor, parts: set[str], context: str) -> torch.Tensor:
    """Which rows have these optional parts; all of them have the words."""
    mask = torch.ones(len(rows), dtype=torch.bool)
    if "image" in parts:
        mask &= pairs.images.pre[rows] >= 0
    if "context" in parts:
        read = READ_ROLES[context]
        mask &= torch.tensor([any(role in read for role, _ in pairs.contexts[row]) for row in rows.tolist()])
    return mask
