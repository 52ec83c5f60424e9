"""Two experiments compared: figures by hand, the exact test against a naive one, and what is refused."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recipeflow.errors import UsageError
from recipeflow.experiment.compare import (
    compare_experiments,
    comparison_notes,
    comparison_table,
    sign_flip_test,
)
from tests.cli.commanding import vrf

KEYS = ("recall_at_1", "recall_at_5", "recall_at_10", "median_rank")


def write_results(folder, recalls: dict[int, float], data: str = "same", row: str = "both", **settings):
    folds = {str(fold): dict.fromkeys(KEYS, value) for fold, value in recalls.items()}
    results = {"settings": {"data": data, **settings}, "rows": [{"name": row, "folds": folds}]}
    folder.mkdir()
    (folder / "results.json").write_text(json.dumps(results))
    return folder


def test_figures_by_hand(tmp_path):
    one = write_results(tmp_path / "one", {0: 70.0, 1: 80.0, 2: 60.0})
    two = write_results(tmp_path / "two", {1: 90.0, 2: 75.0, 3: 99.0})
    found = {c.metric: c for c in compare_experiments(one, two)}["recall_at_5"]
    assert found.folds == (1, 2)
    assert found.differences == (10.0, 15.0)
    assert found.ratio == pytest.approx(165 / 140)
    assert found.p_value == pytest.approx(2 / 4)  # ++ and -- of four patterns


def test_a_model_that_finds_nothing_has_no_ratio(tmp_path):
    for name, recall in (("weak", 0.0), ("good", 50.0)):
        write_results(tmp_path / name, {0: recall, 1: recall})
    found = compare_experiments(tmp_path / "weak", tmp_path / "good")
    recall = next(c for c in found if c.metric == "recall_at_5")
    assert recall.ratio is None and "R@5 x —" in comparison_notes(found)


def test_ten_folds_all_in_one_direction_have_the_smallest_p_value():
    assert sign_flip_test([1.0] * 10) == pytest.approx(2 / 1024)
    assert sign_flip_test([0.0] * 5) == 1.0
    assert sign_flip_test([3.0, -3.0]) == 1.0


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=8))
def test_the_test_is_symmetric_and_a_probability(differences):
    p = sign_flip_test(differences)
    assert 0 < p <= 1
    assert math.isclose(p, sign_flip_test([-value for value in differences]))
    assert math.isclose(p, sign_flip_test(sorted(differences)))
    assert (p * 2 ** len(differences)).is_integer()


def test_the_table_has_every_fold_and_the_mean(tmp_path):
    one = write_results(tmp_path / "one", {0: 70.0, 1: 80.0})
    two = write_results(tmp_path / "two", {0: 91.0, 1: 90.0})
    comparisons = compare_experiments(one, two / "results.json")
    page = comparison_table(comparisons, ("paper", "best")).markdown()
    assert "+21.0" in page and "+10.0" in page and "+15.5" in page
    assert "R@5 x 1.21, p = 0.500" in comparison_notes(comparisons)


@pytest.mark.parametrize("option", [[], ["--markdown"]])
def test_the_command_says_that_its_test_is_optimistic(tmp_path, option):
    for name in ("one", "two"):
        write_results(tmp_path / name, {0: 70.0, 1: 80.0})
    answer = vrf("compare", tmp_path / "one", tmp_path / "two", *option)
    assert answer.code == 0
    assert "Folds share most of their training data, so these p-values are optimistic" in " ".join(
        answer.stdout.split()
    )


def test_a_single_fold_has_no_p_value(tmp_path):
    one, two = (write_results(tmp_path / name, {0: recall}) for name, recall in (("one", 70.0), ("two", 84.0)))
    answer = vrf("compare", one, two, "--markdown")
    assert "row both, 1 fold\n" in answer.stdout
    assert "R@5 x 1.20, p = –;" in answer.stdout and "p = 1" not in answer.stdout
    assert "One fold cannot be tested: compare experiments with more." in answer.stdout
    assert "optimistic" not in answer.stdout
    assert [c.as_dict()["p_value"] for c in compare_experiments(one, two)] == [None] * 4


def test_what_cannot_be_compared_is_reported(tmp_path):
    one = write_results(tmp_path / "one", {0: 70.0})
    with pytest.raises(UsageError, match="same images and folds"):
        compare_experiments(one, write_results(tmp_path / "two", {0: 70.0}, data="other"))
    with pytest.raises(UsageError, match="holding folds out"):
        compare_experiments(one, write_results(tmp_path / "inner", {0: 70.0}, inner=True))
    with pytest.raises(UsageError, match="found none"):
        compare_experiments(one, write_results(tmp_path / "three", {5: 70.0}))
    with pytest.raises(UsageError, match="the row both"):
        compare_experiments(one, write_results(tmp_path / "four", {0: 70.0}, row="text"))
    with pytest.raises(UsageError, match="run `vrf experiment` first"):
        compare_experiments(one, tmp_path / "nowhere")
