import urllib.error
import urllib.request

import pytest

from tests.explore.serving import ExplorerServer
from tests.making import EGG, make_frame, make_release


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    release = make_release(tmp_path_factory.mktemp("served") / "release")
    (release / "recipes" / EGG.id / "frames" / "frame_4.jpg").write_bytes(b"no picture")
    with ExplorerServer(release) as running:
        yield running


def get(server, path, **headers):
    request = urllib.request.Request(server.url + path, headers=headers)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html"),
        ("/explore.js", "text/javascript"),
        ("/explore.css", "text/css"),
        ("/icon.svg", "image/svg+xml"),
        ("/data/about.js", "text/javascript"),
        ("/data/index/0.js", "text/javascript"),
        ("/data/recipes/2.js", "text/javascript"),
        ("/pictures/0/7.jpg", "image/jpeg"),
    ],
)
def test_everything_is_served_with_its_type_and_guarded(server, path, kind):
    status, headers, content = get(server, path)
    assert (status, headers.get_content_type()) == (200, kind)
    assert content
    assert "script-src 'self'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"


def test_pictures_are_the_frames_and_may_be_kept(server):
    _, headers, content = get(server, "/pictures/0/7.jpg?v=1")
    assert content == make_frame(7)
    assert "max-age" in headers["cache-control"]
    assert get(server, "/")[1]["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "path",
    [
        "/data/index/1.js",
        "/data/recipes/3.js",
        "/data/recipes/99999999999999999999999.js",
        "/pictures/0/2.jpg",
        "/pictures/1/4.jpg",
        "/pictures/9/1.jpg",
        "/explore.py",
        "/..%2f..%2fetc%2fpasswd",
        "/pictures/0/..%2f..%2fannotations.json",
    ],
)
def test_what_is_not_there_is_not_found(server, path):
    assert get(server, path)[0] == 404


def test_other_names_are_refused(server):
    assert get(server, "/", Host="evil.example")[0] == 403


def test_a_token_is_asked_for(release):
    with ExplorerServer(release, "--token", "long-enough-token") as server:
        assert get(server, "/")[0] == 401
        assert get(server, "/data/index/0.js")[0] == 401
        assert get(server, "/", Authorization="Bearer long-enough-token")[0] == 200
        assert server.address.endswith("?token=long-enough-token")


def test_it_ends_quietly(release):
    with ExplorerServer(release) as server:
        assert get(server, "/")[0] == 200
        code, said = server.stop()
    assert (code, said) == (0, "")
