"""Processes that work for this one: Ctrl-C is this one's to handle, and they end when it ends."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import active_children, parent_process
from threading import Thread, current_thread, main_thread


@contextmanager
def no_interrupts() -> Iterator[None]:
    """Processes that are started here leave Ctrl-C to this one, and print no traceback of their own."""
    if current_thread() is not main_thread():
        yield
        return
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def follow_parent() -> None:
    """End with the main process, however that ends: one that is killed cannot stop its workers."""
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent_process().join()
    os._exit(1)


@contextmanager
def dropping_work() -> Iterator[None]:
    """When the work is given up, at Ctrl-C for instance, end the workers instead of waiting for what they are at."""
    try:
        yield
    except BaseException:
        for child in active_children():
            child.terminate()
        raise


_forks_ignore_interrupts = False


@contextmanager
def forks_ignoring_interrupts() -> Iterator[None]:
    """The same as `no_interrupts` for processes that a library forks whenever it likes: this one stays stoppable."""
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
