"""A Hub on 127.0.0.1 that the real clients talk to: the API on one port, large file storage on another.

::

    with HubServer() as hub:
        hub.state.users["hf_…"] = User("lab")
        subprocess.run([…], env=hub.environment(folder, token="hf_…"))
"""

import os
import socket
import threading
import time
from pathlib import Path

import uvicorn

from tests.hub.api import Api
from tests.hub.repositories import Hub
from tests.hub.storage import Storage

ROOT = Path(__file__).parents[2]


class Background:
    """A web application in a thread, at a free port."""

    def __init__(self, app):
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        config = uvicorn.Config(app, log_level="error", lifespan="off", timeout_graceful_shutdown=1)
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, args=([self.socket],), daemon=True)

    def start(self):
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)

    def stop(self):
        self.server.should_exit = True
        self.thread.join(timeout=10)
        self.socket.close()


class HubServer:
    """Both servers around one state."""

    def __init__(self):
        self.state = Hub()
        api = Api(self.state)
        self.servers = Background(api.app()), Background(Storage(self.state).app())
        self.url, self.storage_url = (server.url for server in self.servers)
        api.url, api.storage_url = self.url, self.storage_url

    def __enter__(self) -> "HubServer":
        for server in self.servers:
            server.start()
        return self

    def __exit__(self, *error: object) -> None:
        for server in self.servers:
            server.stop()

    def environment(self, folder: Path, token: str | None = None) -> dict[str, str]:
        """Of a client process that knows no other Hub, has empty caches and no other token."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        return kept | {
            "HF_ENDPOINT": self.url,
            "HF_HOME": str(folder / "hf"),
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": str(ROOT),
            "COLUMNS": "120",
            "TERM": "dumb",
            **({"HF_TOKEN": token} if token else {}),
        }
