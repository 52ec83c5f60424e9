"""Checkpoints that survive ``kill -9``: renamed when complete, and only then is the older one removed."""

from __future__ import annotations

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from accelerate import Accelerator
from safetensors import SafetensorError

from recipeflow.files import cannot_write

PREFIX = "checkpoint-"


class Checkpoints:
    """The checkpoints of one run, of which the last complete one counts."""

    def __init__(self, folder: Path, accelerator: Accelerator) -> None:
        self.folder = folder
        self.accelerator = accelerator

    def save(self, step: int) -> None:
        """Save accelerate's whole state; all processes call it."""
        final = self.folder / f"{PREFIX}{step:08d}"
        aside = final.with_suffix(".partial")
        older = self.complete()
        if self.accelerator.is_main_process:
            shutil.rmtree(aside, ignore_errors=True)
        self.accelerator.wait_for_everyone()
        with report_save_errors(final):
            self.accelerator.save_state(str(aside))
        self.accelerator.wait_for_everyone()
        if self.accelerator.is_main_process and not final.exists():
            aside.rename(final)
            for folder in older:
                shutil.rmtree(folder, ignore_errors=True)
        self.accelerator.wait_for_everyone()

    def complete(self) -> list[Path]:
        """The complete checkpoints, the latest last."""
        return sorted(path for path in self.folder.glob(f"{PREFIX}*") if path.suffix != ".partial")

    def load_latest(self) -> bool:
        """Load the last complete checkpoint, if there is one."""
        found = self.complete()
        if found:
            self.accelerator.load_state(str(found[-1]))
        return bool(found)

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
        raise cannot_write(path, error) from error
