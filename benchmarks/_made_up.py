"""A dataset of any size without a picture: tables as ``vrf build`` writes them, and random features in the cache.

Every recipe has ten actions with two objects each. All have the same graph with other words, so that a table is made
by repeating columns. An image is eight bytes, its number: its feature is in the cache, so that nobody decodes it.
Not a benchmark by itself.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from recipeflow.dataset.digest import describe_content
from recipeflow.dataset.folder import FLOW_GRAPHS, MANIFEST, PAIRS, RECIPES, DatasetFolder
from recipeflow.dataset.folds import FOLDS
from recipeflow.features.cache import FeatureCache
from recipeflow.files import write_json
from recipeflow.release.recipe import LABELS, TAGS

ACTIONS, OBJECTS = 10, 2
ROWS = ACTIONS * OBJECTS
"""Rows of ``image_pairs`` per recipe."""

FRAMES = 2 * ACTIONS
"""Frames per recipe: each food before, and each action's result."""

VERBS, FOODS, MANNERS = 50, 300, 100
"""The vocabulary. It does not grow with the recipes, so that a step is the same at every size."""

AT_A_TIME = 1000
"""Recipes per row group."""

WRITTEN_AT_A_TIME = 20_000
"""Features per write."""

LINE = pa.struct([("text", pa.string()), ("tokens", pa.list_(pa.string()))])


def write_dataset(folder: Path, recipes: int) -> None:
    """Write the three tables and the manifest."""
    makers = {RECIPES: _texts, FLOW_GRAPHS: _graphs, PAIRS: _pairs}
    for table, make in makers.items():
        (folder / table).mkdir(parents=True)
        writer = None
        for first in range(0, recipes, AT_A_TIME):
            rows = make(np.arange(first, min(first + AT_A_TIME, recipes)))
            writer = writer or pq.ParquetWriter(folder / table / "train-00000-of-00001.parquet", rows.schema)
            writer.write_table(rows)
        if writer is not None:
            writer.close()
    release = {"source": "made up", "licence": None, "version": None, "glossary": {}}
    write_json(folder / MANIFEST, {"release": release, "content": describe_content(DatasetFolder(folder))})


def write_features(cache: FeatureCache, recipes: int, width: int, weights_sha256: str) -> None:
    """Put a random feature of every frame into the cache."""
    cache.begin(width, weights_sha256)
    generator = torch.Generator().manual_seed(0)
    with cache.writer() as writer:
        for numbers in _frames(recipes):
            digests = [hashlib.sha256(content).digest() for content in map(_image, numbers)]
            writer.add(digests, torch.randn(len(digests), width, generator=generator))


def _frames(recipes: int) -> Iterator[list[int]]:
    for first in range(0, recipes * FRAMES, WRITTEN_AT_A_TIME):
        yield list(range(first, min(first + WRITTEN_AT_A_TIME, recipes * FRAMES)))


def _image(number: int) -> bytes:
    return number.to_bytes(8, "little")


def _names(recipes: np.ndarray) -> pa.Array:
    return pa.array([f"recipe-{number:07}" for number in recipes.tolist()])


def _lists(values: pa.Array, each: int) -> pa.Array:
    """Lists of equal length."""
    return pa.ListArray.from_arrays(np.arange(0, len(values) + 1, each, dtype=np.int32), values)


def _texts(recipes: np.ndarray) -> pa.Table:
    """Ten ingredients of a word, and ten lines of a manner and a verb."""
    generator = np.random.default_rng(int(recipes[0]))
    count = len(recipes) * ACTIONS
    foods = [f"food{word}" for word in generator.integers(0, FOODS, count).tolist()]
    manners, verbs = (generator.integers(0, limit, count).tolist() for limit in (MANNERS, VERBS))
    lines = [word for pair in zip(manners, verbs, strict=True) for word in (f"manner{pair[0]}", f"verb{pair[1]}")]
    columns = {"recipe_id": _names(recipes)}
    for name, words, each in (("ingredients", foods, 1), ("instructions", lines, 2)):
        content = [pa.nulls(count, pa.string()), _lists(pa.array(words), each)]
        columns[name] = _lists(pa.StructArray.from_arrays(content, fields=LINE), ACTIONS)
    return pa.table(columns)


def _graphs(recipes: np.ndarray) -> pa.Table:
    """Food and the result of the action before go into each action, which is done in a manner."""
    tags, labels = list(TAGS), list(LABELS)
    nodes: list[dict[str, Any]] = []
    edges: list[dict[str, Any]] = []
    for number in range(ACTIONS):
        food, manner, action = f"0-{number}-0", f"1-{number}-0", f"1-{number}-1"
        for name, tag, word in ((food, "F", 0), (manner, "Sf", 0), (action, "Ac", 1)):
            place = {"section": int(name[0]), "line": number, "start_word": word, "end_word": word + 1}
            nodes.append({"id": name, "text": None, "tag": tags.index(tag), **place})
        before = f"1-{number - 1}-1" if number else f"0-{ACTIONS - 1}-0"
        flows = ((food, "Targ"), (before, "Targ"), (manner, "other-mod"))
        edges += [{"start": start, "end": action, "label": labels.index(label)} for start, label in flows]
    columns = {}
    for name, one in (("nodes", nodes), ("edges", edges)):
        repeated = pa.array(one).take(np.tile(np.arange(len(one)), len(recipes)))
        columns[name] = _lists(repeated, len(one))
    return pa.table({"recipe_id": _names(recipes), **columns})


def _pairs(recipes: np.ndarray) -> pa.Table:
    """Two rows per action: its food, of which every fifth has no picture, and the result of the action before."""
    action = np.repeat(np.arange(ACTIONS), OBJECTS)
    is_food = np.tile([True, False], ACTIONS)
    foods = [f"0-{number}-0" for number in range(ACTIONS)]
    before = [foods[-1], *(f"1-{number}-1" for number in range(ACTIONS - 1))]
    objects = [foods[number] if food else before[number] for number, food in zip(action, is_food, strict=True)]
    post = action * 2 + 1  # frames of a recipe: food 0, result 0, food 1, result 1 …
    pre = np.where(is_food, action * 2, np.where(action > 0, action * 2 - 1, FRAMES - 2))
    first = np.repeat(recipes * FRAMES, ROWS)
    count = len(recipes)
    missing = np.tile(is_food & (action % 5 == 4), count)
    return pa.table(
        {
            "recipe_id": _names(recipes).take(np.repeat(np.arange(count), ROWS)),
            "fold": pa.array(np.repeat(recipes % FOLDS, ROWS), pa.int32()),
            "action_id": pa.array([f"1-{number}-1" for number in action.tolist()] * count),
            "object_id": pa.array(objects * count),
            "pre_frame": pa.array(np.tile(pre + 1, count), pa.int32(), mask=missing),
            "post_frame": pa.array(np.tile(post + 1, count), pa.int32()),
            "pre_image": _images(first + np.tile(pre, count), missing),
            "post_image": _images(first + np.tile(post, count), np.zeros(len(first), bool)),
        }
    )


def _images(numbers: np.ndarray, missing: np.ndarray) -> pa.Array:
    content = pa.array([_image(number) for number in numbers.tolist()], pa.binary(), mask=missing)
    names = pa.array(["frame.jpg"] * len(numbers), pa.string(), mask=missing)
    return pa.StructArray.from_arrays([content, names], names=["bytes", "path"], mask=pa.array(missing))
