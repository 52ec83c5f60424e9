"""Waiting for the other processes of a launch: as long as their work takes, but only while they are alive.

A collective operation fails after a fixed time, with NCCL after ten minutes. That is right in a step of training, in
which all processes do the same, and wrong where one of them hashes a million images or finishes the largest share. So
these waits use the launch's key-value store: each process leaves a sign of life there every few seconds, and whoever
waits gives up only when there is none from a process that it waits for.

The store is one of our own, in process 0. That of the group may be in the launcher, and be killed with it.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterable
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING

from recipeflow.errors import LaunchError
from recipeflow.machines.silence import Silences, Watch, sign_of, silent_process

if TYPE_CHECKING:
    from torch.distributed import Store

BEAT = 5.0
"""Seconds between two signs of life."""

LONGEST_PAUSE = 0.5
"""Seconds between two looks at who has come."""


def open_store(group: Store, rank: int) -> Store:
    """A store in process 0, found through that of the group."""
    from torch.distributed import TCPStore

    machine = os.environ["MASTER_ADDR"]  # of process 0
    if rank == 0:
        store = TCPStore(machine, 0, is_master=True, wait_for_workers=False)
        group.set("port", str(store.port))
        return store
    return TCPStore(machine, int(group.get("port")), is_master=False, wait_for_workers=False)


class WaitingRoom:
    """Where the processes of a launch meet.

    Args:
        store: What they share; every wait and every sign of life uses its own connection to it.
        rank: Which process this is.
        world: How many there are.
    """

    def __init__(self, store: Store, rank: int, world: int) -> None:
        self.server = store  # in process 0 it ends with this object, whoever has a connection
        self.store, self.rank, self.world = store.clone(), rank, world
        self.meetings = 0
        self.hosts: list[str] = []
        self.asking = store.clone()
        self.store.set(f"host/{rank}", socket.gethostname())
        self.store.set(sign_of(rank), "")
        threading.Thread(target=_show_life, args=(store.clone(), sign_of(rank)), daemon=True).start()

    def watch(self) -> Watch:
        """While all processes work together: end this one if another is dead. They have met before."""
        return Watch(self.asking, self.rank, self.world, self.host_of)

    def wait(self) -> None:
        """Wait until every process has come as often as this one.

        Raises:
            LaunchError: If one of them is dead; the message names it and its machine.
        """
        from torch.distributed import DistError

        try:
            with self.watch() if self.rank and self.hosts else nullcontext():  # the first one has the store itself
                self._gather("here")
            self.hosts = self.hosts or [self.store.get(f"host/{rank}").decode() for rank in range(self.world)]
            if self.rank == 0:
                self._gather("seen")  # the store ends with this process, and the others still look at it
            else:
                self.store.set(f"seen/{self.meetings}/{self.rank}", "yes")
        except DistError as error:
            raise LaunchError(
                f"expected process 0 to answer, found: {str(error).splitlines()[0]}; its error is in its own output. "
                "Start the command again on all machines: it resumes"
            ) from error
        self.meetings += 1

    def _gather(self, what: str) -> None:
        """Leave word that this process is here, or has seen that all are, and wait for that of all others."""
        keys = [f"{what}/{self.meetings}/{rank}" for rank in range(self.world)]
        silences, pause = Silences(), 0.005
        self.store.set(keys[self.rank], "yes")
        while not self.store.check(keys):  # and not store.wait(), which prints a warning whenever it is too early
            self._check_life([rank for rank, key in enumerate(keys) if not self.store.check([key])], silences, pause)
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _check_life(self, missing: Iterable[int], silences: Silences, since: float) -> None:
        for rank in missing:
            sign = self.store.get(sign_of(rank)) if self.store.check([sign_of(rank)]) else b""
            if silences.is_dead(rank, sign, since):
                raise silent_process(rank, self.host_of(rank))

    def host_of(self, rank: int) -> str:
        """The name of the machine of a process."""
        return self.hosts[rank] if self.hosts else self.store.get(f"host/{rank}").decode()


def _show_life(store: Store, key: str) -> None:
    with suppress(RuntimeError):  # the store is gone, and with it whoever could wait
        for count in range(10**9):
            store.set(key, str(count))
            time.sleep(BEAT)
