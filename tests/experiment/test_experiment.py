import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

from modeling_vrf import VRFModel
from recipeflow.cli import app
from recipeflow.dataset.build import build_dataset
from recipeflow.errors import OutputExistsError, UsageError
from recipeflow.experiment.collecting import common_queries, common_summary
from recipeflow.experiment.compare import compare_experiments
from recipeflow.experiment.folder import Job
from recipeflow.experiment.jobs import Experiment, run_experiment
from recipeflow.experiment.paper import parse_folds, parse_rows
from recipeflow.experiment.results import RESULTS, results_notes, results_table, short_table
from recipeflow.kitchen import cook_release
from recipeflow.pairs.loading import load_pairs
from recipeflow.training.recorded_settings import record_settings
from recipeflow.training.runs import start_training
from recipeflow.training.saved_model import TUNING
from recipeflow.training.settings import INPUTS, PRESETS, get_preset
from tests.pairs.pairing import OFFLINE

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def experiment(tmp_path_factory) -> Experiment:
    folder = tmp_path_factory.mktemp("experiment")
    cook_release(folder / "kitchen", recipes=10, used_only=True)
    build_dataset(folder / "kitchen", folder / "vrf")
    config = replace(PRESETS["fast"], epochs=1)
    return Experiment(str(folder / "vrf"), **OFFLINE, cache=str(folder / "cache"), preset="fast", config=config)


@pytest.fixture(scope="module")
def out(experiment, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("out")
    run_experiment(experiment, folder, rows=("random", "both"), folds=[0, 1], workers=2)
    return folder


def test_results_say_what_was_measured_and_on_what(out):
    results = json.loads((out / "results.json").read_text())
    random, both = results["rows"]
    assert random["paper"] == {"recall_at_5": 2.37, "median_rank": 149.0}
    assert both["inputs"] == ["action", "object", "image"]
    assert set(both["folds"]) == {"0", "1"}
    assert both["usable_rows"] < random["usable_rows"] <= results["all_rows"]
    assert both["folds"]["0"]["candidates"] == random["folds"]["0"]["candidates"]
    figures = [fold["recall_at_5"] for fold in both["folds"].values()]
    assert both["mean"]["recall_at_5"] == pytest.approx(sum(figures) / 2)
    assert results["settings"]["training"]["epochs"] == 1
    assert results["settings"]["training"]["feature_precision"] == "fp32"
    assert "torch" in results["versions"]


def test_the_table_stands_beside_the_papers(out):
    table = results_table(json.loads((out / "results.json").read_text())).markdown()
    page = (out / "results.md").read_text()
    assert page.startswith(table)
    assert "The candidates are" in page and "no evidence for the paper's claim" in page
    for name in ("recall", "ranks", "learning"):
        assert f"plots/{name}.png" in page
        with Image.open(out / "plots" / f"{name}.png") as figure:
            assert figure.width > 500
    assert "149.00" in table and "verb + object + image" in table and "±" in table


def test_finished_jobs_are_not_run_again_and_new_ones_are(experiment, out):
    kept = out / Job("both", 0).file
    before = kept.stat().st_mtime_ns
    results = run_experiment(experiment, out, rows=("random", "both"), folds=[0, 1, 2], workers=1)
    assert kept.stat().st_mtime_ns == before
    assert set(results["rows"][1]["folds"]) == {0, 1, 2}


def test_other_rows_and_folds_of_the_same_settings_add_to_the_folder(experiment, tmp_path):
    call = ["experiment", experiment.dataset, "--cache", experiment.cache, "--out", str(tmp_path / "out")]
    call += ["--workers", "1", "--json", "--rows"]
    for rows, folds in (("random", "0,1"), ("random", "2"), ("both", "1")):
        result = CliRunner().invoke(app, [*call, rows, "--folds", folds])
        assert result.exit_code == 0, result.output
    found = {row["name"]: list(row["folds"]) for row in json.loads(result.stdout)["rows"]}
    assert found == {"random": ["0", "1", "2"], "both": ["1"]}
    page = (tmp_path / "out" / "results.md").read_text()
    assert "over 1 to 3 folds" in page and "random search (3 folds)" in page
    assert "random search" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize(
    ("option", "found"),
    [
        (["--preset", "paper"], "preset 'fast' and not 'paper'"),
        (["--inner"], "inner False and not True"),
        (["--views", "2"], "views 1 and not 2"),
    ],
)
def test_results_of_other_settings_are_never_written_over(option, found, experiment, tmp_path):
    call = ["experiment", experiment.dataset, "--cache", experiment.cache, "--out", str(tmp_path), "--workers", "1"]
    call += ["--rows", "random", "--folds", "0"]
    assert CliRunner().invoke(app, call).exit_code == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    error = CliRunner().invoke(app, [*call, *option]).exception
    assert isinstance(error, OutputExistsError)
    assert found in str(error) and "another --out" in str(error)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_results_of_an_earlier_version_are_continued(experiment, tmp_path):
    """It recorded nothing about mixed rows, of which it had none, and word vectors had the rate of all weights."""
    call = ["experiment", experiment.dataset, "--cache", experiment.cache, "--out", str(tmp_path), "--workers", "1"]
    call += ["--rows", "random", "--folds", "0"]
    assert CliRunner().invoke(app, call).exit_code == 0
    (file,) = tmp_path.glob("jobs/*/*.json")
    result = json.loads(file.read_text())
    del result["settings"]["training"]["mixed_share"], result["settings"]["training"]["word_rate"]
    for path in (file, tmp_path / "results.json"):
        content = json.loads(path.read_text())
        path.write_text(json.dumps(content | {"settings": result["settings"]}))
    before = file.read_bytes()
    assert CliRunner().invoke(app, call).exit_code == 0
    assert file.read_bytes() == before, "the finished job was not run again"


def test_results_of_other_data_are_refused_too(experiment, out, tmp_path):
    cook_release(tmp_path / "kitchen", recipes=10, seed=5, used_only=True)
    build_dataset(tmp_path / "kitchen", tmp_path / "vrf")
    with pytest.raises(OutputExistsError, match="found data "):
        run_experiment(replace(experiment, dataset=str(tmp_path / "vrf")), out, rows=("random",), folds=[0], workers=1)


def test_settings_tell_apart_what_a_result_depends_on(experiment):
    pairs = load_pairs(experiment.dataset, experiment.features())
    best = replace(experiment, preset="best", config=PRESETS["best"])
    other_graph = replace(pairs, contexts=((), *pairs.contexts[1:]), seen=pairs.seen.flip(0))
    assert experiment.settings(other_graph) == experiment.settings(pairs), "the paper's model reads no context"
    assert best.settings(other_graph) != best.settings(pairs)
    assert best.settings(other_graph)["data"] == best.settings(pairs)["data"], "so that both can be compared"
    for change in ({"objects": pairs.objects[::-1]}, {"folds": pairs.folds.flip(0)}, {"recipes": pairs.recipes + 1}):
        assert experiment.settings(replace(pairs, **change))["data"] != experiment.settings(pairs)["data"], change


def test_views_change_what_is_trained_on_and_not_what_is_asked(experiment, out, tmp_path):
    viewed = replace(experiment, config=replace(experiment.config, views=2))
    results = run_experiment(viewed, tmp_path, rows=("both",), folds=[0], workers=1)
    plain = json.loads((out / "results.json").read_text())
    assert results["settings"]["data"] == plain["settings"]["data"], "so that both can be compared"
    jobs = [json.loads((folder / Job("both", 0).file).read_text()) for folder in (tmp_path, out)]
    assert jobs[0]["rows"] == jobs[1]["rows"]
    assert jobs[0]["history"][0]["loss"] != jobs[1]["history"][0]["loss"]


def test_one_input_alone_is_asked_without_context():
    best = PRESETS["best"]
    assert best.with_inputs(("image",)).context == best.with_inputs(("object",)).context == "none"
    assert best.with_inputs(("action", "image")).context == "history"
    dropped = {
        "+".join(inputs): best.with_inputs(inputs).model.get("image_dropout") for inputs in (("image",), INPUTS)
    }
    assert dropped == {"image": None, "action+object+image": best.model["image_dropout"]}, "one input is never lost"
    assert PRESETS["paper"].with_inputs(("image",)).with_context("none").model == {}


def test_the_best_preset_is_asked_apart_where_a_picture_is_missing(experiment, out, tmp_path, monkeypatch):
    monkeypatch.setattr("recipeflow.training.tuning.MARGIN", -10)
    config = replace(PRESETS["best"], epochs=1, tune=True)
    best = replace(experiment, preset="best", config=config)
    results = run_experiment(best, tmp_path, rows=("image", "both"), folds=[0], workers=1)
    image, both = results["rows"]
    assert image["unseen"] is None and both["unseen"]["queries"] > 0
    pairs = load_pairs(best.dataset, best.features())
    asked = pairs.rows(config.inputs, [0], incomplete=True)
    assert both["folds"][0]["queries"] + both["unseen"]["queries"] == len(asked)
    assert both["folds"][0]["candidates"] == both["unseen"]["candidates"] == image["folds"][0]["candidates"]
    assert "pre-action image is missing" in (tmp_path / "results.md").read_text()
    assert best.config.image_features != experiment.config.image_features
    assert {compared.folds for compared in compare_experiments(out, tmp_path)} == {(0,)}
    ignored = "On 1 of 1 folds, models of verb + object + image ignore the image, which tuning chose."
    assert ignored in results_notes(results) and "ignore" not in results_notes(json.loads((out / RESULTS).read_text()))
    kept = json.loads((tmp_path / "results.json").read_text())["rows"][1]["tuning"]["0"]
    assert kept["fold"] == 1 and kept["feature_dropout"] in {one["feature_dropout"] for one in kept["tried"]}


@pytest.mark.parametrize("ignoring", [False, True])
def test_a_tuned_run_records_its_choice_and_does_not_choose_again(experiment, tmp_path, monkeypatch, ignoring):
    monkeypatch.setattr("recipeflow.training.tuning.MARGIN", -10 if ignoring else 10)
    config = replace(PRESETS["best"], epochs=1, tune=True)
    where = {"backbone": experiment.backbone, "weights": experiment.weights, "cache": experiment.cache}
    said: list[list[str]] = [[], []]
    for lines in said:  # as if the first start had been killed before its first step
        trainer = start_training(experiment.dataset, tmp_path / "run", config, 0, **where, announce=lines.append)
        trainer.claim.release()
    assert [any(line.startswith("tuning: chose") for line in lines) for lines in said] == [True, False]
    record_settings(tmp_path / "run", trainer.settings())  # and this one after it
    kept = (tmp_path / "run" / TUNING).read_bytes()
    for other in (replace(config, seed=1), replace(config, tune=False)):  # refused before anything is tuned for it
        with pytest.raises(OutputExistsError, match="seed 0 and not 1" if other.tune else "tune True and not False"):
            start_training(experiment.dataset, tmp_path / "run", other, 0, **where, announce=said[0].append).train()
    assert len([line for line in said[0] if line.startswith("tuning: chose")]) == 1
    assert (tmp_path / "run" / TUNING).read_bytes() == kept
    trainer = start_training(experiment.dataset, tmp_path / "run", config, 0, **where)
    trainer.train()
    saved = VRFModel.from_pretrained(tmp_path / "run" / "model").config
    assert saved.ignores_image == (trainer.config.mixed_share == 0) == ignoring
    tuning = saved.tuning
    assert tuning["feature_dropout"] == trainer.config.model["feature_dropout"] == trainer.model.config.feature_dropout
    assert tuning["fold"] == 1 and tuning["seconds"] > 0


def test_settings_are_not_tuned_on_the_fold_that_chooses_others(experiment, tmp_path):
    command = [
        "experiment",
        experiment.dataset,
        "--preset",
        "best",
        "--tune",
        "--inner",
        "--out",
        str(tmp_path / "out"),
    ]
    error = CliRunner().invoke(app, command).exception
    assert isinstance(error, UsageError) and "one of --tune and --inner" in str(error)
    with pytest.raises(UsageError, match="one of --tune and --inner"):
        replace(experiment, config=replace(PRESETS["best"], tune=True), inner=True)


def test_choosing_settings_leaves_the_held_out_fold_alone(experiment, out, tmp_path):
    inner = replace(experiment, inner=True)
    results = run_experiment(inner, tmp_path, rows=("random",), folds=[0], workers=1)
    outer = json.loads((out / "results.json").read_text())
    assert results["settings"]["inner"] and results["settings"] != outer["settings"]
    kept = json.loads((tmp_path / Job("random", 0).file).read_text())
    tested = json.loads((out / Job("random", 1).file).read_text())
    assert kept["rows"] == tested["rows"]  # fold 1 is what settings for fold 0 are chosen on


def test_unknown_names_are_reported_with_the_known_ones():
    with pytest.raises(UsageError, match="paper, fast, best"):
        get_preset("slow")
    with pytest.raises(UsageError, match="none, modifiers, history"):
        get_preset("best").with_context("all")
    with pytest.raises(UsageError, match="--preset best"):
        get_preset("fast").with_context("history")
    with pytest.raises(UsageError, match="random, text, image, both"):
        parse_rows(["smell"])
    with pytest.raises(UsageError, match="0,1,2"):
        parse_folds("one")
    assert parse_folds("3,4") == [3, 4] and len(parse_folds("")) == 10


def test_a_worker_that_dies_is_reported_and_finished_jobs_are_kept(experiment, tmp_path):
    command = [sys.executable, "-m", "recipeflow.cli", "experiment", experiment.dataset, "--cache", experiment.cache]
    command += ["--preset", "paper", "--rows", "random,both", "--folds", "0,1", "--workers", "3", "--out", tmp_path]
    process = subprocess.Popen(list(map(str, command)), stderr=subprocess.PIPE, text=True, cwd=ROOT)
    finished = tmp_path / Job("random", 0).file
    wait_until(lambda: finished.exists() or process.poll() is not None)
    os.kill(find_worker(process.pid), signal.SIGKILL)
    _, printed = process.communicate(timeout=240)
    assert process.returncode == 1
    assert "finished jobs are kept" in printed and "Traceback" not in printed
    assert finished.exists() and not (tmp_path / "results.json").exists()


def wait_until(ready, seconds=300):
    deadline = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def find_worker(parent: int) -> int:
    """A process that the parent started to work for it, and not the one that tidies up after it."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return next(int(child) for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes())


def test_a_job_embeds_its_test_fold_once(experiment, tmp_path, monkeypatch):
    embed, modes = VRFModel._embed_images, []

    def watched(self, *arguments, **options):
        modes.append(self.training)
        return embed(self, *arguments, **options)

    monkeypatch.setattr(VRFModel, "_embed_images", watched)
    run_experiment(experiment, tmp_path, rows=("both",), folds=[0], workers=1)
    assert modes.count(False) == 1 and modes.count(True) > 1


def test_a_row_that_asks_more_is_shown_on_the_common_queries_too(experiment, tmp_path):
    out = tmp_path / "out"
    run_experiment(experiment, out, rows=("text", "image"), folds=[0, 1], workers=1)
    results = json.loads((out / "results.json").read_text())
    text, image = results["rows"]
    assert image["common"] is None, "all of its queries are common ones"
    for fold in ("0", "1"):
        asked, others = (json.loads((out / Job(row, fold).file).read_text()) for row in ("text", "image"))
        ranks = [rank for rank, row in zip(asked["ranks"], asked["rows"], strict=True) if row in others["rows"]]
        found = text["common"]["folds"][fold]
        assert found["queries"] == len(ranks) == len(others["rows"]) < len(asked["rows"])
        assert found["recall_at_5"] == pytest.approx(100 * sum(rank <= 5 for rank in ranks) / len(ranks))
        assert found["candidates"] == text["folds"][fold]["candidates"]
    assert text["common"]["usable_rows"] == image["usable_rows"] < text["usable_rows"]
    shown = f"{text['common']['mean']['recall_at_5']:.1f} ± {text['common']['std']['recall_at_5']:.1f}"
    terminal = short_table(results).markdown() + results_notes(results)
    for page in (terminal, *((out / name).read_text() for name in ("results.md", "report.html"))):
        assert "verb + object (common)" in page and shown in page and "cannot be compared" in page


def test_rows_have_common_queries_only_in_folds_that_all_of_them_have():
    def job(*rows: int) -> dict:
        return {"rows": list(rows), "ranks": [1.0] * len(rows), "metrics": {"candidates": 9}}

    text, image = {0: job(1, 2, 3), 1: job(7, 8)}, {1: job(8), 2: job(11)}
    assert common_queries({"random": {4: job(5)}, "text": text, "image": image}) == {1: {8}}
    assert common_queries({"text": text, "image": {2: job(11)}}) == {} == common_queries({"random": {4: job(5)}})
    assert common_summary(text, {}, 0) is None
    assert common_summary(text, {1: {8}}, 1)["folds"][1]["queries"] == 1
