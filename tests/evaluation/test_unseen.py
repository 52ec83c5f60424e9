"""Twenty recipes to train on, and twenty of another pantry to be tested on: no ingredient in common, no word known."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import datasets
import pytest
import timm
import torch
from typer.testing import CliRunner

from recipeflow.cli import app
from recipeflow.dataset.build import build_dataset
from recipeflow.features.compute import compute_features
from recipeflow.hub.model_card import make_default_card
from recipeflow.kitchen import cook_release
from recipeflow.machines.devices import choose_device
from recipeflow.pairs.loading import load_pairs
from recipeflow.training.runs import load_trained, start_training
from recipeflow.training.settings import get_preset
from retrieval_vrf import VRFCalibration
from storyboard_vrf import PanelScale
from tests.model_helpers import BACKBONE
from tests.search.searching import own_cache  # noqa: F401  (autouse)

datasets.disable_progress_bars()
HELD_OUT = 2


@dataclass
class Kitchens:
    """Two datasets of twenty recipes, and a model that was trained on all folds of the first but one."""

    folder: Path

    @property
    def model(self) -> Path:
        return self.folder / "run" / "model"

    @property
    def source(self) -> dict[str, Path]:
        return {"weights": self.folder / "backbone.pth", "cache": self.folder / "cache"}

    def vrf(self, command: str, *arguments, model: str = "model") -> object:
        options = [f"--{name}={path}" for name, path in self.source.items()]
        options += ["--model", str(self.folder / "run" / model)]
        return CliRunner().invoke(app, [command, *map(str, arguments), *options])

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
    config = get_preset("fast", epochs=6, learning_rate=1e-3, evaluate_every=3)
    first, run = kitchens.folder / "first", kitchens.folder / "run"
    start_training(first, run, config, HELD_OUT, backbone=BACKBONE, **kitchens.source).train()
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
    one = kitchens.vrf("evaluate", second, "--fold", 3)
    assert figures["folds"]["3"] == json.loads(one.stdout)
    assert "warning" not in done.stderr + one.stderr  # it is another dataset, whatever its folds are called
    recalls = [fold["recall_at_5"] for fold in figures["folds"].values()]
    assert figures["mean"]["recall_at_5"] == pytest.approx(sum(recalls) / 10)
    assert figures["std"]["recall_at_5"] == pytest.approx(torch.tensor(recalls).double().std().item())


def test_figures_of_recipes_that_were_trained_on_are_reported(kitchens):
    first = kitchens.folder / "first"
    assert "warning" not in kitchens.vrf("evaluate", first, "--fold", HELD_OUT).stderr
    seen = kitchens.vrf("evaluate", first, "--fold", 5)
    assert seen.exit_code == 0 and "warning: the model was trained on fold 5 of this dataset" in seen.stderr
    assert json.loads(seen.stdout)["queries"] > 0
    assert "trained on fold 0, 1, 3, 4" in kitchens.vrf("evaluate", first).stderr


def test_a_model_that_was_selected_on_the_fold_is_reported(kitchens):
    first, second = kitchens.folder / "first", kitchens.folder / "second"
    warning = f"warning: this model was selected as the best of its run on fold {HELD_OUT}: figures on that fold are"
    for command in (("evaluate", first, "--fold", HELD_OUT), ("evaluate", first), ("calibrate", first)):
        best = kitchens.vrf(*command, model="best")
        assert best.exit_code == 0 and warning in best.stderr
        assert warning not in kitchens.vrf(*command).stderr
    for command in (("evaluate", second, "--fold", HELD_OUT), ("evaluate", first, "--fold", 5)):
        assert warning not in kitchens.vrf(*command, model="best").stderr
    models = {name: load_trained(str(kitchens.folder / "run" / name))[0] for name in ("best", "model")}
    assert {name: model.config.selected_on_fold for name, model in models.items()} == {"best": HELD_OUT, "model": None}
    cards = {name: make_default_card(model.config, {}) for name, model in models.items()}
    assert f"| selected | as the best of its run on fold {HELD_OUT}" in cards["best"]
    assert "| selected |" not in cards["model"]


def test_a_device_that_this_machine_does_not_have_is_refused_and_its_devices_are_listed(kitchens, monkeypatch):
    first = kitchens.folder / "first"
    commands = (
        ("evaluate", first),
        ("calibrate", first),
        ("index", first),
        ("search", "--action", "切", "--dataset", first),
    )
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda check_available: torch.device("cuda"))
    monkeypatch.setattr(torch.accelerator, "device_count", lambda: 2)
    for command in commands:
        for wrong in ("cuda:2", "mps", "gpu"):
            error = str(kitchens.vrf(*command, "--device", wrong).exception)
            assert f"expected a device of this machine (cpu, cuda:0, cuda:1), found '{wrong}'" in error
    assert [choose_device(name) for name in (None, "cuda", "cuda:1", "cpu")] == [
        torch.device(name) for name in ("cuda", "cuda", "cuda:1", "cpu")
    ]
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda check_available: None)
    monkeypatch.setattr(torch.accelerator, "device_count", lambda: 0)
    assert choose_device() == torch.device("cpu")
    done = kitchens.vrf("evaluate", first, "--fold", HELD_OUT, "--device", "cpu")
    assert done.exit_code == 0 and done.stdout == kitchens.vrf("evaluate", first, "--fold", HELD_OUT).stdout


def test_calibration_takes_the_fold_that_was_held_out(kitchens):
    first = kitchens.folder / "first"
    done = kitchens.vrf("calibrate", first, "--json")
    assert done.exit_code == 0, done.output
    figures = json.loads(done.stdout)
    assert figures["folds"] == [HELD_OUT]
    rows = kitchens.pairs("first").rows(("action", "object", "image"), [HELD_OUT])
    assert figures["fitted_on"]["queries"] == figures["measured"]["queries"] == len(rows)
    assert [kind["without"] for kind in figures["incomplete"]] == [["image"]]
    fitted = [part["fitted_on"]["queries"] for part in (figures, *figures["incomplete"])]
    assert f"expected at least 50 queries to fit on, found {fitted[0]} (complete), {fitted[1]} (no im" in done.stderr
    assert (kitchens.model / "calibration.png").read_bytes().startswith(b"\x89PNG")
    calibration = VRFCalibration.load(kitchens.model)
    assert calibration.scale(()).temperature == figures["temperature"]
    assert figures["panels"]["measured"]["panels"] > 0
    assert PanelScale.of(calibration) == PanelScale(**figures["panels"]["weights"]) != PanelScale()
    query = ("search", "--action", "切", "--object", "レタス", "--dataset", first)
    answers = json.loads(kitchens.vrf(*query, "--json").stdout)
    assert answers["sure"] == (answers["confidence"] >= calibration.scale(("image",)).min_confidence)
    unsure = kitchens.vrf(*query, "--min-confidence", 1)
    assert "not sure: the first answer is right with a probability of" in unsure.stdout


def test_calibrating_on_recipes_that_were_trained_on_is_refused(kitchens, tmp_path):
    first, second = kitchens.folder / "first", kitchens.folder / "second"
    assert "expected fold 2, which the model was not trained on" in str(refusal(kitchens, first, "--fold", 5))
    assert "expected the dataset that the model was trained on" in str(refusal(kitchens, second))
    everything = Kitchens(tmp_path)
    shutil.copytree(kitchens.model, everything.model)
    for name in ("backbone.pth", "cache"):
        (tmp_path / name).symlink_to(kitchens.folder / name)
    path = everything.model / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"held_out_fold": None}))
    assert "found one trained on all folds" in str(refusal(everything, first, "--fold", 0))
    done = everything.vrf("calibrate", second, "--unseen", "--fold", 0, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["folds"] == [0]


def refusal(kitchens: Kitchens, *arguments) -> BaseException | None:
    return kitchens.vrf("calibrate", *arguments).exception


def test_a_run_goes_on_with_its_own_fold_and_dataset(kitchens):
    settings = json.loads((kitchens.folder / "run" / "training.json").read_text())
    assert settings["held_out_fold"] == HELD_OUT and settings["backbone"] == BACKBONE
    model, _ = load_trained(str(kitchens.model))
    assert settings["dataset"] == model.config.trained_on and len(settings["dataset"]) == 64
