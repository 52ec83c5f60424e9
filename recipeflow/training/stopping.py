"""When a run stops or writes a checkpoint: signals and a clock, on which all of its processes agree."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import current_thread, main_thread

import torch
from torch import distributed

from recipeflow.errors import TrainingInterruptedError
from recipeflow.machines.processes import launched_processes

SIGNALS = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM"}
"""The signals that stop a run with a checkpoint; clusters send the second before they end a job."""

SAVE = 1
"""What a process asks for if it wants a checkpoint; one that wants to stop passes the number of its signal."""

REPEATED = 5.0
"""Seconds in which a launcher may pass on a signal that a terminal or a cluster has sent to its processes as well."""


@contextmanager
def catching_signals(note: Callable[[signal.Signals], None]) -> Generator[None]:
    """Let Ctrl-C and SIGTERM only be noted, so that a step can be finished; a second one acts at once.

    In a launch, what reaches this process a little after the others, with which it has stopped, is no second one.
    """
    if current_thread() is not main_thread():
        yield
        return
    previous = {number: signal.getsignal(number) for number in SIGNALS}
    grace = 0.0 if launched_processes() is None else REPEATED
    first: float | None = None

    def restore() -> None:
        for number, handler in previous.items():
            signal.signal(number, handler)

    def handle(number: int, frame: object) -> None:
        nonlocal first
        if first is None:
            first = time.monotonic()
            note(signal.Signals(number))
        elif time.monotonic() - first >= grace:
            restore()
            os.kill(os.getpid(), number)

    for number in SIGNALS:
        signal.signal(number, handle)
    try:
        yield
    except TrainingInterruptedError:
        first = time.monotonic()
        if not grace:
            restore()
        raise
    except BaseException:
        restore()
        raise
    restore()


class CheckpointClock:
    """Says when the last checkpoint is too old.

    Args:
        minutes: How old it may become; 0 for any age.
    """

    def __init__(self, minutes: float) -> None:
        self.seconds = 60 * minutes
        self.restart()

    def restart(self) -> None:
        """Count from now."""
        self._start = time.monotonic()

    def is_due(self) -> bool:
        """Whether it is time for the next one."""
        return bool(self.seconds) and time.monotonic() - self._start >= self.seconds


def read_with_wish(loss: torch.Tensor, wish: int, processes: int) -> tuple[float, int]:
    """The loss as a number, and the largest wish of all processes, which is the same in all of them.

    Both are read at once: a GPU has to finish its work for every read. The wish is filled in on the device, because a
    copy to it would make the GPU wait, too.
    """
    loss = loss.detach()
    if processes == 1:
        return loss.item(), wish
    wishes = torch.full_like(loss, wish)
    distributed.all_reduce(wishes, distributed.ReduceOp.MAX)
    value, agreed = torch.stack([loss, wishes]).tolist()
    return value, int(agreed)
