"""Twenty recipes to train on, and twenty of another pantry to be tested on: no ingredient in common, no word known."""

import json
from dataclasses import dataclass
from pathlib import Path

import datasets
import pytest
import timm
import torch
from typer.testing import CliRunner

from calibration_vrf import VRFCalibration
from recipeflow.batches import load_pairs
from recipeflow.build import build_dataset
from recipeflow.calibrating import calibrate_model, words_of_fold_alone
from recipeflow.cli import app
from recipeflow.errors import CalibrationError
from recipeflow.evaluation import make_evaluation_set
from recipeflow.features import compute_features
from recipeflow.kitchen import cook_release
from recipeflow.presets import get_preset
from recipeflow.runs import load_trained, start_training
from tests.model_helpers import BACKBONE
from tests.searching import own_cache  # noqa: F401  (autouse)

datasets.disable_progress_bars()


@dataclass
class Kitchens:
    """Two datasets of twenty recipes, and a model that was trained on all folds of the first."""

    folder: Path

    @property
    def model(self) -> Path:
        return self.folder / "run" / "model"

    @property
    def source(self) -> dict[str, Path]:
        return {"weights": self.folder / "backbone.pth", "cache": self.folder / "cache"}

    def vrf(self, command: str, *arguments) -> object:
        options = [f"--{name}={path}" for name, path in self.source.items()]
        return CliRunner().invoke(app, [command, *map(str, arguments), "--model", str(self.model), *options])

    def pairs(self, name: str):
        return load_pairs(self.folder / name, compute_features(self.folder / name, backbone=BACKBONE, **self.source))


@pytest.fixture(scope="module")
def kitchens(tmp_path_factory) -> Kitchens:
    kitchens = Kitchens(tmp_path_factory.mktemp("unseen"))
    for pantry in ("first", "second"):
        release = kitchens.folder / f"{pantry}-release"
        cook_release(release, recipes=20, used_only=True, workers=1, pantry=pantry)
        build_dataset(release, kitchens.folder / pantry)
    torch.manual_seed(5)
    torch.save(timm.create_model(BACKBONE).state_dict(), kitchens.source["weights"])
    config = get_preset("fast", epochs=6, learning_rate=1e-3)
    first, run = kitchens.folder / "first", kitchens.folder / "run"
    start_training(first, run, config, None, backbone=BACKBONE, **kitchens.source).train()
    return kitchens


def test_no_word_of_an_ingredient_is_known_and_nothing_breaks(kitchens):
    _, processor = load_trained(str(kitchens.model))
    pairs = kitchens.pairs("second")
    unknown = processor.tokenizer.unk_token_id
    ids = processor(objects=[words for words in pairs.objects if words])["object_ids"]
    assert (ids == unknown).any(1).float().mean() > 0.5
    done = kitchens.vrf("evaluate", kitchens.folder / "second")
    assert done.exit_code == 0, done.output
    figures = json.loads(done.stdout)
    assert figures["queries"] == int(pairs.usable(("action", "object", "image")).sum())
    assert figures["candidates"] == len(pairs.images.post[pairs.images.post >= 0].unique()) > 200
    assert 0 <= figures["recall_at_1"] <= figures["recall_at_5"] <= figures["recall_at_10"] <= 100


def test_the_folds_of_an_unseen_release_have_candidates_of_their_own(kitchens):
    second = kitchens.folder / "second"
    done = kitchens.vrf("evaluate", second, "--candidates", "fold")
    assert done.exit_code == 0, done.output
    figures = json.loads(done.stdout)
    assert len(figures["folds"]) == 10
    one = json.loads(kitchens.vrf("evaluate", second, "--fold", 3).stdout)
    assert figures["folds"]["3"] == one
    recalls = [fold["recall_at_5"] for fold in figures["folds"].values()]
    assert figures["mean"]["recall_at_5"] == pytest.approx(sum(recalls) / 10)
    assert figures["std"]["recall_at_5"] == pytest.approx(torch.tensor(recalls).double().std().item())


def test_calibrating_on_recipes_that_were_trained_on_is_told(kitchens):
    _, processor = load_trained(str(kitchens.model))
    folds = [fold for fold in range(10) if words_of_fold_alone(kitchens.pairs("first"), fold, processor)]
    assert folds, "a kitchen of twenty recipes has words that stand in one fold only"
    done = kitchens.vrf("calibrate", kitchens.folder / "first", "--fold", folds[0], "--json")
    assert done.exit_code == 0, done.output
    assert f"the model knows words of fold {folds[0]} alone" in done.stderr
    figures = json.loads(done.stdout)
    assert figures["fitted_on"]["queries"] + figures["measured"]["queries"] > 10
    assert sum(part["queries"] for part in figures["reliability"]) == figures["measured"]["queries"]
    assert (kitchens.model / "calibration.png").read_bytes().startswith(b"\x89PNG")
    calibration = VRFCalibration.load(kitchens.model)
    assert calibration.temperature == figures["temperature"]
    found = kitchens.vrf(
        "search", "--action", "切", "--object", "レタス", "--dataset", kitchens.folder / "first", "--json"
    )
    answers = json.loads(found.stdout)
    assert answers["sure"] == (answers["confidence"] >= calibration.min_confidence)
    unsure = kitchens.vrf(
        "search", "--action", "切", "--object", "レタス", "--dataset", kitchens.folder / "first", "--min-confidence", 1
    )
    assert "not sure: the first answer is right with a probability of" in unsure.stdout


def test_halves_are_of_different_recipes_and_share_the_candidates(kitchens):
    model, processor = load_trained(str(kitchens.model))
    data = make_evaluation_set(kitchens.pairs("first"), model.config.inputs, range(10), processor)
    calibrated = calibrate_model(model, data)
    assert calibrated.fitted_on + len(calibrated.data) == len(data.queries)
    assert len(calibrated.data.candidates) == len(data.candidates)
    recipes = data.queries.recipes.unique()
    measured = torch.isin(data.queries.recipes, recipes[1::2])
    assert calibrated.data.targets.equal(data.targets[measured])


def test_one_recipe_is_too_few_and_a_share_is_a_share(kitchens):
    model, processor = load_trained(str(kitchens.model))
    pairs = kitchens.pairs("first")
    one = pairs.rows(model.config.inputs, range(10))
    one = one[pairs.recipes[one] == pairs.recipes[one[0]]]
    data = make_evaluation_set(pairs, model.config.inputs, range(10), processor, rows=one)
    with pytest.raises(CalibrationError, match="at least two recipes, one to fit on and one to measure on, found 1"):
        calibrate_model(model, data)
    with pytest.raises(CalibrationError, match=r"found 1\.2"):
        calibrate_model(model, data, 1.2)
