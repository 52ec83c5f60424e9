"""Databases that earlier versions wrote: read, upgraded in place, and refused by whoever is too old for them.

``databases/version-1.sql`` and ``version-2.sql`` were dumped from databases that the programs of that time wrote.
"""

import contextlib
import sqlite3
from pathlib import Path

import pytest

from recipeflow.annotate.schema import VERSION
from recipeflow.annotate.store import Layer, Store
from recipeflow.errors import ForeignDatabaseError
from tests.making import EGG, TEA

ALICE, BOB = Layer("alice"), Layer("bob", start="blank")
NOTE = {"op": "note", "target": "ne:0-0-0", "unsure": True, "text": "tool or food?"}


@pytest.fixture(params=[1, 2])
def version(request):
    return request.param


@pytest.fixture
def path(version, tmp_path):
    path = tmp_path / "old.db"
    dump = (Path(__file__).parent / "databases" / f"version-{version}.sql").read_text(encoding="utf-8")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(dump)
    return path


def version_of(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute("PRAGMA user_version").fetchone()[0]


def check_old_work(store, version):
    tea = TEA.id if version == 1 else "tea_renamed"
    assert store.recipe_ids() == [tea, EGG.id]
    history = store.history(tea, ALICE)
    assert (history.revision, history.undoable, history.redoable) == (4, (1, 2), (3,))
    assert history.document.entities[0].tag == "T" and history.document.flows[0].label == "other-mod"
    assert history.document.notes == ()
    bob = store.history(EGG.id, BOB).document
    assert [entity.tag for entity in bob.entities] == ["F"] and len(bob.cuts) == version - 1
    return tea


def test_an_old_database_is_read_without_being_changed(path, version):
    before = path.read_bytes()
    with Store(path, read_only=True) as store:
        check_old_work(store, version)
    assert version_of(path) == version and path.read_bytes() == before


def test_an_old_database_is_upgraded_and_takes_what_is_new(path, version):
    with Store(path) as store:
        tea = check_old_work(store, version)
        assert store.save(tea, ALICE, 4, "n1", NOTE).history.document.notes[0].unsure
        store.name_recipe(EGG.id, "egg", "卵")
    assert version_of(path) == VERSION == 3
    with Store(path) as store:
        assert store.history(tea, ALICE).document.notes[0].text == "tool or food?"
        assert store.undo(tea, ALICE, 5, "n2").history.document.notes == ()
        assert store.undo(tea, ALICE, 6, "n3").history.document.flows[0].label == TEA.flows[0].label
        assert store.recipe_ids() == [tea, "egg"]


def test_a_newer_database_is_refused_and_stays_as_it_is(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version={VERSION + 1}")
    before = path.read_bytes()
    for read_only in (True, False):
        with pytest.raises(ForeignDatabaseError, match=f"version {VERSION + 1}.*install a newer recipeflow"):
            Store(path, read_only=read_only)
    assert path.read_bytes() == before
