"""Layers for other commands: opened read-only, even while the server runs."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from recipeflow.annotate.comparing import layer_recipes
from recipeflow.annotate.store import Layer, Store
from recipeflow.errors import UsageError
from recipeflow.release import Scheme, read_release, read_scheme
from recipeflow.release.recipe import Recipe


@contextmanager
def open_layer(db: Path, name: str) -> Generator[tuple[Store, Layer]]:
    """Open a layer of a database read-only.

    Raises:
        UsageError: If there is no such layer.
        DatabaseError: If the database cannot be read.
    """
    with Store(db, read_only=True) as store:
        layers = {layer.name: layer for layer in store.layers()}
        if name not in layers:
            known = ", ".join(layers) or "none yet"
            raise UsageError(f"expected a layer of {db} ({known}), found {name!r}; check the name")
        yield store, layers[name]


def annotation_scheme(source: str) -> Scheme:
    """What a release folder, or a layer given as ``annotations.db:alice``, is tagged with."""
    db, colon, name = source.rpartition(":")
    if not colon or Path(source).is_dir():
        return read_scheme(source)
    with open_layer(Path(db), name) as (store, _):
        return store.scheme


def read_annotation(source: str) -> Iterator[Recipe]:
    """The recipes of a release folder, or of a layer given as ``annotations.db:alice``."""
    db, colon, name = source.rpartition(":")
    if not colon or Path(source).is_dir():
        yield from read_release(source)
        return
    with open_layer(Path(db), name) as (store, layer):
        yield from layer_recipes(store, layer)
