"""The real server on loopback: what pages ask for and do."""

import json
import threading
import urllib.error
from urllib.parse import quote

import pytest

from recipeflow.annotate.likely import LIKELY
from recipeflow.annotate.store import Store
from recipeflow.annotate.workspace import Workspace
from recipeflow.release import read_release, release_fingerprint
from recipeflow.release.recipe import LABELS, TAGS
from recipeflow.web.pictures import Pictures
from tests.annotate.serving import LocalServer, document_path
from tests.making import EGG, SALAD, TEA, make_release


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    return make_release(tmp_path_factory.mktemp("annotate") / "release")


@pytest.fixture(scope="module")
def server(release, tmp_path_factory):
    folder = tmp_path_factory.mktemp("db")
    with Store(folder / "annotations.db") as store:
        workspace = Workspace(store, release, Pictures(folder / "pictures"))
        workspace.import_folder(release)
        workspace.add_layer("alice")
        with LocalServer(workspace, annotator="alice") as server:
            yield server


@pytest.fixture
def layer(server, request):
    """A fresh layer for each test."""
    name = f"t{abs(hash(request.node.name))}"[:30]
    assert server.post("/api/layers", {"name": name})[0] in (200, 201)
    return name


def failing(server, path, **headers):
    with pytest.raises(urllib.error.HTTPError) as caught:
        server.get(path, **headers)
    with caught.value as answer:
        return answer.code, json.loads(answer.read())["error"]["code"]


def test_session(server):
    session = server.get("/api/session")
    assert (session["annotator"], session["curating"], session["release"]) == ("alice", False, "release")
    assert {"name": "alice", "kind": "annotator"} in session["layers"]
    assert (session["tags"], session["labels"]) == (TAGS, LABELS)
    assert "steps" not in session  # pages know them


def test_likely_labels_are_those_of_the_official_release(official):
    counts = {}
    for recipe in read_release(official):
        for flow in recipe.flows:
            pair = f"{recipe.entities[flow.start].tag}>{recipe.entities[flow.end].tag}"
            labels = counts.setdefault(pair, {})
            labels[flow.label] = labels.get(flow.label, 0) + 1
    expected = {
        pair: {label for label, count in labels.items() if count >= 0.01 * sum(labels.values())}
        for pair, labels in counts.items()
    }
    assert {pair: set(labels) for pair, labels in LIKELY.items()} == expected


def test_document(server):
    document = server.document(SALAD.id)
    assert document["sections"][0]["lines"][0]["words"][0] == {"id": "0-0-0", "text": "きゅうり", "start": 0, "end": 4}
    assert document["entities"][0] == {
        "id": "0-0-0",
        "section": 0,
        "line": 0,
        "start": 0,
        "end": 1,
        "tag": "F",
        "origin": "release",
        "text": "きゅうり",
    }
    assert (document["revision"], document["can_undo"], document["undo"]) == (0, False, None)
    put = [entry for entry in document["objects"] if entry["action"] == "1-2-8"]
    assert [(entry["object"], entry["before"], entry["after"], entry["traced"]) for entry in put] == [
        ("1-0-2", 3, 7, True),
        ("1-1-2", 5, 7, True),
        ("1-2-6", "none", 7, True),
    ]
    # The film was at 5 after halving, and at 7 after each object of this action.
    assert [entry["offer"] for entry in put] == [5, 7, 7]
    mix = next(action for action in document["actions"] if action["action"] == "1-2-10")
    assert mix == {"action": "1-2-10", "linked": False, "traced": ["1-2-8"]}
    assert document["unconnected"] == ["0-0-1", "0-1-5", "0-2-1"]
    assert document["frames"]["numbers"] == [1, 3, 5, 7]
    assert document["progress"]["imported"] == 17 + 13 + 14 and document["progress"]["human"] == 0


def test_saving_undoing_and_redoing(server, layer):
    before = server.document(TEA.id, layer)
    entity = before["entities"][0]["id"]
    status, saved = server.save(TEA.id, {"op": "remove", "entity": entity}, layer)
    assert (status, saved["revision"], saved["repeated"]) == (200, 1, False)
    assert len(saved["effects"]["removed_flows"]) == 1
    assert saved["document"]["undo"] == {"op": "remove", "entity": entity}
    assert entity not in [each["id"] for each in saved["document"]["entities"]]
    status, undone = server.post(f"{document_path(TEA.id, layer)}/undo", {"uuid": f"{layer}-u", "base": 1})
    assert (status, undone["revision"], undone["document"]["can_redo"]) == (200, 2, True)
    for part in ("entities", "flows", "objects"):
        assert undone["document"][part] == before[part]
    status, redone = server.post(f"{document_path(TEA.id, layer)}/redo", {"uuid": f"{layer}-r", "base": 2})
    assert redone["document"]["entities"] == saved["document"]["entities"]
    log = server.get(f"{document_path(TEA.id, layer)}/log")["operations"]
    assert [(entry["operation"]["op"], entry["undone"]) for entry in log] == [
        ("remove", False),
        ("undo", False),
        ("redo", False),
    ]
    assert server.document(TEA.id, layer)["revision"] == 3


def test_a_conflict_says_what_happened_and_loses_nothing(server, layer):
    first = {"op": "done", "step": "words", "done": True}
    second = {"op": "done", "step": "flows", "done": True}
    assert server.save(EGG.id, first, layer, 0, f"{layer}-1")[0] == 200
    status, answer = server.save(EGG.id, second, layer, 0, f"{layer}-2")
    assert (status, answer["error"]["code"]) == (409, "conflict")
    assert answer["error"]["detail"] == {"base": 0, "revision": 1}
    assert [(entry["revision"], entry["operation"]) for entry in answer["operations"]] == [(1, first)]
    assert answer["document"]["done"] == {"words": True, "flows": False, "frames": False}
    # The same operation again, on what there is now, under the same name.
    status, answer = server.save(EGG.id, second, layer, 1, f"{layer}-2")
    assert (status, answer["revision"], answer["document"]["done"]["flows"]) == (200, 2, True)


def test_two_tabs_lose_nothing(server, layer):
    """Both click at once; who is late sees a conflict and sends again. Nothing is ever found locked."""
    statuses = [[], []]

    def click(tab):
        base = 0
        for number in range(12):
            operation = {"op": "reject", "origin": "model", "keys": [f"{tab}-{number}"]}
            status = None
            while status != 200:
                status, answer = server.save(EGG.id, operation, layer, base, f"{layer}-{tab}-{number}")
                statuses[tab].append(status)
                base = answer["document"]["revision"]

    tabs = [threading.Thread(target=click, args=(tab,)) for tab in (0, 1)]
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.join()
    assert {*statuses[0], *statuses[1]} == {200, 409}
    log = server.get(f"{document_path(EGG.id, layer)}/log")["operations"]
    assert sorted(entry["operation"]["keys"][0] for entry in log) == sorted(
        f"{t}-{n}" for t in (0, 1) for n in range(12)
    )
    for tab in (0, 1):
        order = [key for entry in log if (key := entry["operation"]["keys"][0]).startswith(f"{tab}-")]
        assert order == [f"{tab}-{number}" for number in range(12)]


def test_numbers_beyond_all_bounds(server, layer):
    done = {"op": "done", "step": "words", "done": True}
    for base in (2**70, -(2**70)):
        status, answer = server.save(EGG.id, done, layer, base)
        assert (status, answer["error"]["code"], answer["operations"]) == (409, "conflict", [])
    assert server.get(f"{document_path(EGG.id, layer)}/log?after={2**70}") == {"operations": []}
    assert failing(server, f"/api/frames/{TEA.id}/{2**70}.jpg") == (404, "no_frame")


def test_a_full_disk_is_reported_and_nothing_is_lost(server, layer):
    connection = server.workspace.store.connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    operation = {"op": "reject", "origin": "model", "keys": ["x" * 200_000]}
    connection.execute(f"PRAGMA max_page_count={pages}")
    try:
        status, answer = server.save(EGG.id, operation, layer, 0, f"{layer}-1")
    finally:
        connection.execute("PRAGMA max_page_count=1000000")
    assert (status, answer["error"]["code"]) == (503, "storage") and "free some space" in answer["error"]["reason"]
    assert server.document(EGG.id, layer)["revision"] == 0
    assert server.save(EGG.id, operation, layer, 0, f"{layer}-1")[0] == 200


def test_a_lost_answer_is_asked_for_again(server, layer):
    operation = {"op": "done", "step": "words", "done": True}
    assert server.save(EGG.id, operation, layer, 0, f"{layer}-1")[1]["repeated"] is False
    status, again = server.save(EGG.id, operation, layer, 0, f"{layer}-1")
    assert (status, again["repeated"], again["revision"], again["document"]["revision"]) == (200, True, 1, 1)


def test_refusals_have_codes(server, layer):
    status, answer = server.save(SALAD.id, {"op": "flow", "start": "1-2-4", "end": "0-0-0", "label": "F-eq"}, layer)
    assert (status, answer["error"]["code"]) == (422, "cycle")
    assert answer["error"]["detail"]["path"] == ["0-0-0", "1-0-2", "1-0-5", "1-2-4", "0-0-0"]
    assert "0-0-0 → 1-0-2" in answer["error"]["reason"]
    key = "1-0-5/1-0-2"
    status, answer = server.save(SALAD.id, {"op": "frame", "key": key, "side": "after", "value": 4}, layer)
    assert (status, answer["error"]["code"], answer["error"]["detail"]) == (422, "no_frame", {"value": 4})
    assert server.document(SALAD.id, layer)["revision"] == 0


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"uuid": "a", "base": 0}',
        b'{"uuid": "a", "base": "0", "operation": {"op": "undo"}}',
        b'{"uuid": "a", "base": true, "operation": {"op": "remove", "entity": "0-0-0"}}',
        b'{"uuid": "a b", "base": 0, "operation": {"op": "remove", "entity": "0-0-0"}}',
        b'{"uuid": "a", "base": 0, "operation": {"op": "undo"}}',
        b'{"uuid": "a", "base": 0, "operation": {"op": "remove", "entity": 0}}',
        b"[" * 100_000,
    ],
)
def test_requests_that_make_no_sense(server, body):
    status, answer = server.post(f"{document_path(EGG.id)}/operations", body)
    assert (status, answer["error"]["code"]) == (400, "bad_request")


def test_too_large_a_request(server):
    status, answer = server.post(f"{document_path(EGG.id)}/operations", b" " * 1_100_000)
    assert (status, answer["error"]["code"]) == (413, "too_large")


def test_half_surrogate_pairs_do_not_break_anything(server, layer):
    operation = {"op": "reject", "origin": "model", "keys": ["\ud800"]}
    assert server.save(TEA.id, operation, layer)[0] == 200
    assert server.get(f"{document_path(TEA.id, layer)}/log")["operations"][0]["operation"] == operation


def test_what_is_not_there(server):
    assert failing(server, document_path("nothing")) == (404, "no_recipe")
    assert failing(server, document_path(TEA.id, "nobody")) == (404, "no_layer")
    assert failing(server, document_path(TEA.id, "gold")) == (403, "blind")
    assert failing(server, "/api/agreement?first=alice&second=alice") == (403, "blind")
    assert failing(server, "/api/frames/tea_3/99.jpg") == (404, "no_frame")
    assert failing(server, "/api/sheets/tea_3/9.jpg") == (404, "no_frame")
    assert failing(server, "/api/soup") == (404, "not_found")
    assert failing(server, f"{document_path(TEA.id)}/undo") == (405, "method")


def test_annotators_are_blind_to_each_other(tmp_path):
    with Store(tmp_path / "annotations.db") as store:
        everybody = Workspace(store)
        everybody.add_recipes([TEA])
        for name in ("alice", "bob"):
            everybody.add_layer(name)
        with LocalServer(Workspace(store, annotators=["alice"])) as server:
            assert [layer["name"] for layer in server.get("/api/session")["layers"]] == ["alice"]
            assert server.document(TEA.id)["layer"] == "alice"
            for path in (document_path(TEA.id, "bob"), "/api/layers/bob/recipes", "/api/layers/bob/export"):
                assert failing(server, path) == (403, "blind")
            done = {"op": "done", "step": "words", "done": True}
            assert server.save(TEA.id, done, "bob", 0)[1]["error"]["code"] == "blind"
            assert server.post("/api/layers", {"name": "carol"})[1]["error"]["code"] == "layer_name"
        with LocalServer(Workspace(store, annotators=["alice"], curating=True)) as server:
            assert server.document(TEA.id, "bob")["revision"] == 0


@pytest.mark.parametrize("name", ["", ".", "..", ".hidden", "a/b", "a b", "x" * 41, "gold", "<script>"])
def test_layer_names(server, name):
    status, answer = server.post("/api/layers", {"name": name})
    assert (status, answer["error"]["code"]) == (422, "layer_name")


def test_recipes_with_their_progress(server, layer):
    server.save(TEA.id, {"op": "done", "step": "words", "done": True}, layer)
    server.save(TEA.id, {"op": "retag", "entity": "0-0-0", "tag": "T"}, layer)
    answer = server.get(f"/api/layers/{layer}/recipes")
    assert [row["id"] for row in answer["recipes"]] == [SALAD.id, EGG.id, TEA.id]
    tea = answer["recipes"][2]
    assert (tea["revision"], tea["human"], tea["frames"], tea["done"]["words"]) == (2, 1, 3, True)
    assert (tea["objects"], tea["objects_set"]) == (2, 2)
    assert answer["totals"]["done"] == {"words": 1, "flows": 0, "frames": 0}


def test_pictures(server):
    film = server.document(SALAD.id)["frames"]
    status, headers, data = server.request("GET", film["sheets"]["url"].replace("{sheet}", "0"))
    assert (status, headers["content-type"], data[:2]) == (200, "image/jpeg", b"\xff\xd8")
    assert "immutable" in headers["cache-control"]
    for kind in ("frames", "thumbnails"):
        status, headers, data = server.request("GET", f"/api/{kind}/{SALAD.id}/3.jpg")
        assert (status, data[:2], headers["cache-control"]) == (200, b"\xff\xd8", "no-cache")
    frame = server.workspace.release / "recipes" / SALAD.id / "frames" / "frame_3.jpg"
    assert server.request("GET", f"/api/frames/{SALAD.id}/3.jpg")[2] == frame.read_bytes()


def test_pages_and_their_files(server):
    for path in ("/", "/r/tea_3/words?layer=alice", "/agreement", "/differences/tea_3", "/guide"):
        status, headers, data = server.request("GET", path)
        assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert b"<script" in data
    assert server.request("GET", "/shared/dom.js")[1]["content-type"].startswith("text/javascript")


def test_get_writes_nothing_and_the_release_is_never_written_to(server, release):
    before = release_fingerprint(release)
    db = server.workspace.store.path
    files = [db, db.with_name(f"{db.name}-wal")]
    contents = [file.read_bytes() for file in files]
    for path in (
        "/",
        "/api/session",
        "/api/layers/alice/recipes",
        *(document_path(recipe.id) for recipe in (SALAD, EGG, TEA)),
        f"{document_path(TEA.id)}/log",
        f"/api/frames/{quote(EGG.id)}/2.jpg",
        f"/api/sheets/{quote(EGG.id)}/0.jpg",
        *(f"/api/layers/alice/export?format={form}" for form in ("release", "text", "brat")),
    ):
        assert server.request("GET", path)[0] == 200
    assert [file.read_bytes() for file in files] == contents
    assert release_fingerprint(release) == before
