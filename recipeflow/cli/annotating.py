"""Commands around the annotation interface: ``annotate``, ``annotate-import`` and ``annotate-export``."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from recipeflow.cli.shared import errors, output
from recipeflow.errors import UsageError

DatabaseArgument = Annotated[
    Path, typer.Argument(metavar="DB", help="A database of annotations, as vrf annotate makes it.", show_default=False)
]


def annotate(
    release: Annotated[
        Path | None,
        typer.Argument(metavar="RELEASE", help="A release folder, or one of recipes/<id>/*.txt and frames alone."),
    ] = None,
    db: Annotated[Path, typer.Option(help="The file that holds all work; made if there is none.")] = Path(
        "annotations.db"
    ),
    annotator: Annotated[list[str] | None, typer.Option(help="Whose layer alone to show; may be given again.")] = None,
    blank: Annotated[
        bool, typer.Option("--blank", help="New layers begin with bare words, not the release's.")
    ] = False,
    suggest: Annotated[
        list[str] | None, typer.Option(help="A release folder or a layer to show as suggestions; may be given again.")
    ] = None,
    curate: Annotated[bool, typer.Option("--curate", help="Compare layers and fill the gold layer.")] = False,
    host: Annotated[str, typer.Option(help="The address to listen on; another than this machine needs --token.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(help="The port; 0 takes a free one.", min=0, max=65535)] = 8765,
    token: Annotated[str | None, typer.Option(help="What a browser has to bring, in the address printed.")] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open a browser.")] = False,
) -> None:
    """Annotate recipes in the browser, by mouse.

    Tags, flows and frames; each click is saved at once. The release folder is only read. Every annotator has a layer
    of their own. Stop with Ctrl-C.

    Example:  vrf annotate kitchen --annotator alice
    """
    from recipeflow.annotate.server import create_app
    from recipeflow.annotate.store import Store
    from recipeflow.annotate.workspace import Workspace
    from recipeflow.web.security import check_exposure
    from recipeflow.web.serving import serve

    check_exposure(host, token)
    _check_place(db, release)
    with Store(db) as store:
        workspace = Workspace(store, release, blank=blank, curating=curate, annotators=annotator or ())
        if release is not None:
            _tell_skipped(workspace.import_folder(release).skipped)
        if not store.recipe_ids():
            raise UsageError(f"expected recipes in {db}, found none; give a release folder: vrf annotate RELEASE")
        for name in annotator or ():
            workspace.add_layer(name)
        for source in suggest or ():
            _tell_skipped(workspace.suggest(source).skipped)
        only = annotator[0] if annotator and len(annotator) == 1 else None
        serve(
            create_app(workspace, only),
            host=host,
            port=port,
            token=token,
            announce=lambda address: _announce(address, db),
            open_browser=not no_browser,
        )


def annotate_import(
    db: DatabaseArgument,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A release, or recipes/<id>/*.txt.")],
    suggest: Annotated[
        bool, typer.Option("--suggest", help="Only as suggestions for recipes that are there.")
    ] = False,
) -> None:
    """Take recipes, or suggestions for them, into a database.

    A folder without annotations.json is taken as plain text: each recipes/<id> with title.txt, ingredients.txt and
    instructions.txt is normalised and cut into words.

    Example:  vrf annotate-import annotations.db kitchen
    """
    from recipeflow.annotate.store import Store
    from recipeflow.annotate.workspace import Workspace

    with Store(db) as store:
        workspace = Workspace(store)
        imported = workspace.suggest(str(folder)) if suggest else workspace.import_folder(folder)
    _tell_skipped(imported.skipped)
    what = "suggestions for" if suggest else "new recipes:"
    output.print(f"{what} {len(imported.added)}{' recipes' if suggest else ''}", markup=False, soft_wrap=True)


def annotate_export(
    db: DatabaseArgument,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The folder to write.", show_default=False)],
    layer: Annotated[str, typer.Option(help="Whose annotation.", show_default=False)],
    form: Annotated[str, typer.Option("--format", help="release, text (the original tool's) or brat.")] = "release",
    release: Annotated[Path | None, typer.Option(help="The release folder that the frames are in.")] = None,
    done: Annotated[bool, typer.Option("--done", help="Only recipes whose three steps are done.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier export.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
) -> None:
    """Write a layer of annotations as a release folder.

    Or, with --format, as the original tool's text files, or for brat. Works while vrf annotate is running.

    Example:  vrf annotate-export annotations.db mine --layer alice \\
                --release kitchen
    """
    from recipeflow.annotate.exporting import FORMATS, export_layer
    from recipeflow.annotate.layers import open_layer

    if form not in FORMATS:
        raise UsageError(f"expected --format {', '.join(FORMATS)}, found {form!r}; choose one")
    with open_layer(db, layer) as (store, found):
        exported = export_layer(store, found, out, form, release=release, done=done, overwrite=overwrite)
    if as_json:
        rows = {"out": str(out), "format": form, "recipes": exported.recipes, "notes": exported.notes}
        typer.echo(json.dumps(rows, ensure_ascii=False, indent=2))
        return
    for note in exported.notes:
        errors.print(note, markup=False, soft_wrap=True)
    output.print(f"wrote {len(exported.recipes)} recipes to {out}", markup=False, soft_wrap=True)


def _check_place(db: Path, release: Path | None) -> None:
    """Keep the database out of the release folder, which is only read."""
    if release is not None and db.resolve().is_relative_to(release.resolve()):
        message = f"expected the database outside of {release}, which is only read, found {db} in it"
        raise UsageError(f"{message}; choose another --db")


def _announce(address: str, db: Path) -> None:
    output.print(f"annotating at {address}", markup=False, soft_wrap=True)
    output.print(f"every click is saved in {db}; stop with Ctrl-C", markup=False, soft_wrap=True)


def _tell_skipped(skipped: Iterable[tuple[str, str]]) -> None:
    for recipe_id, reason in skipped:
        errors.print(f"left out: {recipe_id}: {reason}", markup=False, soft_wrap=True)
