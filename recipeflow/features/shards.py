"""Features on a Ray cluster: nodes compute shards of the missing frames, and this process alone writes the cache.

Only the dataset has to be on every node. A shard whose node dies is computed again elsewhere; finished ones are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from configuration_vrf import ImageFeatures
from recipeflow.dataset.frames import FrameIndex, read_indexed_frames
from recipeflow.errors import BackboneError
from recipeflow.features.backbone import FrozenBackbone, batches, in_lanes, intra_op_threads, lanes_and_threads
from recipeflow.features.cache import FeatureCache
from recipeflow.machines.processes import device_of, join_processes
from recipeflow.machines.ray_cluster import RayCluster
from recipeflow.progress import progress_bar

ON_CORE, ON_GPU = 256, 8192
"""Frames per shard: about 15 seconds of work, so that loading the network costs little, and a dead node too."""


class Computed(NamedTuple):
    """A shard's features, frames x views x width, and the network that they are of."""

    features: np.ndarray
    origin: str
    weights_sha256: str


@dataclass(frozen=True)
class ShardWork:
    """Computes shards on a node.

    Args:
        dataset: The dataset's folder.
        backbone: The timm name of the network.
        weights: Where its weights come from.
        precision: In which to compute.
        views: The views of each frame.
        batch_size: Frames per batch.
        compile: Whether to use torch.compile.
        image_features: What to read from the network.
    """

    dataset: Path
    backbone: str
    weights: str | Path
    precision: str
    views: tuple[str, ...]
    batch_size: int
    compile: bool
    image_features: ImageFeatures = "pooled"

    def __call__(self, shard: FrameIndex) -> Computed:
        network, size = self._network(), len(shard.digests)
        found = np.empty((size, len(self.views), network.feature_dim), np.float32)
        rows = {digest.tobytes(): row for row, digest in enumerate(shard.digests)}
        frames = read_indexed_frames(self.dataset, shard, range(size))
        lanes, threads = lanes_and_threads(network.device)
        with intra_op_threads(threads), closing(in_lanes(network, batches(frames, self.batch_size), lanes)) as results:
            for batch, features in results:
                found[[rows[frame.digest] for frame in batch]] = features.view(len(batch), *found.shape[1:]).numpy()
        return Computed(found, network.origin, network.weights_sha256)

    def _network(self) -> FrozenBackbone:
        """The network, loaded once per process."""
        global _loaded
        if _loaded is None or _loaded[0] != self:
            network = FrozenBackbone(self.backbone, self.weights, device_of(join_processes()), self.image_features)
            network.precision, network.views = self.precision, self.views
            if self.compile:
                network.compile(self.batch_size)
            _loaded = self, network
        return _loaded[1]


_loaded: tuple[ShardWork, FrozenBackbone] | None = None


def cut_shards(index: FrameIndex, missing: Sequence[int], size: int) -> Iterator[FrameIndex]:
    """The missing frames as indexes of their own, without the table's rows."""
    nothing = np.zeros(0, np.int64)
    for start in range(0, len(missing), size):
        part = np.asarray(missing[start : start + size])
        yield FrameIndex(
            index.digests[part], index.rows[part], index.columns[part], index.groups, pre=nothing, post=nothing
        )


def compute_on_cluster(
    cluster: RayCluster, work: ShardWork, index: FrameIndex, missing: Sequence[int], caches: Sequence[FeatureCache]
) -> None:
    """Compute the missing frames on a cluster, into one cache per view.

    Raises:
        BackboneError: If a node has other weights.
    """
    shards = cut_shards(index, missing, ON_GPU if cluster.has_gpus else ON_CORE)
    results = cluster.run(work, shards)
    expected = caches[0].key.weights
    with ExitStack() as files:
        writers = None
        for shard, computed in progress_bar(
            results, len(missing), "features on the cluster", "images", lambda result: len(result[0].digests)
        ):
            if computed.origin != expected:
                raise BackboneError(
                    f"expected weights from {expected}, found weights from {computed.origin} on a node of the "
                    "cluster; install the same ones on all nodes"
                )
            for cache in caches:  # compares the weights with those that the cache was started with
                cache.begin(computed.features.shape[-1], computed.weights_sha256)
            writers = writers or [files.enter_context(cache.writer()) for cache in caches]
            for writer, view in zip(writers, torch.from_numpy(computed.features.copy()).unbind(1), strict=True):
                writer.add([digest.tobytes() for digest in shard.digests], view)
