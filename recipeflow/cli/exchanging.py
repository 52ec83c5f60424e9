"""Commands between a release folder and other formats: ``import`` and ``export``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from recipeflow.cli.shared import errors, output
from recipeflow.errors import InvalidReleaseError, ReleaseProblem

FormatArgument = Annotated[
    str, typer.Argument(metavar="FORMAT", help="conllu, brat, tool or jsonl.", show_default=False)
]
SkipBadOption = Annotated[bool, typer.Option("--skip-bad", help="Leave out recipes with problems and list them.")]
OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace an earlier output.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")]


def import_(
    form: FormatArgument,
    source: Annotated[Path, typer.Argument(metavar="IN", help="The file or folder to read.", show_default=False)],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The release folder to write.", show_default=False)],
    language: Annotated[
        str | None, typer.Option(help="The language's code, such as en.", show_default="the format's")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="A further tag that it has, as NAME=MEANING; can be repeated.")
    ] = None,
    label: Annotated[
        list[str] | None, typer.Option(help="A further label that it has, as NAME=MEANING; can be repeated.")
    ] = None,
    origin: Annotated[str | None, typer.Option("--source", help="What to record as its source.")] = None,
    licence: Annotated[str | None, typer.Option(help="What to record as its licence.")] = None,
    skip_bad: SkipBadOption = False,
    drop_flows: Annotated[
        bool,
        typer.Option("--drop-flows", help="Leave out only flows with an unknown label or in a cycle, and list them."),
    ] = False,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
) -> None:
    """Import another corpus as a release folder.

    conllu is the English recipe flow graph corpus (a file, or a folder of *.conllu), brat a folder of stand-off
    files, tool the folder of the authors' annotation tool, jsonl one recipe per line. The result is an ordinary
    release: check, stats, build and explore read it.

    Every problem is listed with file and line. A corpus with problems is refused, unless --skip-bad leaves those
    recipes out. --drop-flows keeps a recipe of which only single flows are wrong; of a cycle, the last flow goes.

    Example:  vrf import conllu train.conllu english --drop-flows --skip-bad
    """
    from recipeflow.corpora.importing import About, import_corpus

    about = About(language, _named(tag), _named(label), origin, licence)
    try:
        options = {"skip_bad": skip_bad, "drop_flows": drop_flows, "overwrite": overwrite}
        imported = import_corpus(form, source, out, about, **options)
    except InvalidReleaseError as error:
        raise _refused(error) from None
    rows = {"out": str(out), "recipes": imported.recipes, "left_out": imported.left_out}
    _report({**rows, "notes": +imported.notes}, [*imported.problems, *imported.dropped], as_json)


def export(
    form: FormatArgument,
    release: Annotated[Path, typer.Argument(metavar="IN", help="The release folder.", show_default=False)],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The file or folder to write.", show_default=False)],
    skip_bad: SkipBadOption = False,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
) -> None:
    """Export a release folder to another format.

    conllu and jsonl are one file, brat and tool a folder. Importing it again gives the same recipes; pictures are
    not part of any of these formats, only the frame numbers are.

    Example:  vrf export jsonl kitchen kitchen.jsonl
    """
    from recipeflow.corpora.exporting import export_release

    try:
        exported = export_release(form, release, out, skip_bad=skip_bad, overwrite=overwrite)
    except InvalidReleaseError as error:
        raise _refused(error) from None
    notes = {"frames that stay in the release": exported.frames} if exported.frames else {}
    rows = {"out": str(out), "recipes": exported.recipes, "left_out": exported.left_out, "notes": notes}
    _report(rows, exported.problems, as_json)


def _named(options: Sequence[str] | None) -> dict[str, str]:
    """``NAME=MEANING`` as a dictionary; a name alone is its own meaning."""
    pairs = (option.partition("=") for option in options or ())
    return {name: meaning or name for name, _, meaning in pairs}


def _refused(error: InvalidReleaseError) -> typer.Exit:
    from recipeflow.release.checking import print_problems

    print_problems(error.problems, errors)
    errors.print(f"[bold red]error:[/] nothing was written. {error.advice}", soft_wrap=True)
    return typer.Exit(1)


def _report(rows: dict[str, Any], problems: Sequence[ReleaseProblem], as_json: bool) -> None:
    from recipeflow.release.checking import print_problems

    if as_json:
        rows = {**rows, "problems": [problem.as_dict() for problem in problems]}
        typer.echo(json.dumps(rows, ensure_ascii=False, indent=2))
        return
    print_problems(problems, errors)
    if rows["left_out"]:
        errors.print(f"left out: {', '.join(rows['left_out'])}", soft_wrap=True, markup=False)
    for what, count in rows["notes"].items():
        errors.print(f"note: {what}: {count:,}", soft_wrap=True, markup=False)
    output.print(f"wrote {rows['recipes']:,} recipes to {rows['out']}", soft_wrap=True, markup=False)
