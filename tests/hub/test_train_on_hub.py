"""Training on a dataset of the Hub, on tables in memory, and with a Hub that will take the model."""

import shutil

import datasets
import pytest
from datasets import load_dataset
from typer.testing import CliRunner

from recipeflow.cli import app
from recipeflow.dataset.build import build_dataset
from recipeflow.dataset.digest import dataset_digest
from recipeflow.dataset.opening import open_dataset
from recipeflow.errors import (
    DatasetFolderError,
    HubAccessError,
    HubConnectionError,
    HubNotFoundError,
    HubTokenError,
    RepoNameError,
    UsageError,
    VisibilityError,
)
from recipeflow.hub import push_dataset
from recipeflow.training.runs import start_training
from recipeflow.training.settings import get_preset
from tests.hub.conftest import TOKEN
from tests.making import make_release
from tests.pairs.pairing import OFFLINE

SHORT = get_preset("fast", epochs=1)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    build_dataset(make_release(folder / "release"), folder / "vrf")
    return folder / "vrf"


@pytest.fixture(scope="module")
def tables(tiny):
    return {name: load_dataset(str(tiny), name, split="train") for name in ("image_pairs", "recipes", "flow_graphs")}


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("RECIPEFLOW_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def run_vrf(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


# A dataset on the Hub.


def test_every_learning_command_takes_a_name_on_the_hub(here, tiny, cache, tmp_path, monkeypatch):
    push_dataset(tiny, "lab/vrf")
    monkeypatch.chdir(tmp_path)
    assert run_vrf("features", "lab/vrf").exit_code == 0
    here.state.forget()
    for command in (
        ["train", "lab/vrf", "--epochs", "1", "--out", "run"],
        ["evaluate", "lab/vrf", "--model", "run/model"],
        ["experiment", "lab/vrf", "--rows", "random", "--folds", "0", "--workers", "1", "--out", "experiment"],
        ["report", "experiment"],
        ["index", "lab/vrf", "--model", "run/model"],
    ):
        result = run_vrf(*command)
        assert result.exit_code == 0, (command, result.exception)
    assert 'repo = "."' in (tmp_path / "run" / "model" / "README.md").read_text(encoding="utf-8")
    assert dataset_digest(open_dataset("lab/vrf")) == dataset_digest(tiny)
    assert here.state.requests["resolve"] == 0, "nothing is fetched twice"
    assert "is not available" not in (tmp_path / "experiment" / "report.html").read_text()


def test_what_the_hub_does_not_have_is_reported_with_both_places(here, cache, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    here.state.create("dataset", "lab/other", False, here.state.users[TOKEN])
    for name, kind, message in (
        ("lab/nothing", HubNotFoundError, "no folder lab/nothing here; looked on the Hub"),
        ("lab/other", DatasetFolderError, "expected image_pairs/*.parquet in the dataset lab/other on the Hub"),
        ("nowhere", DatasetFolderError, "no readable image_pairs/*.parquet in nowhere"),
    ):
        error = run_vrf("train", name).exception
        assert isinstance(error, kind) and message in str(error)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    error = run_vrf("train", "lab/nothing").exception
    assert isinstance(error, HubConnectionError) and "no folder lab/nothing here" in str(error)
    assert not (tmp_path / "run").exists()


# Tables in memory.


def test_a_dataset_with_all_tables_is_the_folder_they_were_loaded_from(tiny, tables, cache):
    folder = open_dataset(tables)
    assert dataset_digest(folder) == dataset_digest(tiny)
    assert open_dataset(dict(reversed(tables.items()))) == folder, "kept once"
    fewer = open_dataset(tables | {"image_pairs": tables["image_pairs"].select(range(5))})
    assert fewer != folder and dataset_digest(fewer) != dataset_digest(folder)


def test_pairs_alone_train_a_model_without_context(tables, cache, tmp_path):
    pairs = tables["image_pairs"].remove_columns(["pair_id", "instruction", "instruction_index", "object_tag"])
    trainer = start_training(pairs, tmp_path / "run", SHORT, None, **OFFLINE)
    trainer.train()
    assert (tmp_path / "run" / "model" / "model.safetensors").is_file()
    words = set(trainer.processor.tokenizer.get_vocab())
    assert {"切り", "きゅうり"} <= words
    best = get_preset("best", epochs=1)
    with pytest.raises(UsageError, match=r"flow_graphs, for the context 'history'.*--context none"):
        start_training(pairs, tmp_path / "best", best, None, **OFFLINE)
    graphs = {"image_pairs": pairs, "flow_graphs": tables["flow_graphs"]}
    trainer = start_training(graphs, tmp_path / "best", best, None, **OFFLINE)
    assert "薄く" in trainer.processor.tokenizer.get_vocab(), "a word of the context"
    trainer.claim.release()


def test_images_that_are_files_are_taken_in(tables, cache, tmp_path):
    def save(row, number):
        for side in ("pre_image", "post_image"):
            if row[side] is not None:
                path = tmp_path / f"{number}-{side}.png"
                row[side].save(path)
                row[side] = str(path)
        return row

    rows = [save(dict(row), number) for number, row in enumerate(tables["image_pairs"])]
    pairs = datasets.Dataset.from_list(rows, features=tables["image_pairs"].features)
    dataset_digest(open_dataset(pairs))  # which reads the bytes of every image


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda pairs: pairs.remove_columns(["fold", "post_image"]), r"no column fold .*; no column post_image \(im"),
        (lambda pairs: pairs.cast_column("fold", datasets.Value("string")), "string in the column fold"),
        (lambda pairs: pairs.remove_columns("pre_image").add_column("pre_image", ["a.jpg"] * 12), "column pre_image"),
    ],
)
def test_columns_that_are_missing_or_of_another_type_are_named(change, found, tables, cache):
    with pytest.raises(DatasetFolderError, match=found):
        open_dataset(change(tables["image_pairs"]))


def test_a_built_folder_without_one_of_its_tables_is_damaged(tiny, tmp_path):
    shutil.copytree(tiny, tmp_path / "vrf")
    shutil.rmtree(tmp_path / "vrf" / "flow_graphs")
    error = run_vrf("train", tmp_path / "vrf", "--out", tmp_path / "run", "--cache", tmp_path / "cache").exception
    assert isinstance(error, DatasetFolderError) and "expected a folder flow_graphs" in str(error)


def test_rows_without_a_fold_are_refused(tables, cache, tmp_path):
    folds = [None, *tables["image_pairs"]["fold"][1:]]
    pairs = tables["image_pairs"].remove_columns("fold").add_column("fold", folds)
    with pytest.raises(DatasetFolderError, match=r"a fold from 0 to 9 in every row .* found \['None'\]"):
        start_training(pairs, tmp_path / "run", SHORT, None, **OFFLINE)


@pytest.mark.parametrize("table", ["flow_graphs", "recipes"])
def test_a_recipe_that_another_table_lacks_is_named(table, tables, cache, tmp_path):
    fewer = tables | {table: tables[table].select([0, 1])}
    lost = tables[table][2]["recipe_id"]
    with pytest.raises(DatasetFolderError, match=f"found 1 that are not in all of them, the first '{lost}'"):
        start_training(fewer, tmp_path / "run", SHORT, None, **OFFLINE)
    assert not (tmp_path / "run").exists()


def test_what_is_no_table_is_refused(tables, cache):
    with pytest.raises(UsageError, match="found train; pass one split"):
        open_dataset(datasets.DatasetDict(train=tables["image_pairs"]))
    with pytest.raises(UsageError, match="found IterableDataset"):
        open_dataset(tables["image_pairs"].to_iterable_dataset())


# A Hub that will take the model.


@pytest.mark.parametrize(
    ("name", "token", "kind", "message"),
    [
        ("no owner", TOKEN, RepoNameError, "expected OWNER/NAME"),
        ("lab/model", None, HubTokenError, "hf auth login"),
        ("lab/model", "hf_unknown", HubTokenError, "found one that it refuses"),
        ("lab/model", "hf_reader", HubAccessError, "one with read access only"),
        ("stranger/model", TOKEN, HubAccessError, "not stranger nor a member"),
        ("lab/public", TOKEN, VisibilityError, "found that it is public"),
    ],
)
def test_an_impossible_push_is_refused_before_training(name, token, kind, message, here, tiny, tmp_path, monkeypatch):
    here.state.create("model", "lab/public", False, here.state.users[TOKEN])
    monkeypatch.setenv("HF_TOKEN", token) if token else monkeypatch.delenv("HF_TOKEN")
    error = run_vrf("train", tiny, "--out", tmp_path / "run", "--push-to", name).exception
    assert isinstance(error, kind) and message in str(error)
    assert not (tmp_path / "run").exists()
    assert ("model", "lab/model") not in here.state.repositories


def test_a_push_that_can_be_is_done_after_training(here, tiny, cache, tmp_path):
    call = ["train", tiny, "--epochs", "1", "--out", tmp_path / "run", "--push-to", "kitchen/model"]
    result = run_vrf(*call)
    assert result.exit_code == 0, result.exception
    assert here.state.repositories["model", "kitchen/model"].private


def test_a_tracker_that_is_not_installed_is_refused_before_training(tiny, tmp_path):
    for name, message in (("clearml", "pip install clearml"), ("comet_ml", "no package comet-ml"), ("paper", "wandb")):
        error = run_vrf("train", tiny, "--out", tmp_path / "run", "--tracker", name).exception
        assert isinstance(error, UsageError) and message in str(error)
    assert not (tmp_path / "run").exists()
