"""Which folds of a dataset a saved model was trained on, so that it is not measured there by mistake."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from configuration_vrf import VRFConfig
from recipeflow.dataset.folds import FOLDS, split_folds
from recipeflow.errors import CalibrationError


class TrainedConfig(Protocol):
    """The config of any model that records what it was trained on."""

    held_out_fold: int | None
    trained_on: str | None


def seen_folds(config: TrainedConfig, digest: str) -> set[int]:
    """The folds of a dataset that a model is known to have been trained on.

    Args:
        config: The model's. If it does not record its dataset, its held-out fold is assumed to be of this one.
        digest: Of the dataset, from `dataset_digest` or `ExampleSet.digest`.
    """
    noted = config.trained_on is not None or config.held_out_fold is not None
    if not noted or config.trained_on not in (None, digest):
        return set()
    return set(range(FOLDS)) - {config.held_out_fold}


def is_selected_on(config: VRFConfig, digest: str, folds: Collection[int]) -> bool:
    """Whether a model was selected as the best of its run on one of these folds, so that its figures are optimistic.

    The other arguments are those of `seen_folds`.
    """
    return config.trained_on in (None, digest) and config.selected_on_fold in folds


SELECTED = (
    "warning: this model was selected as the best of its run on fold {fold}: figures on that fold are optimistic. For "
    "an unbiased figure take the run's last model, in the folder `model`, or a dataset that it has never seen"
)


def choose_folds(config: VRFConfig, digest: str, fold: int | None, unseen: bool) -> list[int]:
    """The folds to calibrate a model on.

    Args:
        config: The model's.
        digest: Of the dataset.
        fold: The fold that was asked for; ``None`` for the one that was held out, or for all of an unseen release.
        unseen: Whether the user states that the model has seen nothing of this dataset.

    Raises:
        CalibrationError: If the model was trained on these recipes, or that is unknown.
    """
    asked = None if fold is None else split_folds(fold)[1]
    if unseen:
        if config.trained_on == digest:
            raise CalibrationError(
                "expected a release that the model has never seen with --unseen, found the one that it was trained "
                "on; omit --unseen"
            )
        return asked or list(range(FOLDS))
    if config.trained_on not in (None, digest):
        raise CalibrationError(
            f"expected the dataset that the model was trained on ({config.trained_on[:12]}…), found another "
            f"({digest[:12]}…), whose folds are not those of training; pass --unseen if it shares no recipe with it"
        )
    if config.held_out_fold is None:
        found = "no record of one" if config.trained_on is None else "one trained on all folds"
        raise CalibrationError(
            f"expected a model trained without one fold, to calibrate on that, found {found}; train one with "
            "`vrf train --fold K`, or pass --unseen with a release that it has never seen"
        )
    held_out = [config.held_out_fold]
    if asked not in (None, held_out):
        raise CalibrationError(
            f"expected fold {config.held_out_fold}, which the model was not trained on, found {fold}; omit --fold"
        )
    return held_out
