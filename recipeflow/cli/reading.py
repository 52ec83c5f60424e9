"""Commands that analyse annotations: ``program`` and ``agreement``."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from recipeflow.cli.data import ReleaseArgument
from recipeflow.cli.shared import output
from recipeflow.errors import UsageError


def program(
    release: ReleaseArgument,
    recipe_id: Annotated[
        str | None, typer.Argument(metavar="RECIPE_ID", help="One recipe; without it, a survey of all recipes.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON; the survey then includes all programs.")
    ] = False,
) -> None:
    """Print a recipe as a cooking program, or survey a release.

    The program is made from the flow graph: inputs are the foods of the ingredient list, steps are the actions,
    arguments are the flows. Without text, word ids are shown instead. The survey counts the recipes that end in one
    dish, and lists the others.

    Example:  vrf program kitchen kitchen-0-0003
    """
    from recipeflow.graph.program import make_program, survey_programs
    from recipeflow.graph.program_text import format_program, program_to_json
    from recipeflow.release import read_release, scan_release

    if recipe_id is not None:
        made = next((make_program(recipe) for recipe in read_release(release, {recipe_id})), None)
        if made is None:
            known = next(scan_release(release)).id
            raise UsageError(
                f"expected the id of a recipe in {release}, such as {known}, found {recipe_id!r}; check it"
            )
        typer.echo(_dump(program_to_json(made)) if as_json else format_program(made), nl=as_json)
        return
    programs = [make_program(recipe) for recipe in read_release(release)]
    survey = survey_programs(programs)
    if as_json:
        everything = {"release": str(release), **survey.as_dict(), "all": list(map(program_to_json, programs))}
        typer.echo(_dump(everything))
    else:
        output.print(*(table.rich() for table in survey.tables()), sep="\n")


def agreement(
    first: Annotated[str, typer.Argument(metavar="A", help="A release folder or DB:LAYER, used as the truth.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Another annotation of the same words.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print the tables as Markdown.")] = False,
) -> None:
    """Compare two annotations of the same recipes.

    Prints the paper's precision, recall and F-measure: one row each for r-NEs, flows and images, with the agreement
    of the paper's two annotators beside it, and a table for each by tag, label and kind of image. B may be another
    person's annotation or a parser's output. Recipes that only one of the two has are listed. Write a layer of vrf
    annotate as annotations.db:alice.

    Example:  vrf agreement first second --markdown > AGREEMENT.md
    """
    from recipeflow.annotate.layers import annotation_scheme, read_annotation
    from recipeflow.graph.agreement import measure_agreement

    if as_json and as_markdown:
        raise UsageError("expected one of --json and --markdown, found both; choose one")
    schemes = [annotation_scheme(source) for source in (first, second)]
    measured = measure_agreement(read_annotation(first), read_annotation(second), schemes)
    if as_json:
        typer.echo(_dump({"first": first, "second": second, **measured.as_dict()}))
    elif as_markdown:
        typer.echo("\n".join([*(table.markdown() for table in measured.tables()), "\n\n".join(measured.notes())]))
    else:
        output.print(*(table.rich() for table in measured.tables()), sep="\n")
        output.print("\n".join(measured.notes()), markup=False, soft_wrap=True)


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
