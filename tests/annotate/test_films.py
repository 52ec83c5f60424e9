"""Films that are uploaded to the real server: in pieces, checked, sampled beside the pages, exported with frames."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
from pathlib import Path

import pytest

from recipeflow.annotate.exporting import export_layer
from recipeflow.annotate.films import Films, FilmState, _Task, films_folder
from recipeflow.annotate.store import Store
from recipeflow.annotate.uploads import FORGOTTEN, Uploads
from recipeflow.annotate.workspace import Workspace
from recipeflow.download.frames import Job
from recipeflow.errors import ConflictingUploadError, RefusedError
from recipeflow.own.making import Source, make_release
from recipeflow.release import read_release
from tests.annotate.serving import ROOT, Client, LocalServer
from tests.download.filming import make_video, read_numbers

TEXT = "Egg\n\nIngredients\n2 eggs\n\nMethod\n1. Boil the eggs.\n"
PATIENCE = 120


@pytest.fixture(scope="module")
def film(tmp_path_factory) -> bytes:
    return make_video(tmp_path_factory.mktemp("film") / "film.mp4", 40).read_bytes()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """An empty database, without a release."""
    with Store(tmp_path_factory.mktemp("films") / "work.db") as store:
        workspace = Workspace(store, largest_film=5_000_000)
        workspace.add_layer("alice")
        with LocalServer(workspace, annotator="alice") as server:
            yield server


def add_recipe(server: Client, name: str) -> str:
    found = server.post("/api/import/read", {"text": TEXT})[1]
    assert (found["title"], found["ingredients"], found["instructions"], found["language"]) == (
        "Egg",
        "2 eggs",
        "Boil the eggs.",
        "en",
    )
    body = {key: found[key] for key in ("title", "ingredients", "instructions", "language")}
    assert server.post("/api/import/text", body | {"id": name})[0] == 201
    return name


def announce(server: Client, recipe: str, data: bytes, name: str = "film.mp4"):
    return server.post(f"/api/recipes/{recipe}/film", {"name": name, "size": len(data), "stamp": 7})


def send(server: Client, recipe: str, upload: str, offset: int, data: bytes):
    headers = {"Content-Type": "application/octet-stream"}
    status, _, answer = server.request("POST", f"/api/recipes/{recipe}/film/{upload}/{offset}", data, headers)
    return status, json.loads(answer)


def send_all(server: Client, recipe: str, data: bytes) -> None:
    status, begun = announce(server, recipe, data)
    assert status == 200
    assert send(server, recipe, begun["upload"], begun["received"], data[begun["received"] :])[0] == 200


def settled(server: Client, recipe: str) -> dict:
    end = time.monotonic() + PATIENCE
    while (state := server.get(f"/api/recipes/{recipe}/film"))["state"] in ("waiting", "sampling"):
        assert time.monotonic() < end, state
        time.sleep(0.1)
    return state


def test_a_film_comes_in_pieces_and_can_be_annotated_and_exported(server, film, tmp_path):
    recipe = add_recipe(server, "egg")
    assert server.document(recipe)["frames"] is None
    assert server.get(f"/api/recipes/{recipe}/film")["state"] == "none"
    _, begun = announce(server, recipe, film)
    assert begun["received"] == 0
    half = len(film) // 2
    assert send(server, recipe, begun["upload"], 0, film[:half])[1]["received"] == half
    # What came twice, or from another tab, changes nothing; the answer says where to go on.
    status, answer = send(server, recipe, begun["upload"], 0, film[:half])
    assert (status, answer["error"]["code"], answer["error"]["detail"]) == (409, "piece", {"received": half})
    assert announce(server, recipe, film)[1]["received"] == half
    assert server.get(f"/api/recipes/{recipe}/film") | {"view": 0} == {
        **FilmState().as_dict(),
        "received": half,
        "size": len(film),
        "view": 0,
    }
    assert send(server, recipe, begun["upload"], half, film[half:])[1]["film"]["state"] in ("waiting", "sampling")
    done = settled(server, recipe)
    assert (done["state"], done["frames"], done["view"]["numbers"]) == ("ready", 4, [1, 2, 3, 4])
    frames = films_folder(server.workspace.store.path) / "recipes" / recipe / "frames"
    assert read_numbers(frames) == {1: 0, 2: 10, 3: 20, 4: 30}
    assert server.get("/api/layers/alice/recipes")["recipes"][0]["frames"] == 4
    annotate(server, recipe)
    layer = server.workspace.find_layer("alice")
    exported = export_layer(server.workspace.store, layer, tmp_path / "mine", only=[recipe])
    assert exported.notes == []
    (read,) = read_release(tmp_path / "mine")
    assert read.used_frames == (1, 3) and read.frame_path(3).read_bytes() == (frames / "frame_3.jpg").read_bytes()
    # A film whose frames are chosen stays.
    assert announce(server, recipe, film, "other.mp4")[1]["error"]["code"] == "has_film"


def annotate(server: Client, recipe: str) -> None:
    for section, line, start, tag in ((0, 0, 1, "F"), (1, 0, 0, "Ac")):
        span = {"section": section, "line": line, "start": start, "end": start + 1}
        assert server.save(recipe, {"op": "tag", **span, "tag": tag})[0] == 200
    assert server.save(recipe, {"op": "flow", "start": "0-0-1", "end": "1-0-0", "label": "Targ"})[0] == 200
    for side, value in (("before", 1), ("after", 3)):
        changed = {"op": "frame", "key": "1-0-0/0-0-1", "side": side, "value": value}
        assert server.save(recipe, changed)[0] == 200


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("text", b"This is no film. " * 100),
        ("page", b"<script>alert(1)</script>"),
    ],
)
def test_what_is_no_film_is_refused_with_the_reason_and_removed(server, name, data):
    recipe = add_recipe(server, name)
    send_all(server, recipe, data)
    state = settled(server, recipe)
    assert state["state"] == "failed" and "expected an MP4 video" in state["reason"] and state["view"] is None
    assert not [path for path in films_folder(server.workspace.store.path).rglob(f"*{name}*/*") if path.is_file()]
    assert server.document(recipe)["sections"][1]["lines"][0]["text"] == "Boil the eggs."
    assert announce(server, recipe, data)[1]["received"] == 0  # another try is possible


def test_a_film_of_which_nobody_chose_a_frame_can_be_replaced(server, film, tmp_path):
    recipe = add_recipe(server, "again")
    send_all(server, recipe, film)
    assert settled(server, recipe)["frames"] == 4
    send_all(server, recipe, make_video(tmp_path / "other.mp4", 20, first=500).read_bytes())
    assert settled(server, recipe)["frames"] == 2
    frames = films_folder(server.workspace.store.path) / "recipes" / recipe / "frames"
    assert read_numbers(frames) == {1: 500, 2: 510}


def test_too_large_empty_or_more_than_announced(server, film):
    recipe = add_recipe(server, "limits")
    for size in (0, -5, 5_000_001):
        body = {"name": "film.mp4", "size": size, "stamp": 0}
        status, answer = server.post(f"/api/recipes/{recipe}/film", body)
        assert (status, answer["error"]["code"]) == (422, "film_size")
    _, begun = announce(server, recipe, film[:10])
    status, answer = send(server, recipe, begun["upload"], 0, film[:11])
    assert (status, answer["error"]["code"]) == (422, "film_size")
    assert server.get(f"/api/recipes/{recipe}/film")["received"] == 0
    assert send(server, recipe, "0" * 16, 0, film)[1]["error"]["code"] == "no_upload"


def test_only_recipes_have_films_and_only_own_pages_send_them(server, film):
    for odd in ("..", "%2e%2e", "..%2f..%2fetc", "nothing"):
        status, _, _ = server.request("POST", f"/api/recipes/{odd}/film", {"name": "f", "size": 5, "stamp": 0})
        assert status == 404
    recipe = add_recipe(server, "safe")
    _, begun = announce(server, recipe, film)
    path = f"/api/recipes/{recipe}/film/{begun['upload']}/0"
    for headers, status in (
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "multipart/form-data; boundary=x"}, 415),
        ({"Content-Type": "application/octet-stream", "Origin": "http://evil.example"}, 403),
        ({"Content-Type": "application/octet-stream", "Sec-Fetch-Site": "cross-site"}, 403),
    ):
        assert server.request("POST", path, film, headers)[0] == status
    assert server.get(f"/api/recipes/{recipe}/film")["received"] == 0
    # What was uploaded is never served, only its frames are, as pictures.
    for name in ("video.mp4", "..%2fvideo.mp4", "1.mp4"):
        with pytest.raises(urllib.error.HTTPError, match="404"):
            server.request("GET", f"/api/frames/{recipe}/{name}")


def test_a_text_that_cannot_be_read_adds_nothing(server):
    body = {"id": "x", "title": "T", "ingredients": "", "instructions": "トマトを切る。", "language": "en"}
    status, answer = server.post("/api/import/text", body)
    assert (status, answer["error"]["code"]) == (422, "text")
    assert "x" not in [row["id"] for row in server.get("/api/layers/alice/recipes")["recipes"]]


def test_a_video_of_the_release_is_sampled_next_to_the_database_only(tmp_path, film):
    home = tmp_path / "release" / "recipes" / "egg"
    home.mkdir(parents=True)
    (home / "video.mp4").write_bytes(film)
    for name, text in {"title": "Egg", "ingredients": "2 eggs", "instructions": "Boil the eggs."}.items():
        (home / f"{name}.txt").write_text(text + "\n")
    (tmp_path / "release" / "release.json").write_text('{"language": "en"}')
    before = sorted(path.relative_to(tmp_path) for path in (tmp_path / "release").rglob("*"))
    with Store(tmp_path / "work.db") as store:
        workspace = Workspace(store, tmp_path / "release")
        workspace.import_folder(tmp_path / "release")
        assert workspace.recipe_films.sample_missing() == ["egg"]
        wait_for(workspace.films, "egg")
        assert workspace.film("egg").numbers == (1, 2, 3, 4)
        assert workspace.recipe_films.sample_missing() == []
        assert sorted(path.relative_to(tmp_path) for path in (tmp_path / "release").rglob("*")) == before


def test_ctrl_c_while_a_film_is_sampled_prints_no_traceback(tmp_path, film):
    text = tmp_path / "egg.txt"
    text.write_text(TEXT)
    (tmp_path / "egg.mp4").write_bytes(film)
    make_release(tmp_path / "mine", [Source(text, tmp_path / "egg.mp4")])
    command = [sys.executable, "-m", "recipeflow.cli", "annotate", str(tmp_path / "mine"), "--no-browser"]
    command += ["--db", str(tmp_path / "work.db"), "--port", "0", "--annotator", "alice"]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, cwd=ROOT, start_new_session=True, **streams) as process:
        printed = [process.stdout.readline() for _ in range(3)]
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the process that decodes, too
        rest, _ = process.communicate(timeout=PATIENCE)
    assert printed[0] == "sampling films in the background: egg\n"
    assert (rest, process.returncode) == ("", 0)


def wait_for(films: Films, name: str) -> FilmState:
    end = time.monotonic() + PATIENCE
    while (state := films.state(name)).is_busy:
        assert time.monotonic() < end
        time.sleep(0.05)
    return state


class DeadlyHome(Job):
    """A job whose process dies, as of a film that crashes the decoder."""

    @property
    def home(self) -> Path:
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_film_that_kills_the_decoder_is_reported_and_the_next_one_sampled(tmp_path, film):
    films = Films(tmp_path / "work.db", lambda: None)
    films._add(_Task(DeadlyHome(tmp_path, "deadly", ())))
    assert "crashes the decoder" in wait_for(films, "deadly").reason
    upload = films.uploads.begin("egg", "film.mp4", len(film), 0)
    films.uploads.append(upload, 0, film)
    films.take(upload.path, "egg")
    assert wait_for(films, "egg").frames == 4
    assert Films(tmp_path / "work.db", lambda: None).state("egg").state == "ready"  # as after a restart


def test_uploads_resume_after_a_restart_and_are_forgotten_after_a_week(tmp_path):
    first = Uploads(tmp_path)
    upload = first.begin("egg", "film.mp4", 10, 3)
    first.append(upload, 0, b"1234")
    again = Uploads(tmp_path)
    assert again.begin("egg", "film.mp4", 10, 3).received == 4
    with pytest.raises(ConflictingUploadError):
        again.append(upload, 0, b"1234")
    assert again.begin("egg", "film.mp4", 10, 4).received == 0  # the file was changed since
    assert again.find("egg", upload.id) is None
    (partial,) = tmp_path.rglob("*.partial")
    again.clean_up()
    assert partial.exists()
    old = time.time() - FORGOTTEN - 60
    os.utime(partial, (old, old))
    again.clean_up()
    assert not partial.exists()


def test_a_full_disk_is_reported_before_anything_is_sent(tmp_path):
    with pytest.raises(RefusedError, match="free disk space"):
        Uploads(tmp_path, limit=10**18).begin("egg", "film.mp4", 10**17, 0)
    assert not list(tmp_path.rglob("*.partial"))
