"""Where caches are kept unless a command says otherwise."""

from __future__ import annotations

import os
from pathlib import Path

from recipeflow.errors import UsageError


def cache_folder(name: str) -> Path:
    """The folder of a cache: below ``$RECIPEFLOW_CACHE``, else where caches go on Linux.

    Raises:
        UsageError: If the user has no home folder, as in a container under a number that has no account.
    """
    try:
        if chosen := os.environ.get("RECIPEFLOW_CACHE"):
            return Path(chosen).expanduser() / name
        return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "recipeflow" / name
    except RuntimeError as error:
        raise UsageError(
            f"expected a home folder to keep the cache of {name} in, found none; set RECIPEFLOW_CACHE to a folder"
        ) from error
