"""Commands that imagine whole recipes: ``storyboard`` and ``storyboard-eval``."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recipeflow.cli.shared import (
    OFFLINE_WEIGHTS,
    CacheOption,
    DatasetArgument,
    DeviceOption,
    WeightsOption,
    errors,
    output,
    quiet_in_pipes,
)
from recipeflow.errors import UsageError
from recipeflow.training.saved_model import DEFAULT_MODEL

if TYPE_CHECKING:
    from modeling_vrf import VRFModel
    from processing_vrf import VRFProcessor
    from recipeflow.pairs.loading import Pairs
    from recipeflow.storyboard.reliability import Reliability

BeamOption = Annotated[
    int, typer.Option(help="How many pictures of a state are carried along to the next one.", min=1)
]


def storyboard(
    recipe: Annotated[
        str,
        typer.Argument(
            metavar="RECIPE", help="A text file, the URL of a page, or a release folder.", show_default=False
        ),
    ],
    recipe_id: Annotated[
        str | None, typer.Argument(metavar="RECIPE_ID", help="The recipe of that release.", show_default=False)
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder to write: index.html, strip.png and storyboard.json.")] = Path(
        "board"
    ),
    model: Annotated[
        str, typer.Option(help="A retrieval model with an index: its folder or its name on the Hub.")
    ] = DEFAULT_MODEL,
    parser: Annotated[
        str | None,
        typer.Option(
            help="A parser: its folder or its name on the Hub. Text and pages need one; of a release it reads only "
            "the words.",
            show_default=False,
        ),
    ] = None,
    picture: Annotated[
        list[str] | None,
        typer.Option(
            help="STATE=FILE, your own picture: of a raw food (cabbage=cabbage.jpg), or of the result of a panel "
            "(3=bowl.jpg); can be repeated.",
        ),
    ] = None,
    kitchen: Annotated[
        bool, typer.Option("--kitchen", help="Draw what really happens, too; for recipes of `vrf kitchen`.")
    ] = False,
    beam: BeamOption = 5,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier storyboard.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the panels as JSON.")] = False,
    device: DeviceOption = None,
) -> None:
    """Imagine a recipe: a picture of what every action does.

    The parser reads tags and flows, tracing finds the objects of each action, and the model finds a picture for each
    result. That picture is what the model sees before the next action, so that state is carried along the flow graph.
    Each panel says where its picture comes from, how sure the model is, and when it is not sure.

    Example:  vrf storyboard salad.txt --parser parser/model --out board
    """
    from recipeflow.files import check_writable
    from recipeflow.training.saved_model import check_index, find_model_folder

    pictures = _parse_pictures(picture)
    if (folder := find_model_folder(model)) is not None:
        check_index(folder)
    if parser is not None:
        find_model_folder(parser)
    check_writable(out)
    from recipeflow.machines.devices import choose_device
    from recipeflow.search.retriever import Retriever
    from recipeflow.storyboard import imagine
    from recipeflow.storyboard.sources import open_parser, read_source
    from recipeflow.storyboard.truth import cook_states

    quiet_in_pipes()
    read = read_source(recipe, recipe_id, open_parser(parser))
    retriever = Retriever.from_pretrained(model, choose_device(device))
    board = imagine(read, retriever, pictures=pictures, beam=beam)
    if kitchen:
        board = replace(board, truth=cook_states(board.recipe, board.script))
    board.save(out, overwrite)
    if as_json:
        typer.echo(json.dumps(board.as_dict(), ensure_ascii=False, indent=2))
    else:
        output.print(board.table().rich())
        for note in board.notes:
            errors.print(f"note: {note}", markup=False, soft_wrap=True)
        count = f"{len(board.panels)} panel{'' if len(board.panels) == 1 else 's'}"
        output.print(f"wrote {out}: {count}; open {out}/index.html", markup=False, soft_wrap=True)


def _parse_pictures(options: list[str] | None) -> dict[str, Path]:
    """Parse ``STATE=FILE`` options, and refuse what is not a picture."""
    from recipeflow.images import check_picture

    pictures: dict[str, Path] = {}
    for option in options or ():
        name, sign, path = option.partition("=")
        if not (name.strip() and sign and path.strip()):
            raise UsageError(
                f"expected --picture as a food or the number of a panel, and a file, such as キャベツ=cabbage.jpg, "
                f"found {option!r}"
            )
        check_picture(Path(path.strip()))
        pictures[name.strip()] = Path(path.strip())
    return pictures


def storyboard_eval(
    dataset: DatasetArgument,
    model: Annotated[
        list[str],
        typer.Option(help="A model that was trained without one fold; can be repeated, for several folds."),
    ] = [DEFAULT_MODEL],  # noqa: B006 - typer needs a list, and copies it
    beam: BeamOption = 5,
    plot: Annotated[Path | None, typer.Option(help="Draw R@5 by depth into this PNG file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")] = False,
    weights: WeightsOption = OFFLINE_WEIGHTS,
    cache: CacheOption = None,
    device: DeviceOption = None,
) -> None:
    """Measure how well whole recipes are imagined, by depth.

    All states of the recipes that a model was not trained on are imagined in five ways: with words and context alone;
    carrying only the best picture along; carrying several, from no picture at all and from pictures of raw food; and
    with the annotated picture at every step. Several models are measured together, each on its own fold. If they are
    calibrated, a second table says how often panels are right, by their confidence.

    Example:  vrf storyboard-eval vrf --model run/model --plot depth.png
    """
    from recipeflow.dataset.folder import check_dataset
    from recipeflow.files import check_writable
    from recipeflow.training.saved_model import find_model_folder

    check_dataset(dataset)
    for name in model:
        find_model_folder(name)
    if plot is not None:
        check_writable(plot.parent)
    from recipeflow.dataset.digest import dataset_digest
    from recipeflow.dataset.opening import open_dataset
    from recipeflow.machines.devices import choose_device
    from recipeflow.storyboard.evaluation import held_out_fold, measure_fold, merge
    from recipeflow.storyboard.plot import draw_depths
    from recipeflow.storyboard.reliability import merge_reliability
    from recipeflow.training.runs import open_trained

    quiet_in_pipes()
    folder = open_dataset(dataset)
    digest, parts, panels = dataset_digest(folder), [], []
    for name in model:
        network, processor, pairs = open_trained(name, folder, weights, cache, choose_device(device))
        fold = held_out_fold(network.config, digest, name)
        errors.print(f"{name}: fold {fold}", markup=False, soft_wrap=True)
        parts.append(measure_fold(network, processor, pairs, folder, fold, beam))
        panels += _measure_panels(name, network, processor, pairs, folder, fold)
    measured = merge(parts)
    reliability = merge_reliability(panels) if len(panels) == len(model) else None
    if plot is not None:
        draw_depths(measured, plot)
    if as_json:
        found = measured.as_dict() | {"panels": reliability and reliability.as_dict()}
        typer.echo(json.dumps(found, ensure_ascii=False, indent=2))
        return
    for table in (measured.table(), *([] if reliability is None else [reliability.table()])):
        if markdown:
            typer.echo(table.markdown())
        else:
            output.print(table.rich())


def _measure_panels(
    name: str, network: VRFModel, processor: VRFProcessor, pairs: Pairs, dataset: Path, fold: int
) -> list[Reliability]:
    """How often panels are right by their confidence; nothing for a model without a calibration."""
    from recipeflow.storyboard.reliability import measure_panels, show_panels
    from recipeflow.training.saved_model import find_model_folder
    from retrieval_vrf import VRFCalibration

    model_folder = find_model_folder(name)
    calibration = None if model_folder is None else VRFCalibration.load(model_folder)
    if calibration is None:
        errors.print(
            f"no calibration in {name}: the confidence of panels is not measured; run `vrf calibrate` first",
            markup=False,
            soft_wrap=True,
        )
        return []
    return [measure_panels(show_panels(network, processor, pairs, dataset, [fold], calibration.scales))]
