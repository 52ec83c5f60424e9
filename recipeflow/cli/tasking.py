"""Commands about task sets: ``tasks``, ``score`` and ``baselines``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from recipeflow.cli.shared import (
    OFFLINE_BACKBONE,
    OFFLINE_WEIGHTS,
    BackboneOption,
    WeightsOption,
    errors,
    output,
)

TasksArgument = Annotated[
    Path, typer.Argument(metavar="TASKS", help="A folder written by vrf tasks.", show_default=False)
]
SplitOption = Annotated[str, typer.Option(help="train, validation or test.")]


def tasks(
    dataset: Annotated[
        Path, typer.Argument(metavar="VRF", help="A dataset, as written by vrf build.", show_default=False)
    ],
    out: Annotated[Path, typer.Option(help="The folder to write, for load_dataset.")] = Path("vrf-tasks"),
    seed: Annotated[int, typer.Option(help="The same seed gives the same questions.")] = 0,
    fold: Annotated[int, typer.Option(help="The fold that becomes test; the next one is validation.")] = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace earlier task sets.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was made as JSON.")] = False,
) -> None:
    """Turn a dataset into questions for any model.

    Eight tasks, one config each: choose the picture after an action, the action between two pictures, the order of
    pictures, one change in three ways, which step needs which, what is in a mixture, a missing instruction, and
    writing the instructions. Candidates are alike on purpose, and none gives itself away. What cannot be made of this
    dataset is named with the reason.

    Example:  vrf tasks vrf --out vrf-tasks
    """
    from recipeflow.dataset.opening import open_dataset
    from recipeflow.tasks.making import make_tasks

    made = make_tasks(open_dataset(dataset), out, seed=seed, test_fold=fold, overwrite=overwrite)
    if as_json:
        typer.echo(json.dumps(made.manifest, ensure_ascii=False, indent=2))
        return
    output.print(made.table().rich())
    for line in made.left_out():
        errors.print(f"not made: {line}", markup=False, soft_wrap=True)


def score(
    folder: TasksArgument,
    predictions: Annotated[
        list[Path],
        typer.Argument(metavar="PREDICTIONS", help="JSON lines, a file per model: id and answer.", show_default=False),
    ],
    split: SplitOption = "test",
    html: Annotated[Path | None, typer.Option(help="Also write a page of questions and answers.")] = None,
    questions: Annotated[int, typer.Option(help="Questions per task on the page.", min=1)] = 40,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Score the answers of models, with intervals by recipe.

    Also by the kind of the wrong candidate and by depth. For written instructions: chrF, BLEU, the verbs and
    ingredients that are right, and orders that break the flow graph. A missing or malformed answer counts as wrong and
    is named.

    An answer is a letter (choices), all letters (orders), {"answer": "yes", "path": [1, 4]}, a list of ingredients,
    or a text, as the question says.

    Example:  vrf score vrf-tasks predictions.jsonl --html score.html
    """
    from recipeflow.tasks.folder import TasksFolder
    from recipeflow.tasks.scoring.page import write_page
    from recipeflow.tasks.scoring.predictions import read_predictions
    from recipeflow.tasks.scoring.results import score as score_model

    tasks_folder = TasksFolder(folder)
    models = [read_predictions(path) for path in predictions]
    results = [score_model(tasks_folder, model, split) for model in models]
    if html is not None:
        write_page(html, tasks_folder, models, results, questions)
    if as_json:
        typer.echo(json.dumps([each.as_dict() for each in results], ensure_ascii=False, indent=2))
        return
    for each in results:
        output.print(*(table.rich() for table in each.tables()), sep="\n")
        for problem in each.problems:
            errors.print(f"{each.model}: {problem}", markup=False, soft_wrap=True)
        if each.not_answered:
            errors.print(f"{each.model}: not answered: {', '.join(each.not_answered)}", markup=False, soft_wrap=True)


def baselines(
    folder: TasksArgument,
    out: Annotated[Path, typer.Option(help="The folder to write, a file of predictions per baseline.")] = Path(
        "baselines"
    ),
    split: SplitOption = "test",
    dataset: Annotated[
        Path | None, typer.Option(help="The dataset of the tasks, to trace its flows: the ceiling of graph tasks.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="A model of vrf train, for the choices about pictures.")] = None,
    generator: Annotated[
        bool, typer.Option("--generator", help="Also train a small writer of instructions, in minutes.")
    ] = False,
    backbone: BackboneOption = OFFLINE_BACKBONE,
    weights: WeightsOption = OFFLINE_WEIGHTS,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Measure shortcuts: what parts of a question give away.

    Random and most frequent answers; the candidates without the question; the question without candidates; only
    text; only pictures. All are fitted on train, and on one half of its questions for the other with --split train.
    A task of 1,000 questions whose candidates alone give more than 3 points over chance is named, with exit code 1.

    Beside them: the flows themselves (--dataset), the retrieval model (--model), and for writing the nearest training
    instructions, the graph in words, and a decoder over frozen picture features (--generator). Its training resumes
    after Ctrl-C, and is not repeated: OUT/generator.pt has what it learned.

    Example:  vrf baselines vrf-tasks --dataset vrf --model run/model --generator
    """
    from recipeflow.tasks.baselines.running import run_baselines
    from recipeflow.tasks.folder import TasksFolder

    models: dict[str, Any] = {}
    if model is not None:
        from recipeflow.tasks.baselines.retrieval import retrieval_answers

        models["retrieval_model"] = retrieval_answers(TasksFolder(folder), split, model)
    if generator:
        from recipeflow.tasks.baselines.generator import CHECKPOINT, generator_answers
        from recipeflow.tasks.baselines.picture_features import PictureFeatures

        features = PictureFeatures(backbone, weights)
        models["generator"] = generator_answers(TasksFolder(folder), split, features, out / CHECKPOINT)
    found = run_baselines(folder, out, split=split, dataset=dataset, models=models)
    if as_json:
        typer.echo(json.dumps([each.as_dict() for each in found.results], ensure_ascii=False, indent=2))
    else:
        output.print(found.table().rich())
    for line in found.shortcuts():
        errors.print(f"a shortcut: {line}", markup=False, soft_wrap=True)
    raise typer.Exit(1 if found.shortcuts() else 0)
