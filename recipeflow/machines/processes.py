"""Processes: those that a launcher such as ``accelerate launch`` started together, our own workers, and their number.

A launch can fail to form a group: on a machine without a GPU, accelerate's processes do not find each other unless
they are asked to run on the CPU. Each would then act as if it were the only one, and overwrite the others' files.
"""

from __future__ import annotations

import ctypes
import os
import re
import signal
import socket
import sys
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import timedelta
from functools import cache
from multiprocessing import active_children, parent_process
from threading import Thread, current_thread, main_thread
from time import sleep
from typing import TYPE_CHECKING, TypeVar, cast

from recipeflow.errors import LaunchError, UsageError, VRFError
from recipeflow.machines.waiting import WaitingRoom, open_store

if TYPE_CHECKING:
    import torch
    from accelerate import PartialState

STEP_LIMIT = "RECIPEFLOW_STEP_LIMIT"
"""An environment variable: the seconds after which a collective operation gives up, in place of its backend's."""

LAUNCH = "TORCHELASTIC_RUN_ID"
"""An environment variable that torchrun sets for its processes, and accelerate, which uses it; hands rarely do."""

LOOK = 2.0
"""Seconds between two looks whether the launcher still runs."""

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

    limit = {"timeout": step_limit()} if STEP_LIMIT in os.environ else {}
    state = PartialState(cpu=parse_flag_from_env("ACCELERATE_USE_CPU"), **limit)  # as Accelerator() does it
    launched = launched_processes()
    if launched not in (None, state.num_processes):
        raise LaunchError(
            f"expected the {launched} launched processes to work together, found this one in a group "
            f"of {state.num_processes} on {state.device}: they would overwrite each other's files. Without a GPU, "
            "set ACCELERATE_USE_CPU=true, as docs/accelerate/two_cpu_processes.yaml says; start as many "
            "processes as there are GPUs; or start the command without a launcher"
        )
    if state.num_processes > 1:
        _waiting_room()
    _follow_launcher()
    return state


def step_limit() -> timedelta:
    """How long a step of training may wait for the other processes, if the user sets it."""
    value = os.environ[STEP_LIMIT]
    try:
        limit = timedelta(seconds=float(value))
    except (ValueError, OverflowError):
        limit = timedelta(0)
    if limit <= timedelta(0):
        raise UsageError(f"expected a number of seconds in {STEP_LIMIT}, found {value!r}; set a number above 0")
    return limit


@cache
def _follow_launcher() -> None:
    """From now on stop, as after SIGTERM, when the launcher is killed: it can no longer stop its processes itself."""
    if LAUNCH in os.environ:
        Thread(target=_stop_after, args=(os.getppid(),), daemon=True).start()


def _stop_after(launcher: int) -> None:
    while os.getppid() == launcher:
        sleep(LOOK)
    with suppress(OSError):  # what it was written to may have ended, too
        print(f"expected the launcher, process {launcher}, to run, found that it has ended; stopping", file=sys.stderr)
    os.kill(os.getpid(), signal.SIGTERM)


@cache
def _waiting_room() -> WaitingRoom:
    """Where the processes of the group meet; entered once, and from then on each shows that it is alive."""
    from torch.distributed import PrefixStore, get_rank, get_world_size
    from torch.distributed.distributed_c10d import _get_default_store

    store = open_store(PrefixStore("recipeflow", _get_default_store()), get_rank())
    return WaitingRoom(store, get_rank(), get_world_size())


def wait_for_everyone() -> None:
    """Wait for all processes, however long their work takes.

    Raises:
        LaunchError: If one of them dies meanwhile.
    """
    if join_processes().num_processes > 1:
        _waiting_room().wait()


def watching_processes() -> AbstractContextManager[None]:
    """While all processes work together: end this one with an error if another is dead, even if nothing shows it."""
    return _waiting_room().watch() if join_processes().num_processes > 1 else nullcontext()


LOST = re.compile(r"gloo/|NCCL|Connection (closed|reset) by peer")
"""What the errors of a collective operation have in common; gloo's have no type of their own."""


def is_lost_process(error: RuntimeError) -> bool:
    """Whether an error means that another process of the group is gone, or too slow."""
    from torch.distributed import DistError

    return isinstance(error, DistError) or LOST.search(str(error)) is not None


@contextmanager
def reporting_lost_processes() -> Generator[None]:
    """Report in one message that another process was lost, or too slow, in the middle of common work."""
    try:
        yield
    except RuntimeError as error:
        if not is_lost_process(error):
            raise
        found = " ".join(str(error).split())
        raise LaunchError(
            f"expected all processes to work to the end, found one lost, or a network that failed: {found}. If a "
            "process has ended, its error is in its own output. Start the command again on all machines: it resumes"
        ) from error


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
    """Run this in the main process and return the result in all of them; if it raises, all of them do.

    It may take any time.
    """
    outcome: tuple[Item] | VRFError | None = None
    if join_processes().is_main_process:
        try:
            outcome = (work(),)
        except VRFError as error:
            outcome = error
    wait_for_everyone()
    decided = from_main(outcome)
    if isinstance(decided, VRFError):
        raise decided
    return decided[0]


def do_in_all(work: Callable[[], Item]) -> Item:
    """Run this in every process, and wait for all; if it raises in one of them, all of them raise.

    It may take any time. Without a launcher it is only run: nothing heavy is imported.

    Raises:
        LaunchError: If it raised in another process; the message names that process and its machine.
    """
    if launched_processes() in (None, 1):
        return work()
    join_processes()
    result: Item | None = None
    failed: VRFError | None = None
    try:
        result = work()
    except VRFError as error:
        failed = error
    wait_for_everyone()
    raise_together(failed)
    return cast(Item, result)


def raise_together(error: VRFError | None) -> None:
    """Raise this process's error or, if only another one has one, that one; all processes call this.

    Raises:
        LaunchError: For another process's error; the message names that process and its machine.
    """
    if error is not None and join_processes().num_processes == 1:
        raise error
    # With its host: to ask for that later needs the first process, which may have ended by then.
    for rank, (other, host) in enumerate(from_all((error, socket.gethostname()))):
        if other is not None:
            raise error or LaunchError(f"process {rank} on {host}: {type(other).__name__}: {other}")


def from_all(item: Item) -> list[Item]:
    """The items of all processes, in their order, in each of them."""
    from accelerate.utils import gather_object

    join_processes()
    return gather_object([item])


def host_of(rank: int) -> str:
    """The name of the machine of a process."""
    return _waiting_room().host_of(rank) if join_processes().num_processes > 1 else socket.gethostname()


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


def release_memory() -> None:
    """Return freed memory to the system: reading a large dataset leaves hundreds of megabytes with the allocators."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()
    with suppress(OSError, AttributeError):  # only GNU's C library has it
        ctypes.CDLL(None).malloc_trim(0)
