"""Who is kept out: other sites, other names for this machine, whoever has no token."""

import http.client
import json
import os
import subprocess
import sys
from urllib.parse import quote

import pytest

from recipeflow.annotate.store import Store
from recipeflow.annotate.workspace import Workspace
from recipeflow.cli.annotating import _find_people
from recipeflow.errors import UsageError
from recipeflow.web.security import Guard, PublicUrl, check_exposure
from tests.annotate.serving import ROOT, LocalServer, document_path
from tests.making import TEA

TOKEN = "correct horse; battery"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    with Store(tmp_path_factory.mktemp("security") / "annotations.db") as store:
        workspace = Workspace(store)
        workspace.add_recipes([TEA])
        workspace.add_layer("alice")
        yield workspace


@pytest.fixture(scope="module")
def server(workspace):
    with LocalServer(workspace) as server:
        yield server


@pytest.fixture(scope="module")
def locked(workspace):
    with LocalServer(workspace, TOKEN) as server:
        yield server


def ask(server, method="GET", path="/api/session", body=None, **headers):
    """A request with exactly these headers, which no client library corrects."""
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=30)
    connection.putrequest(method, path, skip_host="Host" in headers, skip_accept_encoding=True)
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    if body is not None:
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    return answer.status, answer, data


def code(data: bytes) -> str:
    return json.loads(data)["error"]["code"]


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil.example:{port}", "", "[::1"],
)
def test_another_name_is_refused(server, host):
    port = server.url.rpartition(":")[2]
    status, _, data = ask(server, Host=host.format(port=port))
    assert (status, code(data)) == (403, "host")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "LOCALHOST"])
def test_its_own_names_are_fine(server, host):
    assert ask(server, Host=f"{host}:{server.url.rpartition(':')[2]}")[0] == 200


BODY = b'{"name": "mallory"}'


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1", "file://"]
)
def test_another_origin_is_refused(server, origin):
    status, _, data = ask(server, "POST", "/api/layers", BODY, Origin=origin, Content_Type="application/json")
    assert (status, code(data)) == (403, "origin")
    assert ask(server, "GET", "/api/session", Origin=origin)[0] == 403
    assert "mallory" not in [layer.name for layer in server.workspace.store.layers()]


def test_another_site_is_refused_by_what_the_browser_says(server):
    sent = {"Content_Type": "application/json", "Sec_Fetch_Site": "cross-site"}
    status, _, data = ask(server, "POST", "/api/layers", BODY, **sent)
    assert (status, code(data)) == (403, "origin")


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_only_json_changes_anything(server, kind):
    """What a form of another site could send without asking first is refused by its type."""
    headers = {"Origin": server.url} | ({"Content_Type": kind} if kind else {})
    status, _, data = ask(server, "POST", "/api/layers", BODY, **headers)
    assert (status, code(data)) == (415, "content_type")


def test_no_site_is_ever_allowed_in(server):
    """A preflight gets no permission."""
    status, answer, _ = ask(server, "OPTIONS", "/api/layers", Origin="http://evil.example")
    assert status == 403 and answer.getheader("access-control-allow-origin") is None


@pytest.mark.parametrize("path", ["/", "/api/session", "/static/main.js", "/api/nothing"])
def test_every_answer_forbids_foreign_script(server, path):
    _, answer, _ = ask(server, path=path)
    policy = answer.getheader("content-security-policy")
    assert "default-src 'none'" in policy and "script-src 'self';" in policy and "unsafe" not in policy
    assert answer.getheader("x-content-type-options") == "nosniff"
    assert answer.getheader("x-frame-options") == "DENY"
    assert answer.getheader("referrer-policy") == "no-referrer"


@pytest.mark.parametrize(
    "path",
    [
        "/static/../server.py",
        "/static/..%2fserver.py",
        "/static/%2e%2e/%2e%2e/errors.py",
        "/shared/....//views.py",
        "/api/frames/..%2f..%2ftea_3/1.jpg",
        "/api/frames/%2e%2e/1.jpg",
        "/api/layers/alice/recipes/..",
        "/api/layers/alice/recipes/..%2f..%2fetc%2fpasswd",
        "/api/layers/../recipes",
    ],
)
def test_no_way_out_of_the_folder(server, path):
    assert ask(server, path=path)[0] == 404


def test_nothing_without_the_token(locked):
    for path in ("/", "/api/session", "/static/main.js", document_path(TEA.id), "/?token=wrong", "/?token="):
        status, _, data = ask(locked, path=path)
        assert status == 401
        assert TEA.title.encode() not in data
    assert code(ask(locked)[2]) == "token"
    assert ask(locked, Authorization="Bearer wrong")[0] == 401
    assert ask(locked, Cookie="vrf_token_1=x; ;;=")[0] == 401


def test_the_token_opens_by_address_cookie_and_header(locked):
    status, answer, _ = ask(locked, path="/r/tea_3/words?token=correct%20horse%3B%20battery&layer=alice")
    assert (status, answer.getheader("location")) == (303, "/r/tea_3/words?layer=alice")
    cookie = answer.getheader("set-cookie")
    assert "HttpOnly" in cookie and "samesite=lax" in cookie.lower()
    assert ask(locked, Cookie=cookie.rpartition("; HttpOnly")[0])[0] == 200
    assert ask(locked, Authorization=f"Bearer {TOKEN}")[0] == 200


def test_the_token_leads_to_no_other_host(locked):
    _, answer, _ = ask(locked, path="//evil.example/?token=correct%20horse%3B%20battery")
    assert answer.getheader("location") == "/evil.example/"


def test_beyond_this_machine_only_with_a_token():
    for host in ("0.0.0.0", "::", "192.168.1.5", "kitchen.example"):
        with pytest.raises(UsageError, match="expected --token"):
            check_exposure(host, None)
        check_exposure(host, TOKEN)
    for host in ("127.0.0.1", "::1", "localhost", "127.8.8.8"):
        check_exposure(host, None)
    with pytest.raises(UsageError, match="longer"):
        check_exposure("127.0.0.1", "short")


def test_a_server_for_all_addresses_knows_addresses_but_no_foreign_names():
    guard = Guard(None, "0.0.0.0", 8765, TOKEN)
    assert guard._is_own("192.168.1.5:8765") and guard._is_own("localhost:8765") and guard._is_own("[fe80::1]:8765")
    assert not guard._is_own("evil.example:8765") and not guard._is_own("192.168.1.5")


def test_the_command_does_not_start_without_a_token(tmp_path):
    command = [sys.executable, "-m", "recipeflow.cli", "annotate", "--db", str(tmp_path / "a.db"), "--host", "0.0.0.0"]
    ran = subprocess.run(command, cwd=ROOT, env=os.environ, capture_output=True, text=True, check=False)
    assert ran.returncode == 1 and "UsageError" in ran.stderr and "--token" in ran.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def proxied(workspace):
    """A server behind a proxy that passes on the name which people use."""
    with LocalServer(workspace, TOKEN, PublicUrl.parse("https://Recipes.example/")) as server:
        yield server


def post_through_proxy(server, host: str, origin: str) -> int:
    headers = {"Content_Type": "application/json", "Authorization": f"Bearer {TOKEN}"}
    return ask(server, "POST", "/api/layers", BODY, Host=host, Origin=origin, **headers)[0]


@pytest.mark.parametrize("host", ["recipes.example", "RECIPES.example", "recipes.example:443"])
def test_the_public_name_is_accepted_with_its_own_origin_alone(proxied, host):
    assert post_through_proxy(proxied, host, "https://recipes.example") in (200, 201)
    for origin in ("http://recipes.example", "https://recipes.example:8443", "https://evil.example", "null"):
        assert post_through_proxy(proxied, host, origin) == 403


@pytest.mark.parametrize("host", ["evil.example", "recipes.example.evil.example", "recipes.example:80", "127.0.0.1"])
def test_a_public_name_opens_no_other(proxied, host):
    assert post_through_proxy(proxied, host, f"https://{host}") == 403


def test_a_proxied_server_keeps_its_local_name_and_its_cookie_to_https(proxied):
    port = proxied.url.rpartition(":")[2]
    assert post_through_proxy(proxied, f"127.0.0.1:{port}", f"http://127.0.0.1:{port}") in (200, 201)
    assert post_through_proxy(proxied, f"127.0.0.1:{port}", "https://recipes.example") == 403
    _, answer, _ = ask(proxied, path=f"/?token={quote(TOKEN)}", Host="recipes.example")
    assert answer.status == 303
    assert "secure" in answer.headers["set-cookie"].lower()


@pytest.mark.parametrize("url", ["recipes.example", "ftp://recipes.example", "https://", "https://a/b", "https://a:x"])
def test_a_wrong_public_url_is_refused(url):
    with pytest.raises(UsageError, match="--public-url"):
        PublicUrl.parse(url)


def test_a_public_server_needs_tokens():
    public = PublicUrl.parse("https://recipes.example")
    with pytest.raises(UsageError, match="--public-url https://recipes"):
        check_exposure("127.0.0.1", None, public)
    assert [person.name for person in _find_people(["alice", "bob"], False, "127.0.0.1", None, False, [], public)] == [
        "alice",
        "bob",
    ]
