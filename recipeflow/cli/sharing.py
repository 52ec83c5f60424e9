"""Commands that share: ``push`` and ``pull``, each for a dataset and for a model."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recipeflow.cli.help_pages import App
from recipeflow.cli.shared import errors, output

if TYPE_CHECKING:
    from recipeflow.hub.transfer import Push

push = App(no_args_is_help=True, help="Send a dataset or a model to the Hub, as one commit.")
pull = App(no_args_is_help=True, help="Fetch a dataset or a model from the Hub into a folder.")

RepoArgument = Annotated[str, typer.Argument(metavar="OWNER/NAME", help="The repository.", show_default=False)]
PublicOption = Annotated[bool, typer.Option("--public", help="Make it public; private by default.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="List what would be sent, and send nothing.")]
FramesOption = Annotated[
    bool,
    typer.Option("--with-official-frames", help="You have permission to publish frames of the official videos."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")]
TargetArgument = Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder to write.", show_default=False)]
RevisionOption = Annotated[str | None, typer.Option(help="A branch, tag or commit; the latest by default.")]
OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace what an earlier command wrote there.")]


@push.command("dataset")
def push_dataset(
    folder: Annotated[Path, typer.Argument(metavar="VRF", help="A dataset folder, as written by vrf build.")],
    repo: RepoArgument,
    public: PublicOption = False,
    dry_run: DryRunOption = False,
    official_frames: FramesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Send a dataset to the Hub: all three tables and the card.

    This makes one commit: anyone who loads the dataset meanwhile gets either the old version or the new one. Files
    that are already there are not sent again, and after an interruption the same command resumes. Log in first,
    with `hf auth login`.

    Example:  vrf push dataset vrf OWNER/NAME
    """
    from recipeflow import hub

    def send() -> Push:
        return hub.push_dataset(
            folder, repo, private=not public, dry_run=dry_run, allow_official_frames=official_frames
        )

    _show(_transfer(send), as_json)


@push.command("model")
def push_model(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run, or of a saved model.")],
    repo: RepoArgument,
    results: Annotated[Path | None, typer.Option(help="The results.json of vrf experiment, for the card.")] = None,
    dataset: Annotated[str | None, typer.Option(help="The training dataset: OWNER/NAME, or a folder.")] = None,
    picture: Annotated[Path | None, typer.Option(help="Queries and answers, drawn by vrf search --picture.")] = None,
    license: Annotated[str, typer.Option(help="License of the weights, by the Hub's identifier.")] = "mit",
    public: PublicOption = False,
    dry_run: DryRunOption = False,
    official_frames: FramesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Send a model to the Hub, with code, index and card.

    The card shows an experiment's results beside the paper's, or the run's own metrics without --results.

    Example:  vrf push model run OWNER/NAME --dataset OWNER/DATASET \\
                --results experiment/results.json
    """
    from recipeflow.images import check_card_picture
    from recipeflow.training.saved_model import find_package

    find_package(folder)
    if picture is not None:
        check_card_picture(picture)
    from recipeflow import hub

    def send() -> Push:
        return hub.push_model(
            folder,
            repo,
            results=results,
            dataset=dataset,
            picture=picture,
            license=license,
            private=not public,
            dry_run=dry_run,
            allow_official_frames=official_frames,
        )

    _show(_transfer(send), as_json)


@pull.command("dataset")
def pull_dataset(
    repo: RepoArgument, folder: TargetArgument, revision: RevisionOption = None, overwrite: OverwriteOption = False
) -> None:
    """Fetch a dataset into a folder, which appears when it is complete.

    Example:  vrf pull dataset OWNER/NAME vrf
    """
    from recipeflow import hub

    _transfer(lambda: hub.pull_dataset(repo, folder, revision=revision, overwrite=overwrite))
    output.print(f"pulled {repo} into {folder}", markup=False, soft_wrap=True)


@pull.command("model")
def pull_model(
    repo: RepoArgument, folder: TargetArgument, revision: RevisionOption = None, overwrite: OverwriteOption = False
) -> None:
    """Fetch a model into a folder, which appears when it is complete.

    Example:  vrf pull model OWNER/NAME model
    """
    from recipeflow import hub

    _transfer(lambda: hub.pull_model(repo, folder, revision=revision, overwrite=overwrite))
    output.print(f"pulled {repo} into {folder}", markup=False, soft_wrap=True)


def _transfer(work: Callable[[], Any]) -> Any:
    """Show progress bars only on a terminal, and stop at once on Ctrl-C."""
    from huggingface_hub.utils import disable_progress_bars

    from recipeflow.progress import has_terminal

    if not has_terminal(errors):
        disable_progress_bars()
    previous = signal.signal(signal.SIGINT, _stop)
    try:
        return work()
    finally:
        signal.signal(signal.SIGINT, previous)


def _stop(number: int, frame: object) -> None:
    """Exit at once: the client's threads would first finish their files, which is not needed."""
    from recipeflow.hub_client import RESUME

    errors.print(f"\ninterrupted; {RESUME}", soft_wrap=True)
    os._exit(130)


def _show(done: Push, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(done.as_dict(), ensure_ascii=False, indent=2))
        return
    output.print(done.table().rich())
    for note in done.notes:
        output.print(f"note: {note}", markup=False, soft_wrap=True)
    output.print(done.summary(), markup=False, soft_wrap=True)
