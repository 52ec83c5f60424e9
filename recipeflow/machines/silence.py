"""Noticing that a machine of a launch is dead though nothing says so: it has no power, or its cable is out.

A collective operation notices a process that has ended, because its connections are closed. Those of a dead machine
stay open, and NCCL waits for it for ten minutes, gloo for thirty. So while all processes work together, the first one
looks at everyone's signs of life, and the others ask it whether somebody is lost, which also shows that it is alive.
Whoever learns of a dead process says so and ends: nothing can call the main thread back from an operation that waits.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread
from time import sleep
from typing import TYPE_CHECKING

from recipeflow.errors import LaunchError

if TYPE_CHECKING:
    from torch.distributed import Store

SILENCE = 40.0
"""Seconds without a sign of life after which a process counts as dead."""

LOOK = 2.0
"""Seconds between two looks at the signs of life."""

LOST = "lost"
"""Where the first process writes who is dead."""


def sign_of(rank: int) -> str:
    """Where a process leaves its signs of life."""
    return f"alive/{rank}"


def silent_process(rank: int, host: str) -> LaunchError:
    """The error about a dead process."""
    return LaunchError(
        f"expected a sign of life from process {rank} on {host}, found none for {SILENCE:.0f} seconds; its error, if "
        "it had the time for one, is in its own output. Start the command again on all machines: it resumes"
    )


class Silences:
    """How long each process has been silent.

    Only looks are counted: time in which this process did not run, as after Ctrl-Z, says nothing about the others.
    """

    def __init__(self) -> None:
        self.signs: dict[int, bytes] = {}
        self.seconds: dict[int, float] = {}

    def is_dead(self, rank: int, sign: bytes, since: float) -> bool:
        """Whether a process is dead, by its last sign of life and the seconds since the last look."""
        is_new = self.signs.get(rank) != sign
        self.signs[rank] = sign
        self.seconds[rank] = 0.0 if is_new else self.seconds[rank] + since
        return self.seconds[rank] > SILENCE


class Watch:
    """Ends this process if another one is dead.

    Args:
        store: What the processes share, in the first of them; the watch has this connection for itself.
        rank: Which process this is.
        world: How many there are; all have left a sign of life before.
        host_of: The machine of a process, without a look at the store.
    """

    def __init__(self, store: Store, rank: int, world: int, host_of: Callable[[int], str]) -> None:
        self.store, self.rank, self.world, self.host_of = store, rank, world, host_of
        self.silences = Silences()
        self.unanswered = 0.0
        self.lost: int | None = None
        self.ended = Event()

    def __enter__(self) -> None:
        for work in (self._ask, self._end):
            Thread(target=work, daemon=True).start()

    def __exit__(self, *problem: object) -> None:
        self.ended.set()

    def _ask(self) -> None:
        with suppress(RuntimeError):  # the connection is closed, and nobody will answer any more
            while not self.ended.wait(LOOK):
                self.lost = self._find_lost()
                self.unanswered = 0.0

    def _find_lost(self) -> int | None:
        if self.rank:
            return int(self.store.get(LOST)) if self.store.check([LOST]) else None
        others = range(1, self.world)
        signs = self.store.multi_get([sign_of(rank) for rank in others])
        dead = [rank for rank, sign in zip(others, signs, strict=True) if self.silences.is_dead(rank, sign, LOOK)]
        if not dead:
            return None
        self.store.set(LOST, str(dead[0]))
        return dead[0]

    def _end(self) -> None:
        """In a thread of its own: one that asks a dead machine gets no answer, and waits for it."""
        while not self.ended.wait(LOOK):
            self.unanswered += LOOK
            lost = 0 if self.unanswered > SILENCE else self.lost
            if lost is None:
                continue
            if self.rank == 0:
                sleep(2 * LOOK)  # the others ask here who it is
            with suppress(OSError):
                print(f"LaunchError: {silent_process(lost, self.host_of(lost))}", file=sys.stderr, flush=True)
            os._exit(1)
