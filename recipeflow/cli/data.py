"""Commands that create and inspect data: ``kitchen``, ``check``, ``stats`` and ``build``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from recipeflow.cli.shared import errors, output
from recipeflow.errors import InvalidReleaseError, UsageError

ReleaseArgument = Annotated[
    Path, typer.Argument(metavar="RELEASE", help="A release folder (with annotations.json).", show_default=False)
]


def kitchen(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The release folder to write.", show_default=False)],
    recipes: Annotated[int, typer.Option(help="How many recipes to cook.", min=1)] = 200,
    seed: Annotated[int, typer.Option(help="The same seed gives the same recipes and pictures.")] = 0,
    pantry: Annotated[
        str, typer.Option(help="all ingredients, or the first or second half, which share no words.")
    ] = "all",
    studio: Annotated[
        str,
        typer.Option(
            help="Where pictures are taken: film (one place per recipe), or each in another place: changing, stock, "
            "close, cluttered, handheld, or any of these."
        ),
    ] = "film",
    used_only: Annotated[bool, typer.Option("--used-only", help="Write only the annotated frames.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing release.")] = False,
    workers: Annotated[int | None, typer.Option(help="Number of processes; one per core by default.", min=1)] = None,
) -> None:
    """Cook a simulated release, with no download.

    Every recipe is planned, written in Japanese, annotated and filmed from above. The result is an ordinary release
    folder, marked as simulated, with statistics close to the official release's.

    Kitchens cooked with --pantry first and --pantry second share no food, seasoning or topping: train on one and
    test on the other to see how a model does on unknown ingredients.

    With --studio any, the pictures before and after an action come from different places and cameras, as photographs
    do: a model that only recognizes the table does badly there.

    Example:  vrf kitchen kitchen --recipes 200 --seed 0
    """
    from recipeflow.kitchen import cook_release

    cook_release(out, recipes, seed, used_only, overwrite, workers, pantry, studio)
    output.print(f"cooked {recipes} recipes into {out}", markup=False, soft_wrap=True)


def check(
    release: ReleaseArgument,
    as_json: Annotated[bool, typer.Option("--json", help="Print the problems as JSON.")] = False,
) -> None:
    """Find everything that is wrong with a release.

    Checks annotations, texts, URLs and frames. Problems are listed by kind, each with file, recipe and place. The exit
    code is 1 if there are any, else 0.

    Example:  vrf check kitchen
    """
    from recipeflow.release.checking import check_with_progress

    report = check_with_progress(release)
    if as_json:
        typer.echo(json.dumps(report.as_dict(), ensure_ascii=False, indent=2))
    else:
        report.print(output)
    raise typer.Exit(1 if report.problems else 0)


def stats(
    release: ReleaseArgument,
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON.")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print the tables as Markdown.")] = False,
) -> None:
    """Print the paper's statistics, beside the paper's numbers.

    Three tables (r-NE tags, r-FG labels, image annotation) and the numbers given in its text.
    A dash means that there is no number: unique actions and ingredients need a release with text.

    Example:  vrf stats kitchen --markdown > STATISTICS.md
    """
    from recipeflow.graph.statistics import NOTE, compute_statistics
    from recipeflow.release import read_info, read_release

    if as_json and as_markdown:
        raise UsageError("expected one of --json and --markdown, found both; choose one")
    info = read_info(release)
    source = info.source
    statistics = compute_statistics(read_release(release), info.scheme)
    if as_json:
        rows = {"release": str(release), "source": source, "note": NOTE, **statistics.beside_paper()}
        typer.echo(json.dumps(rows, ensure_ascii=False, indent=2))
    elif as_markdown:
        typer.echo("\n".join([*(table.markdown() for table in statistics.tables()), NOTE]))
    else:
        output.print(*(table.rich() for table in statistics.tables()), NOTE, sep="\n")


def build(
    release: Annotated[
        Path | None,
        typer.Argument(metavar="RELEASE", help="A release folder; without one, the default kitchen is cooked first."),
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder to write, for load_dataset.")] = Path("vrf"),
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave out recipes with problems and list them.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier build.")] = False,
    num_proc: Annotated[int, typer.Option(help="Number of processes.", min=1)] = 1,
    max_shard_size: Annotated[str, typer.Option(help="Split Parquet files at about this size.")] = "500MB",
    as_json: Annotated[bool, typer.Option("--json", help="Print what was built as JSON.")] = False,
) -> None:
    """Write a release as a dataset repository.

    It contains Parquet files with the images inside and a dataset card, and `load_dataset` reads it. A release with
    problems is refused, with the list that `vrf check` prints. The output appears only when it is complete.

    Example:  vrf build kitchen --out vrf
    """
    import datasets

    from recipeflow.dataset.build import build_dataset
    from recipeflow.progress import has_terminal
    from recipeflow.release.checking import print_problems

    if not has_terminal(errors):
        datasets.disable_progress_bars()
    options = {"skip_bad": skip_bad, "overwrite": overwrite, "num_proc": num_proc, "max_shard_size": max_shard_size}
    try:
        built = build_dataset(release, out, **options, announce=lambda step: errors.print(f"[bold]{step}[/]"))
    except InvalidReleaseError as error:
        print_problems(error.problems, errors)
        errors.print(f"[bold red]error:[/] nothing was written. {error.advice}", soft_wrap=True)
        raise typer.Exit(1) from None
    print_problems(built.problems, errors)
    if built.left_out:
        errors.print(f"left out: {', '.join(built.left_out)}", soft_wrap=True, markup=False)
    if as_json:
        typer.echo(json.dumps(built.manifest, ensure_ascii=False, indent=2))
    else:
        output.print(built.table().rich())
