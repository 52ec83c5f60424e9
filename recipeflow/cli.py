"""The ``vrf`` command: thin typer commands over the library, one per task.

Heavy libraries are imported inside the commands, so that ``vrf --help`` answers at once.
"""

from __future__ import annotations

import sys

import typer
from rich.console import Console

from recipeflow.errors import VRFError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Visual Recipe Flow: recipes, their flow graphs and before/after images of every cooking action.",
)
errors = Console(stderr=True, highlight=False)


def main() -> None:
    """Run the command line: errors that are the user's to mend are one message, never a traceback."""
    try:
        app()
    except VRFError as error:
        errors.print(f"[bold red]error:[/] [not bold]{type(error).__name__}[/]:", end=" ")
        errors.print(str(error), markup=False, soft_wrap=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
