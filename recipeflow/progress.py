"""One look for every long job: a bar with count, speed and time left, on standard error, silent in pipes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

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

Item = TypeVar("Item")


class SpeedColumn(ProgressColumn):
    """How many of something are done a second."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self.unit = unit

    def render(self, task: Task) -> Text:
        """The speed of the last seconds, or of the whole at its end."""
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:.1f} {self.unit}/s")


def _columns(unit: str | None = None) -> tuple[ProgressColumn, ...]:
    return (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        *([SpeedColumn(unit)] if unit else []),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )


def progress_bar(
    items: Iterable[Item],
    total: int | None,
    label: str,
    unit: str | None = None,
    size: Callable[[Item], int] = lambda item: 1,
) -> Iterator[Item]:
    """Pass items through and show how far they are.

    Args:
        items: What is worked on.
        total: How many there will be, if known.
        label: What is being done to them.
        unit: What is counted, for the speed; none is shown without it.
        size: How many of the total an item stands for.
    """
    console = Console(stderr=True)
    with Progress(*_columns(unit), console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task(label, total=total)
        for item in items:
            yield item
            progress.advance(task, size(item))


class TrainingProgress:
    """The bar of a training run: steps, loss and, once there was an evaluation, R@5.

    Args:
        total: Steps of the whole run.
        done: Steps before this start, for a run that goes on.
        shown: Whether there is a bar at all.
    """

    def __init__(self, total: int, done: int, shown: bool) -> None:
        self.recall: float | None = None
        self.loss: float | None = None
        console = Console(stderr=True)
        columns = (*_columns(), TextColumn("{task.fields[figures]}"))
        self.progress = Progress(*columns, console=console, disable=not (shown and console.is_terminal))
        self.task = self.progress.add_task("training", total=total, completed=done, figures="")

    def __enter__(self) -> TrainingProgress:
        self.progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.progress.stop()

    def advance(self, loss: float) -> None:
        """One step is done; the loss shown is a running mean."""
        self.loss = loss if self.loss is None else 0.95 * self.loss + 0.05 * loss
        recall = "" if self.recall is None else f"  R@5 {self.recall:.1f}"
        self.progress.update(self.task, advance=1, figures=f"loss {self.loss:.3f}{recall}")
