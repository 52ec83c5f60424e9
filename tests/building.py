"""What the tests of ``vrf build`` share: processes of their own, and looking into what was built."""

import hashlib
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq

from tests.making import RECIPES

ROOT = Path(__file__).parents[1]
CONFIGS = ("recipes", "flow_graphs", "image_pairs")


def environment(folder: Path) -> dict[str, str]:
    """A process of its own: empty caches, no network, this project importable."""
    return os.environ | {"HF_HOME": str(folder / "hf"), "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT)}


def run_python(code: str, folder: Path) -> str:
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=folder, env=environment(folder), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_vrf(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "recipeflow.cli", *arguments]
    return subprocess.run(command, cwd=folder, env=environment(folder), capture_output=True, text=True, check=False)


def many_recipes(count: int):
    return [replace(RECIPES[number % 3], id=f"r{number:03d}", url=None) for number in range(count)]


def all_files(folder: Path) -> dict[str, str]:
    """Every file below a folder, hidden ones too, with a hash of its content."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def read_rows(built: Path, config: str) -> list[dict]:
    """All rows of a table in file order, images as bytes."""
    return [row for path in sorted((built / config).iterdir()) for row in pq.read_table(path).to_pylist()]
