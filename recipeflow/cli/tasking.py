"""Commands about task sets: ``tasks``, ``score`` and ``baselines``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from recipeflow.cli.shared import errors, output

TasksArgument = Annotated[
    Path, typer.Argument(metavar="TASKS", help="A folder written by vrf tasks.", show_default=False)
]
SplitOption = Annotated[str, typer.Option(help="train, validation or test.")]


def tasks(
    dataset: Annotated[
        Path, typer.Argument(metavar="VRF", help="A dataset, as written by vrf build.", show_default=False)
    ],
    out: Annotated[Path, typer.Option(help="The folder to write, for load_dataset.")] = Path("vrf-tasks"),
    seed: Annotated[int, typer.Option(help="The same seed gives the same questions.")] = 0,
    fold: Annotated[int, typer.Option(help="The fold that becomes test; the next one is validation.")] = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace earlier task sets.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was made as JSON.")] = False,
) -> None:
    """Turn a dataset into questions that any model can be scored on.

    Eight tasks, one config each: choose the picture after an action, the action between two pictures, the order of
    pictures, one change in three ways, which step needs which, what is in a mixture, a missing instruction, and
    writing the instructions. Candidates are alike on purpose, and none gives itself away. What cannot be made of this
    dataset is named with the reason.

    Example:  vrf tasks vrf --out vrf-tasks
    """
    from recipeflow.dataset.opening import open_dataset
    from recipeflow.tasks.making import make_tasks

    made = make_tasks(open_dataset(dataset), out, seed=seed, test_fold=fold, overwrite=overwrite)
    if as_json:
        typer.echo(json.dumps(made.manifest, ensure_ascii=False, indent=2))
        return
    output.print(made.table().rich())
    for line in made.left_out():
        errors.print(f"not made: {line}", markup=False, soft_wrap=True)
