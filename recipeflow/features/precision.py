"""The precision in which features are computed: the same everywhere unless another is asked for, and never far off."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch

from recipeflow.dataset.frames import Frame
from recipeflow.errors import BackboneError
from recipeflow.features.backbone import FrozenBackbone, batches, has_native_bf16

PRECISIONS = ("fp32", "bf16")
AUTO = "auto"
DEFAULT_PRECISION = "fp32"
"""The same on every machine, so that metrics do not depend on the processor."""

LOWEST_SIMILARITY = 0.999
"""The lowest cosine similarity to plain fp32 that a faster method may have."""

JUDGED = 64
"""Images, from all over the dataset, on which a faster method is compared with fp32: on a few, chance would decide."""


@dataclass(frozen=True)
class Choice:
    """A precision, and its similarity to plain fp32."""

    precision: str
    similarity: float | None = None


def choose_precision(
    network: FrozenBackbone,
    frames: Iterable[Frame],
    wanted: str | None,
    batch_size: int,
    compiled: bool,
    announce: Callable[[str], None],
) -> Choice:
    """Choose the precision on some frames, and check that it is close to plain fp32.

    Args:
        network: Computes them.
        frames: At most `JUDGED`, evenly distributed; not read where there is nothing to judge.
        wanted: The precision that was asked for; ``None`` for the faster one.
        batch_size: Frames per batch.
        compiled: Whether torch.compile is used, which has to be close as well.
        announce: Called with lines on the choice.

    Raises:
        BackboneError: If it is too far from fp32.
    """
    if wanted == "fp32" and not compiled:
        return Choice(wanted)
    pixels = [network.pixels(batch) for batch in batches(frames, batch_size)]
    precision = wanted or _fastest(network, pixels, announce)
    if precision == "fp32" and not compiled:
        return Choice(precision)
    network.precision = precision
    similarity = network.similarity(pixels)
    how = f"{precision}, compiled" if compiled else precision
    if not similarity > LOWEST_SIMILARITY:
        raise BackboneError(
            f"expected features in {how} with a cosine similarity to fp32 above {LOWEST_SIMILARITY}, found "
            f"{similarity:.5f}; pass --precision fp32" + (" and omit --compile" if compiled else "")
        )
    announce(f"{how}: cosine similarity with fp32 at least {similarity:.6f} on {sum(map(len, pixels))} images")
    return Choice(precision, similarity)


def _fastest(network: FrozenBackbone, pixels: list[torch.Tensor], announce: Callable[[str], None]) -> str:
    """The faster of the precisions that are close enough to fp32, by trial."""
    if not has_native_bf16(network.device):
        announce(f"fp32: this {network.device.type} has no native bf16")
        return "fp32"
    seconds = network.seconds(pixels)
    network.precision = "bf16"
    speed, similarity = seconds / network.seconds(pixels), network.similarity(pixels)
    chosen = "bf16" if speed > 1 and similarity > LOWEST_SIMILARITY else "fp32"
    announce(f"{chosen}: bf16 has {speed:.2f} x the speed of fp32 and cosine similarity {similarity:.6f}")
    return chosen


def spread(items: Sequence[int], count: int) -> Sequence[int]:
    """At most this many of the items, evenly distributed over all."""
    return items if len(items) <= count else [items[number * len(items) // count] for number in range(count)]
