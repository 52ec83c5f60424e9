import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from recipeflow import calibration
from recipeflow.calibration import (
    COLDEST,
    Judged,
    Queries,
    answer_above,
    calibration_error,
    choose_threshold,
    fit_temperature,
    judge,
    log_loss,
    reliability_bins,
    risk_coverage,
)
from recipeflow.errors import CalibrationError

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
    losses = [log_loss(data, best * factor) for factor in (0.5, 0.9, 0.99, 1.01, 1.1, 2)]
    assert min(losses) > log_loss(data, best)


def test_chunks_make_no_difference(monkeypatch):
    data = ideal_queries(300, 40)
    whole = fit_temperature(data), log_loss(data, 0.1), judge(data, 0.1)
    monkeypatch.setattr(calibration, "CHUNK", 7)
    assert fit_temperature(data) == pytest.approx(whole[0], rel=1e-6)
    assert log_loss(data, 0.1) == pytest.approx(whole[1], rel=1e-6)
    torch.testing.assert_close(judge(data, 0.1).confidences, whole[2].confidences, rtol=1e-5, atol=1e-6)


def test_log_loss_and_confidence_by_hand():
    data = Queries(torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([1]))
    share = math.exp(2) / (math.exp(2) + 1)
    assert log_loss(data, 0.5) == pytest.approx(-math.log(1 - share))
    assert judge(data, 0.5).confidences.item() == pytest.approx(share)
    assert not judge(data, 0.5).right.item()


def test_a_model_that_is_always_right_is_as_sure_as_can_be():
    vectors = torch.eye(5)
    assert fit_temperature(Queries(vectors, vectors, torch.arange(5))) == COLDEST


@pytest.mark.parametrize("targets", [torch.tensor([1, 2, 0]), torch.tensor([2, 0, 1])])
def test_a_model_that_is_worse_than_guessing_is_refused(targets):
    with pytest.raises(CalibrationError, match="none better than guessing on 3 queries"):
        fit_temperature(Queries(torch.eye(3), torch.eye(3), targets))


def test_no_query_is_refused():
    with pytest.raises(CalibrationError, match="on 0 queries"):
        fit_temperature(Queries(torch.ones(0, 3), torch.eye(3), torch.ones(0, dtype=torch.long)))


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


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40))
def test_every_query_is_in_one_bin(pairs):
    bins = reliability_bins(judged(*pairs))
    assert sum(part.share.queries for part in bins) == len(pairs)
    assert sum(part.share.hits for part in bins) == sum(right for _, right in pairs)
    assert all(part.low - 1e-9 <= part.confidence <= part.high + 1e-9 for part in bins)
    assert 0 <= calibration_error(bins) <= 1


# What silence buys.


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
def test_the_threshold_is_the_lowest_that_is_right_often_enough(pairs, wanted):
    found = judged(*pairs)
    chosen = choose_threshold(found, wanted)
    good = [t for t in {c for c, _ in pairs} if answer_above(found, t).accuracy >= wanted]
    if not good:
        assert (chosen.min_confidence, chosen.coverage, chosen.accuracy) == (1.0, 0.0, None)
    else:
        assert chosen.accuracy >= wanted
        assert chosen.coverage == pytest.approx(answer_above(found, min(good)).coverage)
        assert answer_above(found, chosen.min_confidence).accuracy == pytest.approx(chosen.accuracy)


def test_all_is_answered_where_all_together_are_right_often_enough():
    assert choose_threshold(judged((0.1, False), (0.9, True)), 0.5).min_confidence == 0.0
