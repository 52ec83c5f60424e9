"""From scores to a valid result: IOB2 tags without a stray I, and graphs without a cycle.

This file is saved with every model and imports nothing from the project.
"""

from collections.abc import Sequence

import torch
from torch.nn.utils.rnn import pad_sequence

FORBIDDEN = -1e4
"""The score of what must not be: finite, so that a sum of several is still a number."""

Edge = tuple[int, int, int, float]
"""Start entity, end entity, label and score."""

LikelyEdge = tuple[int, int, float, int, float]
"""Start entity, end entity, how probable the edge is, its best label, and how probable it is with this label."""

TINY = torch.finfo(torch.float32).tiny
"""What is less probable than this has no probability at all, whatever the thresholds are."""


def iob2_penalties(tag_count: int) -> torch.Tensor:
    """What to add to the score of each step from one IOB2 tag (row) to the next (column).

    Tag 0 is O, 1 + 2t begins an entity of tag t, and 2 + 2t continues it. The last row is the step into the first
    word.
    """
    tags = torch.arange(tag_count)
    is_inside = (tags > 0) & (tags % 2 == 0)
    previous = torch.cat([tags, tags[:1]])[:, None]  # before the first word is like after an O
    continues = (previous == tags) | (previous == tags - 1)
    return torch.where(is_inside & ~continues, FORBIDDEN, 0.0)


@torch.no_grad()
def decode_tags(
    tag_logits: torch.Tensor, word_mask: torch.Tensor, transitions: torch.Tensor | None = None
) -> torch.Tensor:
    """Find the best valid IOB2 sequence of each recipe (Viterbi); padding is O.

    Args:
        tag_logits: Scores of each word's tags, of shape (B, W, T).
        word_mask: True for words, False for padding at the end, of shape (B, W).
        transitions: Scores of the step from a tag to the next, of shape (T + 1, T), the last row for the first word.
    """
    batch, length, count = tag_logits.shape
    if length == 0:
        return word_mask.long()
    steps = iob2_penalties(count).to(tag_logits)
    if transitions is not None:
        steps = steps + transitions.to(tag_logits)
    best = tag_logits[:, 0] + steps[-1]
    back = []
    stay = torch.arange(count, device=tag_logits.device).expand(batch, -1)
    for word in range(1, length):
        scores, sources = (best[:, :, None] + steps[:-1]).max(dim=1)
        is_word = word_mask[:, word, None]
        best = torch.where(is_word, scores + tag_logits[:, word], best)
        back.append(torch.where(is_word, sources, stay))
    path = [best.argmax(dim=1)]
    for sources in reversed(back):
        path.append(sources.gather(1, path[-1][:, None])[:, 0])
    return torch.stack(path[::-1], dim=1).masked_fill(~word_mask, 0)


def tags_to_spans(tag_ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Collect the entities of valid IOB2 tags (B, W): spans (B, E, 2) and tags (B, E), padded with -1."""
    is_inside = (tag_ids > 0) & (tag_ids % 2 == 0)
    begins = (tag_ids > 0) & ~is_inside
    following = torch.nn.functional.pad(is_inside[:, 1:], (0, 1))
    ends = (begins | is_inside) & ~following
    spans, tags = [], []
    for row in range(len(tag_ids)):
        first, last = begins[row].nonzero()[:, 0], ends[row].nonzero()[:, 0]
        spans.append(torch.stack([first, last + 1], dim=1))
        tags.append((tag_ids[row, first] - 1) // 2)
    return pad_sequence(spans, True, -1), pad_sequence(tags, True, -1)


def decode_graph(likely: Sequence[LikelyEdge], threshold: float, more_threshold: float) -> list[Edge]:
    """Choose the edges of one recipe: a DAG in which an entity may have several heads, with one label per pair.

    Edges are tried from the most to the least probable, and one that would close a cycle is left out.

    Args:
        likely: The edges to choose from, each pair once.
        threshold: How probable an entity's first head has to be.
        more_threshold: How probable every further head has to be.

    Returns:
        The edges, sorted by start and end.
    """
    followers: dict[
        int, int
    ] = {}  # of each entity with an edge, the entities that it leads to, as the bits of a number
    edges: list[Edge] = []
    has_head = set()
    for start, end, probability, label, score in sorted(likely, key=lambda edge: -edge[2]):
        needed = more_threshold if start in has_head else threshold
        led_to = followers.get(end, 0) | 1 << end
        if not probability >= max(needed, TINY) or start == end or led_to >> start & 1:
            continue
        for entity in [start, *(other for other, led in followers.items() if led >> start & 1)]:
            followers[entity] = followers.get(entity, 0) | led_to
        has_head.add(start)
        edges.append((start, end, label, score))
    return sorted(edges)
