"""What to say when something cannot be written: which path, why, and what to do about it."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from recipeflow.errors import SaveError, causes

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
FORBIDDEN = (errno.EROFS, errno.EACCES, errno.EPERM)
NO_FOLDER = (errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG)
ONLY_WRITING = (*FULL, errno.EROFS)
"""Reasons that reading never fails for."""


@contextmanager
def saving(path: Path) -> Iterator[None]:
    """Report an ``OSError`` of a block that does nothing but write ``path`` in one message."""
    try:
        yield
    except OSError as error:
        raise cannot_write(path, error) from error


def cannot_write(path: str | Path, error: BaseException) -> SaveError:
    """The error to raise where ``path`` could not be written, whichever library tried to."""
    code = write_failure(error)
    found = os.strerror(code) if code is not None else getattr(error, "strerror", None) or str(error)
    return SaveError(
        f"expected to be able to write {path}, found: {found}; nothing that was there before is lost: {_advice(code)}"
    )


def write_failure(error: BaseException) -> int | None:
    """The number of the system's reason for which writing failed, if that is what is behind an error.

    Libraries wrap the system's error in their own, keep only its text, or pass it on from another process as text.
    """
    for seen in causes(error):
        if isinstance(seen, OSError) and seen.errno in (*FULL, *FORBIDDEN, *NO_FOLDER):
            return seen.errno
        if named := [code for code in ONLY_WRITING if os.strerror(code) in str(seen)]:
            return named[0]
    return None


def failed_path(error: BaseException) -> str | None:
    """The path that an error is about, if the system named it."""
    names = (seen.filename for seen in causes(error) if isinstance(seen, OSError) and seen.filename is not None)
    return next(map(str, names), None)


def check_writable(folder: Path) -> None:
    """Refuse a folder in which nothing can be written, before any work is done for it; nothing is written.

    Raises:
        SaveError: If it, or the folder that it would be made in, is read-only or is a file.
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
        return "make room, or choose another disk, and run the same command again"
    if code in FORBIDDEN:
        return "choose a folder that you may write to, or change its permissions"
    if code in NO_FOLDER:
        return "choose another place"
    return "is the disk full? Make room, and run the same command again"
