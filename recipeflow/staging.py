"""Write a whole folder aside, then rename it into place, so that nobody ever sees half of it."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType

from recipeflow.errors import OutputExistsError


class StagedFolder:
    """A folder that appears under its name only when the ``with`` block ends well.

    Args:
        target: The final name.
        marker: A file that every folder of this kind holds. An existing folder without it is somebody else's and is
            never replaced.
        overwrite: Whether a folder of this kind that is already there may be replaced.
    """

    def __init__(self, target: Path, marker: str, overwrite: bool = False) -> None:
        self.target = target.resolve()
        self.marker = marker
        self.overwrite = overwrite

    def __enter__(self) -> Path:
        self._check_target()
        self.target.parent.mkdir(parents=True, exist_ok=True)
        self._remove_leftovers()
        prefix = f".{self.target.name}.{os.getpid()}."
        self.folder = Path(tempfile.mkdtemp(prefix=prefix, suffix=".partial", dir=self.target.parent))
        self.folder.chmod(0o755)
        return self.folder

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
            return
        if not self.target.exists():
            self.folder.rename(self.target)
            return
        # A folder cannot replace a full one in one step: the old one steps aside first, and is back if we fail.
        old = self.folder.with_suffix(".old")
        self.target.rename(old)
        try:
            self.folder.rename(self.target)
        except OSError:
            old.rename(self.target)
            raise
        shutil.rmtree(old, ignore_errors=True)

    def _check_target(self) -> None:
        if not self.target.exists() or (self.target.is_dir() and not any(self.target.iterdir())):
            return
        if not (self.target / self.marker).is_file():
            raise OutputExistsError(
                f"expected {self.target} to be free, found something that was not written by this command "
                f"(it has no {self.marker}); choose another output"
            )
        if not self.overwrite:
            raise OutputExistsError(f"{self.target} is already there; pass --overwrite to replace it")

    def _remove_leftovers(self) -> None:
        """Delete what a killed run of this command left beside the target."""
        for path in self.target.parent.glob(f".{self.target.name}.*.partial"):
            process = path.name.split(".")[-3]
            if process.isdigit() and not _is_running(int(process)):
                shutil.rmtree(path, ignore_errors=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
