"""The features of a dataset's frames as everyone else gets them, and the mapped file that they are in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from configuration_vrf import ImageFeatures, VRFConfig
from recipeflow.dataset.frames import FrameIndex
from recipeflow.errors import BackboneError, FeatureCacheError, SaveError
from recipeflow.features.cache import FeatureCache
from recipeflow.features.mapped import MappedTable, read_table
from recipeflow.features.planning import Lookups
from recipeflow.features.rows import FeatureRows
from recipeflow.machines.joining import wait_until_seen
from recipeflow.machines.processes import decide_in_main


@dataclass(frozen=True)
class FeatureStats:
    """Statistics of a call.

    Attributes:
        rows: Rows of ``image_pairs``.
        frames: Unique frames in them.
        computed: Frames with a view that was computed now, by all processes together; all others came from the cache.
        damaged: Those among them whose cached feature had a wrong checksum.
        similarity: The lowest cosine similarity with plain fp32 on up to 64 frames; ``None`` if nothing was computed
            or it was plain fp32 itself.
        seconds: The time it took, including loading of weights.
    """

    rows: int
    frames: int
    computed: int
    damaged: int
    similarity: float | None
    seconds: float


@dataclass(frozen=True)
class FeatureTable:
    """The features of a dataset's frames, and which of them belong to which row.

    Attributes:
        views: All views of all frames in float32, views x frames x width; the first is ``features``. It is a mapped
            file that all processes of a host share: rows are read from it when they are used.
        pre: For each row of ``image_pairs`` the row of ``features`` of its pre-action image; -1 where that is null.
        post: The same for the post-action image.
        backbone: The timm name of the network.
        weights: Where its weights came from, as in ``VRFConfig.backbone_weights``.
        precision: Of all features, ``"fp32"`` or ``"bf16"``.
        folder: The cache folder with them.
        stats: What had to be computed.
        image_features: What was read from the network, as in ``VRFConfig.image_features``.
        mean: Whether the feature of a frame in ``rows`` is the mean of its views; else it is the first.
    """

    views: torch.Tensor
    pre: torch.Tensor
    post: torch.Tensor
    backbone: str
    weights: str
    precision: str
    folder: Path
    stats: FeatureStats
    image_features: ImageFeatures = "pooled"
    mean: bool = False

    @property
    def features(self) -> torch.Tensor:
        """The features of the whole frames, one row per unique frame."""
        return self.views[0]

    @cached_property
    def rows(self) -> FeatureRows:
        """The same by the number of the frame: one object, so that all who read it share one copy on a GPU."""
        return FeatureRows(self.views, mean=self.mean)

    def check_model(self, config: VRFConfig) -> None:
        """Make sure that these are features of the model's own backbone.

        Raises:
            BackboneError: If not; a model would accept them silently if the widths agree.
        """
        wanted = config.backbone, config.backbone_weights, config.image_features
        found = self.backbone, self.weights, self.image_features
        if wanted != found:
            raise BackboneError(
                f"expected features of the model's backbone, {wanted[0]} ({wanted[1]}; {wanted[2]}), found those of "
                f"{found[0]} ({found[1]}; {found[2]}); compute them with the same backbone, weights and kind"
            )

    def summary(self) -> str:
        """Two lines: what there is now, and what had to be computed."""
        stats = self.stats
        took = f"{stats.computed} computed in {stats.seconds:.1f} s" if stats.computed else "none had to be computed"
        views = f", {len(self.views)} views each," if len(self.views) > 1 else ""
        return (
            f"{stats.frames} features{views} of {self.features.shape[1]} numbers ({self.backbone}, {self.weights}, "
            f"{self.image_features}, {self.precision}) for {stats.rows} rows; {took}\nin {self.folder}"
        )

    def as_dict(self) -> dict[str, Any]:
        """Everything except the features, for JSON."""
        about: dict[str, Any] = {"backbone": self.backbone, "weights": self.weights, "precision": self.precision}
        about |= {"image_features": self.image_features}
        about |= {"feature_dim": self.features.shape[1], "views": len(self.views), "folder": str(self.folder)}
        return about | asdict(self.stats)


def open_table(
    index: FrameIndex, caches: Sequence[FeatureCache], lookups: Lookups, announce: Callable[[str], None]
) -> torch.Tensor:
    """All features, mapped from the one table that all processes share; the main process writes it."""
    table = MappedTable.of(caches, index.digests)
    if decide_in_main(lambda: _write(table, index, caches, lookups, announce)):
        return open_written(table)
    return read_table(caches, [lookups.find_all(index, cache) for cache in caches])


def open_written(table: MappedTable) -> torch.Tensor:
    """Map a table that the main process has found or written.

    Raises:
        FeatureCacheError: If this process does not see it.
    """
    # Not whether it is current: the files that it was copied from may grow meanwhile, others write there, too.
    if not wait_until_seen(table.is_complete):
        raise FeatureCacheError(
            f"expected the features in {table.folder}, found no complete table; pass a cache folder that all "
            "machines share, and do not empty it meanwhile"
        )
    return table.open()


def _write(
    table: MappedTable,
    index: FrameIndex,
    caches: Sequence[FeatureCache],
    lookups: Lookups,
    announce: Callable[[str], None],
) -> bool:
    """Whether the table is there now; a folder that is read-only or full is announced."""
    if table.is_current():
        return True
    found = [lookups.find_all(index, cache) for cache in caches]
    try:
        table.write(caches, found)
    except SaveError as error:
        announce(f"no table to share between processes, each one reads the features into memory: {error}")
        return False
    return True
