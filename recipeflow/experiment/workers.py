"""Worker processes on this machine, each with one thread or one GPU.

A worker gets its environment before anything in it imports torch: what CUDA reads when it starts is not read again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any, TypeVar

from recipeflow.errors import WorkerDiedError
from recipeflow.machines.processes import available_cores, dropping_work, follow_parent, no_interrupts

VISIBLE = "CUDA_VISIBLE_DEVICES"

KEEP_MEMORY = ":".join(
    f"glibc.malloc.{name}"
    for name in ("hugetlb=1", "mmap_threshold=1000000000", "trim_threshold=10000000000", "top_pad=100000000")
)
"""For workers: keep freed memory, in large pages. Each step allocates all gradients again, and clearing thousands of
small pages for them took the kernel a sixth of the step. C libraries other than GNU's ignore it."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def usable_gpus(visible: str | None, count: int) -> list[str]:
    """The GPUs that this process may use, each as the value of CUDA_VISIBLE_DEVICES for a process that uses it alone.

    Args:
        visible: The user's own CUDA_VISIBLE_DEVICES: numbers or names; ``None`` if it is not set.
        count: How many GPUs CUDA finds with it. It stops at the first one that does not exist, and shows a process one
            part of a divided GPU (MIG) at most, though other processes can use the others.
    """
    if not count:
        return []
    if visible is None:
        return [str(number) for number in range(count)]
    names = [name.strip() for name in visible.split(",")]
    parts = [name for name in names if name.startswith("MIG-")]
    return parts or names[:count]


def share_machine(jobs: int, workers: int | None = None) -> tuple[int, list[str]]:
    """How many workers so many jobs get, if not told: one per GPU or else per core; and the GPUs that they share."""
    import torch  # not above: a worker gets its environment first

    gpus = usable_gpus(os.environ.get(VISIBLE), torch.cuda.device_count())
    return min(jobs, workers or len(gpus) or available_cores()), gpus


def worker_environment(number: int, gpus: Sequence[str]) -> dict[str, str]:
    """What to set in the environment of a worker; workers share GPUs if there are more of them than GPUs."""
    return {VISIBLE: gpus[number % len(gpus)]} if gpus else {}


def run_in_workers(
    work: Callable[[Item], Result], items: Sequence[Item], workers: int, gpus: Sequence[str] = ()
) -> Generator[tuple[Item, Result]]:
    """Do the work on each item, in this order, and yield items with their results as they finish.

    Args:
        work: What to do; it can be pickled.
        items: What to do it on.
        workers: How many processes.
        gpus: What CUDA calls the GPUs that they share, if any.

    Raises:
        WorkerDiedError: If a process dies.
    """
    context = get_context("spawn")
    os.environ.setdefault("GLIBC_TUNABLES", KEEP_MEMORY)  # read once, when a process starts
    environments = context.Queue()
    for number in range(workers):
        environments.put(worker_environment(number, gpus))
    with ProcessPoolExecutor(workers, context, _start_worker, (environments,)) as pool, dropping_work():
        with no_interrupts():
            futures = {pool.submit(work, item): item for item in items}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BrokenProcessPool as error:
            pool.shutdown(wait=False, cancel_futures=True)
            raise WorkerDiedError(
                "expected every worker to finish, found one that died (out of memory?); finished jobs are kept: run "
                "the same command again, with fewer --workers if memory was short"
            ) from error
        except BaseException:  # elsewhere the pool waits for its thread, which must not meet the end of Python
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _start_worker(environments: Any) -> None:
    # Work is unpickled later, and torch imported with it: neither this module nor the arguments need it.
    follow_parent()
    os.environ.update(environments.get())
