"""``vrf parse`` and ``vrf parser`` as typed: text and releases in, ordinary releases out."""

import json
from pathlib import Path

import networkx as nx
import pytest

from recipeflow.graph import build_graph
from recipeflow.release import read_info, read_release, read_scores
from tests.cli.commanding import vrf
from tests.parser.reading import save_encoder

SALAD = """材料
きゅうり 1本
塩 少々
作り方
きゅうりは薄く切ります。
ボウルにきゅうりと塩を入れ、混ぜます。
"""


def run(*arguments):
    answer = vrf(*arguments)
    assert answer.code == 0, answer.stderr
    return answer.stdout


def test_a_release_is_read_again_and_every_command_takes_the_result(trained, recipes, tmp_path):
    out = tmp_path / "parsed"
    counts = json.loads(run("parse", recipes, "--model", trained, "--out", out, "--json"))
    assert counts["recipes"] == 12 and counts["entities"] > 50 and counts["flows"] > 50
    info = read_info(out)
    assert info.predicted_by == str(trained)
    for gold, found in zip(read_release(recipes), read_release(out), strict=True):
        assert [line.text for line in found.instructions] == [line.text for line in gold.instructions]
        assert not found.state_changes and found.title == gold.title
        scores = read_scores(out, found.id)
        assert scores.entities.keys() == found.entities.keys() and set(scores.flows) == set(found.flows)
    run("check", out)
    run("stats", out, "--json")
    run("program", out)
    run("explore", out, "--export", tmp_path / "site")
    run("build", out, "--out", tmp_path / "vrf")
    agreement = json.loads(run("agreement", recipes, out, "--json"))["agreement"]
    assert agreement["r-NE"]["f_measure"] > 90 and agreement["r-FG"]["f_measure"] > 80
    run("annotate-import", tmp_path / "work.db", recipes)
    assert "suggestions for 12 recipes" in run("annotate-import", tmp_path / "work.db", out, "--suggest")


def test_plain_text_becomes_a_release(trained, tmp_path):
    text = tmp_path / "my salad.txt"
    text.write_text(SALAD, encoding="utf-8")
    run("parse", text, "--model", trained, "--out", tmp_path / "one")
    (recipe,) = read_release(tmp_path / "one")
    assert recipe.id == "my-salad" and recipe.title == "my salad"
    assert [line.text for line in recipe.ingredients] == ["きゅうり１本", "塩少々"]
    assert "切" in recipe.instructions[0].tokens  # stem and ending apart
    assert recipe.entities and nx.is_directed_acyclic_graph(build_graph(recipe))
    home = tmp_path / "texts" / "recipes" / "salad"
    home.mkdir(parents=True)
    for name, content in (("title", "サラダ"), ("ingredients", "塩 少々"), ("instructions", "塩を振ります。")):
        (home / f"{name}.txt").write_text(content, encoding="utf-8")
    run("parse", tmp_path / "texts", "--model", trained, "--out", tmp_path / "two")
    assert [recipe.title for recipe in read_release(tmp_path / "two")] == ["サラダ"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected text to read, found none"),
        ("\n \t\n", "expected text to read, found none"),
        ("材料\n", "expected text to read, found none"),
        ("塩 " * 10_000, "at most 2,000 words"),
        ("Peel the potatoes.", "whose words would be joined into one"),
        (b"\xff\xfe", "expected UTF-8"),
    ],
)
def test_text_that_cannot_be_read_is_refused_and_nothing_is_written(trained, tmp_path, text, message):
    path = tmp_path / "text.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    answer = vrf("parse", path, "--model", trained, "--out", tmp_path / "out")
    assert answer.code == 1 and message in answer.stderr
    assert not (tmp_path / "out").exists()


ODD = [
    "塩",
    "。",
    "１",
    "\x00塩\x07を\x1b振る",
    "塩塩塩塩塩塩塩塩",
    "１２３４",
    "🥒🥒🥒",
    "مرحبا",
    "塩 de sel 切",
    "ー" * 300,
]


def test_odd_text_has_a_valid_graph(trained, tmp_path):
    for number, text in enumerate(ODD):
        home = tmp_path / "texts" / "recipes" / f"odd-{number}"
        home.mkdir(parents=True)
        for name, content in (("title", "odd"), ("ingredients", ""), ("instructions", text)):
            (home / f"{name}.txt").write_text(content, encoding="utf-8")
    run("parse", tmp_path / "texts", "--model", trained, "--out", tmp_path / "out")
    run("check", tmp_path / "out")
    found = list(read_release(tmp_path / "out"))
    assert len(found) == len(ODD)
    assert all(nx.is_directed_acyclic_graph(build_graph(recipe)) for recipe in found)


def test_words_of_another_language_are_refused(trained, recipes, tmp_path):
    other = tmp_path / "english"
    run("export", "jsonl", recipes, tmp_path / "recipes.jsonl")
    run("import", "jsonl", tmp_path / "recipes.jsonl", other, "--language", "en")
    for command in (("parse", other, "--out", tmp_path / "out"), ("parser", "evaluate", other)):
        answer = vrf(*command, "--model", trained)
        assert answer.code == 1 and "in the model's language, 'ja', found 'en'" in answer.stderr


def test_evaluate_prints_every_measure_and_warns_of_recipes_it_was_trained_on(trained, recipes):
    answer = vrf("parser", "evaluate", recipes, "--model", trained, "--json")
    figures = json.loads(answer.stdout)
    assert figures["recipes"] == 12 and figures["figures"]["entities"] > 90
    assert "was trained on fold 0, 1" in answer.stderr
    printed = run("parser", "evaluate", recipes, "--model", trained, "--fold", "0")
    assert "edges, from text" in printed and "Edges by distance in entities" in printed


def test_training_and_experiments_are_resumed_from_the_command_line(recipes, tmp_path):
    settings = ("--epochs", "1", "--out", tmp_path / "run")
    answer = vrf("parser", "train", recipes, "--fold", "0", *settings)
    assert answer.code == 0, answer.stderr
    assert "edges_text" in answer.stdout and "training on 10 recipes" in answer.stderr
    assert (tmp_path / "run" / "model" / "README.md").is_file()
    again = vrf("parser", "train", recipes, "--fold", "0", *settings)
    assert again.code == 1 and "finished" in again.stderr
    plan = (
        "parser",
        "experiment",
        recipes,
        "--folds",
        "0",
        "--recipes",
        "3",
        "--epochs",
        "1",
        "--out",
        tmp_path / "e",
    )
    first = json.loads(run(*plan, "--json"))
    assert [row["recipes"] for row in first["rows"]] == [3, None]
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "e" / "jobs").rglob("*.json")}
    assert len(files) == 2 and "± standard deviation" in (tmp_path / "e" / "results.md").read_text(encoding="utf-8")
    assert json.loads(run(*plan, "--json")) == first
    assert files == {path: path.stat().st_mtime_ns for path in (tmp_path / "e" / "jobs").rglob("*.json")}
    other = vrf(*plan, "--preset", "fast")
    assert other.code == 1 and "same settings" in other.stderr


def test_parsers_that_are_trained_side_by_side_are_those_of_one_after_the_other(recipes, tmp_path):
    plan = ("parser", "experiment", recipes, "--folds", "0,1", "--recipes", "3", "--epochs", "1", "--preset", "fast")
    together = vrf(*plan, "--workers", "2", "--out", tmp_path / "together")
    assert together.code == 0 and "4 of 4 parsers to train, 2 at a time" in together.stderr
    one = vrf(*plan, "--workers", "1", "--out", tmp_path / "one")
    assert one.code == 0 and "4 of 4 parsers to train, 1 at a time" in one.stderr
    assert scores_in(tmp_path / "together") == scores_in(tmp_path / "one")
    assert "parsers to train" not in vrf(*plan, "--out", tmp_path / "one").stderr


def test_bars_of_workers_do_not_mix_with_that_of_the_experiment(recipes, tmp_path, capfd):
    english = tmp_path / "english"
    run("export", "jsonl", recipes, tmp_path / "recipes.jsonl")
    run("import", "jsonl", tmp_path / "recipes.jsonl", english, "--language", "en")
    encoder = save_encoder(tmp_path / "encoder", max_position_embeddings=512)
    plan = ("parser", "experiment", english, "--folds", "0,1", "--encoder", encoder, "--epochs", "1", "--workers", "2")
    answer = vrf(*plan, "--out", tmp_path / "out")
    assert answer.code == 0 and "2 at a time" in answer.stderr
    assert "Loading weights" not in capfd.readouterr().err  # what the workers themselves print


def scores_in(folder: Path) -> dict:
    """Every result of an experiment but its time."""
    results = {path.relative_to(folder): json.loads(path.read_text()) for path in folder.glob("jobs/*/*.json")}
    return {
        path: {name: value for name, value in found.items() if name != "seconds"} for path, found in results.items()
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("parser", "train", "R", "--preset", "quick"), "expected a preset among"),
        (("parser", "train", "R", "--fold", "10"), "expected a fold from 0 to 9"),
        (("parser", "train", "R", "--fold", "1", "--test", "R"), "expected one of --fold and --test"),
        (("parser", "train", "R", "--encoder", "./no-such-folder"), "check the path"),
        (("parser", "evaluate", "R", "--model", "no-such-folder"), "expected a saved model, found nothing"),
        (("parse", "no-such-file", "--model", "M", "--out", "OUT"), "expected a text file, found none"),
    ],
)
def test_wrong_arguments_are_refused(trained, recipes, tmp_path, arguments, message):
    given = {"R": recipes, "M": trained, "OUT": tmp_path / "out"}
    options = () if "--model" in arguments else ("--out", tmp_path / "run")
    answer = vrf(*(given.get(argument, argument) for argument in arguments), *options)
    assert answer.code == 1 and message in answer.stderr
    assert not (tmp_path / "run").exists() and not (tmp_path / "out").exists()
