"""Whether the processes of a launch belong together: the same code, data and weights, and the same folders.

A machine with an older checkout or another copy of the dataset would take part in every step, and nothing but worse
figures would show it. So processes are compared before they work together, and the error in each of them names the
process that differs, its machine and what differs.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from recipeflow.errors import LaunchError, short
from recipeflow.files import cannot_write
from recipeflow.machines.processes import (
    decide_in_main,
    do_in_all,
    from_all,
    host_of,
    join_processes,
    launched_processes,
)

VISIBLE_WITHIN = 20.0
"""Seconds within which a network file system has to show a new file."""

PATIENCE = 60.0
"""Seconds to wait until it shows a large one."""

SHOWN = 5
"""Differences that a message lists: two datasets may differ in every file."""

Described = Callable[[], Mapping[str, Any]]


def check_same(describe: Described) -> Mapping[str, Any]:
    """Make sure that all machines describe something in the same way; one process per machine does.

    Args:
        describe: Values by name, such as the digest of the dataset; it may take any time.

    Returns:
        The description, in every process.

    Raises:
        LaunchError: In every process, if a machine differs from that of the main process.
    """
    if launched_processes() in (None, 1):
        return describe()
    local_main = join_processes().is_local_main_process
    found = from_all(do_in_all(lambda: dict(describe()) if local_main else None))
    expected = found[0] or {}
    differences = [
        f"process {rank} on {host_of(rank)} has {name} {short(other.get(name))}, process 0 on {host_of(0)} has "
        f"{short(expected.get(name))}"
        for rank, other in enumerate(found)
        for name in sorted(expected | (other or {}))
        if other is not None and other.get(name) != expected.get(name)
    ]
    if differences:
        more = f"; and {len(differences) - SHOWN} more" if len(differences) > SHOWN else ""
        raise LaunchError(
            f"expected the same on all machines, found differences: {'; '.join(differences[:SHOWN])}{more}. Use the "
            "same checkout, dataset, weights and options everywhere"
        )
    return expected


def check_shared(folder: Path, option: str) -> None:
    """Make sure that all processes see the same folder: the main one writes a file there, the others look for it.

    Args:
        folder: The folder; made if missing.
        option: What chooses it, for the message.

    Raises:
        LaunchError: In every process, if one of them does not see that file.
        SaveError: If the folder cannot be written to.
    """
    if launched_processes() in (None, 1):
        return
    name = decide_in_main(lambda: _leave_mark(folder))
    try:
        found = from_all(do_in_all(lambda: wait_until_seen((folder / name).exists, VISIBLE_WITHIN)))
        unseen = [rank for rank, seen in enumerate(found) if not seen]
    finally:
        if join_processes().is_main_process:
            with suppress(OSError):
                (folder / name).unlink()
    if unseen:
        missing = ", ".join(f"process {rank} on {host_of(rank)}" for rank in unseen)
        raise LaunchError(
            f"expected {folder} to be one folder that all processes share, found that what process 0 on "
            f"{host_of(0)} wrote there is not seen by {missing}; pass a folder of a shared file system with {option}"
        )


def _leave_mark(folder: Path) -> str:
    name = f".{uuid.uuid4().hex}.joining"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    except OSError as error:
        raise cannot_write(folder, error) from error
    return name


def wait_until_seen(is_there: Callable[[], bool], within: float = PATIENCE) -> bool:
    """Whether a shared file system shows what another machine wrote there, before it is too late."""
    deadline = monotonic() + within
    while not is_there():
        if monotonic() > deadline:
            return False
        sleep(0.5)
    return True
