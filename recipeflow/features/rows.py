"""Features by the number of their frame, wherever they are: in a mapped file, in memory, or once on an accelerator.

A table may be larger than the memory of a process or of a GPU. So rows are gathered on the host when a batch needs
them, and copied from pinned memory. A table that takes a small part of an accelerator's memory is copied there whole,
once for everything that reads it: training and evaluation, and all views.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch

PART_OF_MEMORY = 0.25
"""The largest part of an accelerator's free memory that a table may take."""


@dataclass(frozen=True, eq=False)
class FeatureRows:
    """Features of frames.

    Args:
        views: Views x rows x width numbers on the host.
        frames: The sorted numbers of the frames that the rows belong to; ``None`` if row k is frame k.
        placed: Copies on accelerators, by device; ``None`` where the table is too large.
        mean: Whether a frame's feature is the mean of its views; else it is the first.
    """

    views: torch.Tensor
    frames: torch.Tensor | None = None
    placed: dict[torch.device, torch.Tensor | None] = field(default_factory=dict)
    mean: bool = False

    @property
    def width(self) -> int:
        return self.views.shape[2]

    def look(self, frames: torch.Tensor, device: torch.device | str = "cpu", seed: int | None = None) -> torch.Tensor:
        """The features of these frames, on a device.

        Args:
            frames: Their numbers, on the host.
            device: Where to put the features.
            seed: Draws one of several views of each frame; without it, the first or the mean is used. The view of a
                frame depends only on the seed and the frame, so that processes that share a batch draw the same as one
                process.
        """
        rows = frames if self.frames is None else torch.searchsorted(self.frames, frames)
        device, number = torch.device(device), len(self.views)
        view = None if seed is None or number == 1 else draw_views(frames, seed, number)
        if device.type == "cpu":
            return self._gather(self.views, view, rows)
        if (table := self._place(device)) is not None:
            return self._gather(table, None if view is None else view.to(device), rows.to(device))
        gathered = self._gather(self.views, view, rows)
        if device.type == "cuda":
            gathered = gathered.pin_memory()
        return gathered.to(device, non_blocking=True)

    def _gather(self, table: torch.Tensor, view: torch.Tensor | None, rows: torch.Tensor) -> torch.Tensor:
        if view is None:
            return table[:, rows].mean(0) if self.mean else table[0][rows]
        return table[view, rows]

    def _place(self, device: torch.device) -> torch.Tensor | None:
        """The copy on an accelerator, made at the first use; ``None`` if the table was too large for one then."""
        if device.index is None and device.type != "meta":  # "cuda" and "cuda:0" are one place
            device = torch.device(device.type, torch.accelerator.current_device_index())
        if device not in self.placed:
            fits = self.views.nbytes <= PART_OF_MEMORY * free_memory(device)
            self.placed[device] = self.views.to(device) if fits else None
        return self.placed[device]


def free_memory(device: torch.device) -> int:
    """Bytes that are free on an accelerator; none where that is unknown."""
    if device.type == "meta":
        return 0
    try:
        return int(torch.accelerator.get_memory_info(device)[0])
    except (AttributeError, RuntimeError, NotImplementedError):
        return 0


def draw_views(frames: torch.Tensor, seed: int, number: int) -> torch.Tensor:
    """A random view of each frame: a hash (splitmix64) of seed and frame, so that no other frame is drawn for."""
    with np.errstate(over="ignore"):
        mixed = frames.numpy().astype(np.uint64) + np.uint64(seed % 2**64) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed + np.uint64(0x9E3779B97F4A7C15)) ^ np.uint64(seed % 2**64)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        mixed ^= mixed >> np.uint64(31)
    return torch.from_numpy((mixed % np.uint64(number)).astype(np.int64))
