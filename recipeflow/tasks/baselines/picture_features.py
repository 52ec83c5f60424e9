"""Features of the pictures of questions by a frozen backbone, from the cache of `vrf features` where it has them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from recipeflow.dataset.frames import DIGEST, Frame
from recipeflow.features.backbone import FrozenBackbone, batches
from recipeflow.features.planning import open_caches, weights_origin
from recipeflow.files import cache_folder
from recipeflow.machines.devices import choose_device
from recipeflow.progress import ProgressDisplay

Row = dict[str, Any]
PRECISION = "fp32"
BATCH = 4


class PictureFeatures:
    """Pictures as vectors. Task sets have the bytes of the dataset's frames, so what was computed for it is found.

    Args:
        backbone: Its timm name.
        weights: Its weights, as for `vrf features`.
        cache: The folder of all feature caches; that of `vrf features` by default.
    """

    def __init__(self, backbone: str, weights: str | Path, cache: Path | None = None) -> None:
        self.backbone, self.weights = backbone, weights
        self.origin = weights_origin(backbone, weights)
        root = cache or cache_folder("features")
        self.cache = open_caches(root, backbone, self.origin, PRECISION)[PRECISION]
        self._known: dict[bytes, torch.Tensor] = {}

    def add(self, rows: Sequence[Row]) -> None:
        """Find the features of all pictures of these rows; those that no one computed yet are computed and kept."""
        pictures = {_digest(cell): cell["bytes"] for row in rows for cell in row["pictures"]}
        keys = [key for key in pictures if key not in self._known]
        if not keys:
            return
        digests = np.frombuffer(b"".join(keys), DIGEST)
        missing = self.cache.look_up(digests).missing
        if missing:
            self._compute([Frame(keys[n], pictures[keys[n]], "instruction_writing", "pictures") for n in missing])
        found = np.concatenate(list(self.cache.read(self.cache.look_up(digests))))
        self._known |= dict(zip(keys, torch.from_numpy(found), strict=True))

    def _compute(self, frames: Sequence[Frame]) -> None:
        network = FrozenBackbone(self.backbone, self.weights, choose_device("cpu"))
        self.cache.begin(network.feature_dim, network.weights_sha256)
        with self.cache.writer() as writer, ProgressDisplay("computing features", len(frames)) as display:
            for part in batches(frames, BATCH):
                writer.add([frame.digest for frame in part], network(part))
                display.advance(len(part))

    def pairs(self, row: Row) -> torch.Tensor:
        """A vector per pair: the picture before and the one after."""
        seen = [self._known[_digest(cell)] for cell in row["pictures"]]
        return torch.stack([torch.cat([seen[pair["before"]], seen[pair["after"]]]) for pair in row["pairs"]])


def _digest(cell: Row) -> bytes:
    return hashlib.sha256(cell["bytes"]).digest()
