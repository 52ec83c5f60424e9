"""The cost of larger backbones: time and memory per image, compared with the offline backbone.

Each network is built with random weights, which change neither, in its own process. There a small batch of images
of the network's input size goes through it and through the offline backbone, alternating, with one thread. Printed
are the median processor time per image, which other work on the machine hardly changes, its ratio to the offline
backbone in the same run, and the largest growth of the process. `VRFConfig` has to accept every name.

    python benchmarks/backbones.py
    python benchmarks/backbones.py --rounds 9 --names vit_large_patch16_dinov3.lvd1689m --json
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time

import timm
import torch

from configuration_vrf import OFFLINE_BACKBONE, VRFConfig

NAMES = (
    "tf_efficientnet_lite0",
    "resnet152.tv_in1k",
    "convnext_tiny.dinov3_lvd1689m",
    "vit_small_patch16_dinov3.lvd1689m",
    "vit_base_patch16_dinov3.lvd1689m",
    "vit_base_patch16_siglip_224.v2_webli",
)
BATCH = 4


def main() -> None:
    """Measure all networks, one process each, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="rounds, after one to warm up (default: 5)")
    parser.add_argument("--names", nargs="+", default=NAMES, help="timm names")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.names[0], options.rounds)))
        return
    rows = [_in_a_process(name, options.rounds) for name in options.names]
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    print("| backbone | weights, million | feature | input | ms per image | x offline | memory, MB |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for row in rows:
        print("| `{name}` | {million:.1f} | {width} | {side} | {ms:.0f} | {ratio:.1f} | {memory:.0f} |".format(**row))


def _in_a_process(name: str, rounds: int) -> dict:
    command = [sys.executable, __file__, "--one", "--rounds", str(rounds), "--names", name]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def measure(name: str, rounds: int) -> dict:
    """The cost of one network; the process must do nothing else, because its peak memory is measured."""
    torch.set_num_threads(1)
    width = VRFConfig(backbone=name).feature_dim
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    network, pixels = _build(name)
    with torch.inference_mode():
        assert network(pixels).shape == (BATCH, width)
        memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        offline, small = _build(OFFLINE_BACKBONE)
        offline(small)
        times = [(_seconds(network, pixels), _seconds(offline, small)) for _ in range(rounds)]
    return {
        "name": name,
        "timm": timm.__version__,
        "million": sum(weight.numel() for weight in network.parameters()) / 1e6,
        "width": width,
        "side": pixels.shape[-1],
        "ms": 1000 * statistics.median(this for this, _ in times),
        "ratio": statistics.median(this / other for this, other in times),
        "memory": memory,
    }


def _seconds(network: torch.nn.Module, pixels: torch.Tensor) -> float:
    """The processor time of one image."""
    started = time.process_time()
    network(pixels)
    return (time.process_time() - started) / len(pixels)


def _build(name: str) -> tuple[torch.nn.Module, torch.Tensor]:
    network = timm.create_model(name, num_classes=0).eval()
    pretrained = timm.get_pretrained_cfg(name)
    assert pretrained is not None  # create_model knows the name
    return network, torch.randn(BATCH, *pretrained.input_size)


if __name__ == "__main__":
    main()
