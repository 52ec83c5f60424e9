"""No question gives its answer away: not by names, ids, bytes, order, or by how candidates are drawn."""

import io
import json
import math
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image

from recipeflow.dataset.build import build_dataset
from recipeflow.dataset.recipes import DatasetSource
from recipeflow.errors import BrokenImageError
from recipeflow.kitchen.cooking import devise_recipe
from recipeflow.release import ReleaseInfo, ReleaseWriter
from recipeflow.tasks.candidates import KINDS, TOO_ALIKE, MomentPool
from recipeflow.tasks.folder import TasksFolder
from recipeflow.tasks.frames import FrameStore
from recipeflow.tasks.graph_tasks import dependency
from recipeflow.tasks.looks import look_of
from recipeflow.tasks.making import make_tasks
from recipeflow.tasks.material import read_material
from recipeflow.tasks.picture_tasks import state_choice
from recipeflow.tasks.schema import TASKS
from recipeflow.tasks.split import Split
from tests.tasks.conftest import SIMULATED, draw_frame, write_kitchen
from tests.tasks.reading import CHOICES, pictures_of, rows_of

LETTERS = "ABCDE"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    store = FrameStore(tmp_path_factory.mktemp("store") / "frames")
    yield store
    store.close()


@pytest.fixture(scope="module")
def split(dataset, store):
    return Split("all", tuple(read_material(dataset, store)), 0)


def cells_of(row):
    return [cell for value in row.values() for cell in (value if isinstance(value, list) else [value])]


def is_chance(count, total, share):
    """Whether a count is within four standard deviations of what chance gives."""
    return abs(count - total * share) < 4 * math.sqrt(total * share * (1 - share))


def test_pictures_have_no_names_and_no_hidden_words(task_sets):
    seen = set()
    for task in TASKS:
        for row in rows_of(task_sets, task):
            assert all(cell["path"] is None for cell in cells_of(row) if isinstance(cell, dict) and "path" in cell)
            seen.update(pictures_of(row))
    for picture in seen:
        with Image.open(io.BytesIO(picture)) as image:
            assert not image.getexif() and "comment" not in image.info


def test_ids_are_unique_and_say_nothing(task_sets):
    rows = [(task, row) for task in TASKS for row in rows_of(task_sets, task)]
    ids = [row["id"] for _, row in rows]
    assert len(set(ids)) == len(ids)
    assert all(len(name) == 16 and int(name, 16) >= 0 for name in ids)
    for answer in (*LETTERS, "yes", "no"):
        low = [row["id"][-1] < "8" for _, row in rows if row["answer"] == answer]
        assert len(low) > 100 and is_chance(sum(low), len(low), 0.5), answer


def test_ids_and_the_order_of_rows_do_not_depend_on_the_answer(split, store):
    """Asked again with other draws, the same questions have other answers, but the same places."""
    first, second = (list(state_choice(replace(split, seed=seed), store)) for seed in (0, 1))
    assert len(first) == len(second) and is_chance(
        sum(one["answer"] == other["answer"] for one, other in zip(first, second, strict=True)), len(first), 0.2
    )


@pytest.mark.parametrize("task", CHOICES)
def test_an_answer_says_nothing_about_the_next_one(task_sets, task):
    answers = [row["answer"] for row in rows_of(task_sets, task, ["train"])]
    same = sum(one == other for one, other in pairwise(answers))
    assert is_chance(same, len(answers) - 1, 0.2)


def test_the_right_picture_has_no_other_size_in_bytes_than_the_rest(task_sets):
    rows = [(row["choices"], row["answer"]) for row in rows_of(task_sets, "state_choice")]
    ways = (row for row in rows_of(task_sets, "same_change") if row["way"] == "picture")
    rows += [(row["pictures"], row["answer"]) for row in ways]
    for chosen in (max, min):
        sizes = [[len(cell["bytes"]) for cell in cells] for cells, _ in rows]
        right = [
            each.index(chosen(each)) == LETTERS.index(answer) for each, (_, answer) in zip(sizes, rows, strict=True)
        ]
        assert is_chance(sum(right), len(right), 0.2), chosen


def test_what_was_done_so_far_does_not_say_what_is_done_now(split, store):
    for row in state_choice(split, store):
        material = split.by_id[row["recipe_id"]]
        asked = row["question"].partition("Before: <image 1>")[0]
        done = asked.partition("Done so far:\n")[2].splitlines()
        now = {
            moment.line or 0
            for moment in material.moments
            if (moment.action, moment.object) == (row["action"], row["object"])
        }
        assert len(done) in now
        assert done == [f"{number}. {line}" for number, line in enumerate(material.instructions[: len(done)], 1)]


def test_no_picture_is_shown_twice_in_a_question(task_sets):
    for task in TASKS:
        for row in rows_of(task_sets, task):
            pictures = pictures_of(row)
            assert len(set(pictures)) == len(pictures), (task, row["id"])


def test_text_candidates_differ_and_are_not_in_the_rest_of_the_question(task_sets):
    for row in rows_of(task_sets, "missing_step"):
        assert len(set(row["choices"])) == 5
        asked = row["question"].partition("Which instruction is missing?")[0]
        assert not any(choice in asked for choice in row["choices"])
    for row in rows_of(task_sets, "action_choice"):
        for choice in row["choices"]:
            assert sum(choice in other for other in row["choices"]) == 1
        assert not any(choice in row["object"] for choice in row["choices"] if len(choice) > 2)


def bytes_with_captions(dataset):
    """The encoded frames of a dataset in which its kitchen drew a caption."""
    source = DatasetSource(dataset)
    for recipe in [checked.recipe for checked in source.recipes()]:
        film = devise_recipe(0, int(recipe.id.rpartition("-")[2])).film
        captioned = {key.number for key in film.keys if key.caption}
        yield from (source.picture(recipe, number) for number in recipe.used_frames if number in captioned)


def test_no_question_shows_a_caption_that_names_the_action(dataset, task_sets):
    captioned = set(bytes_with_captions(dataset))
    assert len(captioned) > 50
    for task in TASKS:
        for row in rows_of(task_sets, task):
            assert captioned.isdisjoint(pictures_of(row)), (task, row["id"])
    assert TasksFolder(task_sets).manifest["captioned_frames"] == len(captioned)
    assert f"names the action ({len(captioned)}) are in no question" in (task_sets / "README.md").read_text()


def test_the_card_warns_where_captions_are_not_known(tmp_path):
    """Elsewhere nobody recorded which frames have one, and a recipe that the kitchen would not make is like these."""
    own = ReleaseInfo(source="own", licence="MIT", scheme=SIMULATED.scheme)
    build_dataset(write_kitchen(tmp_path / "own", 10, own), tmp_path / "own-vrf")
    with ReleaseWriter(tmp_path / "edited", SIMULATED) as writer:
        for index in range(10):
            recipe = devise_recipe(0, index).recipe
            renamed = replace(recipe, title="もう一つのサラダ") if index == 3 else recipe
            writer.add(renamed, {number: draw_frame(recipe.id, number) for number in recipe.used_frames})
    build_dataset(tmp_path / "edited", tmp_path / "edited-vrf")
    for name in ("own-vrf", "edited-vrf"):
        made = make_tasks(tmp_path / name, tmp_path / f"{name}-tasks")
        assert made.manifest["captioned_frames"] is None
        assert "Captions are not known" in (made.folder / "README.md").read_text(encoding="utf-8")


def test_pictures_to_choose_from_look_more_alike_than_others_of_the_split(split, store):
    """Otherwise the picture before would show which food it is about, and so the answer."""
    rows = list(state_choice(split, store))
    afters = [moment.after for material in split.materials for moment in material.moments if moment.is_complete]
    looks = np.stack([look_of(store.image(digest)["bytes"]) for digest in dict.fromkeys(afters)])
    inside = [spread(np.stack([look_of(cell["bytes"]) for cell in row["choices"]])) for row in rows]
    assert np.mean(inside) < 0.95 * spread(looks)
    assert min(inside) > TOO_ALIKE


def test_a_damaged_picture_is_named(split, tmp_path):
    store = FrameStore(tmp_path / "frames")
    moments = [replace(split.materials[0].moments[0], after=store.add(data)) for data in (b"junk", b"")]
    with pytest.raises(BrokenImageError, match=r"does not decode.*check the release") as caught:
        MomentPool([], store).difference(*moments)
    assert caught.value.recipe == moments[0].recipe
    store.close()


def spread(looks):
    """The mean difference of two pictures."""
    apart = np.sqrt(((looks[:, None] - looks[None]) ** 2).mean(2))
    return apart.sum() / (len(looks) * (len(looks) - 1))


def test_states_that_look_alike_are_never_offered_together(split, store):
    shown = defaultdict(set)
    for moment in (moment for material in split.materials for moment in material.moments):
        shown[moment.before].add(moment.state.before)
        shown[moment.after].add(moment.state.after)
    digests = {store.image(digest)["bytes"]: digest for digest in shown if digest is not None}
    rows = list(state_choice(split, store))
    assert len(rows) > 200
    for row in rows:
        states = [shown[digests[cell["bytes"]]] for cell in row["choices"]]
        assert sum(map(len, states)) == len(set().union(*states))


@pytest.mark.parametrize("task", CHOICES)
def test_every_place_is_the_answer_equally_often(task_sets, task):
    answers = Counter(row["answer"] for row in rows_of(task_sets, task))
    total = answers.total()
    assert set(answers) == set(LETTERS)
    assert all(is_chance(count, total, 0.2) for count in answers.values()), answers


@pytest.mark.parametrize("task", CHOICES)
def test_kinds_name_every_candidate(task_sets, task):
    rows = rows_of(task_sets, task)
    for row in rows:
        assert [LETTERS[place] for place, kind in enumerate(row["kinds"]) if kind == "answer"] == [row["answer"]]
    assert {kind for row in rows for kind in row["kinds"]} <= set(KINDS)
    alike = sum(kind not in ("answer", "other_recipe") for row in rows for kind in row["kinds"])
    assert alike > 1.5 * len(rows)


def test_the_answer_has_no_other_length_than_the_rest(task_sets):
    for task in ("action_choice", "missing_step"):
        rows = rows_of(task_sets, task)
        longest = sum(max(row["choices"], key=len) == row["choices"][LETTERS.index(row["answer"])] for row in rows)
        assert is_chance(longest, len(rows), 0.2), task


def test_yes_and_no_are_balanced_for_every_step_and_distance(task_sets):
    rows = rows_of(task_sets, "dependency")
    assert Counter(row["answer"] for row in rows)["yes"] * 2 == len(rows)
    asked = Counter((row["recipe_id"], row["second"], row["answer"]) for row in rows)
    assert set(asked.values()) == {1}
    assert all(row["first"] < row["second"] for row in rows)


def test_paths_follow_the_flows(split, store):
    for row in dependency(split, store):
        steps = split.by_id[row["recipe_id"]].steps
        for start, end in pairwise(row["path"]):
            assert start in steps[end - 1].needs
        assert bool(row["path"]) == (row["answer"] == "yes")


def test_half_of_the_offered_ingredients_are_in_the_object(task_sets):
    rows = rows_of(task_sets, "ingredient_trace")
    assert all(2 * len(row["answer"]) == len(row["choices"]) == 2 * len(set(row["answer"])) for row in rows)
    firsts = sum(row["choices"][0] in row["answer"] for row in rows)
    assert is_chance(firsts, len(rows), 0.5)


def test_the_order_of_pictures_is_shuffled(task_sets):
    rows = rows_of(task_sets, "state_order")
    assert all(sorted(row["answer"]) == list("ABCDEF"[: len(row["pictures"])]) for row in rows)
    for place in (0, -1):
        count = sum(row["answer"][place] == "A" for row in rows)
        assert is_chance(count, len(rows), sum(1 / len(row["answer"]) for row in rows) / len(rows))


def test_the_three_ways_show_no_picture_that_answers_another(task_sets):
    rows = rows_of(task_sets, "same_change", ["test"])
    groups = Counter(row["group"] for row in rows)
    assert set(groups.values()) == {3}
    for row in rows:
        shown = {"state": ["after"], "picture": ["before"], "change": ["before", "after"]}[row["way"]]
        assert [name for name in ("before", "after") if row[name] is not None] == shown
        assert bool(row["pictures"]) == (row["way"] == "picture") != bool(row["choices"])
    letters = defaultdict(dict)
    for row in rows_of(task_sets, "same_change"):
        letters[row["group"]][row["way"]] = row["answer"]
    for one, other in (("state", "picture"), ("picture", "change"), ("state", "change")):
        assert is_chance(sum(each[one] == each[other] for each in letters.values()), len(letters), 0.2)


def test_writing_shows_no_words_of_the_answer_without_the_graph(task_sets):
    for row in rows_of(task_sets, "instruction_writing", ["test"]):
        assert row["with_graph"] == (row["graph"] is not None)
        lines = row["answer"].splitlines()
        assert not any(line in row["question"] for line in lines)
        assert json.dumps(row["pairs"]) and max(pair["after"] for pair in row["pairs"]) < len(row["pictures"])
