"""The confidence in a model's first answer: temperature scaling, and the metrics based on it.

The confidence in a candidate is the softmax over all candidates of similarity / T. The one parameter T is fitted by
maximum likelihood (Guo et al., "On Calibration of Modern Neural Networks", ICML 2017), with a prior for few queries.
Nothing here depends on models or files; similarities are computed in chunks, so that memory does not grow with the
number of queries.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from recipeflow.evaluation.accuracy import Share
from recipeflow.evaluation.metrics import CHUNK, rank_targets

COLDEST, HOTTEST = 1e-3, 10.0
"""The search range of temperatures: at one end the smallest difference decides, at the other none does."""

PRIOR_QUERIES = 10
"""The weight of the prior, in queries."""

BINS = 10
NEWTON_STEPS = 100


@dataclass(frozen=True)
class Queries:
    """Queries with their candidates as unit vectors.

    Args:
        queries: One row per query.
        candidates: One row per candidate.
        targets: For each query, the row of its own image.
    """

    queries: torch.Tensor
    candidates: torch.Tensor
    targets: torch.Tensor

    def __len__(self) -> int:
        return len(self.queries)

    def similarities(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """In chunks of queries: their similarity to all candidates, and to their own image."""
        for start in range(0, len(self), CHUNK):
            rows = slice(start, start + CHUNK)
            similarity = (self.queries[rows] @ self.candidates.T).double()
            yield similarity, similarity.gather(1, self.targets[rows, None])[:, 0]

    def select(self, mask: torch.Tensor) -> Queries:
        """Some of the queries among all candidates."""
        return Queries(self.queries[mask], self.candidates, self.targets[mask])


def join_queries(parts: Sequence[Queries]) -> Queries:
    """Queries among the same candidates as one set."""
    queries, targets = (torch.cat([getattr(part, name) for part in parts]) for name in ("queries", "targets"))
    return Queries(queries, parts[0].candidates, targets)


def fit_temperature(data: Queries) -> float:
    """The temperature that makes the right images most likely.

    The negative log-likelihood is convex in 1 / T, so Newton's method finds its only minimum; if a step would leave
    the interval that contains it, that interval is halved instead. If right images are no nearer than others, all
    candidates are about equally likely: that is the highest temperature.
    """
    low, high = 1 / HOTTEST, 1 / COLDEST
    if _slope(data, low)[0] >= 0:
        return HOTTEST
    if _slope(data, high)[0] <= 0:  # every query finds its image first: no confidence is too high
        return COLDEST
    inverse = math.sqrt(low * high)
    for _ in range(NEWTON_STEPS):
        slope, curvature = _slope(data, inverse)
        low, high = (inverse, high) if slope < 0 else (low, inverse)
        step = inverse - slope / curvature if curvature > 0 else high
        following = step if low < step < high else math.sqrt(low * high)
        if abs(following - inverse) <= 1e-9 * inverse:
            break
        inverse = following
    return 1 / inverse


def steady_temperature(fitted: float, queries: int, expected: float) -> float:
    """A fitted temperature, regularised by a prior: a fit on ten queries may be off by a factor of two.

    Logarithms are averaged, the fit weighted by its queries and the prior by `PRIOR_QUERIES`, so that the prior hardly
    matters with a hundred queries.
    """
    weight = queries / (queries + PRIOR_QUERIES)
    return math.exp(weight * math.log(fitted) + (1 - weight) * math.log(expected))


def _slope(data: Queries, inverse: float) -> tuple[float, float]:
    """First and second derivative of the mean negative log-likelihood by 1 / T."""
    slope = curvature = 0.0
    for similarity, own in data.similarities():
        weight = (similarity * inverse).softmax(1)
        mean = (weight * similarity).sum(1)
        slope += (mean - own).sum().item()
        curvature += ((weight * similarity**2).sum(1) - mean**2).sum().item()
    return slope / len(data), curvature / len(data)


def log_loss(data: Queries, temperature: float) -> float:
    """The mean negative log-likelihood of the right images."""
    losses = [(s / temperature).logsumexp(1) - own / temperature for s, own in data.similarities()]
    return torch.cat(losses).mean().item()


@dataclass(frozen=True)
class Judged:
    """Confidences and whether the answers were right, in the order of the queries.

    Args:
        confidences: Of each query's first answer.
        right: Whether that was its own image.
    """

    confidences: torch.Tensor
    right: torch.Tensor

    def __len__(self) -> int:
        return len(self.right)

    @property
    def accuracy(self) -> float:
        """The share of queries whose own image comes first: R@1, as a fraction."""
        return self.right.double().mean().item()


def judge(data: Queries, temperature: float) -> Judged:
    """The confidence in the first answer to each query; a tie for the first place does not count as right."""
    parts = [(similarity / temperature).softmax(1).amax(1) for similarity, _ in data.similarities()]
    return Judged(torch.cat(parts), rank_targets(data.queries, data.candidates, data.targets) <= 1)


@dataclass(frozen=True)
class Bin:
    """Queries of about the same confidence.

    Args:
        low: The lower end of the bin.
        high: Where the next one begins.
        confidence: The mean of its queries.
        share: How many of them were right.
    """

    low: float
    high: float
    confidence: float
    share: Share


def reliability_bins(judged: Judged, bins: int = BINS) -> list[Bin]:
    """Queries in bins of equal width; empty bins are left out."""
    numbers = (judged.confidences * bins).long().clamp(max=bins - 1)
    found = []
    for number in numbers.unique().tolist():
        inside = numbers == number
        low, high = number / bins, (number + 1) / bins
        share = Share(f"{low:.1f}–{high:.1f}", int(judged.right[inside].sum()), int(inside.sum()))
        found.append(Bin(low, high, judged.confidences[inside].mean().item(), share))
    return found


def calibration_error(bins: Sequence[Bin]) -> float:
    """The expected calibration error: the mean difference of confidence and accuracy, weighted by queries."""
    total = sum(part.share.queries for part in bins)
    gaps = (part.share.queries * abs(part.confidence - part.share.hits / part.share.queries) for part in bins)
    return sum(gaps) / total


@dataclass(frozen=True)
class Answered:
    """Coverage and accuracy if only queries above a threshold are answered.

    Args:
        min_confidence: The threshold.
        coverage: The share of queries that are answered.
        accuracy: The share of right answers among them.
    """

    min_confidence: float
    coverage: float
    accuracy: float | None


def answer_above(judged: Judged, min_confidence: float) -> Answered:
    """Answer queries of at least this confidence."""
    sure = judged.confidences >= min_confidence
    accuracy = judged.right[sure].double().mean().item() if sure.any() else None
    return Answered(min_confidence, sure.double().mean().item(), accuracy)


def risk_coverage(judged: Judged) -> list[Answered]:
    """The risk-coverage curve: coverage and accuracy for each confidence as threshold, the highest first."""
    confidences, order = judged.confidences.sort(descending=True, stable=True)
    hits = judged.right[order].double().cumsum(0)
    counts = torch.arange(1, len(judged) + 1).double()
    last = torch.cat([confidences[1:] != confidences[:-1], torch.tensor([True])])  # ties are answered together
    columns = (confidences, counts / len(judged), hits / counts)
    return [Answered(*values) for values in zip(*(column[last].tolist() for column in columns), strict=True)]


def choose_threshold(judged: Judged, accuracy: float) -> Answered:
    """The lowest threshold, of at least this accuracy, above which answers are right at least this often.

    It is at least the accuracy itself, however often less confident answers are right. It is 1 if even confident
    answers are wrong too often: then the model is never sure.
    """
    lowest = answer_above(judged, accuracy)
    if lowest.accuracy is None or lowest.accuracy >= accuracy:
        return lowest
    points = [point for point in risk_coverage(judged) if point.min_confidence >= accuracy]
    good = [point for point in points if point.accuracy is not None and point.accuracy >= accuracy]
    return good[-1] if good else Answered(1.0, 0.0, None)
