"""``kill -9`` in a burst of edits: what was answered is there, what was not can be sent again, nothing is broken."""

import http.client
import itertools
import sqlite3
import threading
import time
import urllib.error

from recipeflow.annotate.store import Store
from tests.annotate.serving import AnnotationServer
from tests.making import RECIPES, make_release


class Annotator(threading.Thread):
    """Clicks as fast as answers come, until there are none; remembers what was answered, and what was not."""

    def __init__(self, server, recipe, layer):
        super().__init__()
        self.server, self.recipe, self.layer = server, recipe, layer
        self.base = server.document(recipe, layer)["revision"]
        self.saved = {}
        self.unanswered = None

    def run(self):
        base = self.base
        for number in itertools.count():
            name = f"{self.layer}-{self.recipe.encode().hex()[:12]}-{base}-{number}"
            operation = {"op": "reject", "origin": "model", "keys": [name]}
            try:
                status, answer = self.server.save(self.recipe, operation, self.layer, base, name)
            except (OSError, http.client.HTTPException, urllib.error.URLError):
                self.unanswered = (name, operation, base)
                return
            assert status == 200, answer
            base = answer["revision"]
            self.saved[name] = base


def test_nothing_that_was_answered_is_lost(tmp_path):
    release, db = make_release(tmp_path / "release"), tmp_path / "annotations.db"
    saved, count = {}, 0
    with AnnotationServer(release, db, "--annotator", "alice", "--annotator", "bob") as server:
        for burst in (5, 30):
            people = [Annotator(server, recipe.id, layer) for recipe in RECIPES[:2] for layer in ("alice", "bob")]
            for person in people:
                person.start()
            while sum(len(person.saved) for person in people) < burst:
                time.sleep(0.001)
            server.kill()
            for person in people:
                person.join()
                saved |= {name: (person.recipe, person.layer, at) for name, at in person.saved.items()}
            _check_file(db, saved)
            server.start()
            for person in people:
                count += _send_again(server, person, saved)
        _check_server(server, saved)
    assert len(saved) > 20 and count == 8
    _check_file(db, saved)


def _send_again(server, person, saved):
    """What got no answer is sent again under its name, and is then there once, whether it had arrived or not."""
    name, operation, base = person.unanswered
    status, answer = server.save(person.recipe, operation, person.layer, base, name)
    assert (status, answer["revision"]) == (200, base + 1), answer
    saved[name] = (person.recipe, person.layer, answer["revision"])
    return 1


def _check_server(server, saved):
    """Every answered operation is in the log at the revision that was answered, and in the document."""
    for recipe, layer in {(recipe, layer) for recipe, layer, _ in saved.values()}:
        path = f"/api/layers/{layer}/recipes/{urllib.parse.quote(recipe)}/log"
        log = {entry["revision"]: entry["operation"]["keys"][0] for entry in server.get(path)["operations"]}
        assert list(log) == list(range(1, len(log) + 1))
        ours = {at: name for name, (where, who, at) in saved.items() if (where, who) == (recipe, layer)}
        assert log == ours


def _check_file(db, saved):
    connection = sqlite3.connect(db)
    assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    rows = connection.execute("SELECT uuid, recipe, layer, revision FROM log")
    found = {uuid: place for uuid, *place in rows}
    connection.close()
    assert {name: found.get(name) for name in saved} == {name: list(place) for name, place in saved.items()}
    with Store(db, read_only=True) as store:
        for layer in store.layers():
            for recipe in store.recipe_ids():
                rejected = {each.key for each in store.history(recipe, layer).document.rejected}
                assert rejected >= {name for name, place in saved.items() if place[:2] == (recipe, layer.name)}
