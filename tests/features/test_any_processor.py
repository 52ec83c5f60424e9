"""The same features, caches and results on every processor, whether it computes in bf16 or not."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from recipeflow.dataset.build import build_dataset
from recipeflow.experiment.jobs import Experiment
from recipeflow.features.backbone import FrozenBackbone
from recipeflow.pairs.mapped import ROWS
from recipeflow.search import Retriever
from recipeflow.training.runs import start_training
from recipeflow.training.settings import PRESETS, get_preset
from tests.features.test_features import compute, picture, save_weights, write_pairs
from tests.making import make_release
from tests.model_helpers import BACKBONE
from tests.search.searching import Table, own_cache  # noqa: F401


@pytest.fixture
def processor(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """Makes this machine one that computes in bf16, and twice as fast, or one that only emulates it."""

    def become(has_bf16: bool) -> None:
        monkeypatch.setattr("recipeflow.features.precision.has_native_bf16", lambda device: has_bf16)
        seconds = {"fp32": 2.0, "bf16": 1.0 if has_bf16 else 60.0}
        monkeypatch.setattr(FrozenBackbone, "seconds", lambda self, pixels: seconds[self.precision])

    return become


def test_features_and_their_cache_do_not_depend_on_the_processor(processor, tmp_path):
    weights = save_weights(tmp_path / "tiny.pth")
    pairs = write_pairs(tmp_path / "vrf", [picture(1), None, picture(2)], [picture(2), picture(3), picture(3)])
    tables = []
    for has_bf16 in (False, True):
        processor(has_bf16)
        tables.append(compute(pairs, weights, tmp_path / str(has_bf16), views=2))
    plain, modern = tables
    assert plain.precision == modern.precision == "fp32"
    assert plain.folder.name == modern.folder.name
    assert torch.equal(plain.views, modern.views)
    assert (plain.summary().split(";")[0], plain.stats.similarity) == (modern.summary().split(";")[0], None)


def test_auto_is_what_depends_on_the_processor(processor, tmp_path):
    """Or the tests here would force nothing."""
    weights = save_weights(tmp_path / "tiny.pth")
    pairs = write_pairs(tmp_path / "vrf", [picture(1)], [picture(2)])
    chosen = []
    for has_bf16 in (False, True):
        processor(has_bf16)
        chosen.append(compute(pairs, weights, tmp_path / str(has_bf16), precision="auto").precision)
    assert chosen == ["fp32", "bf16"]


@pytest.fixture(scope="module")
def table(tmp_path_factory) -> Table:
    """Three small recipes: bf16 is slow where it is only emulated."""
    folder = tmp_path_factory.mktemp("machine")
    built = build_dataset(make_release(folder / "release"), folder / "vrf").folder
    return Table(built, save_weights(folder / "tiny.pth", BACKBONE))


def caches(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != ROWS)


@pytest.mark.parametrize("has_bf16", [False, True])
def test_indexes_experiments_and_runs_ask_for_fp32_on_every_processor(processor, table, tmp_path, has_bf16):
    processor(has_bf16)
    source = {"backbone": BACKBONE, "weights": str(table.weights)}
    Retriever.build(*table.make_model(), table.folder, weights=table.weights, cache=tmp_path / "index")
    options = {"preset": "fast", "config": PRESETS["fast"], "cache": str(tmp_path / "experiment")}
    Experiment(str(table.folder), **source, **options).features()
    start_training(table.folder, tmp_path / "run", PRESETS["fast"], None, **source, cache=tmp_path / "train")
    assert caches(tmp_path / "index") == caches(tmp_path / "experiment") == caches(tmp_path / "train")
    (name,) = caches(tmp_path / "index")
    assert f"{BACKBONE}-fp32-" in name


def test_bf16_is_used_and_recorded_where_it_is_asked_for(processor, table, tmp_path):
    processor(False)
    config = get_preset("fast", feature_precision="bf16")
    source = {"backbone": BACKBONE, "weights": str(table.weights), "cache": str(tmp_path / "cache")}
    experiment = Experiment(str(table.folder), **source, preset="fast", config=config)
    assert experiment.features().precision == "bf16"
    trainer = start_training(table.folder, tmp_path / "run", config, None, **source)
    assert trainer.config.feature_precision == "bf16"
    (name,) = caches(tmp_path / "cache")
    assert f"{BACKBONE}-bf16-" in name
