"""Commands on a database of annotations: ``annotate-import``, ``annotate-export`` and ``annotate-times``."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from recipeflow.cli.shared import errors, output
from recipeflow.errors import UsageError

DatabaseArgument = Annotated[
    Path,
    typer.Argument(metavar="DB", help="A database of annotations, as written by vrf annotate.", show_default=False),
]


def annotate_import(
    db: DatabaseArgument,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A release, or recipes/<id>/*.txt.")],
    suggest: Annotated[
        bool, typer.Option("--suggest", help="Add only suggestions, for recipes already there.")
    ] = False,
) -> None:
    """Import recipes, or suggestions for them, into a database.

    A folder without annotations.json is read as plain text: each recipes/<id> with title.txt, ingredients.txt and
    instructions.txt is normalised and split into words.

    Example:  vrf annotate-import annotations.db kitchen
    """
    from recipeflow.annotate.store import Store
    from recipeflow.annotate.workspace import Workspace

    with Store(db) as store:
        workspace = Workspace(store)
        imported = workspace.suggest(str(folder)) if suggest else workspace.import_folder(folder)
    print_skipped(imported.skipped)
    what = "suggestions for" if suggest else "new recipes:"
    output.print(f"{what} {len(imported.added)}{' recipes' if suggest else ''}", markup=False, soft_wrap=True)


def annotate_export(
    db: DatabaseArgument,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The folder to write.", show_default=False)],
    layer: Annotated[str, typer.Option(help="The annotator whose layer to export.", show_default=False)],
    form: Annotated[str, typer.Option("--format", help="release, text (the original tool's) or brat.")] = "release",
    release: Annotated[Path | None, typer.Option(help="The release folder with the frames.")] = None,
    done: Annotated[bool, typer.Option("--done", help="Only recipes whose three steps are done.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier export.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
) -> None:
    """Export a layer of annotations as a release folder.

    --format exports the original tool's text files, or files for brat, instead. Works while vrf annotate is running.

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


def annotate_times(
    db: DatabaseArgument,
    layer: Annotated[str, typer.Option(help="The annotator.", show_default=False)],
    pause: Annotated[
        float, typer.Option(help="A longer time between two clicks is a break, in seconds.", min=0)
    ] = 120,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print seconds and operations as JSON.")] = False,
) -> None:
    """Print how long each step of each recipe took an annotator.

    Read off the log: the time between two operations belongs to the later one. Works while vrf annotate is running.

    Example:  vrf annotate-times annotations.db --layer alice
    """
    from recipeflow.annotate.layers import open_layer
    from recipeflow.annotate.times import measure_times, times_table

    if as_json and as_markdown:
        raise UsageError("expected --json or --markdown, found both; choose one")
    with open_layer(db, layer) as (store, found):
        works = measure_times(store.timeline(found), pause)
    if as_json:
        rows = {recipe: work.as_dict() for recipe, work in works.items()}
        typer.echo(json.dumps(rows, ensure_ascii=False, indent=2))
        return
    table = times_table(layer, works)
    if as_markdown:
        typer.echo(table.markdown())
    else:
        output.print(table.rich())


def print_skipped(skipped: Iterable[tuple[str, str]]) -> None:
    """Say which recipes were left out, and why."""
    for recipe_id, reason in skipped:
        errors.print(f"left out: {recipe_id}: {reason}", markup=False, soft_wrap=True)
