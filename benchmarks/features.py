"""Frames per second from JPEG in a dataset to features in the cache, over the bare forward pass of the same network.

Both sides run in turns in one process, with the same batch size and precision; the ratio is the median over rounds.
The bare side is timm as anyone would call it, on pixels that are ready in memory, in the faster of the two memory
layouts. Our side reads Parquet, checks hashes, decodes, transforms, computes, and writes the cache. Loading weights is
in neither. Part of our speed is that each core of a CPU works on its own batches; the last line shows what decoding
costs apart from that, against the bare network run in the same way.

    python benchmarks/features.py [--backbone tf_efficientnet_lite0] [--frames 96] [--rounds 7] [--batch-size 4]
"""

import argparse
import io
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import datasets
import numpy as np
import timm
import torch
from _timing import speeds_in_turns
from accelerate import PartialState
from PIL import Image, ImageDraw

from recipeflow.dataset.frames import FrameIndex, index_frames
from recipeflow.features.backbone import (
    FrozenBackbone,
    in_lanes,
    intra_op_threads,
    lanes_and_threads,
    transform_config,
)
from recipeflow.features.cache import CacheKey, FeatureCache
from recipeflow.features.compute import compute_share
from recipeflow.machines.processes import device_of

TARGET = 0.90
SIZE = 320


def make_jpeg(number: int) -> bytes:
    """A picture of soft and sharp shapes, which compresses as a photograph of a kitchen does."""
    random = np.random.default_rng(number)
    background = Image.fromarray(random.integers(0, 256, (9, 9, 3), np.uint8))
    picture = background.resize((SIZE, SIZE), Image.Resampling.BICUBIC)
    draw = ImageDraw.Draw(picture)
    for _ in range(30):
        x, y, width, height = random.integers(0, SIZE, 4) // (1, 1, 3, 3)
        draw.ellipse((x, y, x + width, y + height), fill=tuple(random.integers(0, 256, 3).tolist()))
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=90)
    return buffer.getvalue()


def make_dataset(folder: Path, frames: int) -> FrameIndex:
    """Write so many different frames as pre- and post-action images."""
    images = [{"bytes": make_jpeg(number), "path": None} for number in range(frames)]
    columns = {"pre_image": images[::2], "post_image": images[1::2]}
    features = datasets.Features({name: datasets.Image() for name in columns})
    (folder / "image_pairs").mkdir()
    table = datasets.Dataset.from_dict(columns, features=features)
    table.to_parquet(folder / "image_pairs" / "train-00000-of-00001.parquet")
    return index_frames(folder)


def bare(backbone: str, batch_size: int, frames: int, memory_format: torch.memory_format) -> Callable[[], None]:
    """The forward pass alone, on existing pixels."""
    device = device_of(PartialState())
    network = timm.create_model(backbone, num_classes=0).eval().to(device).to(memory_format=memory_format)
    pixels = torch.randn(batch_size, *transform_config(backbone)["input_size"])
    pixels = pixels.to(device, memory_format=memory_format)

    @torch.inference_mode()
    def run() -> None:
        for _ in range(frames // batch_size):
            network(pixels).cpu()

    return run


def bare_in_lanes(backbone: str, batch_size: int, frames: int) -> Callable[[], None]:
    """The forward pass alone, but on every core by itself, as our side runs it."""
    lanes, threads = lanes_and_threads(device_of(PartialState()))
    batch = bare(backbone, batch_size, batch_size, torch.channels_last)

    def run() -> None:
        with intra_op_threads(threads):
            for _ in in_lanes(lambda _: batch(), range(frames // batch_size), lanes):
                pass

    return run


def ours(backbone: str, batch_size: int, folder: Path, index: FrameIndex) -> Callable[[], None]:
    """All of it, into a new cache each time."""
    device = device_of(PartialState())
    with tempfile.TemporaryDirectory() as scratch:
        weights = Path(scratch, "random.pth")
        torch.save(timm.create_model(backbone).state_dict(), weights)
        network = FrozenBackbone(backbone, weights, device)
    lanes, threads = lanes_and_threads(device)

    def run() -> None:
        with tempfile.TemporaryDirectory() as root, intra_op_threads(threads):
            cache = FeatureCache(root, CacheKey(backbone, "random", "fp32", {}))
            compute_share(network, [cache], folder, index, range(len(index.digests)), batch_size, lanes)

    return run


def main() -> None:
    """Measure, print, and fail below the target."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--backbone", default="tf_efficientnet_lite0")
    parser.add_argument("--frames", type=int, default=96, help="a multiple of twice the batch size")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--batch-size", type=int, default=4 if device_of(PartialState()).type == "cpu" else 64)
    options = parser.parse_args()
    datasets.disable_progress_bars()
    with tempfile.TemporaryDirectory() as name:
        index = make_dataset(Path(name), options.frames)
        settings = (options.backbone, options.batch_size, options.frames)
        sides = {
            "bare timm, contiguous": bare(*settings, torch.contiguous_format),
            "bare timm, channels-last": bare(*settings, torch.channels_last),
            "bare timm, in lanes": bare_in_lanes(*settings),
            "JPEG to cache": ours(options.backbone, options.batch_size, Path(name), index),
        }
        speeds = speeds_in_turns(sides, options.frames, options.rounds)
    print(f"{options.backbone}, batches of {options.batch_size}, fp32, {torch.get_num_threads()} threads, images/s")
    for name, values in speeds.items():
        print(f"  {name:26}{statistics.median(values):8.1f}   ({min(values):.1f} to {max(values):.1f})")
    *plain, in_own_lanes, own = speeds.values()
    ratio = statistics.median(mine / max(bare) for mine, *bare in zip(own, *plain, strict=True))
    in_lanes_ratio = statistics.median(mine / bare for mine, bare in zip(own, in_own_lanes, strict=True))
    print(f"end to end over the bare forward: {ratio:.2f} (target: at least {TARGET:.2f})")
    print(f"end to end over the bare forward in lanes: {in_lanes_ratio:.2f}")
    sys.exit(ratio < TARGET)


if __name__ == "__main__":
    main()
