"""The output folder of a run or an experiment: used for nothing else, and by one process at a time."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from recipeflow.dataset.folder import MANIFEST
from recipeflow.errors import FolderInUseError, OutputExistsError
from recipeflow.files import cannot_write, take_lock

FOREIGN = {"annotations.json": "a release", MANIFEST: "a built dataset", "config.json": "a saved model"}
"""What must not be mixed with results, by a file that marks it."""


@dataclass(frozen=True)
class FolderKind:
    """A kind of output folder.

    Args:
        command: The command that writes it.
        marks: Files or folders that identify it; any one is enough.
    """

    command: str
    marks: tuple[str, ...]

    @property
    def lock(self) -> str:
        """The file that the running process locks; a killed process's lock is gone, though its file may remain."""
        return f".{self.command.replace(' ', '-')}.lock"


class ClaimedFolder:
    """An output folder that one process claims for itself; the claim ends with the process, however that ends.

    Args:
        folder: The folder; created if missing.
        kind: What it is for.
    """

    def __init__(self, folder: str | Path, kind: FolderKind) -> None:
        self.folder = Path(folder)
        self.kind = kind
        self._lock: IO[bytes] | None = None
        self._made = False

    def take(self) -> None:
        """Claim the folder; once is enough.

        Raises:
            OutputExistsError: If it contains something else.
            FolderInUseError: If another process is writing to it.
            SaveError: If it cannot be written to.
        """
        if self._lock is not None:
            return
        try:
            self._check_content()
            self._made = not self.folder.exists()
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = take_lock(self.folder / self.kind.lock, self._in_use)
        except OSError as error:
            raise cannot_write(self.folder, error) from error

    def _in_use(self, owner: str) -> FolderInUseError:
        return FolderInUseError(
            f"expected no other `{self.kind.command}` running in {self.folder}, found process {owner}; wait until it "
            "is done, or choose another --out"
        )

    def _check_content(self) -> None:
        """Refuse a folder with other content."""
        if not self.folder.exists():
            return
        if not self.folder.is_dir():
            raise OutputExistsError(f"expected a folder, found the file {self.folder}; choose another --out")
        for name, meaning in FOREIGN.items():
            if (self.folder / name).is_file():
                raise OutputExistsError(
                    f"expected a new folder or one of `{self.kind.command}`, found {meaning} in {self.folder} "
                    f"({name}); choose another --out"
                )
        names = sorted(path.name for path in self.folder.iterdir())
        if names and not {*self.kind.marks, self.kind.lock} & set(names):
            raise OutputExistsError(
                f"expected a new folder or one of `{self.kind.command}`, found {self.folder} with "
                f"{', '.join(names[:3])}{' …' if len(names) > 3 else ''}; choose another --out"
            )

    def release(self) -> None:
        """End the claim; a folder that was created for it and stayed empty is removed."""
        if self._lock is None:
            return
        with suppress(OSError):
            (self.folder / self.kind.lock).unlink()
            if self._made:
                self.folder.rmdir()
        self._lock.close()
        self._lock = None
