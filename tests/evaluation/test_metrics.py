import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from recipeflow.evaluation.metrics import random_ranks, rank_targets, summarize_ranks


def naive_rank(similarity: list[float], target: int) -> float:
    """The twin: sort, and take the middle of the places that tied candidates share."""
    own = similarity[target]
    places = [place for place, value in enumerate(sorted(similarity, reverse=True), start=1) if value == own]
    return sum(places) / len(places)


CHUNKS = st.tuples(st.integers(1, 5), st.integers(1, 10))


@given(st.integers(1, 12), st.integers(1, 9), st.integers(1, 4), st.integers(0, 10**6), CHUNKS)
def test_ranks_equal_the_naive_twin(queries, candidates, width, seed, chunks):
    generator = torch.Generator().manual_seed(seed)
    # Small whole numbers, so that ties are common and exact.
    left = torch.randint(-2, 3, (queries, width), generator=generator).float()
    right = torch.randint(-2, 3, (candidates, width), generator=generator).float()
    targets = torch.randint(0, candidates, (queries,), generator=generator)
    ranks = rank_targets(left, right, targets, *chunks)
    similarity = (left @ right.T).tolist()
    assert ranks.tolist() == [naive_rank(row, int(target)) for row, target in zip(similarity, targets, strict=True)]


def test_equal_scores_are_worth_as_much_as_guessing():
    ranks = rank_targets(torch.ones(4, 3), torch.ones(9, 3), torch.arange(4))
    assert ranks.tolist() == [5.0] * 4


def test_figures_by_hand():
    metrics = summarize_ranks([1, 2, 6, 11], candidates=20)
    assert (metrics.recall_at_1, metrics.recall_at_5, metrics.recall_at_10) == (25, 50, 75)
    assert metrics.median_rank == 4
    assert metrics.mean_reciprocal_rank == pytest.approx((1 + 1 / 2 + 1 / 6 + 1 / 11) / 4)
    assert (metrics.queries, metrics.candidates) == (4, 20)


def test_no_query_is_an_error():
    with pytest.raises(ValueError, match="at least one query"):
        summarize_ranks([], candidates=3)


def test_random_search_is_where_the_paper_says():
    metrics = summarize_ranks(random_ranks(200_000, 298, seed=0), candidates=298)
    assert metrics.median_rank == pytest.approx(149.5, abs=1.5)
    assert metrics.recall_at_5 == pytest.approx(100 * 5 / 298, abs=0.1)
    assert random_ranks(9, 5, seed=1).equal(random_ranks(9, 5, seed=1))
