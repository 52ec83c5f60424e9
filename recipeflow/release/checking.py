"""``vrf check``: the problems of a release, for people and for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.console import Console

from recipeflow.errors import ReleaseProblem
from recipeflow.progress import progress_bar
from recipeflow.release.reading import CheckedRecipe, check_release


@dataclass
class CheckReport:
    """The problems that a check found, and how much it examined."""

    release: Path
    problems: list[ReleaseProblem] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def count(self, checked: CheckedRecipe) -> None:
        self.counts["recipes"] += 1
        if (recipe := checked.recipe) is not None:
            self.counts["with_text"] += recipe.has_text
            self.counts["with_frames"] += recipe.frames_folder is not None
            self.counts["images"] += len(recipe.used_frames) if recipe.frames_folder else 0
        else:
            self.counts["bad"] += 1

    def as_dict(self) -> dict[str, Any]:
        return {
            "release": str(self.release),
            "ok": not self.problems,
            "recipes": self.counts["recipes"],
            "bad_recipes": self.counts["bad"],
            "problems": [problem.as_dict() for problem in self.problems],
        }

    def print(self, console: Console) -> None:
        print_problems(self.problems, console)
        console.print(self.summary(), soft_wrap=True, markup=False)

    def summary(self) -> str:
        counts = self.counts
        if self.problems:
            return (
                f"{_number(len(self.problems), 'problem')}, {counts['bad']:,} of {counts['recipes']:,} recipes are bad"
            )
        return (
            f"ok: {_number(counts['recipes'], 'recipe')}, {counts['with_text']:,} with text, "
            f"{counts['with_frames']:,} with frames ({_number(counts['images'], 'image')} in use)"
        )


def check_with_progress(release: Path) -> CheckReport:
    """Check a release, with a progress bar on a terminal."""
    report = CheckReport(release)

    def watch(recipes: Iterator[CheckedRecipe]) -> Iterator[CheckedRecipe]:
        for checked in progress_bar(recipes, None, "checking recipes"):
            report.count(checked)
            yield checked

    report.problems = check_release(release, watch)
    return report


def print_problems(problems: Iterable[ReleaseProblem], console: Console) -> None:
    for _, group in groupby(sorted(problems, key=lambda problem: problem.kind), lambda problem: problem.kind):
        _print_group(console, list(group))


def _print_group(console: Console, problems: list[ReleaseProblem]) -> None:
    kind = type(problems[0])
    about = (kind.__doc__ or "").partition("\n")[0]
    console.print(f"[bold red]{kind.__name__}[/] ({len(problems):,}): {about}", soft_wrap=True)
    for problem in problems:
        line = f"  {problem.where}: {problem.message}" if problem.where else f"  {problem.message}"
        console.print(line, soft_wrap=True, markup=False)
    for hint in dict.fromkeys(problem.hint for problem in problems if problem.hint):
        console.print(f"  hint: {hint}", soft_wrap=True, markup=False, style="dim")
    console.print()


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
