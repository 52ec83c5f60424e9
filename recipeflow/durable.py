"""Files that are whole or not there, whatever happens while they are written, power loss included."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from recipeflow.saving import saving


def write_aside(path: Path, content: str | bytes) -> None:
    """Write a file aside, then move it into place; its folder is made if there is none.

    Raises:
        SaveError: If it cannot be written; an older file is left as it is, and nothing else is left behind.
    """
    aside = path.with_name(f".{path.name}.partial")
    with saving(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with aside.open("wb") as target:
                target.write(content.encode() if isinstance(content, str) else content)
                target.flush()
                os.fsync(target.fileno())
            move_into_place(aside, path)
        except BaseException:
            remove_quietly(aside)
            raise


def write_json(path: Path, content: Any) -> None:
    """Write JSON that people can read, likewise."""
    write_aside(path, json.dumps(content, ensure_ascii=False, indent=2) + "\n")


def write_png(path: Path, save: Callable[..., Any], **options: Any) -> None:
    """Write a picture likewise, with the method by which its library saves: of Pillow, or of matplotlib."""
    buffer = io.BytesIO()
    save(buffer, format="png", **options)
    write_aside(path, buffer.getvalue())


def move_into_place(aside: Path, path: Path) -> None:
    """Give a finished file, whose content is on the disk already, its name, and put that on the disk too."""
    aside.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def remove_quietly(path: Path) -> None:
    """Remove a file if that is possible: what is wrong with the disk is being reported already."""
    with suppress(OSError):
        path.unlink(missing_ok=True)
