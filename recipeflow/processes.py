"""Processes: those that a launcher such as ``accelerate launch`` started together, our own workers, and their number.

A launch can fail to form a group: on a machine without a GPU, accelerate's processes do not find each other unless
they are asked to run on the CPU. Each would then think that it is the only one, and overwrite the others' files.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from multiprocessing import active_children, parent_process
from threading import Thread, current_thread, main_thread
from typing import TYPE_CHECKING, TypeVar

from recipeflow.errors import LaunchError, VRFError

if TYPE_CHECKING:
    import torch
    from accelerate import PartialState

SIZES = ("WORLD_SIZE", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE")
"""Environment variables with the number of launched processes: torchrun and accelerate, and three kinds of MPI."""

Item = TypeVar("Item")


def launched_processes() -> int | None:
    """The number of processes according to the launcher; ``None`` without a launcher."""
    sizes = [int(value) for name in SIZES if (value := os.environ.get(name, "")).isdecimal()]
    return max(sizes, default=None)


def join_processes() -> PartialState:
    """Accelerate's shared state of the launched processes.

    Raises:
        LaunchError: If the launcher started more processes than the group has.
    """
    from accelerate import PartialState
    from accelerate.utils import parse_flag_from_env

    state = PartialState(cpu=parse_flag_from_env("ACCELERATE_USE_CPU"))  # as Accelerator() does it
    launched = launched_processes()
    if launched not in (None, state.num_processes):
        raise LaunchError(
            f"expected the {launched} launched processes to work together, found this one in a group "
            f"of {state.num_processes} on {state.device}: they would overwrite each other's files. Without a GPU, "
            "set ACCELERATE_USE_CPU=true, as docs/accelerate/two_cpu_processes.yaml says; start as many "
            "processes as there are GPUs; or start the command without a launcher"
        )
    return state


def device_of(state: PartialState) -> torch.device:
    """Where this process computes."""
    assert state.device is not None  # only before the state is set up, which its constructor does
    return state.device


def refuse_launch(command: str) -> None:
    """Refuse several processes for a command that does not divide its work between them.

    Raises:
        LaunchError: If a launcher started more than one.
    """
    launched = launched_processes()
    if launched not in (None, 1):
        raise LaunchError(
            f"expected `{command}` in one process, found {launched} of them launched: they would overwrite "
            "each other's files; start it without a launcher"
        )


def decide_in_main(work: Callable[[], Item]) -> Item:
    """Run this in the main process and return the result in all of them; if it raises, all of them do."""
    outcome: tuple[Item] | VRFError | None = None
    if join_processes().is_main_process:
        try:
            outcome = (work(),)
        except VRFError as error:
            outcome = error
    decided = from_main(outcome)
    if isinstance(decided, VRFError):
        raise decided
    return decided[0]


def from_main(item: Item | None) -> Item:
    """Broadcast the main process's item; all others may pass ``None``."""
    from accelerate.utils import broadcast_object_list

    return broadcast_object_list([item])[0]


@contextmanager
def no_interrupts() -> Generator[None]:
    """Processes started here ignore Ctrl-C, leave it to this one, and print no traceback."""
    if current_thread() is not main_thread():
        yield
        return
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def follow_parent() -> None:
    """Exit with the main process, however it ends: a killed process cannot stop its workers."""
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if (parent := parent_process()) is not None:
        parent.join()
    os._exit(1)


@contextmanager
def dropping_work() -> Generator[None]:
    """On an error or Ctrl-C, end the workers instead of waiting for their current items."""
    try:
        yield
    except BaseException:
        for child in active_children():
            child.terminate()
        raise


_forks_ignore_interrupts = False


@contextmanager
def forks_ignoring_interrupts() -> Generator[None]:
    """Like `no_interrupts`, for processes that a library forks at any time; this process still reacts to Ctrl-C."""
    global _forks_ignore_interrupts
    previous, _forks_ignore_interrupts = _forks_ignore_interrupts, True
    try:
        yield
    finally:
        _forks_ignore_interrupts = previous


def _begin_fork() -> None:
    if _forks_ignore_interrupts:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


os.register_at_fork(after_in_child=_begin_fork)


def available_cores() -> int:
    """The cores that this process may use; taskset, a batch system or a container may limit them."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
