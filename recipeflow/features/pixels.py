"""Frames of a built dataset as pixels: augmented for training, or with the backbone's plain transform.

Fine-tuning cannot use cached features. Frames are read from the memory-mapped dataset when they are needed, by worker
processes ahead of the training step. The augmentation of a frame depends only on the seed, the step and the frame, so
a resumed run sees the same pixels.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import timm.data
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision.transforms import v2

from configuration_vrf import VRFConfig
from modeling_vrf import VRFModel
from recipeflow.dataset.folder import DatasetFolder
from recipeflow.dataset.frames import COLUMNS, Frame, FrameIndex, index_frames, make_frame
from recipeflow.errors import BackboneError
from recipeflow.features.backbone import decode, transform_config
from recipeflow.features.rows import FeatureRows

if TYPE_CHECKING:
    import datasets

EVALUATION_BATCH = 32

_Part = tuple[list[int], tuple[int, int] | None]
_Transform = Callable[[Image.Image], torch.Tensor]


@dataclass(frozen=True)
class FramePixels:
    """The unique frames of a dataset, to be read as pixels.

    Args:
        dataset: A folder written by ``vrf build``.
        backbone: The timm name of the network that will see them.
        index: The frames.
        workers: Processes that decode ahead; with 0 the training process decodes.
    """

    dataset: Path
    backbone: str
    index: FrameIndex
    workers: int = 2

    @classmethod
    def open(cls, dataset: str | Path, backbone: str, workers: int = 2) -> FramePixels:
        """Find the frames of a dataset."""
        return cls(Path(dataset), backbone, index_frames(Path(dataset)), workers)

    @property
    def pre(self) -> torch.Tensor:
        """For each row of ``image_pairs`` the number of its pre-action image; -1 where that is null."""
        return torch.from_numpy(self.index.pre)

    @property
    def post(self) -> torch.Tensor:
        """For each row of ``image_pairs`` the number of its post-action image; -1 where that is null."""
        return torch.from_numpy(self.index.post)

    def check_model(self, config: VRFConfig) -> None:
        """Make sure that the model's backbone is the one that these pixels are made for.

        Raises:
            BackboneError: If it is another, which may want its images in another size and range.
        """
        if config.backbone != self.backbone:
            raise BackboneError(
                f"expected pixels for the model's backbone, {config.backbone}, found those for {self.backbone}; open "
                "the images with the model's backbone"
            )

    @cached_property
    def _rows(self) -> datasets.Dataset:
        import datasets  # 44 MB, which training on features does without

        files = DatasetFolder(self.dataset).files()
        rows = datasets.Dataset.from_parquet([str(path) for path in files], columns=list(COLUMNS))
        for column in COLUMNS:
            rows = rows.cast_column(column, datasets.Image(decode=False))
        return rows

    def frame(self, number: int) -> Frame:
        place = self.index.place(number)
        return make_frame(self.index, number, self._rows[place.number][place.column]["bytes"])

    def augmented(self, frames: Iterable[torch.Tensor], first_step: int, seed: int) -> Iterator[torch.Tensor]:
        """The pixels of each step's frames, every frame with its own random crop, mirroring and light.

        Steps are taken from ``frames`` a few at a time, as the workers can use them.
        """
        config = transform_config(self.backbone)
        steps = ((numbers.tolist(), (seed, first_step + k)) for k, numbers in enumerate(frames))
        yield from self._load(steps, _augmentation(config))

    def plain(self, frames: torch.Tensor) -> Iterator[torch.Tensor]:
        """The pixels of these frames in batches, with the processor's transform."""
        config = transform_config(self.backbone)
        parts = ((part.tolist(), None) for part in frames.split(EVALUATION_BATCH))
        yield from self._load(parts, timm.data.create_transform(**config, is_training=False))

    def _load(self, parts: Iterable[_Part], transform: _Transform) -> Iterator[torch.Tensor]:
        self._rows  # noqa: B018  (opened here once, and not in every worker)
        generator = torch.Generator()  # or the loader would use the global one, which belongs to training
        dataset = _Parts(self, transform)
        order: Any = _Order(parts)  # a sampler may yield whatever the dataset takes
        yield from DataLoader(
            dataset,
            batch_size=None,
            sampler=order,
            num_workers=self.workers,
            generator=generator,
            worker_init_fn=_leave_signals_to_parent,
        )

    @torch.no_grad()
    def features_of(self, model: VRFModel, frames: torch.Tensor) -> FeatureRows:
        """The model's own features of these frames, and of no others."""
        frames = frames.unique()
        features = [model.get_features(pixels.to(model.device)).float().cpu() for pixels in self.plain(frames)]
        return FeatureRows(torch.cat(features)[None], frames)


@dataclass(frozen=True)
class _Order:
    """What a loader asks its workers for, part after part; they are made when they are asked for."""

    parts: Iterable[_Part]

    def __iter__(self) -> Iterator[_Part]:
        return iter(self.parts)


class _Parts(Dataset):
    """Reads frames that are needed together, each augmented with a seed."""

    def __init__(self, pixels: FramePixels, transform: _Transform) -> None:
        self.pixels, self.transform = pixels, transform

    def __getitem__(self, index: _Part) -> torch.Tensor:
        frames, seed = index
        return torch.stack([self._image(frame, seed) for frame in frames])

    def _image(self, frame: int, seed: tuple[int, int] | None) -> torch.Tensor:
        image = decode(self.pixels.frame(frame))
        if seed is None:
            return self.transform(image)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(hash((*seed, frame)) & (2**63 - 1))
            return self.transform(image)


def _leave_signals_to_parent(worker: int) -> None:
    """Ignore what a terminal or a cluster sends to all processes: training finishes its step, and needs its pixels."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def _augmentation(config: dict) -> v2.Compose:
    """Mild enough to keep the state of the food: colours distinguish raw from cooked."""
    return v2.Compose(
        [
            v2.PILToTensor(),
            v2.RandomResizedCrop(config["input_size"][1:], scale=(0.6, 1.0), ratio=(0.9, 1.1), antialias=True),
            v2.RandomHorizontalFlip(),
            v2.ColorJitter(brightness=0.15, contrast=0.15, saturation=0.1),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(config["mean"], config["std"]),
        ]
    )
