import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from recipeflow.search import confidence as calibration
from recipeflow.search.confidence import (
    COLDEST,
    HOTTEST,
    PRIOR_QUERIES,
    Judged,
    Queries,
    answer_above,
    calibration_error,
    chance_error,
    choose_threshold,
    fit_temperature,
    judge,
    log_loss,
    reliability_bins,
    risk_coverage,
    steady_temperature,
)

TEMPERATURE = 0.07
torch.set_num_threads(1)  # the tensors are small: a second thread only waits for the first


def unit(rows: int, width: int, generator: torch.Generator) -> torch.Tensor:
    return torch.nn.functional.normalize(torch.randn(rows, width, generator=generator), dim=1)


def ideal_queries(queries: int, candidates: int, seed: int = 0, temperature: float = TEMPERATURE) -> Queries:
    """Queries whose right image is drawn with the very probabilities that this temperature gives."""
    generator = torch.Generator().manual_seed(seed)
    left, right = unit(queries, 12, generator), unit(candidates, 12, generator)
    targets = torch.multinomial((left @ right.T / temperature).softmax(1), 1, generator=generator)[:, 0]
    return Queries(left, right, targets)


def judged(*pairs: tuple[float, bool]) -> Judged:
    confidences, right = zip(*pairs, strict=True)
    return Judged(torch.tensor(confidences, dtype=torch.float64), torch.tensor(right))


# The temperature.


@pytest.mark.parametrize("temperature", [0.03, 0.07, 0.3])
def test_the_temperature_that_made_the_answers_is_found(temperature):
    assert fit_temperature(ideal_queries(4000, 60, temperature=temperature)) == pytest.approx(temperature, rel=0.1)


def test_no_other_temperature_is_likelier():
    data = ideal_queries(300, 40)
    best = fit_temperature(data)
    losses = [log_loss(judge(data, best * factor)) for factor in (0.1, 0.5, 0.9, 1.1, 2, 10)]
    assert min(losses) > log_loss(judge(data, best))


def test_chunks_make_no_difference(monkeypatch):
    data = ideal_queries(300, 40)
    whole = fit_temperature(data), judge(data, 0.1)
    monkeypatch.setattr(calibration, "CHUNK", 7)
    assert fit_temperature(data) == pytest.approx(whole[0], rel=1e-6)
    torch.testing.assert_close(judge(data, 0.1).confidences, whole[1].confidences, rtol=1e-5, atol=1e-6)


def test_log_loss_and_confidence_by_hand():
    data = Queries(torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([1]))
    share = math.exp(2) / (math.exp(2) + 1)
    assert log_loss(judge(data, 0.5)) == pytest.approx(-math.log(1 - share))
    assert judge(data, 0.5).confidences.item() == pytest.approx(share)
    assert not judge(data, 0.5).right.item()


def test_only_first_answers_count():
    """Where the right image comes after the first, it makes no difference how far."""
    vectors = torch.nn.functional.normalize(torch.randn(60, 6, generator=torch.Generator().manual_seed(3)), dim=1)
    order = (vectors @ vectors.T).argsort(1, descending=True)
    targets = torch.where(torch.arange(60) % 2 == 0, order[:, 0], order[:, 3])
    later = torch.where(torch.arange(60) % 2 == 0, order[:, 0], order[:, 40])
    near, far = (fit_temperature(Queries(vectors, vectors, which)) for which in (targets, later))
    assert near == far and COLDEST < near < HOTTEST


def test_a_model_that_is_always_right_is_as_sure_as_can_be():
    vectors = torch.eye(5)
    assert fit_temperature(Queries(vectors, vectors, torch.arange(5))) == COLDEST


@pytest.mark.parametrize("targets", [torch.tensor([1, 2, 0]), torch.tensor([2, 0, 1])])
def test_a_model_that_is_worse_than_guessing_is_sure_of_nothing(targets):
    data = Queries(torch.eye(3), torch.eye(3), targets)
    assert fit_temperature(data) == HOTTEST
    assert judge(data, HOTTEST).confidences.max() < 0.36


def test_few_queries_do_not_give_wild_temperatures():
    """Fits on eleven queries, drawn towards 0.05, where the truth is 0.06."""
    fitted = [fit_temperature(ideal_queries(11, 60, seed=seed, temperature=0.06)) for seed in range(30)]
    steady = [steady_temperature(value, 11, 0.05) for value in fitted]
    worst = [max(max(value / 0.06, 0.06 / value) for value in values) for values in (fitted, steady)]
    assert worst[0] > 2 and worst[1] < 1.7


def test_the_expected_temperature_counts_for_ten_queries():
    assert steady_temperature(0.02, 0, 0.08) == pytest.approx(0.08)
    assert steady_temperature(0.02, PRIOR_QUERIES, 0.08) == pytest.approx(0.04)  # halfway, in logarithms
    assert steady_temperature(0.02, 100_000, 0.08) == pytest.approx(0.02, rel=1e-3)


def test_a_tie_for_the_first_place_is_not_right():
    data = Queries(torch.ones(1, 2), torch.ones(3, 2), torch.tensor([0]))
    assert not judge(data, 1.0).right.item()


# Whether it holds what it promises.


@pytest.mark.parametrize("candidates", [60, 600, 6000])
def test_a_temperature_holds_for_other_numbers_of_candidates(candidates):
    """Softmax over more candidates makes every one less likely, by as much as it should."""
    temperature = fit_temperature(ideal_queries(4000, 60))
    found = judge(ideal_queries(3000, candidates, seed=1), temperature)
    assert calibration_error(reliability_bins(found)) < 0.04
    assert found.confidences.mean().item() == pytest.approx(found.accuracy, abs=0.04)


def test_a_wrong_temperature_shows():
    data = ideal_queries(3000, 60)
    too_sure, right = (calibration_error(reliability_bins(judge(data, t))) for t in (TEMPERATURE / 3, TEMPERATURE))
    assert too_sure > 0.2 > 5 * right


def test_calibration_error_by_hand():
    bins = reliability_bins(judged((0.05, False), (0.55, True), (0.55, False), (1.0, True)))
    assert [(part.low, part.share.hits, part.share.queries) for part in bins] == [(0, 0, 1), (0.5, 1, 2), (0.9, 1, 1)]
    assert calibration_error(bins) == pytest.approx((0.05 + 2 * 0.05 + 0) / 4)


def test_chance_alone_makes_a_calibration_error():
    confidences = torch.rand(250, generator=torch.Generator().manual_seed(0)).double() ** 2
    bins = reliability_bins(Judged(confidences, torch.ones(250, dtype=torch.bool)))
    drawn = torch.Generator().manual_seed(1)
    perfect = [Judged(confidences, torch.bernoulli(confidences, generator=drawn).bool()) for _ in range(2000)]
    errors = [calibration_error(reliability_bins(one)) for one in perfect]
    assert chance_error(bins) == pytest.approx(sum(errors) / len(errors), rel=0.05)


@pytest.mark.parametrize(("count", "chance", "expected"), [(1, 0.5, 0.5), (1, 0.1, 0.18), (3, 1.0, 0), (4, 0.0, 0)])
def test_how_far_hits_are_from_their_mean_by_hand(count, chance, expected):
    assert calibration.mean_deviation(count, chance) == pytest.approx(expected)


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40))
def test_every_query_is_in_one_bin(pairs):
    bins = reliability_bins(judged(*pairs))
    assert sum(part.share.queries for part in bins) == len(pairs)
    assert sum(part.share.hits for part in bins) == sum(right for _, right in pairs)
    assert all(part.low - 1e-9 <= part.confidence <= part.high + 1e-9 for part in bins)
    assert 0 <= calibration_error(bins) <= 1


# Accuracy vs coverage.


def test_risk_and_coverage_by_hand():
    curve = risk_coverage(judged((0.2, False), (0.9, True), (0.5, True), (0.5, False)))
    assert [(point.min_confidence, point.coverage) for point in curve] == [(0.9, 0.25), (0.5, 0.75), (0.2, 1.0)]
    assert [point.accuracy for point in curve] == pytest.approx([1, 2 / 3, 0.5])


@given(st.lists(st.tuples(st.sampled_from([0.1, 0.2, 0.5, 0.7]), st.booleans()), min_size=1, max_size=30))
def test_the_curve_is_what_each_threshold_gives(pairs):
    found = judged(*pairs)
    for point in risk_coverage(found):
        twin = answer_above(found, point.min_confidence)
        assert (point.coverage, point.accuracy) == pytest.approx((twin.coverage, twin.accuracy))


@given(
    st.lists(st.tuples(st.sampled_from([0.1, 0.2, 0.3, 0.5, 0.7]), st.booleans()), min_size=1, max_size=30),
    st.sampled_from([0.3, 0.5, 0.9]),
)
def test_the_threshold_is_the_lowest_that_is_right_often_enough_and_no_less_sure(pairs, wanted):
    found = judged(*pairs)
    chosen = choose_threshold(found, wanted)
    assert wanted <= chosen.min_confidence <= 1
    twin = answer_above(found, chosen.min_confidence)
    assert (chosen.coverage, chosen.accuracy) == pytest.approx((twin.coverage, twin.accuracy))
    levels = {wanted} | {confidence for confidence, _ in pairs if confidence >= wanted}
    good = [level for level in levels if (answer_above(found, level).accuracy or 0) >= wanted]
    if good:
        assert chosen.coverage == pytest.approx(answer_above(found, min(good)).coverage)
    else:
        assert chosen.coverage == 0


def test_who_is_less_confident_than_wanted_is_not_sure_however_often_all_are_right():
    chosen = choose_threshold(judged((0.1, True), (0.2, True), (0.9, True)), 0.5)
    assert (chosen.min_confidence, chosen.accuracy) == (0.5, 1.0)
    assert chosen.coverage == pytest.approx(1 / 3)


def test_a_threshold_that_nobody_reached_is_the_wanted_one_and_a_broken_promise_makes_it_one():
    assert choose_threshold(judged((0.1, False), (0.2, True)), 0.5).min_confidence == 0.5
    assert choose_threshold(judged((0.8, False), (0.9, False)), 0.5).min_confidence == 1.0
