"""Whether the confidence of panels says how often they are right."""

import json
import shutil
from dataclasses import asdict

import numpy as np
import pytest

from recipeflow.search import Retriever
from recipeflow.search.confidence import Judged, calibration_error, reliability_bins
from recipeflow.storyboard import imagine
from recipeflow.storyboard.reliability import Shown, fit_scale, measure_panels, merge_reliability, show_panels
from recipeflow.training.runs import open_trained
from retrieval_vrf import VRFCalibration
from storyboard_vrf import ENOUGH, PanelScale
from tests.cli.commanding import vrf
from tests.making import SALAD


def make_shown(true: PanelScale, panels: int = 4000, seed: int = 0) -> Shown:
    """Panels that are right as often as a scale says."""
    rng = np.random.default_rng(seed)
    chances, depths = rng.beta(1, 3, panels), rng.integers(1, 10, panels)
    right = rng.random(panels) < true.probability(chances, depths)
    return Shown(chances, np.zeros(panels), right, depths, rng.integers(0, 40, panels))


def test_a_scale_that_changes_nothing_is_the_default():
    chances = np.array([0.1, 0.5, 0.97])
    assert PanelScale().probability(chances, np.array([1, 4, 9])) == pytest.approx(chances)


def test_the_scale_of_panels_is_found_again():
    true = PanelScale(2.0, 1.5, -0.6)
    found = fit_scale(make_shown(true, 20_000))
    assert list(asdict(found).values()) == pytest.approx(list(asdict(true).values()), abs=0.15)


def test_few_panels_change_little():
    few = make_shown(PanelScale(), 3)
    assert abs(fit_scale(few).bias) < 1.5 and 0 < fit_scale(few).slope < 3


def test_confidences_are_right_as_often_as_they_say_and_unscaled_ones_are_not():
    shown = make_shown(PanelScale(2.0, 1.2, -0.4))
    found = measure_panels(shown)
    figures = found.as_dict()
    assert figures["expected_calibration_error"] < 0.03 < 0.2 < figures["expected_calibration_error_unscaled"]
    naive = calibration_error(reliability_bins(Judged(found.confidences, found.right), 5))
    assert figures["expected_calibration_error"] == pytest.approx(naive)
    assert figures["sure"]["panels"] == int((found.confidences >= ENOUGH).sum())
    assert sum(part["panels"] for part in figures["depths"].values()) == figures["panels"] == 4000
    both = merge_reliability([found, found]).as_dict()
    assert both["panels"] == 8000 and both["all"]["right"] == pytest.approx(figures["all"]["right"])


def test_what_is_perhaps_absent_is_never_sure():
    shown = make_shown(PanelScale(3.0))
    absent = Shown(shown.chances, np.ones(len(shown.right)), shown.right, shown.depths, shown.recipes)
    assert measure_panels(shown).sure.any() and not measure_panels(absent).sure.any()


@pytest.fixture(scope="module")
def shown(table, model) -> Shown:
    network, processor, pairs = open_trained(str(model), table.folder, str(table.weights), table.cache)
    scales = VRFCalibration.load(model).scales
    return show_panels(network, processor, pairs, table.folder, range(10), scales)


def test_panels_are_those_of_storyboards(table, retriever, shown):
    """Their probabilities are the confidences of the same recipes, imagined one by one with the saved index."""
    from recipeflow.release import read_release

    boards = [imagine(recipe, retriever) for recipe in read_release(table.folder.parent / "kitchen")]
    panels = [panel for board in boards for panel in board.panels if panel.confidence is not None]
    assert len(panels) == len(shown.chances)
    assert [panel.confidence for panel in panels] == pytest.approx(shown.chances.tolist(), abs=2e-3)
    named = [
        panel.action == panel.answers[0]["action"] and panel.object in panel.answers[0]["objects"] for panel in panels
    ]
    assert named == shown.right.tolist()


def test_a_saved_scale_changes_confidences_and_a_damaged_one_is_refused(model, retriever, tmp_path):
    scaled = shutil.copytree(model, tmp_path / "scaled")
    path = scaled / "calibration.json"
    about = json.loads(path.read_text())
    true = PanelScale(1.0, 0.5, -0.2)
    path.write_text(json.dumps(about | {"panels": {"weights": asdict(true)}}))
    plain, found = (imagine(SALAD, one).panels for one in (retriever, Retriever.from_pretrained(scaled)))
    chances = np.array([panel.confidence for panel in plain])
    depths = np.array([panel.state.depth for panel in plain])
    assert [panel.confidence for panel in found] == pytest.approx(true.probability(chances, depths).tolist())
    path.write_text(json.dumps(about | {"panels": {"weights": {"bias": "much"}}}))
    with pytest.raises(Exception, match="expected the weights of panels in the calibration"):
        imagine(SALAD, Retriever.from_pretrained(scaled))


def test_the_commands_fit_and_measure_panels(table, model, tmp_path):
    held = shutil.copytree(model, tmp_path / "held")
    config = json.loads((held / "config.json").read_text())
    fold = int(open_trained(str(model), table.folder, str(table.weights), table.cache)[2].folds[0])
    (held / "config.json").write_text(json.dumps(config | {"held_out_fold": fold}))
    options = ("--model", held, "--weights", table.weights, "--cache", table.cache, "--json")
    answer = vrf("storyboard-eval", table.folder, *options)
    assert answer.code == 0, answer.stderr
    measured = json.loads(answer.stdout)["panels"]
    assert measured["panels"] > 0 and 0 <= measured["expected_calibration_error"] <= 1
    (held / "calibration.json").unlink()
    answer = vrf("storyboard-eval", table.folder, *options)
    assert json.loads(answer.stdout)["panels"] is None and "run `vrf calibrate` first" in answer.stderr
