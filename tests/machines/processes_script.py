"""Two machines in small: ``python tests/processes_script.py FOLDER`` twice, with the variables of a launcher."""

import json
import os
import signal
import sys
import time
from pathlib import Path

import accelerate  # noqa: F401  (before the group is formed, and not while the other process waits)

from recipeflow.errors import UsageError, VRFError
from recipeflow.machines import joining, silence, waiting
from recipeflow.machines.joining import check_same, check_shared
from recipeflow.machines.processes import decide_in_main, do_in_all, join_processes, wait_for_everyone

RANK = int(os.environ["RANK"])
LIMIT = float(os.environ["RECIPEFLOW_STEP_LIMIT"])


def message_of(work) -> str:
    try:
        return f"no error: {work()!r}"
    except VRFError as error:
        return f"{type(error).__name__}: {error}"


def work_for(rank: int, result: str) -> str:
    """Takes one of the processes longer than a collective operation may wait."""
    if rank == RANK:
        time.sleep(LIMIT + 1)
    return result


def fail(rank: int) -> str:
    if rank == RANK:
        raise UsageError(f"expected space on the disk of process {rank}, found none")
    return "done"


def check_limit() -> str:
    """Or the rest would show nothing: a collective operation does give up after the limit. No other can follow it."""
    if RANK == 1:
        time.sleep(LIMIT + 1)
        return "late"
    try:
        join_processes().wait_for_everyone()
    except RuntimeError as error:
        return f"gave up: {error}"
    return "no limit"


def die(rank: int) -> str:
    if rank == RANK:
        os.kill(os.getpid(), signal.SIGKILL)
    wait_for_everyone()
    return "alive"


def main(folder: Path) -> None:
    waiting.BEAT, silence.SILENCE, joining.VISIBLE_WITHIN = 0.5, 5.0, 1.0
    own = folder / f"machine-{RANK}"
    (folder / f"{RANK}.ready").touch()  # to form a group may not take longer than the limit either
    while len(list(folder.glob("*.ready"))) < 2:
        time.sleep(0.01)
    tasks = {
        "main decides": lambda: decide_in_main(lambda: work_for(0, f"of {RANK}")),
        "all work": lambda: do_in_all(lambda: work_for(1, f"of {RANK}")),
        "main fails": lambda: decide_in_main(lambda: fail(0)),
        "other fails": lambda: do_in_all(lambda: fail(1)),
        "same": lambda: check_same(lambda: {"dataset": "abc"}),
        "another dataset": lambda: check_same(lambda: {"code": "1.0", "dataset": "abc"[RANK:]}),
        "shared": lambda: check_shared(folder / "cache", "--cache"),
        "not shared": lambda: check_shared(own, "--cache"),
        "limit": check_limit,
        "death": lambda: die(1),
    }
    told = {}
    for name, task in tasks.items():
        told[name] = message_of(task)
        (folder / f"{RANK}.json").write_text(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
