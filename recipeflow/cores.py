"""How many processes to start."""

from __future__ import annotations

import os


def available_cores() -> int:
    """The cores that this process may use, which taskset, a batch system or a container may have made fewer."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
