"""Checkpoints that survive ``kill -9``: renamed when complete, and only then is the older one removed."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import torch
from accelerate import Accelerator
from safetensors import SafetensorError

from recipeflow.errors import LaunchError
from recipeflow.files import cannot_write, move_into_place, sync_files
from recipeflow.machines.processes import decide_in_main, do_in_all, is_lost_process, raise_together
from recipeflow.training.sharding import ShardedState

PREFIX = "checkpoint-"

WHOLE = "whole_state.pt"
"""The file with the state of a sharded run, which only the main process writes and reads."""


class Checkpoints:
    """The checkpoints of one run, of which the last complete one counts.

    Args:
        folder: Of the run.
        accelerator: Writes and reads the state of the run, except where that is sharded.
        shards: The state of a sharded run.
    """

    def __init__(self, folder: Path, accelerator: Accelerator, shards: ShardedState | None = None) -> None:
        self.folder = folder
        self.accelerator = accelerator
        self.shards = shards

    def save(self, step: int) -> None:
        """Save the state of the run; all processes call it, and if one cannot write, all raise its error."""
        final = self.folder / f"{PREFIX}{step:08d}"
        aside = final.with_suffix(".partial")
        decide_in_main(lambda: shutil.rmtree(aside, ignore_errors=True))
        whole = None if self.shards is None else self.shards.gather()

        def write() -> None:
            with report_save_errors(final):
                if whole is None:
                    self.accelerator.save_state(str(aside))
                elif self.accelerator.is_main_process:
                    aside.mkdir()
                    torch.save(whole, aside / WHOLE)

        do_in_all(write)  # the main process writes most of it, for as long as that takes
        decide_in_main(lambda: self._name(aside, final))

    def _name(self, aside: Path, final: Path) -> None:
        """Give a complete checkpoint its name once it is on the disk, and only then remove the older ones."""
        older = [folder for folder in self.complete() if folder != final]
        with report_save_errors(final):
            sync_files(aside)
            if final.exists():  # of the same step, and so the same
                shutil.rmtree(aside, ignore_errors=True)
            else:
                move_into_place(aside, final)
        for folder in older:
            shutil.rmtree(folder, ignore_errors=True)

    def complete(self) -> list[Path]:
        """The complete checkpoints, the latest last."""
        return sorted(path for path in self.folder.glob(f"{PREFIX}*") if path.suffix != ".partial")

    def load_latest(self) -> bool:
        """Load the last complete checkpoint, if there is one; the first process chooses it for all.

        Raises:
            LaunchError: If another process does not see it.
        """
        name = decide_in_main(lambda: self.complete()[-1].name if self.complete() else None)
        if name is None:
            return False
        raise_together(None if (self.folder / name).is_dir() else self._unseen(name))
        self._load(self.folder / name)
        return True

    def _load(self, folder: Path) -> None:
        if self.shards is None:
            self.accelerator.load_state(str(folder))
            return
        is_main = self.accelerator.is_main_process
        self.shards.distribute(do_in_all(lambda: torch.load(folder / WHOLE, weights_only=True) if is_main else None))

    def _unseen(self, name: str) -> LaunchError:
        process = f"process {self.accelerator.process_index} on {socket.gethostname()}"
        return LaunchError(
            f"expected {process} to see the checkpoint {self.folder / name}, from which the first process resumes, "
            "found none; keep the run's folder on a file system that all machines share"
        )

    def clear(self) -> None:
        """Remove all of them, because the run is complete."""
        for path in self.folder.glob(f"{PREFIX}*"):
            shutil.rmtree(path, ignore_errors=True)


@contextmanager
def report_save_errors(path: Path) -> Generator[None]:
    """Report in one message that something could not be written, whichever library tried."""
    try:
        yield
    except (OSError, RuntimeError, SafetensorError) as error:
        if isinstance(error, RuntimeError) and is_lost_process(error):
            raise  # while shards were gathered
        raise cannot_write(path, error) from error
