"""Milliseconds a step: our trainer against a bare torch loop and against the stock ``transformers.Trainer``.

All three train the same new model on the same batches of four recipes (51 pairs) with fused AdamW, in turns in one
process; ratios are medians over rounds. Ours may be faster than the bare loop, which embeds an image once for every
row that shows it. The model's own savings (each distinct phrase is encoded once) help all three.

    python benchmarks/training.py [--rounds 7] [--steps 20] [--threads 1]
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable

import torch
from _baselines import bare_loop, make_model, plain_batch, trainer_seconds

from processing_vrf import VRFProcessor
from recipeflow.features.rows import FeatureRows
from recipeflow.pairs.batches import PairTensors, PhraseIds
from recipeflow.progress import TrainingProgress
from recipeflow.training.settings import TrainingConfig
from recipeflow.training.trainer import VRFTrainer

BACKBONES = {1280: "tf_efficientnet_lite0", 2048: "resnet50.tv_in1k"}
INPUTS = ("action", "object", "image")
AGAINST_BARE, AGAINST_TRAINER = 1.10, 1.00
VERBS, OBJECTS = 48, 300


def make_data(recipes: int, width: int, rows_each: float = 12.75) -> tuple[PairTensors, int]:
    """Pairs like the dataset's: 51 rows in four recipes, images that rows share, phrases of one to four words."""
    generator = torch.Generator().manual_seed(0)
    owner = (torch.arange(round(recipes * rows_each)) / rows_each).long()
    rows = len(owner)
    frames = round(rows * 1.4)  # different ones for two uses a row
    first = (torch.arange(rows) * frames / rows).long()
    post = (first + torch.randint(0, 2, (rows,), generator=generator)).clamp(max=frames - 1)
    pre = (first - torch.randint(0, 3, (rows,), generator=generator)).clamp(min=0)
    phrases = {}
    for name, count in (("action", VERBS), ("object", OBJECTS)):
        words = torch.randint(2, 1000, (count, 4), generator=generator)
        words *= torch.arange(4) < torch.randint(1, 5, (count, 1), generator=generator)
        phrases[name] = PhraseIds(torch.randint(0, count, (rows,), generator=generator).numpy(), words)
    features = FeatureRows(torch.randn(1, frames, width, generator=generator))
    return PairTensors(torch.arange(rows), owner, post, features, pre, phrases), 1000


def our_loop(trainer: VRFTrainer) -> Callable[[], None]:
    """An epoch as the trainer runs it, with its progress bar and bookkeeping."""
    trainer.wrapped.train()

    def run() -> None:
        trainer.state.step = 0
        with TrainingProgress(trainer.steps, 0, shown=False) as progress:
            trainer._train_epoch(0, progress)

    return run


def measure(width: int, steps: int, rounds: int) -> dict[str, list[float]]:
    """Milliseconds a step of all three, in every round."""
    config = TrainingConfig(epochs=2, learning_rate=1e-5, checkpoint_every=0)
    data, vocab_size = make_data(4 * steps, width)
    models = [make_model(BACKBONES[width], vocab_size, INPUTS) for _ in range(3)]
    processor = VRFProcessor.from_phrases(["切る"], BACKBONES[width])
    trainer = VRFTrainer(models[0], processor, config, data, show_progress=False)
    batches = [plain_batch(data, batch) for batch, _ in trainer.load_epoch(0, done=0)]
    ours, bare = our_loop(trainer), bare_loop(models[1], config, batches)
    print(f"{width} wide: {sum(len(batch['image_ids']) for batch in batches) / len(batches):.1f} pairs a batch")
    times: dict[str, list[float]] = {"ours": [], "bare": [], "Trainer": []}
    for number in range(rounds + 1):
        for name, run in (("ours", ours), ("bare", bare)):
            started = time.perf_counter()
            run()
            if number:
                times[name].append((time.perf_counter() - started) / len(batches) * 1000)
        seconds = trainer_seconds(models[2], config, batches)
        if number:
            times["Trainer"].append(seconds * 1000)
    return times


def main() -> None:
    """Measure, print, and fail over the limits."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=20, help="a round")
    parser.add_argument("--threads", type=int, default=1, help="of torch; jobs of an experiment have one each")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    failed = False
    for width in BACKBONES:
        times = measure(width, options.steps, options.rounds)
        for name, values in times.items():
            print(f"  {name:10}{statistics.median(values):8.1f} ms a step   ({min(values):.1f} to {max(values):.1f})")
        for name, limit in (("bare", AGAINST_BARE), ("Trainer", AGAINST_TRAINER)):
            ratio = statistics.median(mine / other for mine, other in zip(times["ours"], times[name], strict=True))
            print(f"  ours over {name}: {ratio:.2f} (limit {limit:.2f})")
            failed |= ratio > limit
    sys.exit(failed)


if __name__ == "__main__":
    main()
