"""Choosing a setting for a dataset before training on it."""

from dataclasses import replace

import pytest

from recipeflow.errors import UsageError
from recipeflow.training.runs import prepare_run, tune_run
from recipeflow.training.settings import get_preset
from recipeflow.training.tuning import IGNORING, MARGIN, SETTING, VALUES, apply_tuning, keep_tuning, tune
from tests.pairs.pairing import OFFLINE, make_pairs

BEST = get_preset("best", tune=True, epochs=1)
BEST = replace(BEST, model=BEST.model | {"image_features": "pooled"})  # as wide as the features of `make_pairs`


def figures(*values: float):
    """An attempt that finds these figures, one after the other, whatever the settings; with the settings asked for."""
    asked, found = [], iter(values)

    def attempt(config):
        ignored = IGNORING.items() <= config.model.items()
        assert config.mixed_share == (0 if ignored else BEST.with_inputs(config.inputs).mixed_share)
        asked.append((config.model[SETTING], ignored))
        value = next(found)
        return {"mean_reciprocal_rank": value, "recall_at_5": 100 * value}

    return attempt, asked


def test_the_first_value_is_that_of_the_preset():
    assert BEST.model[SETTING] == VALUES[0]


@pytest.mark.parametrize(
    ("found", "tried", "chosen"),
    [
        ((0.5, 0.3, 0.4), 2, 0),  # the first is best: nothing higher than the second is tried
        ((0.5, 0.5 + 0.9 * MARGIN, 0.4), 2, 0),  # words alone are better by no more than chance
        ((0.5, 0.5, 0.5), 2, 0),
        ((0.5, 0.3, 0.6, 0.55), 3, 1),
        ((0.5, 0.3, 0.6, 0.7), 3, 2),
    ],
)
def test_values_are_tried_from_the_lowest_while_they_get_better(found, tried, chosen):
    attempt, asked = figures(*found)
    record = tune(BEST, attempt)
    first, *others = VALUES[:tried]
    assert asked == [(first, False), (first, True), *((value, False) for value in others)]
    assert record[SETTING] == VALUES[chosen] and not IGNORING.keys() & record.keys()
    assert apply_tuning(BEST, record) == replace(BEST, model=BEST.model | {SETTING: VALUES[chosen]})
    assert [one["recall_at_5"] for one in record["tried"]] == [100 * value for value in found]
    assert record["seconds"] >= 0


def test_images_that_words_alone_do_better_without_are_ignored():
    attempt, asked = figures(0.5, 0.5 + 1.1 * MARGIN)
    said: list[str] = []
    record = tune(BEST, attempt, said.append)
    assert asked == [(VALUES[0], False), (VALUES[0], True)], "nothing else is tried"
    assert apply_tuning(BEST, record) == replace(BEST, model=BEST.model | IGNORING, mixed_share=0.0)
    assert said[-1] == f"tuning: chose {SETTING} {VALUES[0]} without pre-action images"


@pytest.mark.parametrize("inputs", [("image",), ("action", "object")])
def test_only_a_model_of_words_and_an_image_can_ignore_images(inputs):
    attempt, asked = figures(0.5, 0.4)
    config = BEST.with_inputs(inputs)
    record = tune(config, attempt)
    assert len(asked) == 2 and apply_tuning(config, record) == config


def test_a_run_that_starts_again_keeps_its_choice_and_another_one_does_not(tmp_path):
    choices = iter([{SETTING: 0.5}, {SETTING: 0.7}])
    asked = {"epochs": 1, "inputs": ("action", "image")}
    assert keep_tuning(tmp_path, asked, lambda: next(choices)) == {SETTING: 0.5}
    assert keep_tuning(tmp_path, asked, lambda: next(choices)) == {SETTING: 0.5}
    later = asked | {"mixed_share": 0.0}  # which an earlier version did not record
    assert keep_tuning(tmp_path, later, lambda: next(choices)) == {SETTING: 0.5}
    assert keep_tuning(tmp_path, asked | {"epochs": 2}, lambda: next(choices)) == {SETTING: 0.7}


def test_without_tuning_nothing_is_written(tmp_path):
    assert keep_tuning(tmp_path, {}, lambda: None) is None
    assert apply_tuning(BEST, None) == BEST and not list(tmp_path.iterdir())


@pytest.mark.parametrize(("fold", "tested"), [(3, 4), (9, 0), (None, 0)])
def test_the_fold_that_a_run_is_tested_on_takes_no_part(fold, tested, monkeypatch):
    pairs, seen = make_pairs(), []

    def watched(*arguments):
        run = prepare_run(*arguments)
        seen.append({*pairs.folds[run.train_data.rows].tolist(), *pairs.folds[run.eval_data.rows].tolist()})
        return run

    monkeypatch.setattr("recipeflow.training.runs.prepare_run", watched)
    record = tune_run(pairs, BEST, fold, **OFFLINE)
    assert record["fold"] == tested
    assert len(seen) == len(record["tried"]) >= 2
    assert all(folds == set(range(10)) - {fold} for folds in seen)


@pytest.mark.parametrize(("preset", "changes"), [("fast", {}), ("best", {"finetune": True})])
def test_what_cannot_be_tuned_is_refused(preset, changes):
    with pytest.raises(UsageError, match="expected preset best with cached features to tune"):
        get_preset(preset, tune=True, **changes)
