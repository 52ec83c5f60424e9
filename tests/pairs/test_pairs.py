"""Rows of a built dataset with their words, history and last pictures, on the kitchen and the official release."""

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest
import torch

from recipeflow.dataset.build import build_dataset
from recipeflow.features.compute import FeatureStats, FeatureTable
from recipeflow.kitchen import cook_release
from recipeflow.pairs.loading import Pairs, load_pairs


def numbered(dataset: Path) -> tuple[Pairs, list[tuple[str, int]]]:
    """The rows with an image for each frame that is named, whether the dataset has its pixels or not."""
    table = (
        pads.dataset(dataset / "image_pairs").to_table(columns=["recipe_id", "pre_frame", "post_frame"]).to_pydict()
    )
    frames: dict[tuple[str, int], int] = {}
    pre, post = (
        torch.tensor(
            [
                -1 if frame is None else frames.setdefault((recipe, frame), len(frames))
                for recipe, frame in zip(table["recipe_id"], table[column], strict=True)
            ]
        )
        for column in ("pre_frame", "post_frame")
    )
    stats = FeatureStats(len(pre), len(frames), 0, 0, None, 0.0)
    features = FeatureTable(torch.zeros(1, len(frames), 1), pre, post, "none", "none", "fp32", Path("cache"), stats)
    return load_pairs(dataset, features), list(frames)


@pytest.fixture(scope="module", params=["kitchen", "official"])
def dataset(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    release = request.getfixturevalue("official") if request.param == "official" else folder / "kitchen"
    if request.param == "kitchen":
        cook_release(release, recipes=20, seed=5, used_only=True)
    build_dataset(release, folder / "vrf")
    return folder / "vrf"


def test_a_missing_pre_action_image_is_replaced_by_an_earlier_picture_and_never_by_the_answer(dataset: Path):
    pairs, frames = numbered(dataset)
    replaced = ((pairs.images.pre < 0) & (pairs.seen >= 0)).nonzero().flatten().tolist()
    assert len(replaced) > 10
    for row in replaced:
        recipe, frame = frames[pairs.seen[row]]
        if (post := int(pairs.images.post[row])) >= 0:
            assert recipe == frames[post][0]
            assert frame < frames[post][1], f"row {row} would be asked with its answer, or with what comes after it"
    kept = pairs.images.pre >= 0
    assert torch.equal(pairs.seen[kept], pairs.images.pre[kept])


def test_an_image_of_an_unknown_time_is_no_earlier_picture(dataset: Path, tmp_path: Path):
    folder = shutil.copytree(dataset, tmp_path / "vrf")
    (path,) = (folder / "image_pairs").glob("*.parquet")
    table = pq.read_table(path)
    column = table.schema.get_field_index("post_frame")
    unknown = pa.nulls(len(table), table.schema.field(column).type)
    known, _ = numbered(dataset)
    pq.write_table(table.set_column(column, table.schema.field(column), unknown), path)
    pairs = load_pairs(folder, known.images)
    assert torch.equal(pairs.seen, known.images.pre)


def test_every_role_of_a_context_occurs_where_there_is_text(dataset: Path):
    pairs, _ = numbered(dataset)
    roles = {role for context in pairs.contexts for role, _ in context}
    has_text = any(words is not None for words in pairs.actions)
    assert roles == ({"modifier", "destination", "together", "done", "from", "state"} if has_text else set())


def test_a_vocabulary_has_only_words_that_are_read(dataset: Path):
    pairs, _ = numbered(dataset)
    rows = torch.arange(len(pairs.recipes))
    by_context = [
        {word for words in pairs.phrases(rows, name) for word in words} for name in ("none", "modifiers", "history")
    ]
    assert by_context[0] <= by_context[1] <= by_context[2]
    mentioned = {word for context in pairs.contexts for role, word in context if role in ("modifier", "destination")}
    assert by_context[1] == by_context[0] | mentioned
