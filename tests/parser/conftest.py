"""One release and one trained parser for all tests of the room."""

from pathlib import Path

import pytest

from tests.parser.reading import few_recipes, train_by_heart


@pytest.fixture(scope="session")
def recipes(tmp_path_factory) -> Path:
    """A release of twelve small recipes; never changed."""
    return few_recipes(tmp_path_factory.mktemp("recipes") / "release")


@pytest.fixture(scope="session")
def trained(tmp_path_factory, recipes) -> Path:
    """The folder of a parser that has learnt these recipes by heart; never changed."""
    return train_by_heart(recipes, tmp_path_factory.mktemp("parser") / "run")
