"""The paper's experiment: ten-fold cross-validation for every set of inputs, as independent jobs.

A job is one fold of one row of the table. Jobs share only the features, so they run in parallel with one
thread each, which is faster than many threads on such small matrices, and a finished one is never run again.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from modeling_vrf import VRFModel
from recipeflow.dataset.folder import DatasetFolder
from recipeflow.dataset.folds import FOLDS, split_folds
from recipeflow.dataset.opening import check_context, open_dataset
from recipeflow.evaluation.metrics import random_ranks, rank_targets, summarize_ranks
from recipeflow.evaluation.ranking import evaluate, make_evaluation_set
from recipeflow.experiment.answers import collect_answers
from recipeflow.experiment.collecting import collect_results, read_results, results_by_title
from recipeflow.experiment.folder import EXPERIMENT, Job, finished_jobs, read_result, refuse_others, write_result
from recipeflow.experiment.paper import PAPER_ROWS, ROWS, parse_rows
from recipeflow.experiment.plots import draw_plots
from recipeflow.experiment.report.page import write_report
from recipeflow.experiment.results import RESULTS, results_page
from recipeflow.experiment.workers import run_in_workers, share_machine
from recipeflow.features.compute import FeatureTable, compute_features, weights_origin
from recipeflow.files import cache_folder, write_aside, write_json
from recipeflow.machines.processes import refuse_launch
from recipeflow.machines.ray_cluster import RayCluster
from recipeflow.pairs.loading import Pairs
from recipeflow.pairs.mapped import open_pairs
from recipeflow.progress import progress_bar
from recipeflow.training.output_folder import ClaimedFolder
from recipeflow.training.runs import Run, prepare_run, tune_run
from recipeflow.training.settings import TrainingConfig, refuse_tuned_inner
from recipeflow.training.trainer import VRFTrainer
from recipeflow.training.tuning import apply_tuning

NOT_RECORDED = ("inputs", "checkpoint_minutes")
"""Training settings that an experiment does not record: each row has its own inputs, and jobs write no checkpoints."""


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

    def __post_init__(self) -> None:
        refuse_tuned_inner(self.config.tune, self.inner)

    def features(self, cluster: RayCluster | None = None) -> FeatureTable:
        """The features of the dataset's images, from the cache where possible."""
        return compute_features(
            self.dataset,
            backbone=self.backbone,
            weights=self.weights,
            cache=self.cache,
            precision=self.config.feature_precision,
            views=self.config.views,
            image_features=self.config.image_features,
            cluster=cluster,
        )

    def on_nodes(self, cluster: RayCluster) -> Experiment:
        """The same with paths that hold on every node of a cluster.

        Raises:
            ClusterError: If a node lacks the dataset or weights, or does not share the feature cache.
        """
        dataset, cache = (Path(path).absolute() for path in (self.dataset, self.cache or cache_folder("features")))
        cluster.require_same(dataset)
        cluster.require_shared(cache)
        weights = Path(self.weights)
        if weights.is_file():
            cluster.require_same(weights)
        return replace(
            self,
            dataset=str(dataset),
            cache=str(cache),
            weights=str(weights.absolute()) if weights.is_file() else self.weights,
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
            "training": {key: value for key, value in asdict(self.config).items() if key not in NOT_RECORDED},
            "inner": self.inner,
        }


def run_experiment(
    experiment: Experiment,
    out: str | Path,
    rows: Sequence[str] = PAPER_ROWS,
    folds: Sequence[int] = range(FOLDS),
    workers: int | None = None,
    cluster: RayCluster | None = None,
) -> dict[str, Any]:
    """Run every job without a result and write ``results.json``, with all jobs in the folder.

    Args:
        experiment: What to run.
        out: The experiment's folder; run the same again to resume after an interruption, or add other rows and folds
            with the same settings.
        rows: Names of rows.
        folds: Which folds.
        workers: Processes; one per core, or per GPU, by default.
        cluster: Run jobs on this cluster instead, one per core or GPU, and compute missing features there.

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
        return _run_claimed(experiment, out, jobs, workers, cluster)
    finally:
        claim.release()


def _run_claimed(
    experiment: Experiment, out: Path, jobs: Sequence[Job], workers: int | None, cluster: RayCluster | None
) -> dict[str, Any]:
    refuse_others(out, experiment.choices())
    name, folder = experiment.dataset, open_dataset(experiment.dataset)
    check_context(folder, experiment.config.context)
    experiment = replace(experiment, dataset=str(folder))  # so that workers do not look it up again
    if cluster is not None:
        experiment = experiment.on_nodes(cluster)
    pairs = open_pairs(folder, experiment.features(cluster), experiment.cache)
    settings = experiment.settings(pairs)
    refuse_others(out, settings)
    waiting = [job for job in jobs if read_result(out, job, settings) is None]
    started = time.perf_counter()
    with closing(_run_all(experiment, waiting, workers, cluster)) as finished:
        for job, result in progress_bar(finished, len(waiting), "training models"):
            write_result(out, job, settings, result)
    jobs = finished_jobs(out, settings, list(ROWS))
    done = read_results(out, jobs, settings)
    results = collect_results(done, settings, pairs, DatasetFolder(folder).source)
    results["seconds"] = time.perf_counter() - started if len(waiting) == len(jobs) else None
    results["dataset"] = name
    write_json(out / RESULTS, results)
    write_aside(out / "results.md", results_page(results))
    draw_plots(results_by_title(done), out / "plots")
    write_report(out, folder)
    return results


# Jobs.

_runner: JobRunner | None = None
"""Of a worker process, which loads the data once for all its jobs."""


def run_job(experiment: Experiment, job: Job) -> dict[str, Any]:
    """Run a job in a worker process, on one thread."""
    global _runner
    if _runner is None or _runner.experiment != experiment:
        torch.set_num_threads(1)
        _runner = JobRunner.load(experiment)
    return _runner.run(job)


def _run_all(
    experiment: Experiment, jobs: Sequence[Job], workers: int | None, cluster: RayCluster | None
) -> Generator[tuple[Job, dict[str, Any]]]:
    """The jobs and their results as they finish, the longest-running rows first."""
    ordered = sorted(jobs, key=lambda job: -len(ROWS[job.row].inputs))
    if cluster is not None:
        yield from cluster.run(partial(run_job, experiment), ordered)
        return
    workers, gpus = share_machine(len(jobs), workers)
    if workers > 1:
        yield from run_in_workers(partial(run_job, experiment), ordered, workers, gpus)
        return
    runner = JobRunner.load(experiment)
    yield from ((job, runner.run(job)) for job in ordered)


@dataclass(frozen=True)
class JobRunner:
    """Runs jobs of an experiment on its data."""

    experiment: Experiment
    pairs: Pairs

    @classmethod
    def load(cls, experiment: Experiment) -> JobRunner:
        """Read the data of an experiment, with the features of its images."""
        return cls(experiment, open_pairs(experiment.dataset, experiment.features(), experiment.cache))

    def run(self, job: Job) -> dict[str, Any]:
        """Train and test one fold of one row."""
        started = time.perf_counter()
        experiment, row = self.experiment, ROWS[job.row]
        config = replace(experiment.config, seed=experiment.config.seed + job.fold)
        if not row.inputs:
            return self._random_result(job, config)
        config = config.with_inputs(row.inputs)
        source = experiment.backbone, experiment.weights
        tuning = tune_run(self.pairs, config, job.fold, *source)
        config = apply_tuning(config, tuning)
        run = prepare_run(self.pairs, config, job.fold, *source, experiment.inner)
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
            "tuning": tuning,
            "ranks": ranks.tolist(),
            "rows": data.rows.tolist(),
            "history": trainer.state.history,
            "seconds": time.perf_counter() - started,
            "answers": collect_answers(embedded, data, self.pairs, fold, model.config.embedding_dim).to_bytes(),
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
        return evaluate(model, asked).as_dict()

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
