"""Fitting and measuring by kind of query, without a model: on queries whose temperature is known."""

import json

import pytest
import torch

from recipeflow.errors import CalibrationError
from recipeflow.search.calibrating import FEW, FIGURES, calibrate_kinds
from recipeflow.search.calibration_plot import plot_calibration, save_plot
from recipeflow.search.confidence import Queries, fit_temperature, judge, steady_temperature
from recipeflow.search.query_kinds import Asked
from tests.search.test_calibration import ideal_queries

NO_IMAGE = ("image",)


def ask(queries: int, temperature: float, recipes: int = 8, seed: int = 0) -> Asked:
    data = ideal_queries(queries, 40, seed=seed, temperature=temperature)
    return Asked(data, torch.arange(queries) % recipes)


def test_each_kind_has_a_temperature_and_a_threshold_of_its_own():
    found = calibrate_kinds({(): ask(800, 0.05), NO_IMAGE: ask(900, 0.2)}, 0.05)
    complete, lacking = found.kinds
    assert complete.temperature == pytest.approx(0.05, rel=0.15)
    assert lacking.temperature == pytest.approx(0.2, rel=0.15)
    assert complete.answered.coverage > 0.5 > lacking.answered.coverage
    assert all(kind.fitted.min_confidence >= 0.5 for kind in found.kinds)
    for kind in found.kinds:
        assert kind.judged.confidences.mean().item() == pytest.approx(kind.judged.accuracy, abs=0.06)
    assert not found.uncertain and not found.never_sure


def test_every_query_is_judged_by_the_other_half_whatever_the_kind():
    """A recipe that one kind lacks must not shift the halves of that kind."""
    whole, part = ask(80, 0.05), ask(80, 0.05, seed=1)
    kept = part.recipes != 1
    part = Asked(part.data.select(kept), part.recipes[kept])
    found = calibrate_kinds({(): part, NO_IMAGE: whole}, 0.05)
    for kind, asked in zip(found.kinds, (part, whole), strict=True):
        assert kind.data is asked.data
        even = asked.recipes % 2 == 0
        temperatures = both_temperatures({(): part, NO_IMAGE: whole}, kind.kind)
        of_even, of_odd = (judge(kind.data, temperature).confidences for temperature in temperatures)
        torch.testing.assert_close(kind.judged.confidences, torch.where(even, of_odd, of_even))


def both_temperatures(asked: dict, kind: tuple) -> list[float]:
    """The temperatures of a kind, fitted on the even and on the odd recipes."""
    found = []
    for rest in (0, 1):
        parts = {name: one.data.select(one.recipes % 2 == rest) for name, one in asked.items()}
        complete = steady_temperature(fit_temperature(parts[()]), len(parts[()]), 0.05)
        others = steady_temperature(fit_temperature(parts[kind]), len(parts[kind]), complete)
        found.append(others if kind else complete)
    return found


def test_a_kind_with_few_queries_leans_on_the_others():
    many, few = ask(2000, 0.1), ask(10, 0.1, seed=3)
    found = calibrate_kinds({(): many, NO_IMAGE: few}, 0.05).kinds[1]
    alone = fit_temperature(few.data)
    assert abs(found.temperature - 0.1) < abs(alone - 0.1)
    assert len(found.data) == 10 < FEW


def test_too_few_queries_to_fit_on_are_reported():
    found = calibrate_kinds({(): ask(200, 0.05), NO_IMAGE: ask(40, 0.05)}, 0.05)
    assert [(kind.name, len(kind.data)) for kind in found.uncertain] == [("no image", 40)]


def test_the_json_has_complete_queries_at_the_top_and_the_table_a_column_for_each_kind():
    found = calibrate_kinds({(): ask(80, 0.05), NO_IMAGE: ask(90, 0.1), ("context",): ask(80, 0.06)}, 0.05, 0.6)
    content = json.loads(json.dumps(found.as_dict()))
    assert content["temperature"] == found.kinds[0].temperature
    assert [row["without"] for row in content["incomplete"]] == [["image"], ["context"]]
    for row in (content, *content["incomplete"]):
        assert row["min_confidence"] >= 0.6
        assert sum(part["queries"] for part in row["reliability"]) == row["measured"]["queries"]
    table = found.table()
    assert table.columns == ("", "complete", "no image", "no context")
    assert [row[0] for row in table.rows] == list(FIGURES)
    assert table.rows[0][1:] == ("80", "90", "80")
    assert table.rows[-1][1:] == ("—", "—", "—")  # these queries have no names


@pytest.mark.parametrize("kinds", [[()], [(), NO_IMAGE, ("context",), ("image", "context")]])
def test_the_plot_has_a_panel_for_each_kind(kinds, tmp_path):
    found = calibrate_kinds({kind: ask(80, 0.05) for kind in kinds}, 0.05)
    titles = [axes.get_title() for axes in plot_calibration(found).axes if "T = " in axes.get_title()]
    assert [title.split(":")[0] for title in titles] == [kind.name for kind in found.kinds]
    save_plot(found, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_what_cannot_be_calibrated_is_refused():
    with pytest.raises(CalibrationError, match=r"found 1\.2"):
        calibrate_kinds({(): ask(80, 0.05)}, 0.05, 1.2)
    with pytest.raises(CalibrationError, match=r"queries \(complete\) of at least two recipes.*found 1 of 1"):
        calibrate_kinds({(): ask(80, 0.05, recipes=1)}, 0.05)
    lonely = Asked(ask(80, 0.05).data, torch.zeros(80, dtype=torch.long))
    with pytest.raises(CalibrationError, match=r"queries \(no image\) of at least two recipes.*found 1 of 8"):
        calibrate_kinds({(): ask(80, 0.05), NO_IMAGE: lonely}, 0.05)


def test_guessing_is_refused_for_complete_queries_and_never_sure_for_others():
    good = Asked(Queries(torch.eye(6), torch.eye(6), torch.arange(6)), torch.arange(6) % 2)
    wrong = Asked(Queries(torch.eye(6), torch.eye(6), (torch.arange(6) + 1) % 6), good.recipes)
    with pytest.raises(CalibrationError, match="none better than guessing on 6 queries"):
        calibrate_kinds({(): wrong, NO_IMAGE: good}, 0.05)
    assert calibrate_kinds({(): good, NO_IMAGE: wrong}, 0.05).kinds[1].answered.accuracy != 1
