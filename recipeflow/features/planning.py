"""Which features a dataset needs, where they would be, and which of them are missing."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
from huggingface_hub.errors import StrictDataclassError

from configuration_vrf import HUB_WEIGHTS, OFFLINE_PACKAGES, OFFLINE_WEIGHTS, ImageFeatures, VRFConfig
from recipeflow.dataset.frames import DIGEST, FrameIndex, index_frames
from recipeflow.errors import BackboneError, FeatureCacheError
from recipeflow.features.backbone import transform_config
from recipeflow.features.cache import CacheKey, FeatureCache, Lookup
from recipeflow.features.mapped import MappedTable
from recipeflow.features.precision import AUTO, PRECISIONS
from recipeflow.machines.joining import wait_until_seen
from recipeflow.machines.processes import launched_processes


def weights_origin(backbone: str, weights: str | Path) -> str:
    """The weights' origin as `VRFModel.from_backbone` records it, without loading them.

    Raises:
        BackboneError: If there is no such backbone, package or file.
    """
    try:
        VRFConfig(backbone=backbone)
        if weights == HUB_WEIGHTS:
            return f"timm, {backbone}"
        if weights in OFFLINE_PACKAGES:
            return f"{weights} {version(str(weights))}"
        with Path(weights).open("rb") as file:
            return f"{Path(weights).name}, SHA-256 {hashlib.file_digest(file, 'sha256').hexdigest()[:16]}"
    except StrictDataclassError as error:
        raise BackboneError(str(error.__cause__ or error)) from error
    except PackageNotFoundError as error:
        raise BackboneError(f"expected the package {weights}, found none; install it with pip") from error
    except OSError as error:
        raise BackboneError(
            f"expected {HUB_WEIGHTS!r}, {OFFLINE_WEIGHTS!r} or a file of weights, found {str(weights)!r} "
            f"({error.strerror}); pass one of the three"
        ) from error


def open_caches(
    root: str | Path, backbone: str, origin: str, precision: str, image_features: ImageFeatures = "pooled"
) -> dict[str, FeatureCache]:
    """The possible caches, by precision."""
    transform = transform_config(backbone) | {"decoding": "upright RGB"}
    if image_features != "pooled":  # the others keep the folders that they have always had
        transform |= {"image_features": image_features}
    wanted = PRECISIONS if precision == AUTO else (precision,)
    return {name: FeatureCache(root, CacheKey(backbone, origin, name, transform)) for name in wanted}


def view_caches(centre: FeatureCache, names: Sequence[str]) -> dict[str, FeatureCache]:
    """The cache of each view, by name; that of the first, the whole picture, is given."""
    key = centre.key
    keys = {name: replace(key, transform=key.transform | {"view": name}) for name in names[1:]}
    return {names[0]: centre} | {name: FeatureCache(centre.folder.parent, key) for name, key in keys.items()}


@dataclass(frozen=True)
class Lookups:
    """Where features are. What was complete once is not looked up again: a large cache takes a while to verify."""

    complete: dict[str, Lookup] = field(default_factory=dict)

    def look_up(self, index: FrameIndex, cache: FeatureCache) -> Lookup:
        """Which features of these frames a cache has."""
        name = cache.key.folder_name
        found = self.complete.get(name) or cache.look_up(index.digests)
        if not found.missing:
            self.complete[name] = found
        return found

    def find_all(self, index: FrameIndex, cache: FeatureCache) -> Lookup:
        """The same where all have to be there, though a shared folder may show them late.

        Raises:
            FeatureCacheError: If some are missing.
        """
        if launched_processes() not in (None, 1):
            wait_until_seen(lambda: not self.look_up(index, cache).missing)
        found = self.look_up(index, cache)
        if found.missing:
            raise FeatureCacheError(
                f"expected all {len(index.digests)} features in {cache.folder}, found {len(found.missing)} "
                "missing; pass a cache folder that all machines share, and do not empty it meanwhile"
            )
        return found


@dataclass(frozen=True)
class Plan:
    """What to compute, decided by the main process; with separate plans the shares would not fit together.

    Attributes:
        index: The frames of the dataset; if there is a table, only which rows show which.
        frames: How many there are.
        precision: In which to compute, or ``None`` if undecided.
        missing: Positions of the frames to compute.
        damaged: How many of them have a wrong checksum.
        table: A table of all features, if there is one already.
    """

    index: FrameIndex
    frames: int
    precision: str | None
    missing: list[int]
    damaged: int
    table: MappedTable | None = None


def make_plan(
    dataset: Path,
    caches: dict[str, FeatureCache],
    views: Sequence[str],
    lookups: Lookups,
    announce: Callable[[str], None],
) -> Plan:
    """Find what is missing of these views in the caches of the possible precisions."""
    index = index_frames(dataset)
    frames = len(index.digests)
    if len(caches) == 1:
        ((precision, cache),) = caches.items()
        table = MappedTable.of(list(view_caches(cache, views).values()), index.digests)
        if cache.exists() and table.is_current():
            _announce_found(index, cache, 0, announce)
            return Plan(_without_frames(index), frames, precision, [], 0, table)
    found = {name: lookups.look_up(index, cache) for name, cache in caches.items()}
    best = min(found, key=lambda name: len(found[name].missing))  # fp32 where both have the same
    missing, damaged = found[best].missing, found[best].damaged
    _announce_found(index, caches[best], len(missing), announce)
    if damaged:
        announce(f"{damaged} cached features are damaged and are computed again")
    undecided, cached = len(caches) > 1, frames - len(missing)
    precision = None if undecided and not cached else best
    if undecided and precision:
        announce(f"{precision}: the cache has {cached} of these frames in it")
    return Plan(index, frames, precision, missing, damaged)


def _announce_found(index: FrameIndex, cache: FeatureCache, missing: int, announce: Callable[[str], None]) -> None:
    frames = len(index.digests)
    announce(
        f"{frames} unique frames in {len(index.pre)} rows; {frames - missing} in the cache ({cache.folder}), "
        f"{missing} to compute"
    )


def _without_frames(index: FrameIndex) -> FrameIndex:
    """What other processes need if nobody has to read a frame: 0.04 GB less to send per million frames."""
    nothing = np.zeros(0, np.int64)
    return replace(index, digests=np.zeros(0, DIGEST), rows=nothing, columns=nothing, groups=())
