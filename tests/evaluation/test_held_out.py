"""A model is measured on folds that it has not seen, or a warning says so."""

import pytest

from configuration_vrf import VRFConfig
from recipeflow.errors import CalibrationError, UsageError
from recipeflow.evaluation.held_out import choose_folds, seen_folds
from tests.model_helpers import BACKBONE

OWN, OTHER = "a" * 64, "b" * 64
EVERY = set(range(10))


def config(held_out_fold=None, trained_on=OWN) -> VRFConfig:
    return VRFConfig(backbone=BACKBONE, held_out_fold=held_out_fold, trained_on=trained_on)


def test_seen_are_all_folds_but_the_one_held_out_and_none_of_another_dataset():
    assert seen_folds(config(3), OWN) == EVERY - {3}
    assert seen_folds(config(), OWN) == EVERY
    assert seen_folds(config(3), OTHER) == set()


def test_a_model_that_does_not_name_its_dataset_is_taken_at_its_word():
    assert seen_folds(config(3, trained_on=None), OTHER) == EVERY - {3}
    assert choose_folds(config(3, trained_on=None), OTHER, None, unseen=False) == [3]
    assert seen_folds(config(trained_on=None), OTHER) == set()


@pytest.mark.parametrize("fold", [None, 3])
def test_the_fold_that_was_held_out_is_chosen(fold):
    assert choose_folds(config(3), OWN, fold, unseen=False) == [3]


@pytest.mark.parametrize(
    ("model", "digest", "fold", "unseen", "message"),
    [
        (config(3), OWN, 4, False, "expected fold 3, which the model was not trained on, found 4"),
        (config(), OWN, None, False, "expected a model trained without one fold.*found one trained on all"),
        (config(trained_on=None), OWN, 0, False, "found no record of one; train one with `vrf train --fold K`"),
        (config(3), OTHER, 3, False, "expected the dataset that the model was trained on .*pass --unseen"),
        (config(3), OWN, 3, True, "expected a release that the model has never seen with --unseen"),
    ],
)
def test_recipes_that_were_trained_on_are_refused(model, digest, fold, unseen, message):
    with pytest.raises(CalibrationError, match=message):
        choose_folds(model, digest, fold, unseen)


@pytest.mark.parametrize("model", [config(3), config(), config(trained_on=None)])
def test_an_unseen_release_may_be_taken_whole_or_by_fold(model):
    assert choose_folds(model, OTHER, None, unseen=True) == list(range(10))
    assert choose_folds(model, OTHER, 4, unseen=True) == [4]


def test_a_fold_is_a_fold():
    with pytest.raises(UsageError, match="from 0 to 9, found 10"):
        choose_folds(config(3), OWN, 10, unseen=False)
