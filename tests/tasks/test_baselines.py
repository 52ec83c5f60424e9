"""Shortcuts: they find what a badly made set gives away, and nothing in ours."""

import json
import random

import numpy as np
import pytest

from recipeflow.dataset.build import build_dataset
from recipeflow.errors import UsageError
from recipeflow.tasks.baselines.logit import choose, fit
from recipeflow.tasks.baselines.running import run_baselines
from recipeflow.tasks.baselines.shortcuts import SHORTCUTS, answer_rows
from recipeflow.tasks.baselines.writers import from_graph
from recipeflow.tasks.folder import TasksFolder
from recipeflow.tasks.looks import Looks
from recipeflow.tasks.making import make_tasks
from tests.cli.commanding import vrf
from tests.tasks.conftest import write_kitchen

LETTERS = "ABCDE"


def test_a_logit_finds_the_feature_that_matters():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(300, 5, 6)).astype(np.float32)
    right = features[:, :, 2].argmax(1)
    weights = fit(features[:200], right[:200])
    assert (choose(features[200:], weights) == right[200:]).mean() > 0.9


def leaky_rows(count, seed):
    """Questions whose right answer is always the longest text."""
    rng = random.Random(seed)
    for number in range(count):
        choices = ["切" * rng.randrange(1, 6) for _ in range(5)]
        choices[place := rng.randrange(5)] = "混" * 9
        yield {"id": f"{seed}-{number}", "question": "?\nA. x", "choices": choices, "answer": LETTERS[place]}


def test_an_answer_that_gives_itself_away_is_found():
    train, rows = list(leaky_rows(100, 0)), list(leaky_rows(50, 1))
    right = {row["id"]: row["answer"] for row in rows}
    assert answer_rows("missing_step", "answer_only", train, rows, Looks()) == right
    blind = answer_rows("missing_step", "question_only", train, rows, Looks())
    assert sum(blind[key] == answer for key, answer in right.items()) < 25


@pytest.fixture(scope="module")
def many_questions(tmp_path_factory):
    """More than a thousand questions about text, without pictures."""
    folder = tmp_path_factory.mktemp("many")
    build_dataset(write_kitchen(folder / "kitchen", 160, frames=False), folder / "vrf")
    make_tasks(folder / "vrf", folder / "tasks")
    return folder


def test_seeing_only_the_answers_gains_nothing(many_questions, tmp_path):
    found = run_baselines(many_questions / "tasks", tmp_path / "out", split="train", dataset=many_questions / "vrf")
    reached = {(each.model, result.task): result for each in found.results for result in each.tasks}
    assert found.shortcuts() == []
    for task in ("dependency", "ingredient_trace", "missing_step"):
        result = reached["answer_only", task]
        assert result.questions > 600
        assert next(iter(result.metrics.values())).mean - result.chance < 3, task
    for task in ("dependency", "ingredient_trace"):
        assert {metric.mean for metric in reached["tracing", task].metrics.values()} == {100.0}
    assert {path.stem for path in (tmp_path / "out").iterdir()} == {*SHORTCUTS, "tracing"}


def test_every_baseline_answers_every_question(task_sets, dataset, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = vrf("baselines", task_sets, "--dataset", dataset, "--json")
    assert done.code == 0, done.stderr
    results = {each["model"]: each["tasks"] for each in json.loads(done.stdout)}
    asked = set(TasksFolder(task_sets).tasks("test"))
    for name in SHORTCUTS:
        expected = asked if name in ("random", "most_frequent", "question_only") else asked - {"instruction_writing"}
        assert set(results[name]) == expected
        for task in results[name].values():
            assert task["outcomes"].get("missing", 0) == task["outcomes"].get("malformed", 0) == 0
    assert set(results["template"]) == {"instruction_writing"}
    assert (tmp_path / "baselines" / "nearest_instruction.jsonl").exists()


def test_without_a_train_split_there_is_nothing_to_fit_on(tmp_path):
    build_dataset(write_kitchen(tmp_path / "kitchen", 1), tmp_path / "vrf")
    make_tasks(tmp_path / "vrf", tmp_path / "tasks")
    with pytest.raises(UsageError, match="split train"):
        run_baselines(tmp_path / "tasks", tmp_path / "out")


def test_a_graph_becomes_sentences():
    graph = "1. 薄く切 ← きゅうり\n2. 皮を剥 ← 皮, result of 1\n3. 混ぜ ← result of 2"
    assert from_graph(graph) == "きゅうりを薄く切ます。\n皮を剥ます。\n混ぜます。"
