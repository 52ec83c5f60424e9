"""What pages that look over many recipes ask the server for."""

import urllib.error

import pytest

from recipeflow.annotate.guidelines import LARGEST, read_guidelines
from recipeflow.errors import UsageError
from tests.annotate.serving import local_server
from tests.making import SALAD, TEA


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with local_server(tmp_path_factory.mktemp("review"), "alice", "bob") as server:
        server.workspace.annotators = frozenset({"alice"})
        yield server


def test_annotations_of_a_layer_with_their_lines(server):
    server.save(TEA.id, {"op": "note", "target": "ne:1-0-2", "unsure": False, "text": "cold?"})
    found = server.get("/api/layers/alice/annotations")["recipes"]
    tea = next(row for row in found if row["id"] == TEA.id)
    assert [row["id"] for row in found] == server.workspace.store.recipe_ids()
    assert tea["revision"] == server.document(TEA.id)["revision"]
    entity = next(each for each in tea["entities"] if each["id"] == "1-0-2")
    line = tea["lines"][1][0]
    assert entity["text"] == line[entity["from"] : entity["to"]] == "麦茶"
    assert tea["notes"] == {"ne:1-0-2": {"unsure": False, "text": "cold?"}}
    assert tea["flows"][0].keys() == {"start", "end", "label"} and len(tea["objects"]) == 2


def test_nobody_sees_another_annotators_work(server):
    for path in ("annotations", "times"):
        with pytest.raises(urllib.error.HTTPError) as caught:
            server.get(f"/api/layers/bob/{path}")
        assert caught.value.code == 403


def test_times_of_a_layer(server):
    server.save(SALAD.id, {"op": "done", "step": "flows", "done": True})
    found = server.get("/api/layers/alice/times?pause=0")
    assert found["pause"] == 0 and found["total"]["flows"] == {"seconds": 0.0, "operations": 1}
    assert {row["id"]: row["title"] for row in found["recipes"]}[SALAD.id] == SALAD.title
    for pause in ("x", "-1", "1e9", "nan"):
        with pytest.raises(urllib.error.HTTPError) as caught:
            server.get(f"/api/layers/alice/times?pause={pause}")
        assert caught.value.code == 400


def test_without_guidelines_there_are_none(server):
    assert server.get("/api/guidelines") == {"text": None}


@pytest.mark.parametrize(
    ("content", "found"), [(None, "No such file"), (b"\xff\xfe", "something else"), (b"x" * (LARGEST + 1), "more")]
)
def test_guidelines_that_cannot_be_shown_are_reported(tmp_path, content, found):
    path = tmp_path / "guide.md"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=rf"found:? {found}.*--guidelines"):
        read_guidelines(path)
    path.write_bytes(b"\xef\xbb\xbf# Rules\r\n")
    assert read_guidelines(path) == "# Rules\n"
