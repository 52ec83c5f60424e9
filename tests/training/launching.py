"""Starts ``training_script.py`` in processes of their own, and it or ``vrf`` under accelerate's launcher."""

import multiprocessing
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import recipeflow
from recipeflow.cli import main
from recipeflow.machines import joining
from tests.docs.documents import find_blocks, split_command

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("training_script.py")

UNNEEDED = {"datasets", "gradio", "matplotlib", "networkx", "pandas", "ray", "sklearn", "tensorboard"}
"""Libraries that would cost every training process memory and time, for nothing."""

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["tests.training.training_script"])
"""A server that has imported torch once: a process forked from it starts at once."""


@dataclass
class Finished:
    """What processes left: exit codes, and what each printed."""

    codes: list[int]
    printed: list[str]

    @property
    def returncode(self) -> int:
        return next((code for code in self.codes if code), 0)

    @property
    def stderr(self) -> str:
        return "\n".join(self.printed)


def run_script(task: str, output: Path, processes: int = 1, frozen: int | None = None) -> Finished:
    """Run the script in real processes that form a group by themselves, as the launcher's do.

    A frozen one never ends: it is killed after the others have ended.
    """
    return _run_together([(_do_task, task, output)] * processes, frozen)


def run_vrf(*commands: Sequence[object], versions: Sequence[str | None]) -> Finished:
    """Run a command on each of several machines, with this version of the code where it is not ours."""
    return _run_together([(_do_command, *work) for work in zip(commands, versions, strict=True)])


def _run_together(works: Sequence[tuple], frozen: int | None = None) -> Finished:
    with TemporaryDirectory() as logs, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        group = {"WORLD_SIZE": len(works), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": probe.getsockname()[1]}
        probe.close()
        started = []
        for rank, work in enumerate(works):
            place = group | {"RANK": rank, "LOCAL_RANK": 0} if len(works) > 1 else {}
            log = Path(logs, str(rank))
            started.append(FORKS.Process(target=_run, args=(work, log, place)))
            started[-1].start()
        for rank, process in enumerate(started):
            if rank != frozen:
                process.join(timeout=240)
        if frozen is not None:
            started[frozen].kill()
            started[frozen].join()
        hanging = [process for process in started if process.exitcode is None]
        for process in hanging:
            process.kill()
            process.join()
        printed = [Path(logs, str(rank)).read_text() for rank in range(len(works))]
    assert not hanging, f"a process still ran after four minutes: {printed}"
    return Finished([process.exitcode or 0 for process in started], printed)


def _run(work: tuple, log: Path, place: dict[str, object]) -> None:
    os.environ.update({name: str(value) for name, value in place.items()} | {"ACCELERATE_USE_CPU": "true"})
    with log.open("w") as target:
        os.dup2(target.fileno(), 1)
        os.dup2(target.fileno(), 2)
    do, *arguments = work
    do(*arguments)


def _do_task(task: str, output: Path) -> None:
    from tests.training import training_script  # already there, in the server

    training_script.run(task, output)


def _do_command(arguments: Sequence[object], version: str | None) -> None:
    recipeflow.__version__ = version or recipeflow.__version__
    joining.VISIBLE_WITHIN = 1.0
    sys.argv = ["vrf", *map(str, arguments)]
    try:
        main()
    finally:
        print("imported for nothing:", sorted(UNNEEDED & set(sys.modules)))


def start_launcher(*command: object, config: str, cpu: bool = True) -> subprocess.Popen:
    """Start a script or module under ``accelerate launch`` with one of the documented configurations, without a GPU.

    It gets a process group of its own, as a terminal gives it, and the documented settings; on the CPU the launcher's
    own ``--cpu`` would start a single process.
    """
    launch = [sys.executable, "-m", "accelerate.commands.launch", "--main_process_port", "0"]
    launch += ["--config_file", str(ROOT / "docs" / "accelerate" / f"{config}.yaml")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    environment |= {"ACCELERATE_USE_CPU": "true"} if cpu else {"CUDA_VISIBLE_DEVICES": ""}
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    return subprocess.Popen([*launch, *map(str, command)], env=environment, **options)


def launch_vrf(*arguments: object, config: str, cpu: bool) -> subprocess.CompletedProcess:
    """Run a command under ``accelerate launch``."""
    process = start_launcher("-m", "recipeflow.cli", *arguments, config=config, cpu=cpu)
    stdout, stderr = process.communicate(timeout=300)
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


def documented_launches() -> list[tuple[Path, list[str]]]:
    """Every launch in docs/training.md that names a configuration: that file, and the arguments of ``vrf``."""
    page = ROOT / "docs" / "training.md"
    lines = [line for block in find_blocks(page) if block.language == "sh" for line in block.commands]
    commands = [words for line in lines for words in split_command(line)]
    return [
        (ROOT / words[words.index("--config_file") + 1], words[words.index("recipeflow.cli") + 1 :])
        for words in commands
        if "--config_file" in words
    ]
