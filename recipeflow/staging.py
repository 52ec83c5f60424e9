"""Write a whole folder aside, then rename it into place, so that nobody ever sees half of it."""

from __future__ import annotations

import os
import re
import shutil
import uuid
from pathlib import Path
from types import TracebackType

from recipeflow.errors import OutputExistsError, VRFError
from recipeflow.saving import ONLY_WRITING, cannot_write, saving, write_failure


class StagedFolder:
    """A folder that appears under its name only when the ``with`` block ends well.

    Args:
        target: The final name.
        marker: A file that every folder of this kind holds. An existing folder without it is somebody else's and is
            never replaced.
        overwrite: Whether a folder of this kind that is already there may be replaced.

    Raises:
        SaveError: If it cannot be written: a full disk, a read-only folder. Nothing is left behind.
    """

    def __init__(self, target: Path, marker: str, overwrite: bool = False) -> None:
        self.target = target.resolve()
        self.marker = marker
        self.overwrite = overwrite

    def __enter__(self) -> Path:
        try:
            self._clean_up_after_killed_runs()
            self._check_target()
            self.target.parent.mkdir(parents=True, exist_ok=True)
            name = f".{self.target.name}.{os.getpid()}.{uuid.uuid4().hex[:8]}.partial"
            self.folder = self.target.parent / name
            self.folder.mkdir()  # with the permissions of any new folder, as the umask has it
        except OSError as error:
            raise cannot_write(self.target, error) from error
        return self.folder

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if kind is None:
                with saving(self.target):
                    self._move_into_place()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)
        if isinstance(error, Exception) and not isinstance(error, VRFError) and self._failed_to_write(error):
            raise cannot_write(self.target, error) from error

    def _failed_to_write(self, error: Exception) -> bool:
        """Whether an error is about what is written here, not about something that was read meanwhile."""
        code = write_failure(error)
        inside = isinstance(error, OSError) and str(error.filename).startswith(str(self.folder))
        return code in ONLY_WRITING or (code is not None and inside)

    def _move_into_place(self) -> None:
        # Again, because another run may have been faster.
        self._check_target()
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
        # Under this name it is rubbish: half removed, it must not come back after a kill.
        old.rename(self.folder)

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

    def _clean_up_after_killed_runs(self) -> None:
        """Delete what a killed run left beside the target; bring back a folder that had just stepped aside."""
        ours = re.compile(rf"\.{re.escape(self.target.name)}\.(\d+)\.[^.]+\.(partial|old)")
        for path in self.target.parent.glob(".*"):
            match = ours.fullmatch(path.name)
            if match is None or _is_running(int(match[1])):
                continue
            if match[2] == "old" and not self.target.exists():
                path.rename(self.target)
            else:
                shutil.rmtree(path, ignore_errors=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
