"""The confidence in a model's first answer: temperature scaling, and the metrics based on it.

The confidence in a candidate is the softmax over all candidates of similarity / T (Guo et al., "On Calibration of
Modern Neural Networks", ICML 2017), with a prior for few queries. T is fitted to the first answers alone, which are
what people see: the likelihood of their being right or wrong. Fitted to the likelihood of the right candidates, as
usual, confidences were too high, because T then also had to fit all those queries whose image comes tenth or later.
Nothing here depends on models or files; similarities are computed in chunks, so that memory does not grow with the
number of queries.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch

from recipeflow.evaluation.accuracy import Share
from recipeflow.evaluation.metrics import CHUNK, rank_targets

COLDEST, HOTTEST = 1e-3, 10.0
"""The search range of temperatures: at one end the smallest difference decides, at the other none does."""

PRIOR_QUERIES = 10
"""The weight of the prior, in queries."""

BINS = 10
GRID = 17
"""Temperatures that are tried first, from coldest to hottest."""

PRECISE = 1e-3
"""The relative precision of a temperature; confidences do not depend on more."""

SMALLEST = 1e-9
"""The least probability that counts in a log-loss."""


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


def fit_temperature(data: Queries) -> float:
    """The temperature at which it is most likely that the first answers are right where they are, and else wrong.

    The best of a grid is refined by golden-section search between its neighbours. If no first answer is right, that
    is the highest temperature; if all are, the lowest.
    """
    right = rank_targets(data.queries, data.candidates, data.targets) <= 1

    def loss(logarithm: float) -> float:
        return log_loss(Judged(_first_confidences(data, math.exp(logarithm)), right))

    low, high = math.log(COLDEST), math.log(HOTTEST)
    step = (high - low) / (GRID - 1)
    losses = [loss(low + number * step) for number in range(GRID)]
    best = losses.index(min(losses))
    if best in (0, GRID - 1):
        return (COLDEST, HOTTEST)[best > 0]
    return math.exp(_golden_section(loss, low + (best - 1) * step, low + (best + 1) * step))


def _golden_section(loss: Callable[[float], float], low: float, high: float) -> float:
    """The minimum of a function that first falls and then rises."""
    share = (math.sqrt(5) - 1) / 2
    left, right = high - share * (high - low), low + share * (high - low)
    found = {left: loss(left), right: loss(right)}
    while high - low > PRECISE:
        if found[left] < found[right]:
            high, right, left = right, left, right - share * (right - low)
            found[left] = loss(left)
        else:
            low, left, right = left, right, left + share * (high - left)
            found[right] = loss(right)
    return (low + high) / 2


def is_guessing(data: Queries) -> bool:
    """Whether right images are no nearer than others."""
    sums = [(own.sum(), similarity.mean(1).sum()) for similarity, own in data.similarities()]
    own, others = torch.tensor(sums).sum(0).tolist()
    return own <= others


def steady_temperature(fitted: float, queries: int, expected: float) -> float:
    """A fitted temperature, regularised by a prior: a fit on ten queries may be off by a factor of two.

    Logarithms are averaged, the fit weighted by its queries and the prior by `PRIOR_QUERIES`, so that the prior hardly
    matters with a hundred queries.
    """
    weight = queries / (queries + PRIOR_QUERIES)
    return math.exp(weight * math.log(fitted) + (1 - weight) * math.log(expected))


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
    right = rank_targets(data.queries, data.candidates, data.targets) <= 1
    return Judged(_first_confidences(data, temperature), right)


def _first_confidences(data: Queries, temperature: float) -> torch.Tensor:
    return torch.cat([(similarity / temperature).softmax(1).amax(1) for similarity, _ in data.similarities()])


def log_loss(judged: Judged) -> float:
    """The mean negative log-likelihood of what the first answers are: right or wrong."""
    chances = judged.confidences.where(judged.right, 1 - judged.confidences)
    return -chances.clamp(min=SMALLEST).log().mean().item()


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


def chance_error(bins: Sequence[Bin]) -> float:
    """The calibration error that perfect confidences would have on average, because few queries are right by luck."""
    total = sum(part.share.queries for part in bins)
    return sum(mean_deviation(part.share.queries, part.confidence) for part in bins) / total


def mean_deviation(count: int, chance: float) -> float:
    """How far the number of hits among so many is from its mean, on average (de Moivre)."""
    above = math.floor(count * chance) + 1
    if chance <= 0 or above > count:
        return 0.0
    ways = math.lgamma(count + 1) - math.lgamma(above + 1) - math.lgamma(count - above + 1)
    likely = math.exp(ways + above * math.log(chance) + (count - above) * math.log1p(-chance))
    return 2 * above * (1 - chance) * likely


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
