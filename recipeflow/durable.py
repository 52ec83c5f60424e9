"""Files that are whole or not there, whatever happens while they are written, power loss included."""

from __future__ import annotations

import os
from pathlib import Path


def write_aside(path: Path, content: str | bytes) -> None:
    """Write a file aside, then move it into place."""
    aside = path.with_name(f".{path.name}.partial")
    with aside.open("wb") as target:
        target.write(content.encode() if isinstance(content, str) else content)
        target.flush()
        os.fsync(target.fileno())
    move_into_place(aside, path)


def move_into_place(aside: Path, path: Path) -> None:
    """Give a finished file, whose content is on the disk already, its name, and put that on the disk too."""
    aside.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
