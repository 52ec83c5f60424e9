"""The command that shows recipes: ``explore``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recipeflow.cli.shared import errors, output

if TYPE_CHECKING:
    from recipeflow.explore.library import Library


def explore(
    source: Annotated[
        Path,
        typer.Argument(metavar="RELEASE", help="A release folder, or a dataset folder written by vrf build."),
    ] = Path("vrf"),
    export: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write a static site instead; it opens without a server.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier export.")] = False,
    host: Annotated[
        str, typer.Option(help="The address to listen on; any but this machine's needs --token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 picks a free one.", min=0, max=65535)] = 0,
    token: Annotated[str | None, typer.Option(help="A secret that the browser must send.", show_default=False)] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
) -> None:
    """Look at recipes in the browser.

    A gallery, and for each recipe its flows, image pairs, state trails, graph and program. The page is local: nothing
    leaves this machine. --export writes a folder of files instead, which you can open from disk or put on any web
    host.

    Example:  vrf explore kitchen
    """
    from recipeflow.explore.library import Library
    from recipeflow.explore.sources import open_source

    library = Library(open_source(source))
    if export is not None:
        _export(library, export, overwrite)
        return
    from recipeflow.explore.server import make_app
    from recipeflow.web.serving import serve

    def announce(address: str) -> None:
        output.print(f"showing {source} at {address} (stop with Ctrl-C)", markup=False, soft_wrap=True)

    serve(make_app(library), host=host, port=port, token=token, announce=announce, open_browser=not no_browser)


def _export(library: Library, folder: Path, overwrite: bool) -> None:
    from recipeflow.explore.export import export_site
    from recipeflow.progress import progress_bar

    done = export_site(library, folder, overwrite, lambda numbers: progress_bar(numbers, None, "writing recipes"))
    for problem in done.problems:
        errors.print(f"left out: {problem}", markup=False, soft_wrap=True)
    output.print(
        f"wrote {done.recipes} recipes and {done.pictures} pictures: open {folder / 'index.html'}",
        markup=False,
        soft_wrap=True,
    )
    if done.pictures and library.source.info.source == "official":
        errors.print(
            "These pictures belong to the owner of the videos: keep this site to yourself.",
            markup=False,
            soft_wrap=True,
        )
