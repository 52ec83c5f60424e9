"""The ``vrf`` command: thin typer commands over the library, one per task.

Heavy libraries are imported inside the commands, so that ``vrf --help`` answers at once.
"""

from __future__ import annotations

import signal
import sys

# Each adds its commands, which --help lists in this order.
# isort: off
from recipeflow.cli import data, fetching, reading, exploring, annotating, learning, searching, sharing  # noqa: F401

# isort: on
from recipeflow.cli.shared import app, errors
from recipeflow.errors import StoppedError, VRFError
from recipeflow.extras import naming_extras

INTERRUPTED = 128 + signal.SIGINT
"""The exit code of every command after Ctrl-C, following the shells' convention."""


def main() -> None:
    """Run the command line. Errors that a user can fix are printed as one message, never as a traceback."""
    # Files can contain what a terminal cannot show; reporting on them must not fail.
    sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with naming_extras():
            app()
    except StoppedError as error:
        errors.print(f"\ninterrupted; {error}", markup=False, soft_wrap=True)
        sys.exit(INTERRUPTED)
    except VRFError as error:
        errors.print(f"[bold red]error:[/] [not bold]{type(error).__name__}[/]:", end=" ")
        errors.print(str(error), markup=False, soft_wrap=True)
        sys.exit(1)
