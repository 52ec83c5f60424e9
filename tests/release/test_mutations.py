"""Damage a valid release at random: every answer is a list of problems, or a release that works."""

import copy
import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recipeflow.errors import ReleaseProblem, VRFError
from recipeflow.graph import build_graph, pair_objects, trace_objects
from recipeflow.graph.statistics import compute_statistics
from recipeflow.release import check_release, read_info, read_release, write_release
from recipeflow.release.parsing import recipe_to_json
from tests.making import RECIPES, make_release

VALID = {recipe.id: recipe_to_json(recipe) for recipe in RECIPES}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """One release that every example damages anew, in one file at a time."""
    return make_release(tmp_path_factory.mktemp("mutations") / "release")


def assert_sound(folder: Path) -> list[ReleaseProblem]:
    """Checking never raises; reading raises our own errors or gives recipes with which everything works."""
    problems = check_release(folder)
    for problem in problems:
        assert type(problem) is not ReleaseProblem
        assert problem.file
        str(problem).encode()
        json.dumps(problem.as_dict())
    if problems:
        for read in (read_release, lambda folder: [read_info(folder)]):
            try:
                list(read(folder))
            except VRFError as error:
                str(error).encode()
        return problems
    recipes = list(read_release(folder))
    for recipe in recipes:
        assert trace_objects(recipe).keys() == {action.id for action in recipe.actions}
        assert len(pair_objects(recipe)) == len(recipe.state_changes)
        assert build_graph(recipe).number_of_edges() == len(recipe.flows)
    assert compute_statistics(recipes).recipes == len(recipes)
    write_release(folder.with_name("again"), recipes, read_info(folder), overwrite=True)
    assert check_release(folder.with_name("again")) == []
    assert list(read_release(folder.with_name("again"))) == recipes
    assert read_info(folder.with_name("again")) == read_info(folder)
    return []


def spots(value, path=()):
    """The way to every value inside ``value``."""
    yield path
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from spots(inner, (*path, key))


NASTY = [b"NaN", b"1e999", b"9" * 5000, b"[" * 3000, b'"\\ud800"', b"\xed\xa0\x80", b"\0"]
SPOTS = [path for path in spots(VALID) if path]

ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 12),
    st.sampled_from([2**31, 2**63, 10**400, -(10**30)]),
    st.floats(),
    st.text(max_size=4),
    st.sampled_from(["", "\ud800", "../x", "a\0", ".", "F-B", "F-I", "Ac-B", "Targ", "F-set", "0-0-0", "1-0-2"]),
    st.recursive(st.just([]) | st.just({}), lambda inner: st.lists(inner, min_size=1, max_size=2), max_leaves=4),
)


def mutate(root, data):
    """Change one spot: remove, replace, double, swap, or take a value from elsewhere."""
    path = data.draw(st.sampled_from(SPOTS))
    parent = root
    try:
        for key in path[:-1]:
            parent = parent[key]
        value = parent[path[-1]]
    except (KeyError, IndexError, TypeError):
        return  # an earlier mutation removed it
    key = path[-1]
    kind = data.draw(st.sampled_from(["remove", "replace", "double", "swap", "transplant", "rename", "nest"]))
    if kind == "remove":
        del parent[key]
    elif kind == "replace":
        parent[key] = data.draw(ODD)
    elif kind == "nest":
        parent[key] = [value]
    elif kind == "transplant":
        other = root_value(data.draw(st.sampled_from(SPOTS)))
        parent[key] = copy.deepcopy(other)
    elif isinstance(parent, dict):
        parent[data.draw(st.text(max_size=3) | st.just("../x"))] = parent.pop(key)
    elif kind == "double":
        parent.insert(key, copy.deepcopy(value))
    else:
        other = data.draw(st.integers(0, len(parent) - 1))
        parent[key], parent[other] = parent[other], parent[key]


def root_value(path):
    value = VALID
    for key in path:
        value = value[key]
    return value


@settings(max_examples=300)
@given(data=st.data(), count=st.integers(1, 4))
def test_mutated_annotations(folder, data, count):
    root = copy.deepcopy(VALID)
    for _ in range(count):
        mutate(root, data)
    (folder / "annotations.json").write_text(json.dumps(root), encoding="utf-8")
    assert_sound(folder)


@settings(max_examples=200)
@given(seed=st.integers(0, 2**32), count=st.integers(1, 6), escape=st.booleans())
def test_damaged_bytes_of_annotations(folder, seed, count, escape):
    rng = random.Random(seed)
    raw = bytearray(json.dumps(VALID, ensure_ascii=escape).encode())
    for _ in range(count):
        at = rng.randrange(len(raw))
        match rng.randrange(5):
            case 0:
                raw[at] ^= 1 << rng.randrange(8)
            case 1:
                del raw[at : at + rng.randrange(1, 40)]
            case 2:
                raw[at:at] = rng.choice(
                    [b"NaN", b"1e999", b"9" * 5000, b"[" * 3000, b'"\\ud800"', b"\xed\xa0\x80", b"\0"]
                )
            case 3:
                raw = raw[: at + 1]
            case 4:
                raw[at:at] = raw[rng.randrange(len(raw)) :][: rng.randrange(60)]
    (folder / "annotations.json").write_bytes(raw)
    assert_sound(folder)


@settings(max_examples=150)
@given(file=st.sampled_from(["text", "urls", "info", "frame"]), junk=st.binary(max_size=8), seed=st.integers(0, 2**32))
def test_damaged_other_files(folder, file, junk, seed):
    rng = random.Random(seed)
    (folder / "annotations.json").write_text(json.dumps(VALID), encoding="utf-8")
    home = folder / "recipes" / rng.choice(RECIPES).id
    path = {
        "text": home / rng.choice(["title.txt", "ingredients.txt", "instructions.txt"]),
        "urls": folder / "recipe_urls.txt",
        "info": folder / "release.json",
        "frame": rng.choice(sorted((home / "frames").iterdir())),
    }[file]
    whole = path.read_bytes()
    at = rng.randrange(len(whole))
    try:
        path.write_bytes(whole[:at] + junk + whole[at + rng.randrange(3) * len(junk) :])
        assert_sound(folder)
    finally:
        path.write_bytes(whole)


def test_the_undamaged_release_is_sound(folder):
    (folder / "annotations.json").write_text(json.dumps(VALID), encoding="utf-8")
    assert assert_sound(folder) == []


def test_mutations_reach_both_answers(folder):
    # Without this the tests above could pass on releases that are all bad, or all good.
    rng = random.Random(3)
    answers = set()
    for _ in range(40):
        root = copy.deepcopy(VALID)
        recipe = rng.choice(list(root.values()))
        flows = recipe["recipe_flows"]
        flows[rng.randrange(len(flows))]["label"] = rng.choice(["Dest", "F-set", "wrong"])
        (folder / "annotations.json").write_text(json.dumps(root), encoding="utf-8")
        answers.add(bool(assert_sound(folder)))
    assert answers == {True, False}
