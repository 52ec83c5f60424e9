"""A frozen backbone: encoded frames in, features out, on all cores or on the accelerator.

Where the time goes on a CPU, measured with ``tf_efficientnet_lite0`` on two cores: decoding and transforming a frame
costs a tenth of its forward pass; a forward pass on two threads takes 1.5 times the processor time of one on one
thread (and several times, when other work needs the cores); and a batch whose activations pass 32 MB takes up to
twice as long as four frames do, because the allocator gets that memory from the system every time. Hence lanes:
each decodes a small batch and runs it through the network on its own core, so that one lane's decoding overlaps with
the others' forward passes. On an accelerator the lanes decode large batches and take turns at the network.
"""

from __future__ import annotations

import io
import os
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, as_completed, wait
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import timm.data
import torch
from huggingface_hub.errors import StrictDataclassError
from PIL import Image, ImageOps
from torch.nn.functional import cosine_similarity, pad

from configuration_vrf import ImageFeatures, VRFConfig, weights_digest
from modeling_vrf import VRFModel, read_backbone
from processing_vrf import VIEWS
from recipeflow.dataset.frames import Frame
from recipeflow.errors import BackboneError, BrokenImageError
from recipeflow.features.views import CENTRE
from recipeflow.images import FORMATS
from recipeflow.machines.processes import available_cores

MAX_LANES = 8
"""More would wait for each other in the interpreter; a machine with more cores gives each lane several."""

NATIVE_BF16 = ("avx512_bf16", "amx_bf16", "bf16", "sve_bf16")
"""CPUs without any of these emulate bf16, about thirty times slower than fp32."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def transform_config(backbone: str) -> dict[str, Any]:
    """The backbone's image transform, in timm's terms; the same as the processor's ``data_config``."""
    pretrained = timm.get_pretrained_cfg(backbone)
    return timm.data.resolve_data_config(pretrained.to_dict() if pretrained else {})


def decode(frame: Frame) -> Image.Image:
    """An upright RGB image, as the processor makes it."""
    try:
        with Image.open(io.BytesIO(frame.data), formats=FORMATS) as image:
            return ImageOps.exif_transpose(image).convert("RGB")
    except Exception as error:  # a damaged header can make Pillow's plugins raise nearly anything
        raise BrokenImageError(
            f"expected a JPEG, PNG or WebP image, found {len(frame.data)} bytes that do not decode: {error}",
            file=frame.file,
            place=frame.place,
            hint="fix that frame in the release and build the dataset again",
        ) from error


class FrozenBackbone:
    """The network that `VRFModel` would use, ready for features only.

    Args:
        backbone: Its timm name.
        weights: As for `VRFModel.from_backbone`.
        device: Where to compute.
        image_features: What to read from it, as in `VRFConfig`.

    Raises:
        BackboneError: If there is no such backbone, or its weights are unavailable.
    """

    def __init__(
        self, backbone: str, weights: str | Path, device: torch.device, image_features: ImageFeatures = "pooled"
    ) -> None:
        try:
            config = VRFConfig(backbone=backbone, image_features=image_features)
            model = VRFModel.from_backbone(config, weights)
        except (OSError, ValueError, StrictDataclassError) as error:
            raise BackboneError(str(error)) from error
        self.device = device
        self.precision = "fp32"
        self.views: tuple[str, ...] = (CENTRE,)
        self.origin: str = model.config.backbone_weights
        self.feature_dim: int = model.config.feature_dim
        self.weights_sha256 = weights_digest(model.backbone)
        self.network = model.backbone.eval().requires_grad_(False).to(device, memory_format=torch.channels_last)
        self._plain = partial(read_backbone, self.network, image_features=image_features)
        self._forward: Callable[[torch.Tensor], torch.Tensor] = self._plain
        self._fixed_size: int | None = None
        transform = transform_config(backbone)
        # With timm's prefetcher setting images stay bytes: they are normalised per batch, which costs less.
        self._transform = timm.data.create_transform(**transform, is_training=False, use_prefetcher=True)
        self._mean, self._std = (
            torch.tensor(transform[name], device=device).view(3, 1, 1) for name in ("mean", "std")
        )
        # On a CPU each lane has its own core; there is only one accelerator.
        self._turn = nullcontext() if device.type == "cpu" else threading.Lock()

    def compile(self, batch_size: int) -> None:
        """Speed up the network with torch.compile, for batches of one size; smaller ones are padded."""
        self._forward = torch.compile(self._plain, dynamic=False)
        self._fixed_size = batch_size

    def pixels(self, frames: Sequence[Frame]) -> torch.Tensor:
        """Decode frames once and transform every view of them to bytes in channels-last order."""
        decoded = (decode(frame) for frame in frames)
        images = [self._transform(VIEWS[view](image)).permute(1, 2, 0) for image in decoded for view in self.views]
        return torch.stack(images).permute(0, 3, 1, 2)

    def features(self, pixels: torch.Tensor) -> torch.Tensor:
        """Features as float32 on the CPU, computed in the chosen precision."""
        missing = max(0, (self._fixed_size or 0) - len(pixels))
        padded = pad(pixels, (0, 0, 0, 0, 0, 0, 0, missing)) if missing else pixels
        return self._run(self._forward, padded, self.precision)[: len(pixels)]

    def similarity(self, batches: Sequence[torch.Tensor]) -> float:
        """The lowest cosine similarity of any of these images' features with plain fp32."""
        features = ((self.features(pixels), self._run(self._plain, pixels, "fp32")) for pixels in batches)
        return min(cosine_similarity(*pair).min().item() for pair in features)

    @torch.inference_mode()
    def _run(self, forward: Callable, pixels: torch.Tensor, precision: str) -> torch.Tensor:
        with self._turn, torch.autocast(self.device.type, torch.bfloat16, enabled=precision == "bf16"):
            # The same steps as in the processor's transform, so that no bit differs.
            scaled = pixels.to(self.device).to(torch.float32, memory_format=torch.channels_last).div_(255)
            try:
                return forward(scaled.sub_(self._mean).div_(self._std)).float().cpu()
            except torch._dynamo.exc.TorchDynamoException as error:  # ty: ignore[possibly-missing-submodule] loaded late
                raise BackboneError(
                    f"expected torch.compile to compile the network, found: {error}; omit --compile"
                ) from error

    def __call__(self, frames: Sequence[Frame]) -> torch.Tensor:
        """Features of encoded frames, one row per view of each."""
        features = self.features(self.pixels(frames))
        if not features.isfinite().all():
            bad = frames[int((~features.isfinite().all(dim=1)).nonzero()[0]) // len(self.views)]
            raise BackboneError(
                f"expected finite features, found NaN or infinity for {bad.file}, {bad.place}, in {self.precision}; "
                "are the weights those of this backbone? Try --precision fp32"
            )
        return features

    def seconds(self, batches: Sequence[torch.Tensor]) -> float:
        """The time of these batches, after a warm-up."""
        self.features(batches[0])
        started = time.perf_counter()
        for pixels in batches:
            self.features(pixels)
        return time.perf_counter() - started


def has_native_bf16(device: torch.device) -> bool:
    """Whether the device supports bf16 without emulation."""
    if device.type == "cpu":
        return any(torch.cpu.get_capabilities().get(name) for name in NATIVE_BF16)
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return True


def lanes_and_threads(device: torch.device) -> tuple[int, int]:
    """The number of lanes, and of threads per lane.

    On a CPU all of torch's threads are distributed, so ``OMP_NUM_THREADS``, also as set by ``accelerate launch``, is
    respected. An accelerator's lanes only decode: they share the machine's cores with its other processes.
    """
    if device.type == "cpu":
        lanes = min(torch.get_num_threads(), MAX_LANES)
        return lanes, torch.get_num_threads() // lanes
    cores = available_cores() // int(os.environ.get("LOCAL_WORLD_SIZE", 1))
    return max(2, min(cores, MAX_LANES)), torch.get_num_threads()


@contextmanager
def intra_op_threads(count: int) -> Generator[None]:
    """Let torch compute each operation on this many threads, inside the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Items in lists of this size; the last one may be shorter."""
    items = iter(items)
    return iter(lambda: list(islice(items, size)), [])


def in_lanes(work: Callable[[Item], Result], items: Iterable[Item], lanes: int) -> Generator[tuple[Item, Result]]:
    """Work on items in this many threads, and yield each with its result as soon as it is done, in any order.

    Only a few items are read ahead. After an error or an interruption no new item is started.
    """
    pool = ThreadPoolExecutor(lanes, thread_name_prefix="lane")
    running: dict[Future[Result], Item] = {}
    try:
        for item in items:
            running[pool.submit(work, item)] = item
            if len(running) >= 2 * lanes:
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                yield from ((running.pop(future), future.result()) for future in done)
        for future in as_completed(running):
            yield running[future], future.result()
    finally:
        pool.shutdown(cancel_futures=True)
