"""The tasks in other harnesses: what a model wrote becomes an answer, and each harness gets files it can load."""

import importlib.util
import json
import re

import pytest
import yaml
from datasets import load_dataset

from recipeflow.errors import UsageError
from recipeflow.tasks.folder import TasksFolder, pictures_of
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


@pytest.fixture(scope="module")
def inspect_ai():
    return pytest.importorskip("inspect_ai", reason="inspect-ai is not installed: pip install '.[inspect]'")


IMAGE = re.compile(r"<image (\d+)>")
ASKED = 6
"""Questions per config: two changes of ``same_change``."""


def _run_inspect(inspect_ai, task_sets, task, model, log_dir):
    from recipeflow.tasks.inspect_task import vrf_tasks

    questions = vrf_tasks(str(task_sets), task, "train")
    (log,) = inspect_ai.eval(questions, model=model, log_dir=str(log_dir), display="none", limit=ASKED)
    assert log.status == "success", log.error
    return log


def _key(question, pictures):
    """Text and pictures as they are shown: a picture may be shown twice, and Inspect knows no numbers of pictures."""
    shown = [pictures[int(number) - 1] for number in IMAGE.findall(question)]
    return "".join(IMAGE.sub("<image>", question).split()), tuple(shown)


@pytest.mark.parametrize("task", TASKS)
def test_inspect_runs_every_config_with_a_scripted_model(inspect_ai, task_sets, tmp_path, task):
    """The script knows each question by its text and pictures, so it answers only if Inspect asks exactly these."""
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    from recipeflow.tasks.inspect_task import read_question

    rows = list(TasksFolder(task_sets).rows(task, "train", with_pictures=True))[:ASKED]
    answers = {_key(row["question"], pictures_of(task, row)): right_answer(task, row) for row in rows}
    known = {}

    def answer(asked, *_):
        right = answers[_key(*read_question(asked[-1]))]
        text = ("".join(right) if task == "state_order" else _written(right)) if known["is_right"] else "?"
        # With a usage, Inspect counts no tokens: for that it would download a tokenizer.
        return ModelOutput.from_content("mockllm", text).model_copy(update={"usage": ModelUsage()})

    for known["is_right"] in (True, False):
        model = get_model("mockllm/model", custom_outputs=answer, memoize=False)
        log = _run_inspect(inspect_ai, task_sets, task, model, tmp_path)
        assert {sample.id for sample in log.samples} == {row["id"] for row in rows}
        metrics = log.results.scores[0].metrics
        assert {"mean", "stderr"} <= set(metrics) and ("right_in_all_ways" in metrics) == (task == "same_change")
        reached = [metrics[name].value for name in metrics if name != "stderr"]
        assert reached == pytest.approx([float(known["is_right"])] * len(reached))


def test_inspect_asks_a_retrieval_model_like_any_provider(inspect_ai, task_sets, tiny_model, tmp_path):
    from recipeflow.tasks.baselines.retrieval import CHOICES, RetrievalAnswerer

    answerer = RetrievalAnswerer(str(tiny_model))
    for task in [*CHOICES, "missing_step"]:
        log = _run_inspect(inspect_ai, task_sets, task, f"recipeflow/{tiny_model}", tmp_path)
        if task in CHOICES:
            rows = list(TasksFolder(task_sets).rows(task, "train", with_pictures=True))[:ASKED]
            expected = {row["id"]: answerer.answer(row["question"], pictures_of(task, row)) for row in rows}
            assert {sample.id: sample.output.completion for sample in log.samples} == expected
        outcomes = {sample.scores["vrf"].metadata["outcome"] for sample in log.samples}
        assert "malformed" not in outcomes if task in CHOICES else outcomes == {"malformed"}


def test_inspect_names_a_config_that_the_split_lacks(inspect_ai, task_sets):
    from recipeflow.tasks.inspect_task import vrf_tasks

    with pytest.raises(UsageError, match=r"state_choice.*found 'cooking'"):
        vrf_tasks(str(task_sets), "cooking")


def test_judging_needs_no_pictures(task_sets):
    for task in TasksFolder(task_sets).tasks("test"):
        row = next(TasksFolder(task_sets).rows(task, "test"))
        assert judge(TASKS[task].answered_by, row, right_answer(task, row), True).outcome in ("right", "written")
