"""The tasks in other harnesses: what a model wrote becomes an answer, and each harness gets files it can load."""

import importlib.util
import json

import pytest
import yaml
from datasets import load_dataset

from recipeflow.tasks.folder import TasksFolder
from recipeflow.tasks.schema import TASKS
from recipeflow.tasks.scoring.extraction import extract_answer
from recipeflow.tasks.scoring.judging import judge
from tests.tasks.reading import rows_of
from tests.tasks.test_scoring import CHOICE, ORDER, PATH, SET, right_answer


@pytest.mark.parametrize(
    ("kind", "row", "text", "answer"),
    [
        ("choice", CHOICE, "A knife cut it, so the answer is (B).", "B"),
        ("choice", CHOICE, "**C**", "C"),
        ("choice", CHOICE, "I do not know.", "I do not know."),
        ("order", ORDER, "The order is C → A → B → D.", "C → A → B → D"),
        ("order", ORDER, "CABD", "CABD"),
        ("set", SET, 'First ["水"]. Then: ["塩", "卵"]', ["塩", "卵"]),
        ("path", PATH, 'So {"answer": "yes", "path": [1, 2, 4]}', {"answer": "yes", "path": [1, 2, 4]}),
        ("path", PATH, "No.", "no"),
        ("path", PATH, "[[[", "[[["),
        ("text", {}, " 切ります。\n", "切ります。"),
    ],
)
def test_the_answer_is_found_in_what_a_model_wrote(kind, row, text, answer):
    assert extract_answer(kind, row, text) == answer


def _written(answer):
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)


# lmms-eval: files that need nothing of this project.


class Function(yaml.SafeLoader):
    """YAML with lmms-eval's own tag for functions of a module next to it."""


@pytest.fixture(scope="module")
def lmms(task_sets):
    folder = task_sets / "lmms_eval"
    spec = importlib.util.spec_from_file_location("vrf_lmms_utils", folder / "utils.py")
    utils = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(utils)
    Function.add_constructor("!function", lambda loader, node: getattr(utils, node.value.removeprefix("utils.")))
    return {path.stem: yaml.load(path.read_text(encoding="utf-8"), Function) for path in folder.glob("*.yaml")}


def test_lmms_eval_asks_with_all_pictures_and_scores_right_answers(lmms, task_sets, monkeypatch):
    monkeypatch.chdir(task_sets.parent)
    for task in TasksFolder(task_sets).tasks("test"):
        config = lmms[f"vrf_{task}"]
        assert (config["dataset_path"], config["dataset_name"], config["test_split"]) == ("vrf-tasks", task, "test")
        docs = load_dataset("parquet", data_files=f"vrf-tasks/{task}/test-*.parquet", split="train").select(range(3))
        found = []
        for doc, row in zip(docs, rows_of(task_sets, task, ["test"]), strict=False):
            assert config["doc_to_text"](doc).count("<image") >= len(config["doc_to_visual"](doc))
            right = right_answer(task, row)
            said = "".join(right) if task == "state_order" else _written(right)
            found.append(config["process_results"](doc, [said]))
        (metric,) = config["metric_list"]
        values = [each[metric["metric"]] for each in found]
        reached = metric["aggregation"](values) if callable(metric["aggregation"]) else sum(values) / len(values)
        assert reached == pytest.approx(100 if task == "instruction_writing" else 1), task


def test_lmms_eval_loads_the_files(task_sets):
    tasks = pytest.importorskip("lmms_eval.tasks", reason="lmms-eval is not installed")
    manager = tasks.TaskManager(include_path=str(task_sets / "lmms_eval"), include_defaults=False)
    assert {f"vrf_{task}" for task in TASKS} <= set(manager.all_tasks)


# Inspect.


def test_inspect_runs_every_config_with_a_scripted_model(task_sets, tmp_path):
    inspect_ai = pytest.importorskip("inspect_ai", reason="inspect-ai is not installed: pip install '.[inspect]'")
    from inspect_ai.model import ModelOutput, get_model

    from recipeflow.tasks.inspect_task import vrf_tasks

    for task in TasksFolder(task_sets).tasks("test"):
        rows = rows_of(task_sets, task, ["test"])
        said = [right_answer(task, row) for row in rows]
        texts = ["".join(each) if task == "state_order" else _written(each) for each in said]
        outputs = [ModelOutput.from_content("mockllm/model", text) for text in texts]
        model = get_model("mockllm/model", custom_outputs=outputs, memoize=False)
        (log,) = inspect_ai.eval(
            vrf_tasks(str(task_sets), task), model=model, log_dir=str(tmp_path), display="none", max_connections=1
        )
        assert log.status == "success", log.error
        metrics = log.results.scores[0].metrics
        assert all(metrics[name].value == pytest.approx(1) for name in metrics if name != "stderr"), task


def test_judging_needs_no_pictures(task_sets):
    for task in TasksFolder(task_sets).tasks("test"):
        row = next(TasksFolder(task_sets).rows(task, "test"))
        assert judge(TASKS[task].answered_by, row, right_answer(task, row), True).outcome in ("right", "written")
