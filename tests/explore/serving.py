"""A real explorer in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


class ExplorerServer:
    """``vrf explore`` on 127.0.0.1: ``address`` is what it printed, ``url`` the same without token and last slash."""

    def __init__(self, source: Path, *options: str):
        self.command = [sys.executable, "-m", "recipeflow.cli", "explore", str(source), "--no-browser", *options]

    def __enter__(self) -> "ExplorerServer":
        environment = os.environ | {"PYTHONUNBUFFERED": "1", "COLUMNS": "200"}
        self.process = subprocess.Popen(
            self.command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        line = self.process.stdout.readline()
        if not line.startswith("showing "):
            raise RuntimeError(f"the server did not start: {line}{self.process.communicate()[0]}")
        self.address = line.split(" at ")[1].split()[0]
        self.url = self.address.partition("?")[0].rstrip("/")
        return self

    def __exit__(self, *error) -> None:
        self.stop()

    def stop(self) -> tuple[int, str]:
        """Stop it as a person would, and what it said at the end."""
        self.process.terminate()
        said, _ = self.process.communicate(timeout=120)
        return self.process.returncode, said
