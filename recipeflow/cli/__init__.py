"""The ``vrf`` command: thin typer commands over the library, one per task.

Heavy libraries are imported inside the commands, so that ``vrf --help`` answers at once.
"""

from __future__ import annotations

import io
import sys

from recipeflow.cli import (
    annotating,
    annotations,
    data,
    exchanging,
    exploring,
    fetching,
    learning,
    owning,
    parsing,
    reading,
    searching,
    sharing,
    storyboarding,
    tasking,
)
from recipeflow.cli.shared import app, errors
from recipeflow.errors import StoppedError, VRFError
from recipeflow.extras import naming_extras

COMMANDS = (
    data.kitchen,
    owning.new,
    data.check,
    data.stats,
    data.build,
    fetching.download,
    fetching.frames,
    reading.program,
    reading.agreement,
    exploring.explore,
    annotating.annotate,
    annotations.annotate_import,
    annotations.annotate_export,
    annotations.annotate_times,
    learning.features,
    learning.train,
    learning.evaluate,
    learning.experiment,
    learning.report,
    learning.compare,
    searching.index,
    searching.calibrate,
    searching.search,
    parsing.parse,
    storyboarding.storyboard,
    storyboarding.storyboard_eval,
    tasking.tasks,
    tasking.score,
    tasking.baselines,
)
"""In the order in which --help lists them, before the groups."""

for command in COMMANDS:
    app.command()(command)
app.command("import")(exchanging.import_)
app.command()(exchanging.export)
app.add_typer(parsing.parser, name="parser")
app.add_typer(sharing.push, name="push")
app.add_typer(sharing.pull, name="pull")

STOPPED = 128
"""What the exit code adds to the number of the signal that stopped a command, following the shells' convention."""


def main() -> None:
    """Run the command line. Errors that a user can fix are printed as one message, never as a traceback."""
    # Files can contain what a terminal cannot show; reporting on them must not fail.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with naming_extras():
            app()
    except StoppedError as error:
        errors.print(f"\ninterrupted; {error}", markup=False, soft_wrap=True)
        sys.exit(STOPPED + error.number)
    except VRFError as error:
        errors.print(f"[bold red]error:[/] [not bold]{type(error).__name__}[/]:", end=" ")
        errors.print(str(error), markup=False, soft_wrap=True)
        sys.exit(1)
