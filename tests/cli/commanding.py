"""The command line in this process, for tests in which the process makes no difference."""

import io
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import NamedTuple
from unittest import mock

from recipeflow.cli import main


class Answer(NamedTuple):
    """What a command left in the terminal."""

    code: int
    stdout: str
    stderr: str


def vrf(*arguments: object) -> Answer:
    """Run ``vrf`` as a shell would."""
    out, errors = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with mock.patch.object(sys, "argv", ["vrf", *map(str, arguments)]), redirect_stdout(out), redirect_stderr(errors):
        try:
            main()
        except SystemExit as stop:
            code = stop.code or 0
    return Answer(code, *(stream.buffer.getvalue().decode() for stream in (out, errors)))


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """Let no file grow beyond a size, as a disk that fills up would; works for everybody, root or not."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
