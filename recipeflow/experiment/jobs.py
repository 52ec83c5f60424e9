"""The paper's experiment: ten-fold cross-validation for every set of inputs, as independent jobs.

A job is one fold of one row of the table. Jobs share only the features, so they run in parallel with one
thread each, which is faster than many threads on such small matrices, and a finished one is never run again.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Generator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

import recipeflow
from modeling_vrf import VRFModel
from recipeflow.dataset.folder import DatasetFolder
from recipeflow.dataset.folds import FOLDS, split_folds
from recipeflow.dataset.opening import check_context, open_dataset
from recipeflow.errors import ReportError, WorkerDiedError
from recipeflow.evaluation.metrics import RetrievalMetrics, random_ranks, rank_targets, summarize_ranks
from recipeflow.evaluation.ranking import evaluate, make_evaluation_set
from recipeflow.experiment.answers import collect_answers
from recipeflow.experiment.folder import EXPERIMENT, Job, finished_jobs, read_result, refuse_others, write_result
from recipeflow.experiment.paper import PAPER_ROWS, ROWS, parse_rows
from recipeflow.experiment.plots import draw_plots
from recipeflow.experiment.report.page import write_report
from recipeflow.experiment.results import RESULTS, results_page
from recipeflow.features.compute import FeatureTable, compute_features, weights_origin
from recipeflow.files import write_aside, write_json
from recipeflow.pairs.loading import Pairs, load_pairs
from recipeflow.processes import available_cores, dropping_work, follow_parent, no_interrupts, refuse_launch
from recipeflow.progress import progress_bar
from recipeflow.training.output_folder import ClaimedFolder
from recipeflow.training.runs import Run, prepare_run
from recipeflow.training.settings import TrainingConfig
from recipeflow.training.trainer import VRFTrainer


@dataclass(frozen=True)
class Experiment:
    """The settings of an experiment; equal settings give equal results.

    Args:
        dataset: The dataset: a folder, or ``OWNER/NAME`` on the Hub.
        backbone: The timm name of the backbone.
        weights: Where its weights come from.
        cache: The folder of the feature cache; ``None`` for the default one.
        preset: The name of the training settings.
        config: The training settings themselves.
        inner: Leave each held-out fold out and test on the next one, to choose settings.
    """

    dataset: str
    backbone: str
    weights: str
    cache: str | None
    preset: str
    config: TrainingConfig
    inner: bool = False

    def features(self) -> FeatureTable:
        """The features of the dataset's images, from the cache where possible."""
        return compute_features(
            self.dataset,
            backbone=self.backbone,
            weights=self.weights,
            cache=self.cache,
            precision=self.config.feature_precision,
            views=self.config.views,
        )

    def settings(self, pairs: Pairs) -> dict[str, Any]:
        """What a result depends on."""
        context = None if self.config.context == "none" else pairs.context_digest()
        return self.choices() | {"data": pairs.digest(), "context": context}

    def choices(self) -> dict[str, Any]:
        """The settings that are known before any image is read."""
        return {
            "preset": self.preset,
            "backbone": self.backbone,
            "weights": weights_origin(self.backbone, self.weights),
            "training": {key: value for key, value in asdict(self.config).items() if key != "inputs"},
            "inner": self.inner,
        }


def run_experiment(
    experiment: Experiment,
    out: str | Path,
    rows: Sequence[str] = PAPER_ROWS,
    folds: Sequence[int] = range(FOLDS),
    workers: int | None = None,
) -> dict[str, Any]:
    """Run every job without a result and write ``results.json``, with all jobs in the folder.

    Args:
        experiment: What to run.
        out: The experiment's folder; run the same again to resume after an interruption, or add other rows and folds
            with the same settings.
        rows: Names of rows.
        folds: Which folds.
        workers: Processes; one per core, or per GPU, by default.

    Raises:
        OutputExistsError: If the folder has results of other settings; none of them is changed.
        FolderInUseError: If another experiment is writing there.
    """
    refuse_launch("vrf experiment")
    out = Path(out)
    jobs = [Job(row.name, fold) for row in parse_rows(rows) for fold in folds]
    for fold in folds:
        split_folds(fold)
    claim = ClaimedFolder(out, EXPERIMENT)
    claim.take()
    try:
        return _run_claimed(experiment, out, jobs, workers)
    finally:
        claim.release()


def _run_claimed(experiment: Experiment, out: Path, jobs: Sequence[Job], workers: int | None) -> dict[str, Any]:
    refuse_others(out, experiment.choices())
    name, folder = experiment.dataset, open_dataset(experiment.dataset)
    check_context(folder, experiment.config.context)
    experiment = replace(experiment, dataset=str(folder))  # so that workers do not look it up again
    pairs = load_pairs(folder, experiment.features())
    settings = experiment.settings(pairs)
    refuse_others(out, settings)
    waiting = [job for job in jobs if read_result(out, job, settings) is None]
    started = time.perf_counter()
    with closing(_run_all(experiment, waiting, workers)) as finished:
        for job, result in progress_bar(finished, len(waiting), "training models"):
            write_result(out, job, settings, result)
    jobs = finished_jobs(out, settings, list(ROWS))
    results = collect_results(out, jobs, settings, pairs, DatasetFolder(folder).source)
    results["seconds"] = time.perf_counter() - started if len(waiting) == len(jobs) else None
    results["dataset"] = name
    write_json(out / RESULTS, results)
    write_aside(out / "results.md", results_page(results))
    draw_plots(_results_by_title(out, jobs, settings), out / "plots")
    write_report(out, folder)
    return results


# Jobs.

KEEP_MEMORY = ":".join(
    f"glibc.malloc.{name}"
    for name in ("hugetlb=1", "mmap_threshold=1000000000", "trim_threshold=10000000000", "top_pad=100000000")
)
"""For workers: keep freed memory, in large pages. Each step allocates all gradients again, and clearing thousands of
small pages for them took the kernel a sixth of the step. C libraries other than GNU's ignore it."""

_runner: JobRunner | None = None
"""Of a worker process, which loads the data once for all its jobs."""


def _run_all(
    experiment: Experiment, jobs: Sequence[Job], workers: int | None
) -> Generator[tuple[Job, dict[str, Any]]]:
    """The jobs and their results as they finish, the longest-running rows first."""
    gpus = torch.cuda.device_count()
    workers = min(len(jobs), workers or gpus or available_cores())
    ordered = sorted(jobs, key=lambda job: -len(ROWS[job.row].inputs))
    if workers <= 1:
        runner = JobRunner.load(experiment)
        yield from ((job, runner.run(job)) for job in ordered)
        return
    context = get_context("spawn")
    os.environ.setdefault("GLIBC_TUNABLES", KEEP_MEMORY)  # read once, when a process starts
    numbers = context.Queue()
    for number in range(workers):
        numbers.put(number)
    with ProcessPoolExecutor(workers, context, _start_worker, (experiment, numbers)) as pool, dropping_work():
        with no_interrupts():
            futures = {pool.submit(_run_job, job): job for job in ordered}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BrokenProcessPool as error:
            raise WorkerDiedError(
                "expected every worker to finish, found one that died (out of memory?); finished jobs are kept: run "
                "the same command again, with fewer --workers if memory was short"
            ) from error
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _start_worker(experiment: Experiment, numbers: Any) -> None:
    """Load the data once per process, and give each one thread or one GPU."""
    global _runner
    follow_parent()
    number = numbers.get()
    torch.set_num_threads(1)
    if torch.cuda.is_available():
        os.environ["CUDA_VISIBLE_DEVICES"] = str(number % torch.cuda.device_count())
    _runner = JobRunner.load(experiment)


def _run_job(job: Job) -> dict[str, Any]:
    assert _runner is not None  # every worker begins with _start_worker
    return _runner.run(job)


@dataclass(frozen=True)
class JobRunner:
    """Runs jobs of an experiment on its data."""

    experiment: Experiment
    pairs: Pairs

    @classmethod
    def load(cls, experiment: Experiment) -> JobRunner:
        """Read the data of an experiment, with the features of its images."""
        return cls(experiment, load_pairs(experiment.dataset, experiment.features()))

    def run(self, job: Job) -> dict[str, Any]:
        """Train and test one fold of one row."""
        started = time.perf_counter()
        experiment, row = self.experiment, ROWS[job.row]
        config = replace(experiment.config, seed=experiment.config.seed + job.fold)
        if not row.inputs:
            return self._random_result(job, config)
        config = config.with_inputs(row.inputs)
        run = prepare_run(self.pairs, config, job.fold, experiment.backbone, experiment.weights, experiment.inner)
        trainer = VRFTrainer(
            run.model, run.processor, config, run.train_data, eval_data=run.eval_data, show_progress=False
        )
        model = trainer.train()
        data, fold, embedded = trainer.eval_data, run.test_fold, trainer.embedded
        # Every job holds out a fold, and embeds it after its last epoch.
        assert data is not None and fold is not None and embedded is not None
        ranks = rank_targets(*embedded, data.targets)
        return {
            "metrics": summarize_ranks(ranks, len(data.candidates)).as_dict(),
            "unseen": self._rank_unseen(model, run, config),
            "train_rows": len(run.train_data),
            "ranks": ranks.tolist(),
            "rows": data.rows.tolist(),
            "history": trainer.state.history,
            "seconds": time.perf_counter() - started,
            "answers": collect_answers(embedded, data, self.pairs, fold).to_bytes(),
        }

    def _rank_unseen(self, model: VRFModel, run: Run, config: TrainingConfig) -> dict[str, float] | None:
        """The metrics of the queries without a pre-action image, for a model that can do without."""
        if "image" not in config.inputs or config.inputs == ("image",) or config.architecture == "paper":
            return None
        if run.eval_data is None or run.test_fold is None:
            return None
        rows = self.pairs.rows(config.inputs, [run.test_fold], incomplete=True)
        rows = rows[~torch.isin(rows, run.eval_data.rows)]
        if not len(rows):
            return None
        asked = make_evaluation_set(self.pairs, config.inputs, [run.test_fold], run.processor, config.context, rows)
        return evaluate(model, asked.to(model.device)).as_dict()

    def _random_result(self, job: Job, config: TrainingConfig) -> dict[str, Any]:
        """Random guessing over the same candidates, for every row with a post-action image."""
        rows = self.pairs.rows((), split_folds(job.fold, self.experiment.inner)[1])
        candidates = len(self.pairs.images.post[rows].unique())
        ranks = random_ranks(len(rows), candidates, config.seed)
        return {
            "metrics": summarize_ranks(ranks, candidates).as_dict(),
            "unseen": None,
            "train_rows": 0,
            "ranks": ranks.tolist(),
            "rows": rows.tolist(),
            "history": [],
            "seconds": 0.0,
        }


# Results.


def collect_results(
    out: Path, jobs: Sequence[Job], settings: dict[str, Any], pairs: Pairs, source: str | None
) -> dict[str, Any]:
    """Mean and standard deviation over folds for every row, with what is needed to interpret them."""
    rows = []
    for name in dict.fromkeys(job.row for job in jobs):
        done = {job.fold: _require_result(out, job, settings) for job in jobs if job.row == name}
        metrics = [result["metrics"] for result in done.values()]
        row = ROWS[name]
        rows.append(
            {
                "name": name,
                "title": row.title,
                "inputs": row.inputs,
                "paper": row.paper and {"recall_at_5": row.paper[0], "median_rank": row.paper[1]},
                "usable_rows": int(pairs.usable(row.inputs).sum()),
                "folds": {fold: {**r["metrics"], "train_rows": r["train_rows"]} for fold, r in done.items()},
                "unseen": _mean_metrics([r["unseen"] for r in done.values() if r.get("unseen")]),
                "mean": {key: statistics.fmean(m[key] for m in metrics) for key in metrics[0]},
                "std": {key: _deviation([m[key] for m in metrics]) for key in metrics[0]},
            }
        )
    libraries = ("torch", "transformers", "timm", "accelerate", "datasets")
    return {
        "settings": settings,
        "versions": {"recipeflow": recipeflow.__version__} | {name: version(name) for name in libraries},
        "metrics": list(RetrievalMetrics.__dataclass_fields__),
        "source": source,
        "all_rows": len(pairs.folds),
        "rows": rows,
    }


def _require_result(out: Path, job: Job, settings: dict[str, Any]) -> dict[str, Any]:
    if (result := read_result(out, job, settings)) is None:
        raise ReportError(f"expected the result of a finished job in {out / job.file}, found none; run it again")
    return result


def _mean_metrics(metrics: Sequence[dict[str, float]]) -> dict[str, float] | None:
    return {key: statistics.fmean(m[key] for m in metrics) for key in metrics[0]} if metrics else None


def _results_by_title(out: Path, jobs: Sequence[Job], settings: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    rows: dict[str, list[dict[str, Any]]] = {}
    for job in jobs:
        rows.setdefault(ROWS[job.row].title, []).append(_require_result(out, job, settings))
    return rows


def _deviation(values: Sequence[float]) -> float | None:
    return statistics.stdev(values) if len(values) > 1 else None
