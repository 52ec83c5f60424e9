"""Clients in processes of their own, with empty caches: what a user anywhere else would run."""

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.hub.server import HubServer


def start(
    hub: HubServer, folder: Path, *arguments: str, token: str | None = None, own: Path | None = None
) -> subprocess.Popen:
    """Start Python in a folder; caches and what it prints are in one of its own, or in that of an earlier process."""
    own = own or Path(tempfile.mkdtemp(prefix="client-", dir=folder))
    command = [sys.executable, *map(str, arguments)]
    with (own / "stdout").open("w") as stdout, (own / "stderr").open("w") as stderr:
        streams = {"stdout": stdout, "stderr": stderr, "stdin": subprocess.DEVNULL}
        process = subprocess.Popen(command, cwd=folder, env=hub.environment(own, token), **streams)
    process.own = own
    return process


def finish(process: subprocess.Popen) -> subprocess.CompletedProcess:
    code = process.wait(timeout=120)
    stdout, stderr = ((process.own / name).read_text() for name in ("stdout", "stderr"))
    return subprocess.CompletedProcess(process.args, code, stdout, stderr)


def vrf(hub: HubServer, folder: Path, *arguments: object, token: str | None = None) -> subprocess.CompletedProcess:
    return finish(start(hub, folder, "-m", "recipeflow.cli", *arguments, token=token))


def run_python(hub: HubServer, folder: Path, code: str, token: str | None = None) -> str:
    """Run code that must not need anything of this project."""
    hidden = "import sys; sys.path[:] = [p for p in sys.path if p != sys.argv[1]]\n"
    done = finish(start(hub, folder, "-c", hidden + code, hub.environment(folder)["PYTHONPATH"], token=token))
    assert done.returncode == 0, done.stderr
    return done.stdout
