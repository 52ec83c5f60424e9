"""A token for each person, through the real server: nobody reaches another's layer by any endpoint."""

import re
import sqlite3
import urllib.error
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from recipeflow.annotate.people import CURATOR, People, Person
from recipeflow.annotate.server import create_app
from recipeflow.annotate.store import Store
from recipeflow.annotate.workspace import Workspace
from recipeflow.cli.annotating import _find_people
from recipeflow.errors import UsageError
from tests.annotate.serving import AnnotationServer, Client, document_path
from tests.making import EGG, SALAD, TEA, make_release

ALICE, BOB, BOSS = PEOPLE = Person("alice"), Person("bob"), Person(CURATOR, CURATOR)
SECRET = "bobs-own-remark"
"""In bob's layer only: no answer to alice may have it."""


class PersonalServer(AnnotationServer):
    """``vrf annotate`` that prints a URL for each person."""

    def start(self) -> None:
        super().start()
        self.printed = {}
        self.process.stdout.readline()  # where clicks are saved
        for line in self.process.stdout:
            person, _, rest = line.partition(": ")
            self.printed[person] = rest.strip()
            if person == BOSS.key:
                return

    def token(self, person: Person) -> str | None:
        found = re.search(r"\?token=(\S+)", self.printed[person.key])
        return None if found is None else found[1]


@dataclass
class As(Client):
    """A person who talks to the server with a token."""

    url: str
    token: str

    def request(self, method: str, path: str, body=None, headers=None):
        headers = {"Authorization": f"Bearer {self.token}", **(headers or {})}
        try:
            return super().request(method, path, body, headers)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, dict(error.headers), error.read()


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Iterator[dict]:
    """Alice, bob and a curator; bob has worked, and an earlier start has offered his layer as suggestions."""
    folder = tmp_path_factory.mktemp("people")
    release = make_release(folder / "release", [SALAD, TEA, EGG])
    with Store(folder / "work.db") as store:
        workspace = Workspace(store, release)
        workspace.import_folder(release)
        bob, _ = workspace.add_layer("bob")
        remark = {"op": "note", "target": "ne:0-0-0", "unsure": True, "text": SECRET}
        store.save(TEA.id, bob, 0, "first", remark)
        store.save(TEA.id, bob, 1, "second", {"op": "retag", "entity": "0-0-0", "tag": "T"})
        workspace.suggest("bob")
    options = ("--personal", "--annotator", "alice", "--annotator", "bob", "--curate")
    with PersonalServer(release, folder / "work.db", *options) as server:
        tokens = {person: server.token(person) for person in PEOPLE}
        yield {"server": server, "tokens": tokens, **{p.name: As(server.url, tokens[p]) for p in PEOPLE}}


def routes(folder: Path) -> list[tuple[str, str]]:
    """Every method and path of the application, with bob's layer and a recipe filled in."""
    with Store(folder / "any.db") as store:
        app = create_app(Workspace(store))
    values = {"layer": "bob", "recipe": TEA.id, "number": "1", "path": TEA.id, "upload": "0" * 16, "offset": "0"}
    found = []
    for route in app.routes:
        path = re.sub(r"\{(\w+)(?::\w+)?\}", lambda match: values[match[1]], route.path)
        found += [(method, path) for method in sorted(getattr(route, "methods", None) or ()) if method != "HEAD"]
    return found


def test_no_endpoint_shows_or_changes_the_layer_of_another(study, tmp_path):
    alice, boss = study["alice"], study["curator"]
    before = boss.get(document_path(TEA.id, "bob"))
    others = "?first=bob&second=alice"
    walked = routes(tmp_path)
    assert len(walked) > 30 and ("POST", f"{document_path(TEA.id, 'bob')}/operations") in walked
    for method, path in walked:
        body = None
        if method == "POST":
            operation = {"op": "retag", "entity": "0-0-0", "tag": "F"}
            names = {
                "name": "bob",
                "id": "new",
                "title": "t",
                "ingredients": "",
                "instructions": "切る。",
                "text": "x",
            }
            body = {"uuid": f"alice{abs(hash(path))}", "base": 2, "operation": operation, "edit": 1, **names}
            body |= {"files": {}, "as": "suggestions", "origin": "bob", "size": 5, "stamp": 0}
        status, _, data = alice.request(method, path + others, body)
        assert SECRET.encode() not in data, (method, path)
        if "/bob" in path or path.startswith(("/api/agreement", "/api/differences", "/agreement", "/differences")):
            assert status in (403, 404), (method, path, status)
        if method == "POST" and path != "/api/import/read":
            assert status in (403, 404, 422), (method, path, status)
    assert boss.get(document_path(TEA.id, "bob")) == before
    assert [row["id"] for row in boss.get("/api/layers/bob/recipes")["recipes"]] == [SALAD.id, TEA.id, EGG.id]
    assert {layer["name"] for layer in boss.get("/api/session")["layers"]} == {"alice", "bob"}


def test_an_annotator_sees_only_herself(study):
    session = study["alice"].get("/api/session")
    assert session["layers"] == [{"name": "alice", "kind": "annotator"}]
    assert (session["annotator"], session["curating"], session["editing"], session["origins"]) == (
        "alice",
        False,
        False,
        [],
    )
    document = study["alice"].document(TEA.id)
    assert document["suggestions"] == []
    assert study["alice"].save(TEA.id, {"op": "retag", "entity": "0-0-0", "tag": "T"}, base=0)[0] == 200
    assert study["bob"].document(TEA.id, "bob")["notes"][0]["text"] == SECRET


def test_a_curator_sees_all(study):
    boss = study["curator"]
    session = boss.get("/api/session")
    assert (session["curating"], session["editing"], session["annotator"]) == (True, True, None)
    assert boss.get(f"/api/differences/{TEA.id}?first=alice&second=bob")["first"] == "alice"
    assert boss.request("GET", "/agreement")[0] == 200
    assert study["alice"].request("GET", "/agreement")[0] == 403


def test_wrong_tokens_open_nothing(study):
    server = study["server"]
    token = study["tokens"][ALICE]
    for wrong in ("", "x", token[:-1], token + "x", token.swapcase(), "é", "'; DROP TABLE people; --"):
        wrong_person = As(server.url, wrong.encode().decode("latin-1"))
        assert wrong_person.request("GET", "/api/session")[0] == 401
    answer = As(server.url, "none")
    assert answer.request("GET", f"/?token={token[::-1]}")[0] == 401
    assert answer.request("GET", "/static/main.js")[0] == 401


def test_tokens_are_kept_hashed_and_work_after_a_restart(study):
    server, tokens = study["server"], study["tokens"]
    with closing(sqlite3.connect(server.db)) as connection:
        rows = connection.execute("SELECT * FROM people").fetchall()
    assert len(rows) == 3 and not any(token in str(rows) for token in tokens.values())
    stored = b"".join(path.read_bytes() for path in server.db.parent.glob("work.db*"))
    assert not any(token.encode() in stored for token in tokens.values())
    server.stop()
    server.options += ("--new-token", "bob")
    server.start()
    assert server.token(ALICE) is None and "still works" in server.printed[ALICE.key]
    assert As(server.url, tokens[ALICE]).get("/api/session")["annotator"] == "alice"
    assert As(server.url, tokens[BOB]).request("GET", "/api/session")[0] == 401
    assert As(server.url, server.token(BOB)).get("/api/session")["annotator"] == "bob"


def test_who_is_not_named_again_is_not_let_in(tmp_path):
    with Store(tmp_path / "work.db") as store:
        people = People(store, [ALICE, BOB])
        tokens = [people.make_token(person) for person in (ALICE, BOB)]
        assert [people.owner(token) for token in tokens] == [ALICE.key, BOB.key]
        fewer = People(store, [ALICE])
        assert [fewer.owner(token) for token in tokens] == [ALICE.key, None]
        assert fewer.owner("") is None and fewer.owner("\udc80") is None


@pytest.mark.parametrize(
    ("annotators", "curate", "host", "token", "personal", "renewed", "found"),
    [
        (["alice", "bob"], False, "0.0.0.0", None, False, [], [ALICE, BOB]),
        (["alice"], True, "192.168.1.5", None, False, ["alice"], [ALICE, BOSS]),
        (["alice", "alice"], False, "127.0.0.1", None, True, [], [ALICE]),
        (["alice", "bob"], False, "127.0.0.1", None, False, [], []),
        (["alice"], False, "0.0.0.0", "a shared secret", False, [], []),
        ([], False, "0.0.0.0", None, False, [], "expected --token"),
        (["alice", "bob"], False, "0.0.0.0", "a shared secret", False, [], "a token for each of alice, bob"),
        (["alice"], False, "0.0.0.0", None, False, ["carol"], "found 'carol'"),
        ([], False, "127.0.0.1", None, True, [], "expected --annotator or --curate"),
    ],
)
def test_who_gets_a_token(annotators, curate, host, token, personal, renewed, found):
    asked = (annotators, curate, host, token, personal, renewed)
    if isinstance(found, str):
        with pytest.raises(UsageError, match=found):
            _find_people(*asked)
    else:
        assert _find_people(*asked) == found
