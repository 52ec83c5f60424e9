"""The version of this project's code, by which two machines find out whether they have the same."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import recipeflow

TRAVELLING = ("*_vrf.py", "*_rfg.py", "*_hub.py")
"""The files beside the package that are saved with models."""


@cache
def code_version() -> str:
    """The version with a digest of all source files, which also distinguishes two checkouts."""
    package = Path(recipeflow.__file__).parent
    beside = (path for pattern in TRAVELLING for path in package.parent.glob(pattern))
    digest = hashlib.sha256()
    for path in sorted([*package.rglob("*.py"), *beside]):
        digest.update(path.relative_to(package.parent).as_posix().encode() + b"\0" + path.read_bytes())
    return f"{recipeflow.__version__} ({digest.hexdigest()[:12]})"
