"""Builds the project's wheel and sdist, and installs a wheel where there is nothing but what it asks for.

Nothing here needs the network: the packages that the wheel asks for are taken over from the environment of the tests,
by links, and no others. A package that is missing from the list in requirements.txt is missing there too.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterable
from email import message_from_bytes
from email.message import Message
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]


def copy_project(folder: Path) -> Path:
    """A copy of what git would commit, so that building leaves no files behind in the project's folder."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


def build_project(folder: Path) -> tuple[Path, Path]:
    """The wheel and the sdist of a copied project; the wheel is built from the sdist, as `make dist` does."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", "dist"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return next((folder / "dist").glob("*.whl")), next((folder / "dist").glob("*.tar.gz"))


def read_metadata(wheel: Path) -> Message:
    """What a package index learns about a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return message_from_bytes(archive.read(name))


def wanted_by(wheel: Path, extra: str = "") -> list[Requirement]:
    """The packages that a wheel asks for directly, with an extra or without."""
    found = map(Requirement, read_metadata(wheel).get_all("Requires-Dist", []))
    return [wanted for wanted in found if _applies(wanted, extra)]


def with_dependencies(wanted: Iterable[Requirement]) -> dict[str, Distribution]:
    """Installed packages by name: those that are wanted, those that they want in turn, and so on."""
    found: dict[str, Distribution] = {}
    seen, waiting = set(), list(wanted)
    while waiting:
        requirement = waiting.pop()
        key = requirement.name.lower().replace("_", "-"), frozenset(requirement.extras)
        if key in seen:
            continue
        seen.add(key)
        found[key[0]] = distribution(requirement.name)
        asked = map(Requirement, found[key[0]].requires or ())
        waiting += [each for each in asked if any(_applies(each, extra) for extra in ("", *requirement.extras))]
    return found


def make_environment(folder: Path, wheel: Path) -> Path:
    """Install a wheel with exactly what it asks for into a new virtual environment; its ``bin`` folder."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder), "platbase": str(folder)}))
    for package in with_dependencies(wanted_by(wheel)).values():
        for top in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}:
            if not (site / top).exists():
                (site / top).symlink_to(package.locate_file(top))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(folder)]
    subprocess.run([*pip, "install", "--quiet", "--no-index", "--no-deps", "--no-compile", wheel], check=True)
    return folder / "bin"


def clean_environment(home: Path) -> dict[str, str]:
    """Variables for a process that is to find nothing of this project but what is installed."""
    keep = {name: os.environ[name] for name in ("PATH", "TMPDIR", "LANG") if name in os.environ}
    return keep | {"HOME": str(home), "HF_HUB_OFFLINE": "1", "COLUMNS": "100", "TERM": "dumb"}


def _applies(requirement: Requirement, extra: str) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})
