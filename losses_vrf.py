"""How well a batch of pairs is embedded: the triplet loss of the Visual Recipe Flow paper, and a contrastive one.

Both want a query nearer to its own image than to those of other rows, and know which rows show the same image.

This file travels with every saved model and imports nothing of the project.
"""

from typing import Literal

import torch
from torch.nn.functional import cross_entropy

try:
    from .configuration_vrf import VRFConfig
except ImportError:
    if __package__:  # inside a package the sibling exists: the error is a real one
        raise
    from configuration_vrf import VRFConfig


def batch_loss(
    query_embeds: torch.Tensor,
    image_embeds: torch.Tensor,
    image_ids: torch.Tensor | None = None,
    *,
    config: VRFConfig,
    generator: torch.Generator | None = None,
    sample: bool = True,
) -> torch.Tensor:
    """Score a batch of pairs with the loss that the config names; the other arguments are those of `triplet_loss`.

    Without `sample`, negatives that would be sampled are all taken: the loss is then what sampling gives on average,
    and the same in every call.
    """
    if config.loss == "contrastive":
        return contrastive_loss(query_embeds, image_embeds, image_ids, temperature=config.temperature)
    return triplet_loss(
        query_embeds,
        image_embeds,
        image_ids,
        margin=config.margin,
        negatives="all" if config.negatives == "one" and not sample else config.negatives,
        generator=generator,
    )


def has_negatives(rows: int, image_ids: torch.Tensor | None = None) -> bool:
    """Whether a batch of pairs shows at least two different images, so that there is a loss."""
    return rows > 1 if image_ids is None else bool((image_ids != image_ids[0]).any())


def triplet_loss(
    query_embeds: torch.Tensor,
    image_embeds: torch.Tensor,
    image_ids: torch.Tensor | None = None,
    *,
    margin: float = 0.1,
    negatives: Literal["one", "all", "hardest"] = "one",
    generator: torch.Generator | None = None,
) -> torch.Tensor:
    """Sum the triplet loss of the paper over a batch of pairs, row i of one side with row i of the other.

    Args:
        query_embeds: One row a query.
        image_embeds: One row a post-action image.
        image_ids: Which image each row shows. Rows with equal ids show the same image and are never each other's
            negatives. Without ids every row counts as another image.
        margin: How much nearer than a negative the positive has to be.
        negatives: `"one"` samples one negative a side for every pair, as the paper does. `"all"` takes the mean
            over all negatives of the batch, which is what `"one"` is on average. `"hardest"` takes the nearest one
            (the first of equals).
        generator: Makes the sampling of `"one"` repeatable.

    Raises:
        ValueError: If the batch holds no negative: one pair, or pairs of one image only.
    """
    different = _different_images(query_embeds, image_embeds, image_ids)
    queries, images = _at_least_float32(query_embeds, image_embeds)
    distance = torch.cdist(queries, images, compute_mode="donot_use_mm_for_euclid_dist")  # D[i, j], Equation 8
    positive = distance.diagonal()  # D[i, i]
    loss = distance.new_zeros(())
    for side in (distance, distance.T):  # D[i, j] over images j, then D[k, i] over queries k: Equation 9
        weight = _negative_weights(side, different, negatives, generator)
        loss = loss + (weight * (positive[:, None] - side + margin).clamp(min=0)).sum()
    return loss


def contrastive_loss(
    query_embeds: torch.Tensor,
    image_embeds: torch.Tensor,
    image_ids: torch.Tensor | None = None,
    *,
    temperature: float = 0.07,
) -> torch.Tensor:
    """Let every query tell its own image from all others of the batch, and every image its own query.

    The mean over both sides of InfoNCE, which is cross entropy over similarities.

    Args:
        query_embeds: One row a query.
        image_embeds: One row a post-action image.
        image_ids: Which image each row shows, as for `triplet_loss`.
        temperature: What similarities are divided by.

    Raises:
        ValueError: If the batch holds no negative, as for `triplet_loss`.
    """
    different = _different_images(query_embeds, image_embeds, image_ids)
    queries, images = _at_least_float32(query_embeds, image_embeds)
    with torch.autocast(queries.device.type, enabled=False):  # it would multiply in half precision
        similarity = queries @ images.T / temperature
    own = torch.eye(len(similarity), dtype=torch.bool, device=similarity.device)
    similarity = similarity.masked_fill(~different & ~own, torch.finfo(similarity.dtype).min)
    target = torch.arange(len(similarity), device=similarity.device)
    return (cross_entropy(similarity, target) + cross_entropy(similarity.T, target)) / 2


def _at_least_float32(queries: torch.Tensor, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Bring both sides to one device and a precision in which small differences between embeddings survive."""
    dtype = torch.promote_types(queries.dtype, torch.float32)
    return queries.to(dtype), images.to(queries.device, dtype)


def _different_images(queries: torch.Tensor, images: torch.Tensor, image_ids: torch.Tensor | None) -> torch.Tensor:
    """Tell for each two rows whether they show different images, and so may be each other's negatives."""
    if queries.ndim != 2 or queries.shape != images.shape:
        raise ValueError(
            "expected as many query embeddings as image embeddings, of one width, in two matrices; "
            f"found shapes {tuple(queries.shape)} and {tuple(images.shape)}"
        )
    if image_ids is None:
        image_ids = torch.arange(len(queries), device=queries.device)
    if image_ids.shape != queries.shape[:1]:
        raise ValueError(f"expected {len(queries)} image_ids, one a pair, found shape {tuple(image_ids.shape)}")
    different = image_ids[:, None] != image_ids[None, :]
    if not different.any():
        raise ValueError(
            f"expected pairs of at least two different images, to have negatives; found a batch of {len(queries)} "
            "with one image; put more recipes into a batch, or pass return_loss=False where no loss is needed"
        )
    return different.to(queries.device)


def _negative_weights(
    distance: torch.Tensor, different: torch.Tensor, negatives: str, generator: torch.Generator | None
) -> torch.Tensor:
    """Tell how much each column counts as a negative of each row; every row sums to one."""
    if negatives == "all":
        return different.to(distance.dtype) / different.sum(dim=1, keepdim=True)
    if negatives == "one":
        source = different.device if generator is None else generator.device
        chosen = torch.multinomial(different.to(source, torch.float32), 1, generator=generator)
    elif negatives == "hardest":
        chosen = distance.detach().masked_fill(~different, torch.inf).argmin(dim=1, keepdim=True)
    else:
        raise ValueError(f"expected negatives to be 'one', 'all' or 'hardest', found {negatives!r}")
    return torch.zeros_like(distance).scatter(1, chosen.to(distance.device), 1.0)


__all__ = ["batch_loss", "contrastive_loss", "has_negatives", "triplet_loss"]
