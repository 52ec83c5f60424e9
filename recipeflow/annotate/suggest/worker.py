"""The process that computes suggestions, so that a server's threads never wait for them.

``python -m recipeflow.annotate.suggest.worker`` reads calls from standard input and writes answers to standard output,
as pickles, until its input ends: so it ends with the server, even if that is killed.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from typing import Any, BinaryIO

from recipeflow.annotate.suggest.tasks import Tasks
from recipeflow.errors import VRFError, WorkerDiedError
from recipeflow.extras import naming_extras

MODULE = "recipeflow.annotate.suggest.worker"


class Worker:
    """The process, as seen from the server. One call at a time; others wait."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.process: subprocess.Popen | None = None

    def call(self, name: str, *arguments: Any) -> Any:
        """Call a method of ``Tasks`` there, and wait for the result.

        Raises:
            WorkerDiedError: If the process ended; the next call starts another, which has learned nothing yet.
            VRFError: What the work itself raises.
        """
        with self.lock:
            if self.process is None:
                command = [sys.executable, "-m", MODULE]
                self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            try:
                ok, answer = _exchange(self.process, (name, arguments))
            except (OSError, EOFError, pickle.UnpicklingError) as error:
                code = self._end()
                raise WorkerDiedError(
                    f"expected the process that computes suggestions to answer, found that it ended with {code}; it "
                    "is started again when it is needed"
                ) from error
        if not ok:
            raise answer
        return answer

    def _end(self) -> int | None:
        process, self.process = self.process, None
        if process is None:
            return None
        process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):  # the rest of a call that it did not read
                    pipe.close()
        return process.wait()

    def close(self) -> None:
        """End the process, even in the middle of its work."""
        if (process := self.process) is not None:
            process.kill()
        with self.lock:
            self._end()


def _exchange(process: subprocess.Popen, call: object) -> tuple[bool, Any]:
    """Send a call and wait for the answer."""
    assert process.stdin is not None
    assert process.stdout is not None
    pickle.dump(call, process.stdin)
    process.stdin.flush()
    return pickle.load(process.stdout)


def answer_calls(calls: BinaryIO, answers: BinaryIO, tasks: Tasks) -> None:
    """Answer calls until there are no more."""
    while True:
        try:
            name, arguments = pickle.load(calls)
        except EOFError:
            return
        try:
            with naming_extras():
                answer = True, getattr(tasks, name)(*arguments)
        except VRFError as error:
            answer = False, error
        except Exception as error:  # its type may not be known to the server
            found = f"{type(error).__name__} in {name}: {error}"
            answer = False, VRFError(f"expected suggestions, found {found}; please report it")
        pickle.dump(answer, answers)
        answers.flush()


def main() -> None:
    """Answer the calls of the server that started this process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which then closes our input
    os.nice(5)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print must not come between the answers
    answer_calls(sys.stdin.buffer, answers, Tasks())


if __name__ == "__main__":
    main()
