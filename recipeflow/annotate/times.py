"""How long annotating took, by recipe and step, read off the log of operations.

The time between two operations of a layer belongs to the later one. A longer pause than ``PAUSE`` is no work, so a
recipe's first operation after one counts nothing: times are a little too short, never too long.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from recipeflow.annotate.document import STEPS
from recipeflow.tables import Cell, Table

PAUSE = 120.0
"""In seconds."""

_STEP_OF_OPERATION = {
    **dict.fromkeys(("tag", "retag", "retag_all", "reshape", "split", "remove", "cut", "join"), "words"),
    **dict.fromkeys(("flow", "unflow", "relabel", "relabel_all"), "flows"),
    **dict.fromkeys(("add_object", "remove_object", "move_object", "reset_objects", "frame", "frames"), "frames"),
}
_STEP_OF_KEY = {"ne": "words", "fg": "flows", "im": "frames"}


@dataclass
class Work:
    """The work on one recipe: seconds and operations by step."""

    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    operations: Counter[str] = field(default_factory=Counter)

    def as_dict(self) -> dict[str, dict[str, float]]:
        return {step: {"seconds": round(self.seconds[step], 1), "operations": self.operations[step]} for step in STEPS}


def measure_times(entries: Iterable[tuple[str, dict[str, Any], str]], pause: float = PAUSE) -> dict[str, Work]:
    """The work on every recipe of a layer.

    Args:
        entries: Recipe, operation and time of everything in the layer's log, in order.
        pause: The longest time between two operations that counts, in seconds.
    """
    found: defaultdict[str, Work] = defaultdict(Work)
    last: datetime | None = None
    steps: dict[str, str] = {}
    for recipe, operation, time in entries:
        now = datetime.fromisoformat(time)
        # What is undone or redone belongs to the step that the recipe was at.
        steps[recipe] = step = _step_of(operation) or steps.get(recipe, STEPS[0])
        between = 0.0 if last is None else (now - last).total_seconds()
        found[recipe].operations[step] += 1
        found[recipe].seconds[step] += between if 0 <= between <= pause else 0.0
        last = now
    return dict(found)


def _step_of(operation: Mapping[str, Any]) -> str | None:
    if operation["op"] == "done":
        return operation["step"]
    keys = [item["key"] for item in operation.get("items", ())] or list(operation.get("keys", ()))
    if operation["op"] == "note":
        keys = [operation["target"]]
    return _STEP_OF_OPERATION.get(operation["op"]) or (_STEP_OF_KEY.get(keys[0].partition(":")[0]) if keys else None)


def times_table(layer: str, works: Mapping[str, Work]) -> Table:
    """Minutes and operations by recipe and step, and their sums."""
    rows: list[tuple[Cell, ...]] = [_row(recipe, [work]) for recipe, work in works.items()]
    columns = ("Recipe", *(f"{step} {what}" for step in STEPS for what in ("min", "ops")), "min")
    return Table(f"Time of {layer}", columns, [*rows, _row("all", list(works.values()))])


def _row(name: str, works: list[Work]) -> tuple[Cell, ...]:
    minutes = {step: sum(work.seconds[step] for work in works) / 60 for step in STEPS}
    counts = {step: sum(work.operations[step] for work in works) for step in STEPS}
    return (name, *(cell for step in STEPS for cell in (minutes[step], counts[step])), sum(minutes.values()))
