"""The database: committed or not there, never done twice, never overwritten, and never somebody else's file."""

import contextlib
import json
import sqlite3
import subprocess
import sys
import threading

import pytest

from recipeflow.annotate.document import as_row
from recipeflow.annotate.schema import VERSION
from recipeflow.annotate.store import Layer, Store
from recipeflow.errors import (
    ConflictError,
    DamagedDatabaseError,
    DatabaseError,
    DatabaseInUseError,
    ForeignDatabaseError,
    RefusedError,
)
from tests.making import EGG, SALAD

ALICE, BOB = Layer("alice"), Layer("bob", start="blank")
REMOVE = {"op": "remove", "entity": "1-0-5"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "annotations.db"


@pytest.fixture
def store(path):
    with Store(path) as store:
        store.add_recipes([SALAD, EGG])
        store.add_layer(ALICE)
        store.add_layer(BOB)
        yield store


def test_recipes_come_back_as_they_were(store):
    assert store.recipe_ids() == [SALAD.id, EGG.id]
    assert store.known_recipe(SALAD.id) == SALAD
    assert not store.has_recipe("../etc/passwd")


def test_layers_stay_apart(store):
    store.save(SALAD.id, ALICE, 0, "a1", REMOVE)
    store.save(SALAD.id, BOB, 0, "b1", {"op": "done", "step": "words", "done": True})
    assert store.history(SALAD.id, BOB).document.entities == ()
    assert store.history(SALAD.id, ALICE).document.done == ()
    assert store.revisions() == {(SALAD.id, "alice"): 1, (SALAD.id, "bob"): 1}
    assert store.add_layer(Layer("alice", "gold")) is False
    assert store.layers() == [ALICE, BOB]


def test_sent_again_is_not_done_again(store):
    first = store.save(SALAD.id, ALICE, 0, "a1", REMOVE)
    store.save(SALAD.id, ALICE, 1, "a2", {"op": "done", "step": "words", "done": True})
    again = store.save(SALAD.id, ALICE, 0, "a1", REMOVE)
    assert (first.repeated, again.repeated, again.revision, again.history.revision) == (False, True, 1, 2)
    assert len(store.entries(SALAD.id, ALICE)) == 2
    undone = store.undo(SALAD.id, ALICE, 2, "a3")
    assert store.undo(SALAD.id, ALICE, 2, "a3").revision == undone.revision == 3
    for other in ({"op": "remove", "entity": "1-0-2"}, {"op": "undo"}):
        with pytest.raises(RefusedError) as caught:
            store.save(SALAD.id, ALICE, 3, "a1", other)
        assert caught.value.code == "uuid_reused"
    with pytest.raises(RefusedError, match="new uuid"):
        store.save(SALAD.id, BOB, 0, "a1", REMOVE)


def test_a_database_of_the_first_version_still_opens(path):
    """Pairs were called shots when it was written: in patches and in states."""
    with Store(path) as store:
        store.add_recipes([SALAD])
        store.add_layer(ALICE)
        begun = store.history(SALAD.id, ALICE).document
        first, old = begun.pairs[0], [list(as_row(pair).values()) for pair in begun.pairs]
    changed = [[*old[0][:2], "none", old[0][3], None], *old[1:]]
    state = {**begun.state(), "shots": changed}
    del state["cuts"]  # nobody could divide words then
    operation = {"op": "frame", "key": first.key, "side": "before", "value": "none"}
    inverse = {"shots": [0, changed[:1], old[:1]]}
    entry = (SALAD.id, "alice", 1, 0, "alice", "a1", "do", None, json.dumps(operation), json.dumps(inverse), "2026")
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"INSERT INTO log VALUES (NULL, {', '.join('?' * len(entry))})", entry)
        connection.execute("INSERT INTO suggestions VALUES ('model', ?, ?, '2026')", (SALAD.id, json.dumps(state)))
    with Store(path) as store:
        assert store.history(SALAD.id, ALICE).document.pairs[0].before == "none"
        assert store.suggestions(SALAD.id)["model"].pairs[0].before == "none"
        assert store.undo(SALAD.id, ALICE, 1, "a2").history.document == begun
        again = store.redo(SALAD.id, ALICE, 2, "a3").history.document
        assert list(again.state()) == ["entities", "flows", "shots", "lists", "done", "rejected", "cuts", "notes"]
    with Store(path) as store:
        assert store.history(SALAD.id, ALICE).document == again
        assert list(store.entries(SALAD.id, ALICE, only=3)[0].inverse) == ["shots"]


def test_an_old_revision_is_a_conflict_and_nothing_is_written(store):
    store.save(SALAD.id, ALICE, 0, "a1", REMOVE)
    for change in (lambda: store.save(SALAD.id, ALICE, 0, "a2", REMOVE), lambda: store.undo(SALAD.id, ALICE, 0, "a3")):
        with pytest.raises(ConflictError) as caught:
            change()
        assert (caught.value.base, caught.value.revision) == (0, 1)
    with pytest.raises(ConflictError):
        store.save(SALAD.id, ALICE, 7, "a4", REMOVE)
    assert [entry.uuid for entry in store.entries(SALAD.id, ALICE)] == ["a1"]


def test_undo_and_redo_across_restarts(path):
    with Store(path) as store:
        store.add_recipes([SALAD])
        store.add_layer(ALICE)
        begin = store.history(SALAD.id, ALICE).document
        removed = store.save(SALAD.id, ALICE, 0, "a1", REMOVE).history.document
    with Store(path) as store:
        assert store.undo(SALAD.id, ALICE, 1, "a2").history.document == begin
    with Store(path) as store:
        assert store.redo(SALAD.id, ALICE, 2, "a3").history.document == removed
        assert [entry.operation for entry in store.entries(SALAD.id, ALICE)] == [
            REMOVE,
            {"op": "undo", "of": 1},
            {"op": "redo", "of": 1},
        ]


def test_the_log_only_grows(store):
    store.save(SALAD.id, ALICE, 0, "a1", REMOVE)
    for statement in ("DELETE FROM log", "UPDATE log SET who = 'mallory'"):
        with pytest.raises(sqlite3.IntegrityError, match="only grows"):
            store.connection.execute(statement)


def test_a_full_disk_loses_nothing_and_work_goes_on(store):
    pages = store.connection.execute("PRAGMA page_count").fetchone()[0]
    store.connection.execute(f"PRAGMA max_page_count={pages}")
    operation = {"op": "reject", "origin": "model", "keys": ["x" * 100_000]}
    with pytest.raises(DatabaseError, match=r"full; nothing was saved; free some space"):
        store.save(SALAD.id, ALICE, 0, "a1", operation)
    assert store.history(SALAD.id, ALICE).revision == 0
    store.connection.execute("PRAGMA max_page_count=100000")
    assert store.save(SALAD.id, ALICE, 0, "a1", operation).revision == 1
    assert store.connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


def test_many_threads_never_find_it_locked(store):
    """Sixteen threads at once, each redoing its operation on the newest revision until it is saved."""
    problems = []

    def work(number):
        layer = ALICE if number % 2 else BOB
        for step in range(5):
            while True:
                base = store.history(EGG.id, layer).revision
                operation = {"op": "reject", "origin": "model", "keys": [f"{number}-{step}"]}
                try:
                    store.save(EGG.id, layer, base, f"{number}-{step}", operation)
                    break
                except ConflictError:
                    continue
                except Exception as problem:
                    problems.append(problem)
                    return

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    for layer, parity in ((ALICE, 1), (BOB, 0)):
        keys = {rejection.key for rejection in store.history(EGG.id, layer).document.rejected}
        assert keys == {f"{number}-{step}" for number in range(parity, 16, 2) for step in range(5)}


def test_a_second_writer_is_refused_and_readers_are_welcome(store, path):
    with pytest.raises(DatabaseInUseError, match="expected to be the only process that writes"):
        Store(path)
    store.save(SALAD.id, ALICE, 0, "a1", REMOVE)
    with Store(path, read_only=True) as reader:
        assert reader.history(SALAD.id, ALICE).revision == 1
        with pytest.raises(DatabaseError, match="readonly"):
            reader.add_layer(Layer("carol"))


def test_a_file_system_without_locks_is_reported(path, without_locks):
    with pytest.warns(UserWarning, match=r"has no locks \(No locks available\): make sure that no other"):
        Store(path).close()


def test_the_lock_of_a_dead_process_is_gone(path):
    code = "import os, sys; from recipeflow.annotate.store import Store; Store(sys.argv[1]); os.kill(os.getpid(), 9)"
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == -9
    Store(path).close()


def test_a_damaged_database_is_reported(path, store):
    for number in range(60):
        store.save(SALAD.id, ALICE, number, f"a{number}", {"op": "done", "step": "words", "done": number % 2 == 0})
    store.close()
    data = bytearray(path.read_bytes())
    for page in range(4096, len(data), 4096):
        data[page : page + 200] = bytes(200)
    path.write_bytes(data)
    with pytest.raises(DamagedDatabaseError, match="restore it from a backup"):
        Store(path)


def test_a_log_that_does_not_fit_is_reported(path, store):
    store.save(SALAD.id, ALICE, 0, "a1", {"op": "remove", "entity": "0-0-0"})
    store.close()
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TRIGGER log_is_fixed")
        connection.execute("""UPDATE log SET inverse = replace(inverse, '"F"', '"T"')""")
    connection.close()
    with Store(path) as again, pytest.raises(DamagedDatabaseError, match="expected the log to match"):
        again.history(SALAD.id, ALICE)


def test_other_files_are_left_alone(path):
    path.write_text("my shopping list, long enough to be no empty file" * 30)
    with pytest.raises(ForeignDatabaseError, match="some other file"):
        Store(path)
    assert path.read_text().startswith("my shopping list")


def test_other_databases_are_left_alone(path):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE annotation (recipe_id TEXT PRIMARY KEY, json_str TEXT)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(ForeignDatabaseError, match="choose another --db"):
        Store(path)
    assert path.read_bytes() == before


def test_a_newer_database_is_left_alone(path):
    Store(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version={VERSION + 1}")
    connection.close()
    with pytest.raises(ForeignDatabaseError, match=f"version {VERSION + 1}.*newer recipeflow"):
        Store(path)


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(DatabaseError, match="expected to be able to write"):
        Store(tmp_path / "nowhere" / "annotations.db")
    with pytest.raises(DatabaseError, match="no file"):
        Store(tmp_path / "annotations.db", read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_to():
    # Nobody, not even root, can make files there.
    with pytest.raises(DatabaseError, match=r"expected to be able to write .*; choose another --db"):
        Store("/proc/annotations.db")
