"""How well a model finds the right image: the queries and candidates of a fold, embedded and ranked."""

from __future__ import annotations

from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Any, NamedTuple

import torch

from modeling_vrf import VRFModel
from processing_vrf import VRFProcessor
from recipeflow.dataset.folds import FOLDS
from recipeflow.evaluation.metrics import RetrievalMetrics, rank_targets, summarize_ranks
from recipeflow.features.compute import FeatureTable
from recipeflow.features.pixels import FramePixels
from recipeflow.features.rows import FeatureRows
from recipeflow.pairs.batches import PairTensors, make_tensors
from recipeflow.pairs.loading import Pairs

CHUNK = 512


@dataclass(frozen=True)
class EvaluationSet:
    """Queries and candidates.

    The candidates are the post-action images of the folds, each distinct image once, whatever the inputs; a query is
    right when it ranks its own image first.

    Args:
        queries: The rows to ask about.
        candidates: For each candidate, the number of its image.
        targets: For each query, the position of its own image among the candidates.
        rows: For each query, its row in ``image_pairs``.
    """

    queries: PairTensors
    candidates: torch.Tensor
    targets: torch.Tensor
    rows: torch.Tensor


def make_evaluation_set(
    pairs: Pairs,
    inputs: Sequence[str],
    folds: Sequence[int],
    processor: VRFProcessor,
    context: str = "none",
    rows: torch.Tensor | None = None,
    among: Sequence[int] | None = None,
) -> EvaluationSet:
    """The queries that these inputs allow, or the given rows, and all candidates of the folds, or of others."""
    rows = pairs.rows(inputs, folds) if rows is None else rows
    queries = make_tensors(pairs, rows, inputs, processor, context)
    candidates = pairs.images.post[pairs.rows((), folds if among is None else among)].unique()
    return EvaluationSet(queries, candidates, torch.searchsorted(candidates, queries.post), rows)


def leave_out(data: EvaluationSet, parts: Collection[str]) -> EvaluationSet:
    """The same queries without a picture or context."""
    queries = data.queries
    if "image" in parts and queries.pres is not None:
        queries = replace(queries, pres=torch.tensor(-1).expand(len(queries.pres)))
    if "context" in parts:
        queries = replace(queries, context=None)
    return replace(data, queries=queries)


def read_features(model: VRFModel, data: EvaluationSet) -> EvaluationSet:
    """The same with features in place of pixels, so that repeated queries read them once."""
    return replace(data, queries=replace(data.queries, images=_features(model, data)))


class Embedded(NamedTuple):
    """The embeddings of all queries and of all candidates of an evaluation set."""

    queries: torch.Tensor
    images: torch.Tensor


@torch.no_grad()
def embed_set(model: VRFModel, data: EvaluationSet) -> Embedded:
    """Embed a set; every module is left in the mode it was in."""
    with evaluating(model):
        features, device = _features(model, data), model.device
        queries = embed_queries(model, data.queries, torch.arange(len(data.queries)), features)
        parts = data.candidates.split(CHUNK)
        images = [model.get_image_embeds(post_features=features.look(part, device)) for part in parts]
    return Embedded(queries, torch.cat(images))


@contextmanager
def evaluating(model: VRFModel) -> Generator[None]:
    """Switch to evaluation mode and back, one module after the other: a backbone has layers in another mode."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode


@torch.no_grad()
def embed_queries(
    model: VRFModel, queries: PairTensors, chosen: torch.Tensor, features: FeatureRows | None = None
) -> torch.Tensor:
    """Embed some of these queries, in the mode that the model is in; without features, the model's own are read."""
    pre, _ = queries.pre_of(chosen)
    if features is None and pre is not None:
        features = _read(model, queries.images, pre)
    embeds = []
    for rows in chosen.split(CHUNK):
        pre, pre_mask = queries.pre_of(rows)
        pre_features = None if pre is None or features is None else features.look(pre, model.device)
        words = {name: ids.to(model.device) for name, ids in queries.words_of(rows).items()}
        mask = None if pre_mask is None else pre_mask.to(model.device)
        embeds.append(model.get_query_embeds(**words, pre_features=pre_features, pre_mask=mask))
    return torch.cat(embeds)


def _features(model: VRFModel, data: EvaluationSet) -> FeatureRows:
    """Of the images that are used only."""
    pre = data.queries.pre
    return _read(model, data.queries.images, torch.cat([data.candidates, *([] if pre is None else [pre[pre >= 0]])]))


def _read(model: VRFModel, images: FeatureRows | FramePixels, used: torch.Tensor) -> FeatureRows:
    """Cached features, or the model's own if its backbone is being trained."""
    return images if isinstance(images, FeatureRows) else images.features_of(model, used)


def features_of_images(model: VRFModel, pairs: Pairs, images: torch.Tensor) -> FeatureRows:
    """The features of these images of a dataset: cached ones, or the model's own if its backbone was trained."""
    known = pairs.images
    return known.rows if isinstance(known, FeatureTable) else known.features_of(model, images.unique())


def evaluate(model: VRFModel, data: EvaluationSet) -> RetrievalMetrics:
    """The paper's metrics of a model on a fold."""
    return summarize_ranks(rank_targets(*embed_set(model, data), data.targets), len(data.candidates))


def evaluate_by_fold(model: VRFModel, pairs: Pairs, processor: VRFProcessor) -> dict[str, Any]:
    """The metrics of every fold among its own candidates, as in an experiment, with mean and deviation.

    Folds without a query are left out: a release of few recipes may have some.
    """
    inputs, context = model.config.inputs, model.config.context
    folds = [fold for fold in range(FOLDS) if len(pairs.rows(inputs, [fold]))]
    sets = {fold: make_evaluation_set(pairs, inputs, [fold], processor, context) for fold in folds or [0]}
    found = {fold: evaluate(model, data).as_dict() for fold, data in sets.items()}
    columns = {name: [figures[name] for figures in found.values()] for name in next(iter(found.values()))}
    return {
        "mean": {name: fmean(values) for name, values in columns.items()},
        "std": {name: stdev(values) if len(values) > 1 else None for name, values in columns.items()},
        "folds": found,
    }
