"""One small model with an index, and one parser that has learnt three recipes by heart, for all tests of the room."""

from pathlib import Path

import pytest

from recipeflow.search import Retriever
from tests.parser.reading import few_recipes, train_by_heart
from tests.search.searching import Table, make_table, own_cache  # noqa: F401  (autouse)
from tests.storyboard.boards import make_model


@pytest.fixture(scope="session")
def table(tmp_path_factory) -> Table:
    return make_table(tmp_path_factory.mktemp("storyboard"), recipes=4)


@pytest.fixture(scope="session")
def model(table) -> Path:
    """The folder of a model with random weights, an index and a calibration; never changed."""
    return make_model(table)


@pytest.fixture(scope="session")
def retriever(model) -> Retriever:
    return Retriever.from_pretrained(model)


@pytest.fixture(scope="session")
def parser(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("parser")
    return train_by_heart(few_recipes(folder / "release"), folder / "run")
