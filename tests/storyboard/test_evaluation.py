"""Measured chains, against the evaluation that the project already has."""

import pytest
import torch

from recipeflow.errors import StoryboardError
from recipeflow.evaluation.ranking import evaluate, make_evaluation_set
from recipeflow.storyboard.evaluation import (
    GOLD,
    NOTHING,
    WAYS,
    WORDS,
    held_out_fold,
    measure_fold,
    merge,
    rank_chances,
)
from recipeflow.storyboard.plot import draw_depths
from recipeflow.training.runs import open_trained


@pytest.fixture(scope="module")
def opened(table, model):
    return open_trained(str(model), table.folder, str(table.weights), table.cache)


@pytest.fixture(scope="module")
def measured(table, opened):
    model, processor, pairs = opened
    fold = int(pairs.folds[0])
    return fold, measure_fold(model, processor, pairs, table.folder, fold)


def test_annotated_pictures_at_every_step_are_the_usual_evaluation(opened, measured):
    model, processor, pairs = opened
    fold, found = measured
    inputs = model.config.inputs
    expected = evaluate(model, make_evaluation_set(pairs, inputs, [fold], processor, model.config.context))
    own = found.metrics(GOLD)
    assert own.queries == expected.queries and own.candidates == expected.candidates
    assert own.median_rank == pytest.approx(expected.median_rank, abs=1)
    assert own.recall_at_10 == pytest.approx(expected.recall_at_10, abs=100 / own.queries)


def test_at_depth_one_nothing_is_carried(measured):
    _, found = measured
    first = found.depths == 1
    assert first.any() and torch.equal(found.ranks[WORDS][first], found.ranks[NOTHING][first])
    assert not torch.equal(found.ranks[WORDS], found.ranks[NOTHING])


def test_folds_are_counted_together_and_drawn(measured, tmp_path):
    _, found = measured
    both = merge([found, found])
    assert both.metrics(GOLD).queries == 2 * found.metrics(GOLD).queries
    assert len(both.table().rows) == len(set(found.depths.tolist())) + 1
    assert both.as_dict()["depths"]["all"].keys() == WAYS.keys()
    draw_depths(both, tmp_path / "depth.png")
    assert (tmp_path / "depth.png").stat().st_size > 10_000


def test_a_model_that_has_seen_everything_is_refused(opened):
    config = opened[0].config
    with pytest.raises(StoryboardError, match="found one trained on all folds"):
        held_out_fold(config, "digest", "model")
    other = type(config)(**{**config.to_dict(), "held_out_fold": 3, "trained_on": "another"})
    with pytest.raises(StoryboardError, match="found one trained on another dataset"):
        held_out_fold(other, "digest", "model")


def test_equal_probabilities_count_half():
    chances = torch.tensor([[0.4, 0.2, 0.2, 0.2], [0.1, 0.2, 0.3, 0.4]])
    assert rank_chances(chances, torch.tensor([1, 3])).tolist() == [3.0, 1.0]
