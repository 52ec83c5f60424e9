"""Whether nothing here is right: evidence, fit and measure."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from recipeflow.pairs.loading import Pairs
from recipeflow.search.absence import Evidence, Names, area_under_curve, fit_absence, measure_absence
from recipeflow.search.confidence import Queries
from retrieval_vrf import name_code
from tests.pairs.pairing import make_pairs

CUT, CABBAGE = ("切",), ("キャベツ",)


@pytest.fixture(scope="module")
def pairs() -> Pairs:
    return make_pairs()


def test_all_candidates_of_the_same_state_are_taken_away(pairs):
    candidates = pairs.images.post[pairs.images.post >= 0].unique()
    rows = pairs.rows(("action", "object"), range(10))
    names = Names(pairs, candidates)
    vectors = torch.nn.functional.normalize(
        torch.randn(len(candidates), 5, generator=torch.Generator().manual_seed(0)), dim=1
    )
    targets = torch.searchsorted(candidates, pairs.images.post[rows])
    found = names.collect(Queries(vectors[targets], vectors, targets), rows, ("action", "object"))
    assert found.present[:, 2].all()  # the right one comes first, with its own object
    assert (found.absent[:, 0] < found.present[:, 0]).all()
    assert found.present[:, 3].mean() > 0.8  # all but those whose image shows the result of an earlier action, too
    assert not found.absent[:, 3].any()
    for row, target in zip(rows.tolist(), targets.tolist(), strict=True):
        state = name_code(pairs.actions[row]), name_code(pairs.objects[row])
        assert target in names.states[state]


def test_a_model_without_words_is_judged_by_similarity_alone(pairs):
    candidates = pairs.images.post[pairs.images.post >= 0].unique()
    rows = pairs.rows(("image",), range(10))
    vectors = torch.eye(len(candidates))
    targets = torch.searchsorted(candidates, pairs.images.post[rows])
    found = Names(pairs, candidates).collect(Queries(vectors[targets], vectors, targets), rows, ("image",))
    assert not found.present[:, 1:].any() and not found.absent[:, 1:].any()
    assert fit_absence(found).same_action == 0


def make_evidence(queries: int = 200, gap: float = 0.5) -> Evidence:
    numbers = np.random.default_rng(0)
    present = np.clip(numbers.normal(0.6, 0.2, (queries, 4)), 0, 1)
    return Evidence(present, np.clip(present - gap + numbers.normal(0, 0.1, (queries, 4)), 0, 1))


def test_absence_is_learned_and_measured_on_other_recipes():
    first = torch.arange(200) % 2 == 0
    clear, faint = (measure_absence(make_evidence(gap=gap), first) for gap in (0.5, 0.0))
    assert clear.auroc > 0.95
    assert 0.4 < faint.auroc < 0.6
    evidence = make_evidence()
    assert (
        clear.weights.probability(evidence.absent).mean()
        > 0.8
        > 0.2
        > clear.weights.probability(evidence.present).mean()
    )


def test_evidence_that_decides_alone_gives_finite_weights():
    weights = fit_absence(Evidence(np.ones((20, 4)), np.zeros((20, 4))))
    assert all(np.isfinite(value) for value in vars(weights).values())
    assert weights.probability(np.zeros((1, 4)))[0] > 0.9 > 0.1 > weights.probability(np.ones((1, 4)))[0]


@settings(deadline=None)
@given(*[st.lists(st.integers(0, 5), min_size=1, max_size=12)] * 2)
def test_the_area_is_the_share_of_pairs_in_order(higher, lower):
    naive = np.mean([(high > low) + (high == low) / 2 for high in higher for low in lower])
    assert area_under_curve(np.array(higher), np.array(lower)) == pytest.approx(naive)


def test_names_are_compared_whatever_their_width_case_and_spaces():
    assert name_code("Sea Salt") == name_code(["ｓｅａ", "salt"]) != name_code("salt") != 0
    assert name_code(None) == name_code("") == name_code(" ") == 0
