"""Scores of predictions: exact values on hand-made rows, intervals by recipe, and every kind of bad answer named."""

import json
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recipeflow.errors import DatasetFolderError, PredictionsError
from recipeflow.tasks.folder import TasksFolder
from recipeflow.tasks.schema import TASKS
from recipeflow.tasks.scoring.intervals import interval
from recipeflow.tasks.scoring.judging import READERS, judge
from recipeflow.tasks.scoring.predictions import Predictions, read_predictions
from recipeflow.tasks.scoring.results import score
from recipeflow.tasks.scoring.writing import broken_orders, make_spotter, overlap, score_texts
from tests.cli.commanding import vrf
from tests.tasks.reading import rows_of

CHOICE = {"answer": "B", "kinds": ["other_state", "answer", "neighbour", "other_recipe", "other_recipe"]}
ORDER = {"answer": ["C", "A", "B", "D"]}
SET = {"choices": ["塩", "卵", "酢", "油"], "answer": ["塩", "酢"]}
PATH = {
    "answer": "yes",
    "first": 1,
    "second": 4,
    "needs": [{"start": 1, "end": 2}, {"start": 2, "end": 4}, {"start": 1, "end": 3}, {"start": 3, "end": 4}],
}


def right_answer(task, row):
    return {"answer": row["answer"], "path": row["path"]} if task == "dependency" else row["answer"]


def write_predictions(path, folder, tasks=tuple(TASKS), change=lambda task, row, answer: answer):
    with path.open("w", encoding="utf-8") as file:
        for task in tasks:
            for row in rows_of(folder, task, ["test"]):
                answer = change(task, row, right_answer(task, row))
                file.write(json.dumps({"id": row["id"], "answer": answer}, ensure_ascii=False) + "\n")
    return path


@pytest.mark.parametrize(
    ("kind", "row", "answer", "outcome", "values"),
    [
        ("choice", CHOICE, "B", "right", [1]),
        ("choice", CHOICE, " (b). "[:4], "right", [1]),
        ("choice", CHOICE, "C", "neighbour", [0]),
        ("choice", CHOICE, "F", "malformed", [0]),
        ("choice", CHOICE, 1, "malformed", [0]),
        ("order", ORDER, "C, A, B, D", "right", [1, 1]),
        ("order", ORDER, ["A", "C", "B", "D"], "wrong", [0, 5 / 6]),
        ("order", ORDER, "CAB", "malformed", [0, 0]),
        ("order", ORDER, "CABB", "malformed", [0, 0]),
        ("set", SET, ["塩", "酢"], "right", [1, 1]),
        ("set", SET, ["塩", "油"], "wrong", [0.5, 0]),
        ("set", SET, [], "wrong", [0.5, 0]),
        ("set", SET, ["水"], "malformed", [0, 0]),
        ("path", PATH, {"answer": "yes", "path": [1, 3, 4]}, "right", [1, 1]),
        ("path", PATH, {"answer": "yes", "path": [1, 4]}, "wrong path", [1, 0]),
        ("path", PATH, "Yes", "wrong path", [1, 0]),
        ("path", PATH, "no", "said no", [0, 0]),
        ("path", PATH, {"path": [1, 4]}, "malformed", [0, 0]),
        ("text", {}, " ", "malformed", [0]),
    ],
)
def test_an_answer_is_judged(kind, row, answer, outcome, values):
    found = judge(kind, row, answer, True)
    assert (found.outcome, list(found.values.values())) == (outcome, values)
    assert judge(kind, row, None, False).outcome == "missing"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["answer", "path", "x"]), inner),
    max_leaves=6,
)


@given(JSON, st.sampled_from(sorted(READERS)))
def test_whatever_a_model_answers_is_judged(answer, kind):
    row = {**PATH, **{"choice": CHOICE, "joint": CHOICE, "order": ORDER, "set": SET}.get(kind, {})}
    found = judge(kind, row, answer, True)
    assert all(0 <= value <= 1 for value in found.values.values())


def test_right_answers_score_everything_and_each_wrong_one_costs(task_sets, tmp_path):
    folder = TasksFolder(task_sets)
    best = score(folder, read_predictions(write_predictions(tmp_path / "best.jsonl", task_sets)))
    for result in best.tasks:
        for name, found in result.metrics.items():
            assert found.mean == pytest.approx(0 if name.startswith("broken") else 100, abs=1e-6), name
    assert best.problems == () and best.not_answered == ()
    rng = random.Random(0)
    guessed = write_predictions(
        tmp_path / "guess.jsonl", task_sets, ["state_choice"], lambda task, row, answer: rng.choice("ABCDE")
    )
    (result,) = score(folder, read_predictions(guessed)).tasks
    assert result.chance == pytest.approx(20)
    assert 5 < result.metrics["accuracy"].mean < 45
    assert sum(taken for _, taken in result.kinds.values()) + result.outcomes["right"] == result.questions


def test_one_wrong_way_makes_a_change_wrong(task_sets, tmp_path):
    def only_states(task, row, answer):
        return answer if row["way"] == "state" else "ABCDE"["ABCDE".index(answer) - 1]

    path = write_predictions(tmp_path / "one.jsonl", task_sets, ["same_change"], only_states)
    metrics = score(TasksFolder(task_sets), read_predictions(path)).tasks[0].metrics
    assert (metrics["all three"].mean, metrics["which state"].mean, metrics["which change"].mean) == (0, 100, 0)


def test_bad_lines_are_counted_and_named(task_sets, tmp_path):
    path = write_predictions(tmp_path / "model.jsonl", task_sets, ["dependency"])
    lines = path.read_text(encoding="utf-8").splitlines()
    extra = ["nonsense", '{"id": 3}', lines[0], '{"id": "elsewhere", "answer": "A"}', ""]
    path.write_text("\n".join([*lines[:-1], *extra]), encoding="utf-8")
    done = vrf("score", task_sets, path, "--json")
    (found,) = json.loads(done.stdout)
    assert found["tasks"]["dependency"]["outcomes"]["missing"] == 1
    number = len(lines)
    assert found["problems"][0].startswith(
        f"2 malformed lines, left out: line {number} (no JSON), line {number + 1} (no"
    )
    assert re.match(r"1 repeated answers, of which the first counts: [0-9a-f]{16}$", found["problems"][1])
    assert found["problems"][2] == "1 answers to unknown questions, left out: elsewhere"
    assert set(found["not_answered"]) == set(TasksFolder(task_sets).tasks("test")) - {"dependency"}
    printed = vrf("score", task_sets, path)
    assert printed.code == 0 and "1 answers to unknown questions" in printed.stderr and "with path" in printed.stdout


def test_files_without_answers_are_refused(task_sets, tmp_path):
    empty = tmp_path / "empty.jsonl"
    empty.write_text("[]\n")
    with pytest.raises(PredictionsError, match="line 1: no id and answer"):
        read_predictions(empty)
    with pytest.raises(PredictionsError, match="cannot be read"):
        read_predictions(tmp_path / "nowhere.jsonl")
    with pytest.raises(PredictionsError, match="none of its 1 ids is there"):
        score(TasksFolder(task_sets), Predictions("m", {"x": "A"}))
    with pytest.raises(DatasetFolderError, match="vrf tasks"):
        TasksFolder(tmp_path)
    path = write_predictions(tmp_path / "some.jsonl", task_sets, ["dependency"])
    assert "expected a split of train" in vrf("score", task_sets, path, "--split", "dev").stderr


def test_intervals_are_by_recipe():
    alike = interval([1.0] * 50 + [0.0] * 50, ["a"] * 50 + ["b"] * 50)
    apart = interval([1.0, 0.0] * 50, [str(number) for number in range(100)])
    assert alike.mean == apart.mean == 50
    assert (alike.low, alike.high) == (0, 100)
    assert 35 < apart.low < 45 and 55 < apart.high < 65


def test_what_chrf_misses_is_measured():
    steps = [
        {"action": "切", "needs": []},
        {"action": "茹で", "needs": [1]},
        {"action": "混ぜ", "needs": [2]},
        {"action": "混ぜ", "needs": [3]},
    ]
    row = {"recipe_id": "r", "answer": "卵を切り、茹でます。", "steps": steps, "ingredients": ["卵", "ゆで卵"]}
    assert broken_orders(row, "切って茹でる") == 0
    assert broken_orders(row, "茹でて切る") == 1
    assert broken_orders(row, "切る。混ぜる。") is None  # 混ぜ is there twice
    assert make_spotter(["卵", "ゆで卵"], "ja")("ゆで卵と卵") == ["ゆで卵", "卵"]
    assert make_spotter(["egg"], "en")("Eggs, egg") == ["egg"]
    assert overlap(["a", "a", "b"], ["a", "c"]) == pytest.approx(0.4)
    found = score_texts([row], ["卵を切り、茹でます。"], "ja")
    assert (found["chrF"].mean, found["verbs"].mean, found["broken orders"].mean) == (100, 100, 0)
    other = score_texts([row], ["茹でて混ぜます。"], "ja")
    assert other["ingredients"].mean == 0 and other["chrF"].mean < 50


def test_texts_that_share_nothing_with_the_right_one_score_zero():
    """A draw of such texts only, which sacrebleu's own bootstrap cannot add up."""
    texts = ["A", "卵を切り、茹でます。", "B"]
    row = {"answer": texts[1], "steps": [], "ingredients": []}
    rows = [row | {"recipe_id": str(number)} for number in range(3)]
    found = score_texts(rows, texts, "ja")
    assert found["chrF"].low == found["BLEU"].low == 0 < found["chrF"].mean < found["chrF"].high == 100
    one = score_texts(rows[:1], texts[1:2], "ja")
    assert one["chrF"] == (100, 100, 100) and one["BLEU"] == pytest.approx((100, 100, 100))
    assert score_texts([rows[0] | {"answer": "Cut the egg."}], ["Cut the egg."], "en")["chrF"].mean == 100


def test_the_page_is_one_file_with_pictures_and_answers(task_sets, tmp_path):
    one = write_predictions(tmp_path / "one.jsonl", task_sets, ["state_choice", "dependency"])
    two = write_predictions(tmp_path / "<two>.jsonl", task_sets, ["state_choice"], lambda *_: "A")
    page = tmp_path / "score.html"
    assert vrf("score", task_sets, one, two, "--html", page, "--questions", "7").code == 0
    html = page.read_text(encoding="utf-8")
    assert html.count("<article") == 14 and html.count("data:image/webp") == 7 * 6
    assert not re.search(r"(src|href)=\"(?!data:)", html) and "&lt;two&gt;" in html and "<two>" not in html
