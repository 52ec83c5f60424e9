"""The loss of a large batch is the ordinary one, computed a few rows at a time."""

import math

import pytest
import torch
from torch.nn.functional import normalize

from modeling_vrf import batch_loss
from recipeflow.training import large_batch
from recipeflow.training.large_batch import large_batch_loss
from tests.model_helpers import RESIDUAL, small_config

IDS = torch.tensor([7, 8, 7, 9, 10, 10, 11, 12, 13, 14, 15, 16, 17])


@pytest.fixture(autouse=True)
def few_rows_at_a_time(monkeypatch):
    monkeypatch.setattr(large_batch, "ROWS_AT_A_TIME", 4)  # so that even these few rows are several parts


def sides() -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(len(IDS), 6, dtype=torch.float64, generator=generator).requires_grad_() for _ in range(2)]


CONFIGS = {
    "all": {"negatives": "all", "margin": 0.7},
    "hardest": {"negatives": "hardest", "margin": 0.7},
    "contrastive": RESIDUAL,
}


@pytest.mark.parametrize("name", CONFIGS)
def test_loss_and_gradients_are_those_of_the_whole_matrix(name):
    config = small_config(**CONFIGS[name])
    expected, found = sides(), sides()
    whole = batch_loss(*(normalize(side) for side in expected), IDS, config=config)
    rows = large_batch_loss(*(normalize(side) for side in found), IDS, [len(IDS)], config, seed=0)
    torch.testing.assert_close(rows, whole, rtol=1e-12, atol=0)
    whole.backward()
    rows.backward()
    for one, other in zip(expected, found, strict=True):
        torch.testing.assert_close(other.grad, one.grad, rtol=1e-9, atol=1e-12)


def test_one_sampled_negative_is_all_negatives_on_average():
    queries, images = (normalize(side.detach()) for side in sides())
    one, every = (small_config(negatives=name, margin=0.7) for name in ("one", "all"))
    draws = [large_batch_loss(queries, images, IDS, [len(IDS)], one, seed) for seed in range(1000)]
    spread = torch.stack(draws).std() / math.sqrt(len(draws))
    expected = batch_loss(queries, images, IDS, config=every)
    assert 0 < abs(torch.stack(draws).mean() - expected) < 5 * spread


def test_pairs_of_one_image_teach_nothing():
    queries, images = sides()
    same = torch.zeros_like(IDS)
    loss = large_batch_loss(normalize(queries), normalize(images), same, [len(IDS)], small_config(), seed=0)
    loss.backward()
    assert loss == 0 and not queries.grad.any()


def test_memory_grows_with_the_rows_and_not_with_their_square():
    """A matrix of all pairs would have 64 million numbers, and be kept for the backward pass."""
    rows = 8000
    queries, images = (normalize(torch.randn(rows, 4)).requires_grad_() for _ in range(2))
    kept: list[int] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: kept.append(tensor.numel()) or tensor, lambda t: t):
        large_batch_loss(queries, images, torch.arange(rows), [rows], small_config(**RESIDUAL), seed=0)
    assert max(kept) < 100 * rows
