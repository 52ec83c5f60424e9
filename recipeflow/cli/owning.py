"""The command for your own recipes and films: ``new``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recipeflow.cli.shared import errors, output, resumable
from recipeflow.errors import UsageError

if TYPE_CHECKING:
    from recipeflow.own.making import NewRecipe


def new(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The release folder to write.", show_default=False)],
    text: Annotated[
        list[Path],
        typer.Option(help="A recipe's text, plain or Markdown, or a folder of such; can be repeated."),
    ],
    video: Annotated[
        list[Path] | None, typer.Option(help="Its film, an MP4 file, or a folder of such; can be repeated.")
    ] = None,
    language: Annotated[
        str | None, typer.Option(help="The language's code, en or ja.", show_default="found by the text")
    ] = None,
    no_frames: Annotated[
        bool, typer.Option("--no-frames", help="Do not sample the films now: vrf annotate does it beside its pages.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing release.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
) -> None:
    """Make a release of your own recipes and films.

    Title, ingredients and instructions are found in the text: by headings (Ingredients, Directions, also in Japanese),
    by bullets and numbered steps, or by what lines look like. Words are split by the rules of the language. Films are
    copied, and sampled as the paper's release was. With several recipes, a film belongs to the text of the same name,
    or to the one in the same place.

    The result has no annotation yet: go on with vrf annotate OUT.

    Example:  vrf new mine --text recipe.txt --video film.mp4
    """
    from recipeflow.download.frames import FAILED, sample_release
    from recipeflow.language.languages import LANGUAGES
    from recipeflow.own.making import make_release, pair_sources

    if language is not None and language not in LANGUAGES:
        raise UsageError(f"expected --language {' or '.join(LANGUAGES)}, found {language!r}; choose one")
    found, made = make_release(out, pair_sources(text, video or ()), language, overwrite=overwrite)
    outcomes = {}
    if not no_frames and any(each.film for each in made):
        with resumable(f"{out} is written; `vrf annotate {out}` or `vrf frames {out}` samples its films"):
            outcomes = {outcome.recipe: outcome for outcome in sample_release(out).outcomes}
    failed = [outcome for outcome in outcomes.values() if outcome.state == FAILED]
    if as_json:
        rows = [_row(each) | {"frames": _frames(outcomes.get(each.recipe.id))} for each in made]
        typer.echo(json.dumps({"out": str(out), "language": found, "recipes": rows}, ensure_ascii=False, indent=2))
    else:
        for each in made:
            _print_recipe(each, outcomes)
        guessed = "" if language else " (by its text; --language says otherwise)"
        output.print(f"language: {LANGUAGES[found].name}{guessed}", markup=False, soft_wrap=True)
        output.print(f"wrote {len(made)} recipes to {out}; next: vrf annotate {out}", markup=False, soft_wrap=True)
    for outcome in outcomes.values():
        if outcome.reason:
            errors.print(f"{outcome.state}: {outcome.reason}", markup=False, soft_wrap=True)
    raise typer.Exit(1 if failed else 0)


def _frames(outcome: object) -> int:
    return getattr(outcome, "frames", 0)


def _row(made: NewRecipe) -> dict:
    recipe = made.recipe
    return {
        "id": recipe.id,
        "title": recipe.title,
        "ingredients": [line.text for line in recipe.ingredients],
        "instructions": [line.text for line in recipe.instructions],
        "left_out": list(made.left_out),
        "film": made.film and made.film.as_dict(),
    }


def _print_recipe(made: NewRecipe, outcomes: dict) -> None:
    recipe = made.recipe
    counts = f"{len(recipe.ingredients)} ingredients, {len(recipe.instructions)} instructions"
    output.print(f"{recipe.id}: “{recipe.title}”, {counts}", markup=False, soft_wrap=True)
    if not made.has_title:
        errors.print("  note: no title was found, so the file's name is used", markup=False, soft_wrap=True)
    if made.film is not None:
        sampled = f"; {_frames(outcomes[recipe.id]):,} frames sampled" if recipe.id in outcomes else ""
        output.print(f"  film: {made.film}{sampled}", markup=False, soft_wrap=True)
        for note in made.film.notes:
            errors.print(f"  note: {note}", markup=False, soft_wrap=True)
    for line in made.left_out:
        errors.print(f"  left out: {line}", markup=False, soft_wrap=True)
