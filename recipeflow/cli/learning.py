"""Commands that learn from data: ``features``, ``train``, ``evaluate``, ``experiment``, ``compare`` and ``report``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from recipeflow.cli.shared import (
    OFFLINE_BACKBONE,
    OFFLINE_WEIGHTS,
    BackboneOption,
    CacheOption,
    DatasetArgument,
    DeviceOption,
    MeanViewsOption,
    RayOption,
    WeightsOption,
    WorkersOption,
    announce,
    errors,
    joined,
    output,
    quiet_in_pipes,
    resumable,
)
from recipeflow.training.saved_model import DEFAULT_MODEL

if TYPE_CHECKING:
    from configuration_vrf import VRFConfig

PresetOption = Annotated[str, typer.Option(help="Training settings: paper, fast or best.")]
ContextOption = Annotated[
    str | None,
    typer.Option(help="What preset best reads from the flow graph: none, modifiers or history.", show_default=False),
]

PrecisionOption = Annotated[Literal["fp32", "bf16"], typer.Option(help="Precision of the cached features.")]
ViewsOption = Annotated[int, typer.Option(help="Views per image: 1, 2 (adds a mirrored one) or 4 (adds two crops).")]
TuneOption = Annotated[
    bool,
    typer.Option(
        "--tune",
        help="First choose for this dataset, on folds that are not tested, the feature dropout of preset best, "
        "and whether the model uses pre-action images at all.",
    ),
]


def features(
    dataset: DatasetArgument,
    backbone: BackboneOption = OFFLINE_BACKBONE,
    weights: WeightsOption = OFFLINE_WEIGHTS,
    cache: CacheOption = None,
    batch_size: Annotated[int | None, typer.Option(help="Images per batch; 4 on a CPU, else 64.", min=1)] = None,
    precision: Annotated[
        str, typer.Option(help="fp32, bf16, or auto, which depends on the machine; each has a separate cache.")
    ] = "fp32",
    compile: Annotated[
        bool, typer.Option("--compile", help="Use torch.compile; pays off above 10,000 images.")
    ] = False,
    views: ViewsOption = 1,
    preset: Annotated[
        str, typer.Option(help="Whose features: best also reads the backbone's earlier stages, paper and fast do not.")
    ] = "fast",
    ray: RayOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
) -> None:
    """Compute the features of all images once.

    Training, experiments and search then read them. Each distinct image is computed once, however many rows show it.
    Features are cached by image content, backbone, weights, transform, kind and precision, so that a new recipe costs
    only its own images, and an interrupted run resumes where it stopped. The cache is in ~/.cache/recipeflow/features,
    or below $RECIPEFLOW_CACHE or $XDG_CACHE_HOME; you can delete its folders at any time.

    The default backbone needs no network. The paper's comes from the Hub:

        vrf features vrf --backbone resnet152.tv_in1k --weights timm

    Several processes or machines can share the work and the folder:

        accelerate launch -m recipeflow.cli features vrf --cache /shared

    So can a Ray cluster whose nodes all have the dataset (docs/scale.md):

        vrf features vrf --ray auto

    Example:  vrf features vrf
    """
    from recipeflow.dataset.folder import check_dataset
    from recipeflow.machines.processes import do_in_all, refuse_launch, reporting_lost_processes
    from recipeflow.training.settings import check_views, get_preset

    check_views(views)
    image_features = get_preset(preset).image_features
    if ray is not None:
        refuse_launch("vrf features --ray")
    do_in_all(lambda: check_dataset(dataset))
    from accelerate import PartialState

    from recipeflow.features.compute import compute_features

    kept = resumable("what is computed is kept: run the same command again to resume")
    with kept, reporting_lost_processes(), joined(ray) as cluster:
        table = compute_features(
            dataset,
            backbone=backbone,
            weights=weights,
            cache=cache,
            batch_size=batch_size,
            precision=precision,
            compile=compile,
            views=views,
            image_features=image_features,
            announce=announce,
            cluster=cluster,
        )
    if not PartialState().is_main_process:
        return
    if as_json:
        typer.echo(json.dumps(table.as_dict(), ensure_ascii=False, indent=2))
    else:
        output.print(table.summary(), markup=False, soft_wrap=True)


def train(
    dataset: DatasetArgument,
    out: Annotated[Path, typer.Option(help="The run's folder: checkpoints, history and the model.")] = Path("run"),
    fold: Annotated[
        int | None, typer.Option(help="Hold out this fold and test on it; by default, train on all.")
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(help="Training settings: paper, fast or best. Default: best; fast with --finetune."),
    ] = None,
    context: ContextOption = None,
    tune: TuneOption = False,
    inputs: Annotated[
        str, typer.Option(help="The parts of a query: action, object and image, joined by +.")
    ] = "action+object+image",
    seed: Annotated[int, typer.Option(help="Seed for initial weights, batches and negatives.")] = 0,
    finetune: Annotated[bool, typer.Option("--finetune", help="Train the backbone too, on augmented pixels.")] = False,
    finetune_stage: Annotated[
        Literal["all", "last"] | None,
        typer.Option(help="Train all stages of the backbone, or only the last one.", show_default=False),
    ] = None,
    precision: PrecisionOption = "fp32",
    views: ViewsOption = 1,
    epochs: Annotated[int | None, typer.Option(help="Epochs; overrides the preset.", min=1)] = None,
    recipes_per_batch: Annotated[
        int | None, typer.Option(help="Recipes per batch, over all processes; overrides the preset.", min=1)
    ] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Learning rate; overrides the preset.")] = None,
    accumulate: Annotated[int | None, typer.Option(help="Batches per update.", min=1)] = None,
    max_grad_norm: Annotated[float | None, typer.Option(help="Clip gradients to this norm.")] = None,
    mixed_precision: Annotated[str | None, typer.Option(help="no, bf16 or fp16.")] = None,
    evaluate_every: Annotated[
        int | None, typer.Option(help="Epochs between tests on the fold; the best model is kept in OUT/best.", min=0)
    ] = None,
    checkpoint_every: Annotated[
        int | None, typer.Option(help="Epochs between checkpoints; overrides the preset.", min=0)
    ] = None,
    checkpoint_minutes: Annotated[
        float | None, typer.Option(help="Minutes between checkpoints, besides those by epochs; 5 by default.", min=0)
    ] = None,
    backbone: BackboneOption = OFFLINE_BACKBONE,
    weights: WeightsOption = OFFLINE_WEIGHTS,
    cache: CacheOption = None,
    tracker: Annotated[list[str] | None, typer.Option(help="Log to this, such as tensorboard.")] = None,
    push_to: Annotated[str | None, typer.Option(help="Push the finished model to OWNER/NAME on the Hub.")] = None,
) -> None:
    """Train one model; run the same command again to resume.

    The backbone is frozen and its features come from the cache, unless you fine-tune it: then frames are decoded,
    augmented and sent through it at every step.

    With several GPUs or machines (docs/training.md lists a config file for each case):

        accelerate launch -m recipeflow.cli train vrf --out run

    Example:  vrf train vrf --fold 0 --out run
    """
    from recipeflow.dataset.folder import check_dataset
    from recipeflow.dataset.folds import split_folds
    from recipeflow.files import check_writable
    from recipeflow.machines.processes import do_in_all, reporting_lost_processes, wait_for_everyone
    from recipeflow.training.settings import get_preset

    trained_stages = "last" if finetune_stage == "last" else finetune or finetune_stage == "all"
    config = get_preset(
        # Fine-tuning keeps a batch's activations, and batches of best have four times as many images.
        preset or ("fast" if trained_stages else "best"),
        seed=seed,
        tune=tune or None,
        finetune=trained_stages,
        feature_precision=precision,
        views=views,
        epochs=epochs,
        recipes_per_batch=recipes_per_batch,
        learning_rate=learning_rate,
        accumulate=accumulate,
        max_grad_norm=max_grad_norm,
        mixed_precision=mixed_precision,
        evaluate_every=evaluate_every,
        checkpoint_every=checkpoint_every,
        checkpoint_minutes=checkpoint_minutes,
    )
    config = config.with_inputs(tuple(inputs.split("+"))).with_context(context)
    if fold is not None:
        split_folds(fold)
    do_in_all(lambda: (check_dataset(dataset), check_writable(out)))
    if push_to:
        from recipeflow.hub import check_push

        do_in_all(lambda: check_push(push_to))
    from recipeflow.training.runs import start_training

    quiet_in_pipes()
    with reporting_lost_processes():
        trainer = start_training(
            dataset,
            out,
            config,
            fold,
            backbone=backbone,
            weights=weights,
            cache=cache,
            trackers=tuple(tracker or ()),
            announce=announce,
            make_card=_make_card,
        )
        trainer.train()
    figures = trainer.last_figures()
    if trainer.accelerator.is_main_process:
        output.print(
            f"wrote {out}/model",
            *(f"{name} {value:.4g}" for name, value in figures.items()),
            markup=False,
            soft_wrap=True,
        )
    wait_for_everyone()
    trainer.accelerator.end_training()
    if push_to and trainer.accelerator.is_main_process:  # after the end: nobody has to wait for an upload
        from recipeflow.hub import push_model

        output.print(push_model(out, push_to).summary(), markup=False, soft_wrap=True)


def _make_card(config: VRFConfig, vocabulary: Mapping[str, int]) -> str:
    """Import what cards need when one is written: 85 MB of each process, and only the main one writes any."""
    from recipeflow.hub.model_card import make_default_card

    return make_default_card(config, vocabulary)


def evaluate(
    dataset: DatasetArgument,
    model: Annotated[str, typer.Option(help="A saved model: its folder or its name on the Hub.")] = DEFAULT_MODEL,
    fold: Annotated[
        int | None,
        typer.Option(
            help="The fold that the model was not trained on; omit it for another dataset.", show_default=False
        ),
    ] = None,
    candidates: Annotated[
        Literal["release", "fold"],
        typer.Option(help="Without --fold: rank all images of the release, or only those of the query's fold."),
    ] = "release",
    weights: WeightsOption = OFFLINE_WEIGHTS,
    cache: CacheOption = None,
    device: DeviceOption = None,
    views: MeanViewsOption = 1,
) -> None:
    """Rank images with a saved model; print metrics as JSON.

    For the dataset that the model was trained on, pass the fold that was held out. A dataset that it has never seen is
    tested as a whole: every row that has the model's inputs is ranked against all images or, with --candidates fold,
    against those of its own fold. The latter is comparable with an experiment, and prints mean and deviation too.

    Example:  vrf evaluate vrf --model run/model --fold 0
    """
    from recipeflow.dataset.folder import check_dataset
    from recipeflow.dataset.folds import FOLDS, split_folds
    from recipeflow.machines.processes import refuse_launch
    from recipeflow.training.saved_model import find_model_folder

    refuse_launch("vrf evaluate")
    folds = range(FOLDS) if fold is None else split_folds(fold)[1]
    check_dataset(dataset)
    find_model_folder(model)
    from recipeflow.dataset.digest import dataset_digest
    from recipeflow.dataset.opening import open_dataset
    from recipeflow.evaluation.held_out import SELECTED, is_selected_on, seen_folds
    from recipeflow.evaluation.ranking import evaluate, evaluate_by_fold, make_evaluation_set
    from recipeflow.machines.devices import choose_device
    from recipeflow.training.runs import open_trained

    where = choose_device(device)
    dataset = open_dataset(dataset)
    quiet_in_pipes()
    network, processor, pairs = open_trained(model, dataset, weights, cache, where, views)
    digest = dataset_digest(dataset)
    if is_selected_on(network.config, digest, folds):
        errors.print(SELECTED.format(fold=network.config.selected_on_fold), markup=False, soft_wrap=True)
    if seen := sorted(seen_folds(network.config, digest) & set(folds)):
        errors.print(
            f"warning: the model was trained on fold {', '.join(map(str, seen))} of this dataset: these figures do "
            "not show how it does on unseen recipes",
            markup=False,
            soft_wrap=True,
        )
    if fold is None and candidates == "fold":
        figures = evaluate_by_fold(network, pairs, processor)
    else:
        data = make_evaluation_set(pairs, network.config.inputs, folds, processor, network.config.context)
        figures = evaluate(network, data).as_dict()
    typer.echo(json.dumps(figures, indent=2))


def experiment(
    dataset: DatasetArgument,
    out: Annotated[Path, typer.Option(help="The experiment's folder.")] = Path("experiment"),
    preset: PresetOption = "fast",
    context: ContextOption = None,
    tune: TuneOption = False,
    precision: PrecisionOption = "fp32",
    views: ViewsOption = 1,
    rows: Annotated[str, typer.Option(help="Rows of the table, joined by commas.")] = "random,text,image,both",
    folds: Annotated[str, typer.Option(help="Which folds, such as 0,1,2; all ten by default.")] = "",
    inner: Annotated[
        bool, typer.Option("--inner", help="Leave each fold out and test on the next one, to choose settings.")
    ] = False,
    workers: WorkersOption = None,
    ray: RayOption = None,
    backbone: BackboneOption = OFFLINE_BACKBONE,
    weights: WeightsOption = OFFLINE_WEIGHTS,
    cache: CacheOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Run the paper's experiment, and compare with the paper.

    A cross-validation for every set of inputs. Rows: random, text, image, both (the paper's), verb, object,
    verb-image. Finished folds are not run again.

    On a Ray cluster whose nodes share dataset and cache (docs/scale.md):

        vrf experiment vrf --cache /shared/cache --ray auto

    Example:  vrf experiment vrf --folds 0,1,2 --out experiment
    """
    from recipeflow.dataset.folder import check_dataset
    from recipeflow.experiment.paper import parse_folds, parse_rows
    from recipeflow.files import check_writable
    from recipeflow.training.settings import get_preset, refuse_tuned_inner

    refuse_tuned_inner(tune, inner)
    config = get_preset(preset, feature_precision=precision, views=views, tune=tune or None).with_context(context)
    names, numbers = [row.name for row in parse_rows(rows.split(","))], parse_folds(folds)
    check_dataset(dataset)
    check_writable(out)
    from recipeflow.experiment.jobs import Experiment, run_experiment
    from recipeflow.experiment.results import results_notes, short_table

    plan = Experiment(str(dataset), backbone, weights, str(cache) if cache else None, preset, config, inner)
    hint = f"finished jobs are kept in {out}: run the same command again to resume"
    with resumable(hint), joined(ray, workers) as cluster:
        results = run_experiment(plan, out, names, numbers, workers, cluster)
    if as_json:
        typer.echo(json.dumps(results, ensure_ascii=False, indent=2))
    else:
        output.print(short_table(results).rich(), results_notes(results), sep="\n")
        output.print(
            f"all figures and plots: {out}/results.md; with pictures: {out}/report.html", markup=False, soft_wrap=True
        )


def report(
    folder: Annotated[Path, typer.Argument(metavar="EXPERIMENT", help="A folder written by vrf experiment.")],
    dataset: Annotated[
        Path | None,
        typer.Option(help="The dataset it was run on, for words and pictures; default: see results.json."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The page to write; report.html in the folder by default.", show_default=False)
    ] = None,
) -> None:
    """Write an experiment's report page again.

    It shows tables, curves, queries with pictures, accuracy by word and a map, in one file that needs no network and
    runs no script. `vrf experiment` writes it too.

    Example:  vrf report experiment --dataset vrf
    """
    from recipeflow.dataset.folder import check_dataset
    from recipeflow.experiment.results import find_results
    from recipeflow.files import check_writable

    find_results(folder)
    if dataset is not None:
        check_dataset(dataset)
    check_writable(folder if out is None else out.parent)
    from recipeflow.experiment.report.page import write_report

    output.print(f"wrote {write_report(folder, dataset, out)}", markup=False, soft_wrap=True)


def compare(
    first: Annotated[Path, typer.Argument(metavar="FIRST", help="The folder of an experiment.", show_default=False)],
    second: Annotated[
        Path, typer.Argument(metavar="SECOND", help="Another one, on the same images.", show_default=False)
    ],
    row: Annotated[str, typer.Option(help="The row of the table to compare.")] = "both",
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the comparison as JSON.")] = False,
) -> None:
    """Compare two experiments fold by fold, with a paired test.

    The test takes folds as independent, but they share most of their training data: its p-values are optimistic.

    Example:  vrf compare experiment-paper experiment-best
    """
    from recipeflow.experiment.compare import PAPER_METRICS, compare_experiments, comparison_notes, comparison_table

    comparisons = compare_experiments(first, second, row)
    names = first.name, second.name
    if as_json:
        typer.echo(json.dumps([comparison.as_dict() for comparison in comparisons], indent=2))
    elif markdown:
        typer.echo(f"{comparison_table(comparisons, names).markdown()}\n{comparison_notes(comparisons)}")
    else:
        shown = [comparison for comparison in comparisons if comparison.metric in PAPER_METRICS]
        output.print(comparison_table(shown, names).rich(), comparison_notes(comparisons), sep="\n")
