"""Ten folds by recipe, for the paper's cross-validation.

Here and not with the training batches, because the dataset builder must not need torch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from recipeflow.errors import UsageError

FOLDS = 10


def assign_folds(recipe_ids: Iterable[str]) -> dict[str, int]:
    """Assign a fold from 0 to 9 to every recipe.

    Sizes differ by at most one. The result depends only on the set of ids, not on their order: folds are assigned in
    turn, in the order of the ids' hashes, so neighbours in the file (similar recipes, one author) get different folds.
    """
    shuffled = sorted(set(recipe_ids), key=lambda recipe_id: hashlib.sha256(recipe_id.encode()).digest())
    return {recipe_id: position % FOLDS for position, recipe_id in enumerate(shuffled)}


def split_folds(fold: int, inner: bool = False) -> tuple[list[int], list[int]]:
    """The folds to train on and the one to test on.

    Args:
        fold: The fold that is held out.
        inner: Leave that one out and test on the next, so that settings are chosen without it.
    """
    if not 0 <= fold < FOLDS:
        raise UsageError(f"expected a fold from 0 to {FOLDS - 1}, found {fold}")
    tested = (fold + 1) % FOLDS if inner else fold
    return [other for other in range(FOLDS) if other not in (fold, tested)], [tested]
