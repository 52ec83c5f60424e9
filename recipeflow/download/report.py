"""What a download fetched and what it did not, for people and for programs, while it runs and at its end."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.filesize import decimal

from recipeflow.download.frames import FAILED, NO_VIDEO, FramesReport
from recipeflow.progress import ProgressDisplay
from recipeflow.tables import Table

COMPLETE, CHANGED, GONE, MISSING = "complete", "changed", "gone", "missing"
"""The states of a text, a video or its frames. What is gone is no longer on the web; what is missing may be."""


@dataclass
class RecipeOutcome:
    """One recipe: the state of its text, its video and its frames, and why they are incomplete."""

    recipe: str
    url: str
    text: str = MISSING
    video: str = MISSING
    frames: str = MISSING
    reasons: list[str] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        return {self.text, self.video, self.frames} == {COMPLETE}


@dataclass
class DownloadReport:
    """All recipes of a download; ``stopped`` says why it ended early, if it did."""

    release: Path
    outcomes: list[RecipeOutcome] = field(default_factory=list)
    stopped: str | None = None

    @property
    def ok(self) -> bool:
        return self.stopped is None and all(outcome.is_complete for outcome in self.outcomes)

    def add_frames(self, frames: FramesReport) -> None:
        """Add the outcomes of sampling; missing videos are already recorded."""
        sampled = {outcome.recipe: outcome for outcome in frames.outcomes}
        for outcome in self.outcomes:
            found = sampled[outcome.recipe]
            outcome.frames = MISSING if found.state in (FAILED, NO_VIDEO) else COMPLETE
            if found.reason is not None:
                outcome.reasons.append(found.reason)

    def counts(self) -> dict[str, int]:
        """How many recipes are complete, and how many lack which part."""
        counts = Counter({"complete": sum(outcome.is_complete for outcome in self.outcomes)})
        for outcome in self.outcomes:
            states = {"text": outcome.text, "video": outcome.video}
            if outcome.video == COMPLETE:
                states["frames"] = outcome.frames
            counts.update(f"{what} {state}" for what, state in states.items() if state != COMPLETE)
        return dict(counts)

    def as_dict(self) -> dict[str, Any]:
        rows = [asdict(outcome) | {"complete": outcome.is_complete} for outcome in self.outcomes]
        return {
            "release": str(self.release),
            "ok": self.ok,
            "stopped": self.stopped,
            "counts": self.counts(),
            "recipes": rows,
        }

    def print(self, console: Console) -> None:
        """Print what each incomplete recipe lacks, and the counts."""
        rows = [
            (outcome.recipe, outcome.text, outcome.video, outcome.frames, "; ".join(outcome.reasons))
            for outcome in self.outcomes
            if not outcome.is_complete
        ]
        if rows:
            console.print(Table("Not complete", ("recipe", "text", "video", "frames", "reason"), rows).rich())
        counts = ", ".join(f"{number:,} {what}" for what, number in self.counts().items())
        total = f"{len(self.outcomes):,} recipe{'' if len(self.outcomes) == 1 else 's'} in {self.release}"
        console.print(f"{total}: {counts}", markup=False, soft_wrap=True)
        if self.stopped is not None:
            console.print(f"stopped: {self.stopped}", markup=False, soft_wrap=True)


class DownloadProgress(ProgressDisplay):
    """The progress of a download over the recipes, with the bytes that have arrived and how fast.

    Args:
        total: The number of recipes.
    """

    def __init__(self, total: int) -> None:
        super().__init__("fetching recipes", total)
        self.bytes, self.start = 0, time.monotonic()

    def add_bytes(self, count: int) -> None:
        self.bytes += count
        speed = self.bytes / max(time.monotonic() - self.start, 0.1)
        self.show_figures(f"{decimal(self.bytes)} ({decimal(int(speed))}/s)")
