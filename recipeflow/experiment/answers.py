"""The saved answers of an experiment's jobs, so that a report can show them without a model.

Next to the metrics of a job, ``jobs/<row>/fold-<k>.json``, is ``fold-<k>.safetensors``: the nearest images of every
query, the similarity of the right one, and a sample of both sides of the embedding space. Images are identified by a
row of ``image_pairs`` whose post-action image they are.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

from recipeflow.errors import ReportError
from recipeflow.evaluation.metrics import CHUNK

if TYPE_CHECKING:  # reading answers does not need transformers
    from recipeflow.evaluation.ranking import Embedded, EvaluationSet
    from recipeflow.pairs.loading import Pairs

FOUND = 5
"""Candidates kept per query, the best first."""

SAMPLE = 400
"""Embeddings kept per side: enough for a map, and a few hundred kilobytes however large the fold is."""


JOBS = "jobs"
"""The folder of all jobs, in that of an experiment."""


def job_file(row: str, fold: int) -> Path:
    """The file with the metrics of a job, below the experiment's folder."""
    return Path(JOBS) / row / f"fold-{fold}.json"


def answers_file(row: str, fold: int) -> Path:
    """The file with its answers."""
    return job_file(row, fold).with_suffix(".safetensors")


@dataclass(frozen=True)
class Answers:
    """The answers of one job; every image is a row of ``image_pairs``.

    Args:
        found: For each query its nearest images, the best first.
        found_scores: Their similarity.
        targets: For each query, its own image.
        target_scores: Its similarity.
        image_rows: A sample of the candidates.
        image_embeds: Their embeddings in the joint space, in half precision.
        query_rows: A sample of the queries, by their own rows.
        query_embeds: Their embeddings in the joint space, in half precision.
    """

    found: torch.Tensor
    found_scores: torch.Tensor
    targets: torch.Tensor
    target_scores: torch.Tensor
    image_rows: torch.Tensor
    image_embeds: torch.Tensor
    query_rows: torch.Tensor
    query_embeds: torch.Tensor

    def to_bytes(self) -> bytes:
        """For a file, and to be passed between processes."""
        return save({name: tensor.cpu().contiguous() for name, tensor in vars(self).items()}, {"format": "1"})


@torch.no_grad()
def collect_answers(embedded: Embedded, data: EvaluationSet, pairs: Pairs, fold: int, width: int) -> Answers:
    """Keep the answers to the queries of the held-out fold; `width` is that of the joint space, without hubs."""
    queries, images = embedded
    best = [(part @ images.T).topk(min(FOUND, len(images))) for part in queries.split(CHUNK)]
    scores, found = (torch.cat(parts) for parts in zip(*best, strict=True))
    shown_in = _rows_of_candidates(pairs, fold).to(found.device)
    some_images, some_queries = _sample(len(images)), _sample(len(queries))
    return Answers(
        found=shown_in[found].int(),
        found_scores=scores,
        targets=shown_in[data.targets].int(),
        target_scores=(queries * images[data.targets]).sum(1),
        image_rows=shown_in[some_images].int(),
        image_embeds=images[some_images, :width].half(),
        query_rows=data.rows[some_queries].int(),
        query_embeds=queries[some_queries, :width].half(),
    )


def _rows_of_candidates(pairs: Pairs, fold: int) -> torch.Tensor:
    """For each candidate of a fold, in the order of the evaluation, the first row that shows it."""
    rows = pairs.rows((), [fold])
    images, order = pairs.images.post[rows].sort(stable=True)
    return rows[order][torch.searchsorted(images, images.unique())]


def _sample(size: int) -> torch.Tensor:
    """Evenly spread positions, or all of them if there are few."""
    return torch.linspace(0, size - 1, min(size, SAMPLE)).round().long()


def checksum(content: bytes) -> str:
    """Links the metrics of a job to its answers."""
    return hashlib.sha256(content).hexdigest()


def read_answers(path: Path, expected: str) -> Answers:
    """Read the answers of a job.

    Args:
        path: The file.
        expected: The checksum in the job's metrics.

    Raises:
        ReportError: If they are missing, or not those of this job.
    """
    try:
        content = path.read_bytes()
        if checksum(content) != expected:
            raise ValueError("another checksum")
        return Answers(**load(content))
    except (OSError, ValueError, TypeError, SafetensorError) as error:
        raise ReportError(
            f"expected the answers of a job in {path}, found: {error}; delete {path.with_suffix('.json').name} next "
            "to it and run `vrf experiment` again, which runs only that job"
        ) from error
