"""Commands that query a trained model: ``index``, ``calibrate`` and ``search``."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recipeflow.cli.shared import (
    OFFLINE_WEIGHTS,
    CacheOption,
    DatasetArgument,
    DeviceOption,
    MeanViewsOption,
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
    from recipeflow.search.calibrating import CalibratedModel

DEFAULT_PARSER = "parser/model"
"""Where `vrf parser train --out parser` leaves one."""

LIKELY_ABSENT = 0.5
"""From this probability on, a search says that perhaps nothing here is right."""

WeightsFileOption = Annotated[
    str | None,
    typer.Option("--weights", help="The backbone's initial weights, if they came from a file.", show_default=False),
]


def index(
    dataset: DatasetArgument,
    model: Annotated[Path, typer.Option(help="The folder of a saved model; the index is saved in it.")] = Path(
        DEFAULT_MODEL
    ),
    weights: WeightsFileOption = None,
    cache: CacheOption = None,
    device: DeviceOption = None,
    views: MeanViewsOption = 1,
) -> None:
    """Embed the images of a dataset, for search.

    `vrf search` and the model's pipeline find their answers among its post-action images. The index is a folder next
    to the model's weights, and is pushed and pulled with them. It contains the images.

    With --views, each picture is read several times, mirrored and closer, and a search takes as many times longer to
    read the picture of its query. Whether that helps, `vrf evaluate --views` shows. Calibrate with the same number.

    Example:  vrf index vrf --model run/model
    """
    from recipeflow.dataset.folder import check_dataset
    from recipeflow.machines.processes import refuse_launch

    refuse_launch("vrf index")
    check_dataset(dataset)
    _check_own_model(model)
    from recipeflow.machines.devices import choose_device
    from recipeflow.search import Retriever
    from recipeflow.training.runs import load_trained

    where = choose_device(device)
    quiet_in_pipes()
    options: dict[str, Any] = {"weights": weights, "cache": cache, "device": where, "views": views}
    options["announce"] = _announce
    retriever = Retriever.build(*load_trained(str(model), where), dataset, **options)
    folder = retriever.save(model)
    output.print(f"wrote {folder}: {len(retriever.index)} candidates", markup=False, soft_wrap=True)


def calibrate(
    dataset: DatasetArgument,
    model: Annotated[Path, typer.Option(help="The folder of a saved model; calibration.json is saved in it.")] = Path(
        DEFAULT_MODEL
    ),
    fold: Annotated[
        int | None, typer.Option(help="The fold to use; by default the one held out in training.", show_default=False)
    ] = None,
    unseen: Annotated[
        bool, typer.Option("--unseen", help="The dataset is another release; the model has seen none of it.")
    ] = False,
    right: Annotated[
        float, typer.Option(help="Target accuracy among the answers above the confidence threshold.")
    ] = 0.5,
    plot: Annotated[
        Path | None,
        typer.Option(help="The plot to write; calibration.png next to the model by default.", show_default=False),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")] = False,
    weights: WeightsOption = OFFLINE_WEIGHTS,
    cache: CacheOption = None,
    device: DeviceOption = None,
    views: MeanViewsOption = 1,
) -> None:
    """Calibrate the confidence of a model's answers.

    Uses recipes that the model was not trained on, among all images of the dataset, as `vrf index` has them. A
    temperature turns similarities into probabilities; below a confidence threshold a search answers "not sure".
    Both are fitted for each kind of query that the model can take, with or without a picture and a context, and
    measured on recipes that they were not fitted on. So is how to recognise that nothing here is right, and how
    often the panels of storyboards are right. `vrf search` then shows a confidence with each answer.

    Example:  vrf calibrate vrf --model run/model
    """
    from recipeflow.dataset.folder import check_dataset
    from recipeflow.dataset.folds import split_folds
    from recipeflow.files import check_writable
    from recipeflow.machines.processes import refuse_launch

    refuse_launch("vrf calibrate")
    if not 0 < right <= 1:
        raise UsageError(f"expected --right above 0 and up to 1, an accuracy, found {right}")
    if fold is not None:
        split_folds(fold)
    check_dataset(dataset)
    _check_own_model(model)
    if plot is not None:
        check_writable(plot.parent)
    from recipeflow.dataset.digest import dataset_digest
    from recipeflow.dataset.opening import open_dataset
    from recipeflow.evaluation.held_out import SELECTED, choose_folds, is_selected_on
    from recipeflow.machines.devices import choose_device
    from recipeflow.search.calibrating import FEW, PLOT, calibrate_kinds, save_calibration
    from recipeflow.search.calibration_plot import save_plot
    from recipeflow.search.query_kinds import ask_by_kind
    from recipeflow.training.runs import open_trained

    where = choose_device(device)
    quiet_in_pipes()
    folder = open_dataset(dataset)
    network, processor, pairs = open_trained(str(model), folder, weights, cache, where, views)
    digest = dataset_digest(folder)
    folds = choose_folds(network.config, digest, fold, unseen)
    if is_selected_on(network.config, digest, folds):
        _announce(SELECTED.format(fold=network.config.selected_on_fold))
    asked = ask_by_kind(network, processor, pairs, folds)
    calibrated = calibrate_kinds(asked, network.config.expected_temperature, right)
    panels = _calibrate_panels(network, processor, pairs, folder, folds, calibrated)
    about = {"dataset": Path(dataset).resolve().name, "folds": folds, "views": views, **panels}
    _compare_index(model, len(asked[()].data.candidates))
    path = save_calibration(calibrated, network, model, about)
    save_plot(calibrated, plot or model / PLOT)
    if as_json:
        typer.echo(json.dumps(about | calibrated.as_dict(), ensure_ascii=False, indent=2))
    elif markdown:
        typer.echo(calibrated.table().markdown())
    else:
        output.print(calibrated.table().rich())
        for found in panels.values():
            output.print(_describe_panels(found["measured"]), markup=False, soft_wrap=True)
        output.print(f"wrote {path} and {plot or model / PLOT}", markup=False, soft_wrap=True)
    if few := calibrated.uncertain:
        found = ", ".join(f"{len(kind.data)} ({kind.name})" for kind in few)
        _announce(
            f"warning: expected at least {FEW} queries to fit on, found {found}; such temperatures are uncertain: "
            "use a larger dataset, or a fold with more recipes"
        )
    for kind in calibrated.never_sure:
        _announce(
            f"no confidence threshold reaches an accuracy of {right:.0%} ({kind.name}): a search will never be sure"
        )


def _calibrate_panels(
    network: VRFModel,
    processor: VRFProcessor,
    pairs: Pairs,
    dataset: Path,
    folds: Sequence[int],
    calibrated: CalibratedModel,
) -> dict[str, Any]:
    """The scale of the panels of storyboards; nothing where a model cannot make any, or rows have no names."""
    from recipeflow.storyboard.reliability import fit_scale, measure_panels, show_panels
    from storyboard_vrf import PANELS

    scales = calibrated.scales
    if not {"action", "object"} <= set(network.config.query_parts) or scales[()].absence is None:
        return {}
    shown = show_panels(network, processor, pairs, dataset, folds, scales)
    return {PANELS: {"weights": asdict(fit_scale(shown)), "measured": measure_panels(shown).as_dict()}}


def _describe_panels(measured: Mapping[str, Any]) -> str:
    return (
        f"panels of storyboards: {measured['panels']}, right {measured['all']['right']:.1%}, mean confidence "
        f"{measured['all']['confidence']:.1%}, calibration error {measured['expected_calibration_error']:.1%}"
    )


def search(
    sentence: Annotated[
        str | None,
        typer.Argument(metavar="[SENTENCE]", help="What is done to what, in plain words.", show_default=False),
    ] = None,
    parser: Annotated[
        str, typer.Option(help="The parser that reads the sentence: its folder or its name on the Hub.")
    ] = DEFAULT_PARSER,
    action: Annotated[str | None, typer.Option(help="The verb; words separated by spaces.")] = None,
    object: Annotated[str | None, typer.Option(help="The object; words separated by spaces.")] = None,
    image: Annotated[Path | None, typer.Option(help="A picture of the object before the action.")] = None,
    context: Annotated[
        list[str] | None,
        typer.Option(help="More about the action, for models of preset best: modifier=薄く; can be repeated."),
    ] = None,
    model: Annotated[str, typer.Option(help="A saved model: its folder or its name on the Hub.")] = DEFAULT_MODEL,
    dataset: Annotated[
        Path | None,
        typer.Option(help="Search this dataset folder instead of the model's own index.", show_default=False),
    ] = None,
    k: Annotated[int, typer.Option("-k", help="Number of answers.", min=1)] = 5,
    min_confidence: Annotated[
        float | None,
        typer.Option(
            help="Say 'not sure' below this; default: the threshold found by vrf calibrate.", show_default=False
        ),
    ] = None,
    picture: Annotated[Path | None, typer.Option(help="Draw the query and its answers into this PNG file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answers as JSON.")] = False,
    weights: WeightsFileOption = None,
    cache: CacheOption = None,
    device: DeviceOption = None,
) -> None:
    """Ask what an object will look like after an action.

    Ask with words, a picture or both, as the model was trained. A sentence is read by a parser, which finds the verb,
    the object and the modifiers; English ones are translated by the glossary of the model's pictures. After `vrf
    calibrate`, each answer comes with the probability that it is right, and the model says when it is not sure.

    Example:  vrf search キャベツを千切りにする --parser parser/model

    Example:  vrf search --action 千切り --object キャベツ --image cabbage.jpg \\
                --picture found.png
    """
    query: dict[str, Any] = {"action": action, "object": object, "image": image, "context": _parse_context(context)}
    _check_search(query, model, dataset, picture, sentence)
    if sentence is not None:
        _check_parser(parser)
    from recipeflow.machines.devices import choose_device
    from recipeflow.search.retriever import Retriever, find_model, load_calibration
    from recipeflow.training.runs import load_trained
    from retrieval_vrf import missed_words

    where = choose_device(device)
    quiet_in_pipes()
    if dataset is None:
        retriever = Retriever.from_pretrained(model, where)
    else:
        folder = find_model(model)
        options: dict[str, Any] = {"weights": weights, "cache": cache, "device": where, "announce": _announce}
        calibration = load_calibration(folder)
        views = calibration.about.get("views", 1) if calibration is not None else 1
        options |= {"calibration": calibration, "views": views}
        retriever = Retriever.build(*load_trained(str(folder), where), dataset, **options)
    if sentence is not None:
        query |= _understand(sentence, parser, retriever)
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        rows = retriever.search(**query, k=k, min_confidence=min_confidence)
    missed = missed_words([query], retriever.processor)
    if as_json:
        answers = [{name: value for name, value in row.items() if name != "image"} for row in rows]
        about = {"query": query, "unknown_words": list(missed), "candidates": len(retriever.index), "answers": answers}
        if "sure" in rows[0]:
            about |= {name: rows[0][name] for name in ("sure", "confidence", "absent") if name in rows[0]}
        typer.echo(json.dumps(about, ensure_ascii=False, indent=2, default=str))
    else:
        _print_answers(rows, len(retriever.index))
    if image is not None and retriever.model.config.ignores_image:
        _announce("note: this model ignores the picture, because it was trained on words alone")
    if missed:
        named = [f"{word} ({' or '.join(found)}?)" if found else word for word, found in missed.items()]
        errors.print(f"not in the model's vocabulary: {', '.join(named)}", markup=False, soft_wrap=True)
    if picture is not None:
        _draw(query, rows, retriever.glossary, picture)


def _understand(sentence: str, parser: str, retriever: Any) -> dict[str, Any]:
    """The parts of a query that a sentence has."""
    from recipeflow.parser.runs import open_pipeline

    request = retriever.read_request(sentence, open_pipeline(parser))
    words = {"action": " ".join(request.action), "object": " ".join(request.object)}
    context = {role: " ".join(found) for role, found in request.context.items()}
    said = [f"{name} {value}" for name, value in (words | context).items()]
    _announce(f"understood: {', '.join(said)}")
    for note in request.notes:
        _announce(f"note: {note}")
    return words | ({"context": context} if context else {})


def _check_parser(parser: str) -> None:
    """Refuse a sentence without a parser."""
    from recipeflow.training.saved_model import find_model_folder

    if parser == DEFAULT_PARSER and not Path(parser).exists():
        raise UsageError(
            f"expected a parser to read the sentence, found none in {parser}; train one with `vrf parser train`, pass "
            "its folder or its name on the Hub with --parser, or ask with --action and --object"
        )
    find_model_folder(parser)


def _check_search(
    query: dict[str, Any], model: str, dataset: Path | None, picture: Path | None, sentence: str | None
) -> None:
    """Refuse what cannot work before spending time on loading libraries and the model."""
    from recipeflow.dataset.folder import check_dataset
    from recipeflow.files import check_writable
    from recipeflow.images import check_picture
    from recipeflow.training.saved_model import check_index, find_model_folder

    if sentence is not None and any(query[name] is not None for name in ("action", "object", "context")):
        raise UsageError("expected a sentence or --action, --object and --context, found both; omit one of them")
    if sentence is None and all(value is None for value in query.values()):
        raise UsageError("expected a query, found none; pass a sentence, --action, --object or --image")
    if query["image"] is not None:
        check_picture(query["image"])
    folder = find_model_folder(model)
    if dataset is not None:
        check_dataset(dataset)
    elif folder is not None:
        check_index(folder, ", or pass a dataset with --dataset")
    if picture is not None:
        check_writable(picture.parent)


def _check_own_model(model: Path) -> None:
    """Refuse a model that is not a local, writable folder."""
    from recipeflow.files import check_writable
    from recipeflow.training.saved_model import find_model_folder

    if find_model_folder(model) is None:
        raise UsageError(
            f"expected the folder of a saved model, found none at {model}; for a model on the Hub, pull it first: "
            f"`vrf pull model {model} FOLDER`"
        )
    check_writable(model)


def _compare_index(model: Path, candidates: int) -> None:
    """Say so if the model's index is not the collection that its confidences are fitted for."""
    from recipeflow.training.saved_model import index_size

    size = index_size(model)
    if size is not None and size != candidates:
        _announce(
            f"warning: expected the model's index to have the {candidates:,} images of this dataset, found {size:,}; "
            "confidences are fitted for this dataset: run `vrf index` on it, too"
        )


def _parse_context(options: list[str] | None) -> dict[str, str] | None:
    """Parse ``role=words`` options; words of the same role are joined."""
    parts = [option.partition("=") for option in options or ()]
    if wrong := [role for role, sign, words in parts if not (role.strip() and sign and words.strip())]:
        raise UsageError(f"expected --context as a role and words, such as modifier=薄く, found {wrong[0]!r}")
    joined: dict[str, list[str]] = {}
    for role, _, words in parts:
        joined.setdefault(role.strip(), []).append(words.strip())
    return {role: " ".join(words) for role, words in joined.items()} or None


def _print_answers(rows: list[dict[str, Any]], candidates: int) -> None:
    from recipeflow.tables import Table

    title = f"The best {len(rows)} of {candidates} candidates"
    judged = "sure" in rows[0]
    lines = [
        (
            rank,
            f"{row['score']:.3f}",
            *([f"{row['confidence']:.0%}"] if judged else []),
            row["action"],
            "、".join(row["objects"]),
            row["title"] or row["recipe_id"],
        )
        for rank, row in enumerate(rows, start=1)
    ]
    columns = ("", "score", *(["confidence"] if judged else []), "action", "object", "recipe")
    if judged and not rows[0]["sure"]:
        output.print(f"not sure: the first answer is right with a probability of only {rows[0]['confidence']:.0%}")
    if rows[0].get("absent", 0) >= LIKELY_ABSENT:
        output.print(
            f"perhaps nothing here is right: no candidate may show this (probability {rows[0]['absent']:.0%})"
        )
    output.print(Table(title, columns, lines).rich())


def _draw(query: dict[str, Any], rows: list[dict[str, Any]], glossary: Mapping[str, str], path: Path) -> None:
    from PIL import Image

    from recipeflow.images import save_picture
    from recipeflow.search.picture import search_picture

    image = query["image"] and Image.open(query["image"])
    save_picture(search_picture(query | {"image": image}, rows, glossary), path)
    errors.print(f"wrote {path}", markup=False, soft_wrap=True)


def _announce(line: str) -> None:
    errors.print(line, markup=False, soft_wrap=True)
