import pytest
from hypothesis import given
from hypothesis import strategies as st

from recipeflow.evaluation.accuracy import Share, share_by_name, wilson_interval


def test_wilsons_interval_is_the_textbooks():
    assert wilson_interval(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert wilson_interval(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert wilson_interval(10, 10) == pytest.approx((0.7225, 1.0), abs=1e-4)


@given(st.integers(1, 10_000).flatmap(lambda queries: st.tuples(st.integers(0, queries), st.just(queries))))
def test_the_interval_holds_the_share_and_narrows_with_more_queries(case):
    hits, queries = case
    low, high = wilson_interval(hits, queries)
    assert 0 <= low <= hits / queries <= high <= 1
    more_low, more_high = wilson_interval(10 * hits, 10 * queries)
    assert more_high - more_low < high - low


@pytest.mark.parametrize(("hits", "queries"), [(1, 0), (-1, 5), (6, 5)])
def test_impossible_counts_are_refused(hits, queries):
    with pytest.raises(ValueError, match="expected hits"):
        wilson_interval(hits, queries)


def test_groups_come_by_size_and_queries_without_one_are_left_out():
    shares = share_by_name(["cut", None, "boil", "cut"], [1, 1, 7, 5.5], 5)
    assert shares == [Share("cut", 1, 2), Share("boil", 0, 1)]
    assert shares[0].percent == 50 and shares[1].interval[0] == 0
