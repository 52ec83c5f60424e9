"""Task sets: what is made of which dataset, that they load, and that the same seed gives the same bytes."""

import json
import re
import shutil
from dataclasses import replace
from itertools import islice

import pytest
import yaml

from recipeflow.corpora.conllu import SCHEME
from recipeflow.corpora.importing import import_corpus
from recipeflow.dataset.build import build_dataset
from recipeflow.errors import NoQuestionsError, OutputExistsError, UsageError
from recipeflow.release import ReleaseInfo, ReleaseWriter, read_release
from recipeflow.release.recipe import Line
from recipeflow.tasks.making import make_tasks
from recipeflow.tasks.schema import MANIFEST, TASKS
from tests.building import all_files, run_python
from tests.cli.commanding import vrf
from tests.making import make_release
from tests.making_english import ENGLISH_INFO, SOUP
from tests.tasks.conftest import write_kitchen
from tests.tasks.reading import pictures_of, rows_of

LOAD = """
import json
from datasets import load_dataset

found = {}
for task in json.loads(open("vrf-tasks/vrf_tasks.json").read())["configs"]:
    table = load_dataset("vrf-tasks", task)
    stream = load_dataset("vrf-tasks", task, streaming=True)
    for split in table:
        rows = [row["id"] for row in stream[split]]
        assert rows == list(table[split]["id"]) and rows
        first = table[split][0]
        sizes = [cell.size for value in first.values() for cell in (value if isinstance(value, list) else [value])
                 if hasattr(cell, "size")]
        found[f"{task} {split}"] = len(sizes)
print(json.dumps(found))
"""


def manifest_of(folder):
    return json.loads((folder / MANIFEST).read_text(encoding="utf-8"))


def test_every_task_loads_normally_and_as_a_stream(task_sets):
    loaded = json.loads(run_python(LOAD, task_sets.parent))
    made = manifest_of(task_sets)["configs"]
    assert set(loaded) == {f"{task} {split}" for task in TASKS for split in made[task]["rows"]}
    assert loaded["state_choice test"] == 6 and loaded["action_choice train"] == 2 and loaded["dependency test"] == 0


def test_the_same_seed_gives_the_same_bytes_and_another_one_other_questions(dataset, task_sets, tmp_path):
    make_tasks(dataset, tmp_path / "vrf-tasks")
    assert all_files(tmp_path / "vrf-tasks") == all_files(task_sets)
    make_tasks(dataset, tmp_path / "other", seed=1)
    for task in TASKS:
        assert rows_of(task_sets, task) != rows_of(tmp_path / "other", task), task


def test_splits_are_folds_and_share_no_recipe_and_no_picture(dataset, task_sets):
    recipes, pictures = {}, {}
    for split in ("train", "validation", "test"):
        rows = [row for task in TASKS for row in rows_of(task_sets, task, [split])]
        recipes[split] = {row["recipe_id"] for row in rows}
        pictures[split] = {picture for row in rows for picture in pictures_of(row)}
    assert {split: len(ids) for split, ids in recipes.items()} == {"train": 32, "validation": 4, "test": 4}
    for one, other in (("train", "test"), ("train", "validation"), ("validation", "test")):
        assert recipes[one].isdisjoint(recipes[other]) and pictures[one].isdisjoint(pictures[other])


def test_questions_name_exactly_their_pictures(task_sets):
    for task in TASKS:
        for row in rows_of(task_sets, task, ["test"]):
            named = sorted({int(number) for number in re.findall(r"<image (\d+)>", row["question"])})
            assert named == list(range(1, len(pictures_of(row)) + 1)), task


def test_the_command_prints_what_it_made_and_refuses_to_replace_anything(tmp_path, monkeypatch):
    build_dataset(write_kitchen(tmp_path / "kitchen", 2), tmp_path / "vrf")
    monkeypatch.chdir(tmp_path)
    made = vrf("tasks", "vrf", "--fold", "1", "--json")
    manifest = json.loads(made.stdout)
    assert manifest == manifest_of(tmp_path / "vrf-tasks") and manifest["test_fold"] == 1
    again = vrf("tasks", "vrf", "--overwrite")
    assert again.code == 0 and "not made: dependency, train: no recipe" in again.stderr
    kept = vrf("tasks", "vrf")
    assert kept.code == 1 and "pass --overwrite" in kept.stderr
    wrong = vrf("tasks", "kitchen", "--out", "other")
    assert wrong.code == 1 and "vrf build" in wrong.stderr and not (tmp_path / "other").exists()


def test_the_harness_files_name_their_dataset(task_sets):
    benchmark = yaml.safe_load((task_sets / "eval.yaml").read_text(encoding="utf-8"))
    assert benchmark["evaluation_framework"] == "inspect-ai"
    for task in benchmark["tasks"]:
        assert task["split"] == "test" and task["solvers"] and task["scorers"]
        columns = {name for name in task["field_spec"].values() if isinstance(name, str)}
        assert columns <= set(TASKS[task["config"]].features)
    assert len(list((task_sets / "lmms_eval").glob("*.yaml"))) == len(TASKS)


# What a dataset lacks.


def test_without_pictures_the_tasks_of_the_graph_are_made_and_the_others_named(tmp_path):
    build_dataset(write_kitchen(tmp_path / "kitchen", 10, frames=False), tmp_path / "vrf")
    made = make_tasks(tmp_path / "vrf", tmp_path / "tasks")
    assert set(made.manifest["configs"]) == {"dependency", "ingredient_trace", "missing_step"}
    left_out = made.manifest["left_out"]
    assert all("picture" in left_out[task] for task in set(TASKS) - set(made.manifest["configs"]))
    assert all(row["image"] is None for row in rows_of(tmp_path / "tasks", "ingredient_trace"))


def test_the_official_annotations_need_text(official, tmp_path):
    recipes = [replace(recipe, url=None, state_changes=()) for recipe in islice(read_release(official), 20)]
    info = ReleaseInfo(source="official", licence="MIT")
    build_dataset(make_release(tmp_path / "bare", recipes, frames=False, info=info), tmp_path / "bare-vrf")
    with pytest.raises(NoQuestionsError, match="dependency: the dataset has no text"):
        make_tasks(tmp_path / "bare-vrf", tmp_path / "tasks")
    assert not (tmp_path / "tasks").exists()
    build_dataset(make_release(tmp_path / "full", map(_with_text, recipes), frames=False, info=info), tmp_path / "vrf")
    made = make_tasks(tmp_path / "vrf", tmp_path / "tasks")
    assert {"dependency", "ingredient_trace"} <= set(made.manifest["configs"])


def _with_text(recipe):
    """Text of the right length in which hardly a word is repeated."""
    sections = [
        tuple(Line(line.words, _characters(line.length, number)) for number, line in enumerate(lines))
        for lines in recipe.sections
    ]
    return replace(recipe, title="題", ingredients=sections[0], instructions=sections[1])


def _characters(length, number):
    return "".join(chr(ord("一") + (number * 977 + position * 31) % 9000) for position in range(length))


def test_one_recipe_gives_what_it_can(tmp_path):
    build_dataset(write_kitchen(tmp_path / "kitchen", 1), tmp_path / "vrf")
    made = make_tasks(tmp_path / "vrf", tmp_path / "tasks")
    assert made.manifest["recipes"] == {"test": 1}
    assert "dependency" in made.manifest["configs"] and "missing_step" not in made.manifest["configs"]
    assert made.manifest["left_out"]["missing_step"]
    assert made.manifest["left_out"]["dependency, train"] == "no recipe is in the fold of train: the dataset has 1"


def test_a_fold_without_a_trail_of_four_is_named(tmp_path):
    build_dataset(make_release(tmp_path / "release"), tmp_path / "vrf")
    left_out = make_tasks(tmp_path / "vrf", tmp_path / "tasks").manifest["left_out"]
    assert left_out["state_order"] == "no ingredient has four different pictures there"


def test_an_english_corpus_without_ingredient_lists_is_asked_about_too(tmp_path, english_corpus):
    corpus = english_corpus / "dev.conllu"
    import_corpus("conllu", corpus, tmp_path / "release", skip_bad=True, drop_flows=True)
    build_dataset(tmp_path / "release", tmp_path / "vrf")
    made = make_tasks(tmp_path / "vrf", tmp_path / "tasks")
    assert made.manifest["language"] == SCHEME.language
    assert set(made.manifest["configs"]) == {"dependency", "ingredient_trace", "missing_step"}
    rows = rows_of(tmp_path / "tasks", "ingredient_trace")
    assert all(set(row["answer"]) < set(row["choices"]) for row in rows) and len(rows) > 50


def test_a_recipe_with_other_tags_is_read(tmp_path):
    with ReleaseWriter(tmp_path / "release", ENGLISH_INFO) as writer:
        writer.add(SOUP, None)
    build_dataset(tmp_path / "release", tmp_path / "vrf")
    with pytest.raises(NoQuestionsError, match="missing_step: no five candidates"):
        make_tasks(tmp_path / "vrf", tmp_path / "tasks")


def test_bad_arguments_are_refused(dataset, tmp_path):
    with pytest.raises(UsageError, match="fold from 0 to 9"):
        make_tasks(dataset, tmp_path / "tasks", test_fold=10)
    with pytest.raises(UsageError, match="outside the dataset"):
        make_tasks(dataset, dataset)
    shutil.copytree(dataset / "recipes", tmp_path / "mine")
    with pytest.raises(OutputExistsError):
        make_tasks(dataset, tmp_path / "mine", overwrite=True)
