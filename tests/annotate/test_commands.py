"""The commands around the pages: what goes in and out of a database without a browser."""

import json
import signal
import socket

import pytest
from typer.testing import CliRunner

from recipeflow.annotate.store import Store
from recipeflow.annotate.workspace import Workspace
from recipeflow.cli import app
from recipeflow.errors import DatabaseError, DatabaseInUseError, ModelFolderError, ReleaseProblem, UsageError
from recipeflow.release import check_release, read_release, release_fingerprint
from tests.annotate.serving import AnnotationServer
from tests.making import RECIPES, TEA, make_release
from tests.making_english import ENGLISH_INFO, SOUP


def vrf(*arguments):
    """Run a command here; errors of ours come as they are raised."""
    result = CliRunner().invoke(app, list(map(str, arguments)))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_in_and_out(release, tmp_path):
    db = tmp_path / "annotations.db"
    assert vrf("annotate-import", db, release).stdout == "new recipes: 3\n"
    assert vrf("annotate-import", db, release).stdout == "new recipes: 0\n"
    assert vrf("annotate-import", db, release, "--suggest").stdout == "suggestions for 3 recipes\n"
    with Store(db) as store:
        Workspace(store).add_layer("alice")
        assert store.origins() == ["suggested-release"]
    written = vrf("annotate-export", db, tmp_path / "out", "--layer", "alice", "--release", release, "--json")
    assert json.loads(written.stdout)["recipes"] == [recipe.id for recipe in RECIPES]
    assert list(read_release(tmp_path / "out")) == list(RECIPES)
    assert check_release(tmp_path / "out") == []
    bare = vrf("annotate-export", db, tmp_path / "bare", "--layer", "alice")
    assert "no frames were written" in bare.stderr and "wrote 3 recipes" in bare.stdout
    vrf("annotate-export", db, tmp_path / "brat", "--layer", "alice", "--format", "brat")
    assert (tmp_path / "brat" / f"{TEA.id}.ann").is_file()


def test_an_export_leaves_no_files_beside_the_database(release, tmp_path):
    db = tmp_path / "work" / "annotations.db"
    db.parent.mkdir()
    vrf("annotate-import", db, release)
    with Store(db) as store:
        Workspace(store).add_layer("alice")
    before = sorted(path.name for path in db.parent.iterdir())
    vrf("annotate-export", db, tmp_path / "out", "--layer", "alice")
    assert sorted(path.name for path in db.parent.iterdir()) == before
    with Store(db) as store, Store(db, read_only=True) as reader:  # while it is being written, they are needed
        assert reader.recipe_ids() == store.recipe_ids()
        reader.close()
        assert db.with_name("annotations.db-wal").exists()


def test_what_is_printed(release, tmp_path):
    db = tmp_path / "annotations.db"
    with pytest.raises(DatabaseError, match="found no file"):
        vrf("annotate-export", db, tmp_path / "out", "--layer", "alice")
    vrf("annotate-import", db, release)
    with pytest.raises(UsageError, match=r"\(none yet\), found 'alice'"):
        vrf("annotate-export", db, tmp_path / "out", "--layer", "alice")
    with pytest.raises(UsageError, match="--format release, text, brat"):
        vrf("annotate-export", db, tmp_path / "out", "--layer", "alice", "--format", "docx")
    with Store(db), pytest.raises(DatabaseInUseError, match="stop it first"):
        vrf("annotate-import", db, release)
    with pytest.raises(UsageError, match=r"guidelines in .*missing.md, found: No such file"):
        vrf("annotate", release, "--db", db, "--guidelines", tmp_path / "missing.md", "--no-browser")
    with pytest.raises(UsageError, match="expected the database outside"):
        vrf("annotate", release, "--db", release / "annotations.db", "--no-browser")


def test_it_starts_with_an_empty_folder(tmp_path):
    (tmp_path / "empty").mkdir()
    with AnnotationServer(tmp_path / "empty", tmp_path / "work.db", "--annotator", "alice") as server:
        assert server.get("/api/layers/alice/recipes")["recipes"] == []
        assert server.get("/api/session")["editing"] is True
    with pytest.raises(ReleaseProblem, match="found no such file"):
        vrf("annotate", tmp_path / "nowhere", "--db", tmp_path / "other.db", "--no-browser")


def test_a_port_that_is_taken_is_reported(release, tmp_path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port}, found: .*Choose another --port"):
            vrf("annotate", release, "--db", tmp_path / "a.db", "--no-browser", "--port", port)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_stops_cleanly(tmp_path, number):
    """Ctrl-C and SIGTERM close the database, so that no files lie beside it, and leave the release as it was."""
    release, db = make_release(tmp_path / "release"), tmp_path / "annotations.db"
    before = release_fingerprint(release)
    with AnnotationServer(release, db, "--annotator", "alice", "--token", "a-long-enough-token") as server:
        headers = {"Authorization": "Bearer a-long-enough-token"}
        assert server.get("/api/session", **headers)["annotator"] == "alice"
        server.process.send_signal(number)
        assert server.process.wait(timeout=200) == 0
        assert "Traceback" not in server.process.stdout.read()
        server.process.stdout.close()
    assert {path.name for path in tmp_path.glob("annotations.db*")} == {"annotations.db", "annotations.db-lock"}
    assert release_fingerprint(release) == before


def test_what_suggestions_cannot_use_is_refused_before_the_server_starts(release, tmp_path):
    start = ("annotate", release, "--db", tmp_path / "work.db", "--no-browser", "--port", "0")
    with pytest.raises(UsageError, match="--no-suggestions"):
        vrf(*start, "--no-suggestions", "--learn", release)
    with pytest.raises(ModelFolderError):
        vrf(*start, "--parser", tmp_path / "nowhere")
    english = make_release(tmp_path / "english", [SOUP], frames=False, info=ENGLISH_INFO)
    with pytest.raises(UsageError, match="language, tags and labels"):
        vrf(*start, "--learn", english)
