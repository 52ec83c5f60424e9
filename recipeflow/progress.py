"""Progress of long jobs, on standard error: a bar on a terminal, occasional plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from typing import Self, TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

SECONDS_BETWEEN_LINES = 30.0
"""Without a terminal; shorter work prints nothing."""

Item = TypeVar("Item")


def has_terminal(console: Console) -> bool:
    """Whether a bar can be drawn; with FORCE_COLOR, rich itself would say so for a file too."""
    return console.file.isatty() and not console.is_dumb_terminal


class SpeedColumn(ProgressColumn):
    """Items per second."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self.unit = unit

    def render(self, task: Task) -> Text:
        """The speed of the last seconds; at the end, that of the whole job."""
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:.1f} {self.unit}/s")


class ProgressLines:
    """Lines in a log: progress and time left.

    Args:
        label: What is being done.
        total: How many there will be, if known.
        done: How many were done before this start.
    """

    def __init__(self, label: str, total: int | None, done: int = 0) -> None:
        self.label, self.total, self.done, self.before = label, total, done, done
        self.started = self.printed = time.monotonic()
        self.figures = ""

    def advance(self, count: int) -> None:
        """Count finished items, and print a line if the last one was long ago."""
        self.done += count
        now = time.monotonic()
        if now - self.printed >= SECONDS_BETWEEN_LINES and self.done != self.total:
            self._print(self._left(now))

    def finish(self) -> None:
        """Report the end, if earlier lines were printed."""
        if self.printed > self.started:
            self._print(f"done in {duration(time.monotonic() - self.started)}")

    def _left(self, now: float) -> str:
        elapsed, new = now - self.started, self.done - self.before
        if self.total is None or not new:
            return duration(elapsed)
        return f"{duration(elapsed / new * (self.total - self.done))} left"

    def _print(self, time_taken: str) -> None:
        count = f"{self.done}" if self.total is None else f"{self.done} of {self.total}"
        line = ", ".join(part for part in (f"{self.label}: {count}", time_taken, self.figures) if part)
        with suppress(OSError):  # the reader of the log may be gone, which must not end hours of work
            print(line, file=sys.stderr, flush=True)
        self.printed = time.monotonic()


def duration(seconds: float) -> str:
    """A time for people, such as ``2 min 10 s``."""
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest} s"
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


class ProgressDisplay:
    """A bar on a terminal, else lines; used in a ``with`` block.

    Args:
        label: What is being done.
        total: How many there will be, if known.
        done: How many were done before this start.
        unit: What is counted, for the speed; none is shown without it.
        shown: Whether to show anything at all.
    """

    def __init__(
        self, label: str, total: int | None, done: int = 0, *, unit: str | None = None, shown: bool = True
    ) -> None:
        console = Console(stderr=True)
        draws = has_terminal(console)
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            *([SpeedColumn(unit)] if unit else []),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[figures]}"),
        )
        self.bar = Progress(*columns, console=console, disable=not (shown and draws))
        self.task = self.bar.add_task(label, total=total, completed=done, figures="")
        self.lines = ProgressLines(label, total, done) if shown and not draws else None

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: object) -> None:
        self.bar.stop()
        if self.lines and error is None:
            self.lines.finish()

    def advance(self, count: int = 1) -> None:
        self.bar.advance(self.task, count)
        if self.lines:
            self.lines.advance(count)

    def show_figures(self, figures: str) -> None:
        """Show this text after the time."""
        self.bar.update(self.task, figures=figures)
        if self.lines:
            self.lines.figures = figures


def progress_bar(
    items: Iterable[Item],
    total: int | None,
    label: str,
    unit: str | None = None,
    size: Callable[[Item], int] = lambda item: 1,
) -> Generator[Item]:
    """Pass items through and show the progress.

    Args:
        items: What is worked on.
        total: How many there will be, if known.
        label: What is being done to them.
        unit: What is counted, for the speed; none is shown without it.
        size: How many of the total an item counts for.
    """
    with ProgressDisplay(label, total, unit=unit) as display:
        for item in items:
            yield item
            display.advance(size(item))


class TrainingProgress(ProgressDisplay):
    """The progress of a training run: steps, loss and, once there was an evaluation, its main figure.

    Args:
        total: Steps of the whole run.
        done: Steps before this start, for a run that is resumed.
        shown: Whether to show anything at all.
    """

    def __init__(self, total: int, done: int, shown: bool) -> None:
        super().__init__("training", total, done, shown=shown)
        self.watched = ""
        self.loss: float | None = None

    def step(self, loss: float) -> None:
        """Count a step; the loss shown is a running mean."""
        self.loss = loss if self.loss is None else 0.95 * self.loss + 0.05 * loss
        self.show_figures("  ".join(part for part in (f"loss {self.loss:.3f}", self.watched) if part))
        self.advance()
