"""Whatever the scores are, tags are valid IOB2 and graphs have no cycle."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding_rfg import decode_graph, decode_tags, iob2_penalties, tags_to_spans

SCALES = st.sampled_from([0.01, 1.0, 100.0])


def is_valid(tags: list[int]) -> bool:
    """Every I continues an entity of its own tag."""
    return all(tag == 0 or tag % 2 or before in (tag, tag - 1) for before, tag in itertools.pairwise([0, *tags]))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 12), st.integers(1, 4), SCALES)
def test_random_scores_are_decoded_to_valid_iob2(seed: int, words: int, tags: int, scale: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits = scale * torch.randn(3, words, 1 + 2 * tags, generator=generator)
    transitions = scale * torch.randn(2 + 2 * tags, 1 + 2 * tags, generator=generator)
    lengths = torch.tensor([words, words // 2, 0])
    mask = torch.arange(words) < lengths[:, None]
    for steps in (None, transitions):
        decoded = decode_tags(logits, mask, steps)
        assert decoded.shape == mask.shape
        assert not decoded[~mask].any()
        assert all(is_valid(row[:length]) for row, length in zip(decoded.tolist(), lengths.tolist(), strict=True))


def test_viterbi_finds_the_best_valid_sequence() -> None:
    generator = torch.Generator().manual_seed(0)
    logits, transitions = torch.randn(20, 4, 5, generator=generator), torch.randn(6, 5, generator=generator)
    decoded = decode_tags(logits, torch.ones(20, 4, dtype=torch.bool), transitions)
    steps = transitions + iob2_penalties(5)
    for scores, found in zip(logits, decoded.tolist(), strict=True):

        def total(path: tuple[int, ...], scores: torch.Tensor = scores) -> float:
            start = steps[-1, path[0]]
            return float(start + sum(steps[a, b] for a, b in itertools.pairwise(path)) + scores[range(4), path].sum())

        assert tuple(found) == max(itertools.product(range(5), repeat=4), key=total)


def test_spans_of_tags() -> None:
    tags = torch.tensor([[1, 2, 1, 0, 3, 4], [0, 3, 1, 0, 0, 0]])
    spans, kinds = tags_to_spans(tags)
    assert spans.tolist() == [[[0, 2], [2, 3], [4, 6]], [[1, 2], [2, 3], [-1, -1]]]
    assert kinds.tolist() == [[0, 0, 1], [1, 0, -1]]


def test_no_entity_gives_empty_spans() -> None:
    for words in (0, 3):
        spans, kinds = tags_to_spans(torch.zeros(2, words, dtype=torch.long))
        assert spans.shape == (2, 0, 2)
        assert kinds.shape == (2, 0)


def has_cycle(edges: list[tuple[int, int]], count: int) -> bool:
    """By taking away, again and again, what nothing points to."""
    left = set(range(count))
    while sources := left - {end for start, end in edges if start in left}:
        left -= sources
    return bool(left)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 9), st.integers(1, 4), *[st.floats(0, 0.5)] * 3)
def test_random_scores_are_decoded_to_a_dag(
    seed: int, count: int, labels: int, first: float, more: float, label: float
) -> None:
    scores = torch.rand(count, count, labels, generator=torch.Generator().manual_seed(seed)) / labels
    edges = decode_graph(scores, first, more, label)
    pairs = [(start, end) for start, end, _, _ in edges]
    assert not has_cycle(pairs, count)
    assert pairs == sorted(set(pairs))
    assert all(start != end and 0 <= number < labels for start, end, number, _ in edges)
    assert all(score >= label for *_, score in edges)


def test_an_entity_keeps_its_best_head_and_others_above_the_threshold() -> None:
    scores = torch.zeros(3, 3, 2)
    scores[0, 1], scores[0, 2] = torch.tensor([0.5, 0.1]), torch.tensor([0.0, 0.3])
    scores[1, 2, 0] = 0.08
    assert decode_graph(scores, 0.05, 0.25) == [
        (0, 1, 0, pytest.approx(0.5)),
        (0, 2, 1, pytest.approx(0.3)),
        (1, 2, 0, pytest.approx(0.08)),
    ]
    assert [edge[:2] for edge in decode_graph(scores, 0.1, 0.4)] == [(0, 1)]


def test_two_heads_that_share_the_probability_of_their_entity_are_both_kept() -> None:
    scores = torch.zeros(3, 3, 1)
    scores[0, 1], scores[0, 2], scores[1, 2] = 0.48, 0.45, 0.45
    assert [edge[:2] for edge in decode_graph(scores, 0.5, 0.4)] == [(0, 1), (0, 2)]
    assert decode_graph(scores, 0.5, 0.5) == []


def test_an_edge_whose_label_is_in_doubt_is_left_out() -> None:
    scores = torch.zeros(3, 3, 2)
    scores[0, 1], scores[1, 2] = torch.tensor([0.3, 0.3]), torch.tensor([0.4, 0.2])
    assert [edge[:3] for edge in decode_graph(scores, 0.5, 0.5, 0.35)] == [(1, 2, 0)]
    assert len(decode_graph(scores, 0.5, 0.5)) == 2


def test_the_weaker_edge_of_a_cycle_gives_way_to_the_next_head() -> None:
    scores = torch.zeros(3, 3, 1)
    scores[0, 1], scores[1, 0], scores[1, 2] = 0.9, 0.6, 0.2
    assert [edge[:2] for edge in decode_graph(scores, 0.1, 0.5)] == [(0, 1), (1, 2)]


def test_scores_that_are_not_numbers_give_no_edge() -> None:
    assert decode_graph(torch.full((3, 3, 2), float("nan")), 0.1, 0.3) == []


def test_five_hundred_entities() -> None:
    scores = torch.rand(500, 500, 15, generator=torch.Generator().manual_seed(0)).pow(8) / 100
    edges = decode_graph(scores, 0.02, 0.05)
    assert len(edges) >= 490  # all but the last of the order have a head
    assert not has_cycle([edge[:2] for edge in edges], 500)
