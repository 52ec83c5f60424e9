"""Commands that ask a trained model: ``index`` and ``search``."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from recipeflow.cli.shared import CacheOption, DatasetArgument, app, errors, output

WeightsFileOption = Annotated[
    str | None,
    typer.Option("--weights", help="Weights that the backbone was begun with, if from a file.", show_default=False),
]


@app.command()
def index(
    dataset: DatasetArgument,
    model: Annotated[Path, typer.Option(help="The folder of a saved model; the index goes into it.")] = Path(
        "run/model"
    ),
    weights: WeightsFileOption = None,
    cache: CacheOption = None,
) -> None:
    """Embed all post-action images of a dataset with a model, for `vrf search` and the model's pipeline.

    The index is a folder beside the model's weights and is pushed and pulled with them. It holds the images.

    Example:  vrf index vrf --model run/model
    """
    from recipeflow.runs import load_trained
    from recipeflow.search import Retriever

    _quiet_in_pipes()
    retriever = Retriever.build(*load_trained(str(model)), dataset, weights=weights, cache=cache, announce=_announce)
    folder = retriever.save(model)
    output.print(f"wrote {folder}: {len(retriever.index)} candidates", markup=False, soft_wrap=True)


@app.command()
def search(
    action: Annotated[str | None, typer.Option(help="The verb; words with spaces between them.")] = None,
    object: Annotated[str | None, typer.Option(help="What it is done to, likewise.")] = None,
    image: Annotated[Path | None, typer.Option(help="A picture of that before the action.")] = None,
    model: Annotated[str, typer.Option(help="A saved model: its folder or its name on the Hub.")] = "run/model",
    dataset: Annotated[
        Path | None,
        typer.Option(help="Search this dataset folder instead of the model's own index.", show_default=False),
    ] = None,
    k: Annotated[int, typer.Option("-k", help="How many answers.", min=1)] = 5,
    picture: Annotated[Path | None, typer.Option(help="Draw query and answers into this PNG file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answers as JSON.")] = False,
    weights: WeightsFileOption = None,
    cache: CacheOption = None,
) -> None:
    """Ask what an object will look like after an action: words, a picture or both, as the model was trained.

    Example:  vrf search --action 千切り --object キャベツ --image cabbage.jpg --picture found.png
    """
    from index_vrf import unknown_words
    from recipeflow.runs import load_trained
    from recipeflow.search import Retriever, find_model

    _quiet_in_pipes()
    if dataset is None:
        retriever = Retriever.from_pretrained(model)
    else:
        parts = load_trained(str(find_model(model)))
        retriever = Retriever.build(*parts, dataset, weights=weights, cache=cache, announce=_announce)
    query = {"action": action, "object": object, "image": image}
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        rows = retriever.search(**query, k=k)
    unknown = unknown_words([query], retriever.processor)
    if as_json:
        answers = [{name: value for name, value in row.items() if name != "image"} for row in rows]
        about = {"query": query, "unknown_words": unknown, "candidates": len(retriever.index), "answers": answers}
        typer.echo(json.dumps(about, ensure_ascii=False, indent=2, default=str))
    else:
        _print_answers(rows, len(retriever.index))
    if unknown:
        errors.print(f"not in the model's vocabulary: {', '.join(unknown)}", markup=False)
    if picture is not None:
        _draw(query, rows, picture)


def _print_answers(rows: list[dict[str, Any]], candidates: int) -> None:
    from recipeflow.tables import Table

    title = f"The best {len(rows)} of {candidates} candidates"
    lines = [
        (rank, f"{row['score']:.3f}", row["action"], "、".join(row["objects"]), row["title"] or row["recipe_id"])
        for rank, row in enumerate(rows, start=1)
    ]
    output.print(Table(title, ("", "score", "action", "object", "recipe"), lines).rich())


def _draw(query: dict[str, Any], rows: list[dict[str, Any]], path: Path) -> None:
    from PIL import Image

    from recipeflow.report import save_picture
    from recipeflow.search_picture import search_picture

    image = query["image"] and Image.open(query["image"])
    save_picture(search_picture(query | {"image": image}, rows), path)
    errors.print(f"wrote {path}", markup=False, soft_wrap=True)


def _announce(line: str) -> None:
    errors.print(line, markup=False, soft_wrap=True)


def _quiet_in_pipes() -> None:
    """Let libraries show their bars to people only."""
    import datasets
    from transformers.utils import logging

    if not errors.is_terminal:
        datasets.disable_progress_bars()
        logging.disable_progress_bar()
