"""Atomic writes: a file or folder is complete or absent, even after a power loss; why one failed; locks; caches."""

from __future__ import annotations

import errno
import fcntl
import io
import json
import os
import re
import shutil
import uuid
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, BinaryIO

from recipeflow.errors import OutputExistsError, SaveError, UsageError, VRFError, causes


def write_aside(path: Path, content: str | bytes) -> None:
    """Write a temporary file, then move it into place; its folder is created if missing.

    Raises:
        SaveError: If it cannot be written; an older file is kept, and nothing else is left behind.
    """
    with staged_file(path) as target:
        target.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def staged_file(path: Path) -> Generator[BinaryIO]:
    """A file that gets its name only when the ``with`` block succeeds; errors are those of `write_aside`."""
    aside = path.with_name(f".{path.name}.partial")
    with saving(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with aside.open("wb") as target:
                yield target
                target.flush()
                os.fsync(target.fileno())
            move_into_place(aside, path)
        except BaseException:
            remove_quietly(aside)
            raise


def write_json(path: Path, content: Any) -> None:
    """Write indented JSON like `write_aside`."""
    write_aside(path, json.dumps(content, ensure_ascii=False, indent=2) + "\n")


def write_png(path: Path, save: Callable[..., Any], **options: Any) -> None:
    """Write a picture like `write_aside`, with the ``save`` method of Pillow or matplotlib."""
    buffer = io.BytesIO()
    save(buffer, format="png", **options)
    write_aside(path, buffer.getvalue())


def sync_files(folder: Path) -> None:
    """Sync all files of a folder that a library has written."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())


def move_into_place(aside: Path, path: Path) -> None:
    """Rename a finished file or folder, whose content is already synced, and sync the folder around it too."""
    aside.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def remove_quietly(path: Path) -> None:
    """Remove a file if possible: the disk error behind a failure is already being reported."""
    with suppress(OSError):
        path.unlink(missing_ok=True)


class StagedFolder:
    """A folder that gets its name only when the ``with`` block succeeds.

    Args:
        target: The final name.
        marker: A file that every folder of this kind contains. An existing folder without it is never replaced.
        overwrite: Whether an existing folder of this kind may be replaced.

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
            self.folder.mkdir()  # with the permissions of any new folder, following the umask
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
        """Whether an error is about writing here, not about something that was read meanwhile."""
        code = write_failure(error)
        inside = isinstance(error, OSError) and str(error.filename).startswith(str(self.folder))
        return code in ONLY_WRITING or (code is not None and inside)

    def _move_into_place(self) -> None:
        # Check again, because another run may have been faster.
        self._check_target()
        if not self.target.exists():
            self.folder.rename(self.target)
            return
        # A folder cannot replace a full one in one step: the old one is renamed first, and restored if we fail.
        old = self.folder.with_suffix(".old")
        self.target.rename(old)
        try:
            self.folder.rename(self.target)
        except OSError:
            old.rename(self.target)
            raise
        # Under this name it counts as rubbish: half removed, it must not be restored after a kill.
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
            raise OutputExistsError(
                f"expected {self.target} to be free, found an earlier output; pass --overwrite to replace it"
            )

    def _clean_up_after_killed_runs(self) -> None:
        """Delete what a killed run left next to the target; restore a folder that it had just renamed."""
        ours = re.compile(rf"\.{re.escape(self.target.name)}\.(\d+)\.[^.]+\.(partial|old)")
        for path in self.target.parent.glob(".*"):
            match = ours.fullmatch(path.name)
            if match is None or _is_running(int(match[1])):
                continue
            if match[2] == "old" and not self.target.exists():
                path.rename(self.target)
            else:
                shutil.rmtree(path, ignore_errors=True)


def staged_in_cache(folder: Path, marker: str) -> StagedFolder:
    """A folder in a cache, whose names nobody else uses: what a deletion left of an older one is replaced as well."""
    if not (folder / marker).is_file():
        shutil.rmtree(folder, ignore_errors=True)
    return StagedFolder(folder, marker, overwrite=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
FORBIDDEN = (errno.EROFS, errno.EACCES, errno.EPERM)
NO_FOLDER = (errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG)
ONLY_WRITING = (*FULL, errno.EROFS)
"""Errors that only writing can raise."""


@contextmanager
def saving(path: Path) -> Generator[None]:
    """Report an ``OSError`` of a block that only writes ``path`` in one message."""
    try:
        yield
    except OSError as error:
        raise cannot_write(path, error) from error


def cannot_write(path: str | Path, error: BaseException) -> SaveError:
    """The error to raise if ``path`` could not be written, whichever library tried."""
    code = write_failure(error)
    found = os.strerror(code) if code is not None else getattr(error, "strerror", None) or str(error)
    return SaveError(
        f"expected to be able to write {path}, found: {found}; existing files are intact: {_advice(code)}"
    )


def write_failure(error: BaseException) -> int | None:
    """The errno of a failed write, if that is what caused an error.

    Libraries wrap the system's error in their own, keep only its text, or pass it from another process as text.
    """
    for seen in causes(error):
        if isinstance(seen, OSError) and seen.errno in (*FULL, *FORBIDDEN, *NO_FOLDER):
            return seen.errno
        if named := [code for code in ONLY_WRITING if os.strerror(code) in str(seen)]:
            return named[0]
    return None


def failed_path(error: BaseException) -> str | None:
    """The path that an error is about, if the system reported it."""
    names = (seen.filename for seen in causes(error) if isinstance(seen, OSError) and seen.filename is not None)
    return next(map(str, names), None)


def check_writable(folder: Path) -> None:
    """Refuse a folder that is not writable before any work is done for it; nothing is written.

    Raises:
        SaveError: If it, or the folder that it would be created in, is read-only or a file.
    """
    path = folder.absolute()
    while not path.exists() and path != path.parent:
        path = path.parent
    if not path.is_dir():
        raise cannot_write(folder, NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)))
    if not os.access(path, os.W_OK | os.X_OK):
        code = errno.EROFS if os.statvfs(path).f_flag & os.ST_RDONLY else errno.EACCES
        raise cannot_write(folder, OSError(code, os.strerror(code)))


def _advice(code: int | None) -> str:
    if code in FULL:
        return "free some space, or choose another disk, and run the same command again"
    if code in FORBIDDEN:
        return "choose a folder that you may write to, or fix its permissions"
    if code in NO_FOLDER:
        return "choose another place"
    return "if the disk is full, free some space, and run the same command again"


def take_lock(path: Path, in_use: Callable[[str], VRFError]) -> IO[bytes]:
    """Lock a file until it is closed or this process ends, however that ends; the file contains the process's id.

    Args:
        path: The file; created if missing.
        in_use: The error to raise if another process has the lock, by that process's id.

    Raises:
        OSError: If the file cannot be written.
    """
    while True:
        lock = path.open("ab")
        if not lock_if_free(lock.fileno(), path.parent):
            lock.close()
            raise in_use(path.read_text(errors="replace").strip() or "unknown")
        if path.exists() and os.path.samestat(path.stat(), os.fstat(lock.fileno())):
            break
        lock.close()  # removed meanwhile by its last owner: the next process would lock another file
    lock.truncate(0)
    lock.write(str(os.getpid()).encode())
    lock.flush()
    return lock


def lock_if_free(descriptor: int, folder: Path) -> bool:
    """Lock an open file or folder, unless another process has locked it; the lock ends when it is closed."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:  # some network file systems have no locks, but can be written to
        message = f"the file system of {folder} has no locks ({error.strerror})"
        warnings.warn(f"{message}: make sure that no other process writes there", stacklevel=3)
    return True


def cache_folder(name: str) -> Path:
    """The folder of a cache: below ``$RECIPEFLOW_CACHE``, else in Linux's usual place.

    Raises:
        UsageError: If the user has no home folder, as in a container whose user id has no account.
    """
    try:
        if chosen := os.environ.get("RECIPEFLOW_CACHE"):
            return Path(chosen).expanduser() / name
        return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "recipeflow" / name
    except RuntimeError as error:
        raise UsageError(
            f"expected a home folder to keep the cache of {name} in, found none; set RECIPEFLOW_CACHE to a folder"
        ) from error
