"""How well parsers read: several seeds, on ten folds or on a test release, with all or some of the recipes.

A job trains one parser and tests it; a finished one is never run again.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from transformers.utils import logging

from recipeflow.experiment.answers import JOBS
from recipeflow.experiment.folder import Job, read_result, refuse_others, write_result
from recipeflow.experiment.results import RESULTS
from recipeflow.experiment.workers import run_in_workers, share_machine
from recipeflow.files import write_aside, write_json
from recipeflow.machines.processes import refuse_launch
from recipeflow.parser.evaluation import FIGURES, WHERE
from recipeflow.parser.examples import ExampleSet, read_examples
from recipeflow.parser.runs import prepare_run
from recipeflow.parser.settings import ParserConfig
from recipeflow.parser.training import ParserTrainer
from recipeflow.progress import progress_bar
from recipeflow.tables import Table
from recipeflow.training.output_folder import ClaimedFolder, FolderKind

PARSER_EXPERIMENT = FolderKind("vrf parser experiment", marks=(JOBS, RESULTS))


@dataclass(frozen=True)
class ParserExperiment:
    """What to train and to test on; equal settings give equal results.

    Args:
        release: The recipes to train on.
        config: How; its seed is not used.
        encoder: ``scratch`` or a pre-trained encoder.
        preset: The name of the settings.
        test: A release to test on; without it, each fold is tested by parsers trained on the others.
    """

    release: Path
    config: ParserConfig
    encoder: str
    preset: str
    test: Path | None = None

    def read(self) -> tuple[ExampleSet, ExampleSet | None]:
        """The recipes to train on, and those to test on."""
        return read_examples(self.release), None if self.test is None else read_examples(self.test)

    def settings(self, data: ExampleSet, test: ExampleSet | None) -> dict[str, Any]:
        """What a result depends on."""
        training = {name: value for name, value in asdict(self.config).items() if name != "seed"}
        return {
            "preset": self.preset,
            "encoder": self.encoder,
            "training": training,
            "data": data.digest(),
            "test": None if test is None else test.digest(),
        }


@dataclass(frozen=True)
class ParserJob(Job):
    """One parser: its seed, how many recipes it is trained on (``None``: all), and the fold that it is tested on."""

    seed: int = 0
    recipes: int | None = None

    @classmethod
    def make(cls, seed: int, recipes: int | None, fold: int | None) -> ParserJob:
        """Name the job's row; without a fold, the test release takes the place of fold 0."""
        row = f"seed-{seed}" if recipes is None else f"{recipes}-recipes-seed-{seed}"
        return cls(f"{row}-test" if fold is None else row, fold or 0, seed, recipes)


def run_parser_experiment(
    plan: ParserExperiment,
    out: str | Path,
    *,
    folds: Sequence[int],
    seeds: Sequence[int] = (0,),
    recipes: Sequence[int | None] = (None,),
    workers: int | None = None,
    announce: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Run every job without a result and write ``results.json``, with these jobs.

    Args:
        plan: What to run.
        out: The experiment's folder; run the same again to resume, or add seeds, folds and numbers of recipes.
        folds: Which folds; ignored if the plan has a release to test on.
        seeds: Which seeds.
        recipes: Numbers of recipes to train on; ``None`` is all of them.
        workers: How many parsers are trained at a time, each on one core or GPU; as many as there are, if not given.
        announce: Gets a line on what is going to be trained.

    Raises:
        OutputExistsError: If the folder has results of other settings; none of them is changed.
        FolderInUseError: If another experiment is writing there.
    """
    refuse_launch("vrf parser experiment")
    out = Path(out)
    claim = ClaimedFolder(out, PARSER_EXPERIMENT)
    claim.take()
    try:
        data, test = plan.read()
        settings = plan.settings(data, test)
        refuse_others(out, settings)
        tested = folds if test is None else [None]
        jobs = [ParserJob.make(s, number, fold) for number in recipes for s in seeds for fold in tested]
        waiting = [job for job in jobs if read_result(out, job, settings) is None]
        workers, gpus = share_machine(len(waiting), workers)
        if waiting:
            announce(f"{len(waiting)} of {len(jobs)} parsers to train, {workers} at a time")
        with closing(_run_all(plan, waiting, data, test, workers, gpus)) as finished:
            for job, result in progress_bar(finished, len(waiting), "training parsers"):
                write_result(out, job, settings, result)
        results = collect_results(out, jobs, settings)
        write_json(out / RESULTS, results)
        write_aside(out / "results.md", "\n".join(table.markdown() for table in result_tables(results)))
        return results
    finally:
        claim.release()


def _run_all(
    plan: ParserExperiment,
    jobs: Sequence[ParserJob],
    data: ExampleSet,
    test: ExampleSet | None,
    workers: int,
    gpus: Sequence[str],
) -> Generator[tuple[ParserJob, dict[str, Any]]]:
    """The jobs and their results as they finish, those with most recipes first."""
    ordered = sorted(jobs, key=lambda job: -(job.recipes or math.inf))
    if workers > 1:
        yield from run_in_workers(partial(_run_in_worker, plan), ordered, workers, gpus)
    else:
        yield from ((job, run_job(plan, job, data, test)) for job in ordered)


_read_data: tuple[ExampleSet, ExampleSet | None] | None = None
"""Of a worker process, which reads the recipes once for all its jobs."""


def _run_in_worker(plan: ParserExperiment, job: ParserJob) -> dict[str, Any]:
    """Run a job in a worker process, on one thread."""
    global _read_data
    if _read_data is None:
        torch.set_num_threads(1)
        logging.disable_progress_bar()  # of weights that are loaded, in the midst of the experiment's own
        _read_data = plan.read()
    return run_job(plan, job, *_read_data)


def run_job(plan: ParserExperiment, job: ParserJob, data: ExampleSet, test: ExampleSet | None) -> dict[str, Any]:
    """Train and test one parser."""
    started = time.perf_counter()
    config = replace(plan.config, seed=job.seed)
    fold = None if test is not None else job.fold
    run = prepare_run(data, config, plan.encoder, fold, test=test, recipes=job.recipes)
    trainer = ParserTrainer(
        run.model, run.processor, config, run.train_data, eval_data=run.eval_data, show_progress=False
    )
    trainer.train()
    assert trainer.scores is not None  # of the evaluation after the last epoch
    return {
        "train_recipes": len(run.train_data),
        "history": trainer.state.history,
        "seconds": time.perf_counter() - started,
        **trainer.scores.as_dict(),
    }


def collect_results(out: Path, jobs: Sequence[ParserJob], settings: dict[str, Any]) -> dict[str, Any]:
    """Mean and standard deviation over seeds and folds, by the number of recipes trained on."""
    rows = []
    for number in dict.fromkeys(job.recipes for job in jobs):
        chosen = [job for job in jobs if job.recipes == number]
        done = [result for job in chosen if (result := read_result(out, job, settings)) is not None]
        rows.append(
            {
                "recipes": number,
                "train_recipes": statistics.fmean(result["train_recipes"] for result in done),
                "runs": len(done),
                "seeds": sorted({job.seed for job in chosen}),
                "seconds": statistics.fmean(result["seconds"] for result in done),
                "figures": _summarise([result["figures"] for result in done]),
                "by_tag": _summarise([_f_measures(result["by_tag"]) for result in done]),
                "by_label": {w: _summarise([_f_measures(r["by_label"][w]) for r in done]) for w in WHERE},
                "by_distance": {w: _summarise([_f_measures(r["by_distance"][w]) for r in done]) for w in WHERE},
            }
        )
    return {"settings": settings, "rows": rows}


def _f_measures(scores: Mapping[str, Mapping[str, float | None]]) -> dict[str, float]:
    return {name: score["f_measure"] or 0.0 for name, score in scores.items()}


def _summarise(figures: Sequence[Mapping[str, float]]) -> dict[str, dict[str, float | None]]:
    """Mean and deviation of each figure; one that a run does not have, such as of a rare label, is left out there."""
    names = dict.fromkeys(name for row in figures for name in row)
    summary = {}
    for name in names:
        values = [row[name] for row in figures if name in row]
        deviation = statistics.stdev(values) if len(values) > 1 else None
        summary[name] = {"mean": statistics.fmean(values), "std": deviation}
    return summary


def result_tables(results: Mapping[str, Any]) -> list[Table]:
    """The figures by number of recipes, and those of the largest number by tag, label and distance."""
    rows = [
        (
            f"{row['train_recipes']:.0f}",
            *(_cell(row["figures"][name]) for name in FIGURES),
            row["runs"],
            f"{row['seconds']:.0f}",
        )
        for row in results["rows"]
    ]
    heads = ("recipes trained on", *FIGURES.values(), "runs", "seconds per run")
    tables = [Table(f"F, mean ± standard deviation, encoder {results['settings']['encoder']}", heads, rows)]
    last = max(results["rows"], key=lambda row: row["train_recipes"])
    tables.append(Table("Entities by tag", ("tag", "F"), [(n, _cell(f)) for n, f in last["by_tag"].items()]))
    for kind, title in (("by_label", "label"), ("by_distance", "distance in entities")):
        names = dict.fromkeys(name for where in WHERE for name in last[kind][where])
        cells = [(name, *(_cell(last[kind][where].get(name)) for where in WHERE)) for name in names]
        tables.append(Table(f"Edges by {title}", (title, *WHERE.values()), cells))
    return tables


def _cell(figure: Mapping[str, float | None] | None) -> str | None:
    if figure is None or figure["mean"] is None:
        return None
    return f"{figure['mean']:.1f}" + ("" if figure["std"] is None else f" ± {figure['std']:.1f}")
