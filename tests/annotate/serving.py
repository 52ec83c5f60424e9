"""A real annotation server in a process of its own, to be talked to, killed and started again.

::

    with AnnotationServer(release, db, "--annotator", "alice") as server:
        document = server.get("/api/layers/alice/recipes/tea_3")
        server.post("/api/layers/alice/recipes/tea_3/operations", {...})
        server.kill()      # SIGKILL, in the middle of whatever it does
        server.start()     # the same port, database and options
"""

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from recipeflow.annotate.server import create_app
from recipeflow.annotate.store import Store
from recipeflow.annotate.workspace import Workspace
from recipeflow.release.recipe import Recipe
from recipeflow.web.security import Guard, PublicUrl
from tests.hub.server import Background
from tests.making import RECIPES, make_release

ROOT = Path(__file__).parents[2]


class Client:
    """What a page does with a server at ``url``."""

    url: str

    def get(self, path: str, **headers: str):
        """The JSON at an address; raises ``urllib.error.HTTPError``."""
        return json.loads(self.request("GET", path, None, headers)[2])

    def post(self, path: str, body, **headers: str):
        """The status and the JSON that a POST is answered with, whatever the status."""
        status, _, data = self.request("POST", path, body, headers)
        return status, json.loads(data)

    def request(self, method: str, path: str, body=None, headers=None):
        """Status, headers and bytes of the answer; ``Origin`` and content type are set as the page's would be."""
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"Content-Type": "application/json", "Origin": self.url} if method == "POST" else {}
        sent |= {name.replace("_", "-"): value for name, value in (headers or {}).items()}
        request = urllib.request.Request(self.url + path, data, sent, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, dict(answer.headers), answer.read()
        except urllib.error.HTTPError as error:
            if method == "GET":
                raise
            return error.code, dict(error.headers), error.read()

    def document(self, recipe: str, layer: str = "alice"):
        """A recipe as a page opens it."""
        return self.get(document_path(recipe, layer))

    def save(
        self, recipe: str, operation: dict, layer: str = "alice", base: int | None = None, name: str | None = None
    ):
        """Send one operation, on the newest revision by default."""
        base = self.document(recipe, layer)["revision"] if base is None else base
        body = {"uuid": name or str(uuid.uuid4()), "base": base, "operation": operation}
        return self.post(f"{document_path(recipe, layer)}/operations", body)


class AnnotationServer(Client):
    """``vrf annotate`` on 127.0.0.1.

    Args:
        release: A release folder, or ``None``.
        db: The database file; it may not exist yet.
        *options: More options of the command, e.g. ``"--annotator", "alice", "--blank", "--curate"``.
        cache: Where small pictures are kept; beside the database by default.
        suggesting: Compute suggestions too, as the command does by default.

    ``url`` is its address without a slash at the end, once it is started. Started again, it has the same one.
    """

    def __init__(
        self, release: Path | None, db: Path, *options: str, cache: Path | None = None, suggesting: bool = False
    ):
        self.release, self.db = release, Path(db)
        self.options = options if suggesting else (*options, "--no-suggestions")
        self.environment = {
            **os.environ,
            "RECIPEFLOW_CACHE": str(cache or Path(db).parent / "cache"),
            "PYTHONUNBUFFERED": "1",
            "COLUMNS": "200",
        }
        self.port = 0
        self.process = None
        self.url = None

    def __enter__(self) -> "AnnotationServer":
        self.start()
        return self

    def __exit__(self, *error) -> None:
        self.stop()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        release = [] if self.release is None else [str(self.release)]
        command = [sys.executable, "-m", "recipeflow.cli", "annotate", *release, "--db", str(self.db), "--no-browser"]
        self.process = subprocess.Popen(
            [*command, "--port", str(self.port), *self.options],
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        said = []
        for line in self.process.stdout:
            said.append(line)
            if line.startswith("annotating at "):
                self.url = line.split()[-1].partition("/?")[0].rstrip("/")
                self.port = int(self.url.rpartition(":")[2])
                return
        self.process.wait()
        raise RuntimeError(f"the server did not start: {''.join(said)}")

    def stop(self) -> None:
        """Stop it as a person would."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(timeout=200)
                self.process.stdout.close()
            except subprocess.TimeoutExpired:
                self.kill()

    def kill(self) -> None:
        """SIGKILL: it gets no chance to finish anything."""
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class LocalServer(Client):
    """The same application on 127.0.0.1 in a thread of the test: it starts at once, and its workspace can be seen."""

    def __init__(
        self,
        workspace: Workspace,
        token: str | None = None,
        public: PublicUrl | None = None,
        annotator: str | None = None,
    ):
        self.workspace = workspace
        self.server = Background(create_app(workspace, annotator))
        self.url = self.server.url
        port = int(self.url.rpartition(":")[2])
        self.server.server.config.app = Guard(self.server.server.config.app, "127.0.0.1", port, token, public)

    def __enter__(self) -> "LocalServer":
        self.server.start()
        return self

    def __exit__(self, *error) -> None:
        self.server.stop()


@contextmanager
def local_server(
    folder: Path, *layers: str, recipes: Sequence[Recipe] = RECIPES, **options: bool
) -> Iterator[LocalServer]:
    """A release of these recipes in ``folder``, served with these layers; options go to ``Workspace``."""
    release = make_release(folder / "release", recipes)
    with Store(folder / "work.db") as store:
        workspace = Workspace(store, release, **options)
        workspace.import_folder(release)
        for name in layers:
            workspace.add_layer(name)
        with LocalServer(workspace) as server:
            yield server


def document_path(recipe: str, layer: str = "alice") -> str:
    return f"/api/layers/{quote(layer, safe='')}/recipes/{quote(recipe, safe='')}"
