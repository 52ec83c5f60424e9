"""How cost grows: a step with the batch, an epoch with the recipes, the memory of an evaluation with the candidates.

Times are given with their ratio to the first of the line, measured in one run.

    python benchmarks/scaling.py [--rounds 5]
"""

import argparse
import resource
import statistics
import subprocess
import sys
import time

import torch
from _baselines import make_model
from training import BACKBONES, INPUTS, make_data

from processing_vrf import VRFProcessor
from recipeflow.evaluation.metrics import rank_targets
from recipeflow.progress import TrainingProgress
from recipeflow.training.settings import TrainingConfig
from recipeflow.training.trainer import VRFTrainer

WIDTH = 1280


def make_trainer(recipes: int, per_batch: int) -> VRFTrainer:
    """A trainer on made-up pairs."""
    data, vocab_size = make_data(recipes, WIDTH)
    config = TrainingConfig(epochs=1, recipes_per_batch=per_batch, checkpoint_every=0)
    model = make_model(BACKBONES[WIDTH], vocab_size, INPUTS)
    processor = VRFProcessor.from_phrases(["切る"], BACKBONES[WIDTH])
    trainer = VRFTrainer(model, processor, config, data, show_progress=False)
    trainer.wrapped.train()
    return trainer


def epoch_seconds(trainer: VRFTrainer) -> float:
    """One epoch, as the trainer runs it."""
    trainer.state.step = 0
    started = time.perf_counter()
    with TrainingProgress(trainer.steps, 0, shown=False) as progress:
        trainer._train_epoch(0, progress)
    return time.perf_counter() - started


def in_turns(trainers: dict[int, VRFTrainer], rounds: int, divide_by_steps: bool) -> dict[int, float]:
    """Median seconds of each, measured one after the other in every round."""
    seconds: dict[int, list[float]] = {size: [] for size in trainers}
    for _ in range(rounds):
        for size, trainer in trainers.items():
            seconds[size].append(epoch_seconds(trainer) / (trainer.steps if divide_by_steps else 1))
    return {size: statistics.median(values) for size, values in seconds.items()}


def evaluation_memory(candidates: int) -> float:
    """MiB that ranking takes beyond the embeddings themselves, in a process of its own."""
    command = [sys.executable, __file__, "--rank", str(candidates)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def rank(candidates: int) -> float:
    """Rank as many queries as candidates, and return the increase of peak memory."""
    embeds = torch.nn.functional.normalize(torch.randn(candidates, 128), dim=1)
    rank_targets(embeds[:50], embeds[:50], torch.arange(50))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rank_targets(embeds, embeds, torch.arange(candidates))
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def show(title: str, values: dict[int, float], unit: str) -> None:
    """One line, each value with its ratio to the first."""
    first = next(iter(values.values()))
    parts = [f"{size}: {value:.4g} {unit} ({value / first:.2f} x)" for size, value in values.items()]
    print(f"{title}: {', '.join(parts)}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.rank:
        print(rank(options.rank))
        return
    steps = in_turns({size: make_trainer(4 * size, size) for size in (4, 8, 16, 32)}, options.rounds, True)
    show("a step by recipes in its batch", steps, "s")
    show("an epoch by recipes", in_turns({size: make_trainer(size, 4) for size in (200, 2000)}, 1, False), "s")
    for size in (300, 30000):
        matrix = size * size * 4 / 2**20
        print(
            f"ranking {size} queries among {size} candidates: {evaluation_memory(size):.0f} MiB "
            f"(all similarities at once: {matrix:.0f} MiB)"
        )


if __name__ == "__main__":
    main()
