"""From scores to a valid result: IOB2 tags without a stray I, and graphs without a cycle.

This file is saved with every model and imports nothing from the project.
"""

import torch
from torch.nn.utils.rnn import pad_sequence

FORBIDDEN = -1e4
"""The score of what must not be: finite, so that a sum of several is still a number."""

Edge = tuple[int, int, int, float]
"""Start entity, end entity, label and score."""


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


@torch.no_grad()
def decode_graph(
    edge_scores: torch.Tensor, threshold: float, more_threshold: float, label_threshold: float = 0.0
) -> list[Edge]:
    """Choose the edges of one recipe: a DAG in which an entity may have several heads, with one label per pair.

    Edges are tried from the most to the least probable, and one that would close a cycle is left out.

    Args:
        edge_scores: The probability of each start, end and label, of shape (E, E, L).
        threshold: How probable an entity's first head has to be. Heads above the next threshold share the
            probability of their entity, and count together.
        more_threshold: How probable every further head has to be.
        label_threshold: How probable a head has to be together with its best label.

    Returns:
        The edges, sorted by start and end.
    """
    count = len(edge_scores)
    edge_scores = edge_scores.float().cpu()  # the search below goes step by step
    pairs = edge_scores.sum(dim=2).fill_diagonal_(0.0)
    floor = max(min(threshold, more_threshold), torch.finfo(pairs.dtype).tiny)
    starts, ends = (pairs >= floor).nonzero(as_tuple=True)
    order = pairs[starts, ends].argsort(descending=True, stable=True)
    starts, ends = starts[order], ends[order]
    values, (label_scores, labels) = pairs[starts, ends], edge_scores[starts, ends].max(dim=1)
    together = pairs.where(pairs >= more_threshold, 0.0).sum(dim=1)
    firsts = torch.where(values >= more_threshold, together[starts], values)
    candidates = (starts, ends, values, firsts, labels, label_scores)
    reached = [1 << entity for entity in range(count)]  # from each entity, a set of entities as the bits of a number
    has_head = [False] * count
    edges: list[Edge] = []
    for start, end, value, first, label, score in zip(*(column.tolist() for column in candidates), strict=True):
        is_likely = value >= more_threshold if has_head[start] else first >= threshold
        if not is_likely or score < label_threshold or reached[end] >> start & 1:
            continue
        for entity in range(count):
            if reached[entity] >> start & 1:
                reached[entity] |= reached[end]
        has_head[start] = True
        edges.append((start, end, label, score))
    return sorted(edges)
