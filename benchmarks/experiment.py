"""The paper's experiment with ``fast``: ours end to end, against the same jobs in sequence with Trainer.

Ours is run whole: features from the cache, every job trained and tested, results written. The other side is
extrapolated: seconds per step of ``transformers.Trainer`` with all cores, for each row of the table, times the
number of steps; measured before and after ours, of which the faster counts. Making models and testing them is left
out there.

    python benchmarks/experiment.py [VRF] [--folds 0,1,2,3,4,5,6,7,8,9] [--steps 40] [--cache FOLDER]
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from _baselines import make_model, plain_batch, trainer_seconds

from configuration_vrf import OFFLINE_BACKBONE, OFFLINE_WEIGHTS
from recipeflow.experiment.jobs import Experiment, run_experiment
from recipeflow.experiment.paper import PAPER_ROWS, ROWS, parse_folds
from recipeflow.pairs.batches import RecipeBatches
from recipeflow.pairs.loading import Pairs, load_pairs
from recipeflow.training.runs import prepare_run
from recipeflow.training.settings import get_preset

TARGET = 1.5


def trainer_steps(pairs: Pairs, row: str, steps: int) -> tuple[float, int]:
    """Seconds per step of the stock Trainer on a row's data, and the steps of one of its folds."""
    inputs = ROWS[row].inputs
    config = get_preset("fast", inputs=inputs)
    run = prepare_run(pairs, config, 0, OFFLINE_BACKBONE, OFFLINE_WEIGHTS)
    batches = RecipeBatches(run.train_data.recipes, config.recipes_per_batch, config.seed)
    rows = [rows for epoch in range(-(-steps // len(batches))) for rows in batches.epoch(epoch)][:steps]
    data = [plain_batch(run.train_data, run.train_data.batch(chosen)) for chosen in rows]
    model = make_model(OFFLINE_BACKBONE, run.processor.vocab_size, inputs)
    return trainer_seconds(model, config, data), config.epochs * len(batches)


def estimate(pairs: Pairs, folds: int, steps: int) -> float:
    """Seconds that the stock Trainer would need for all rows and folds."""
    total = 0.0
    for row in PAPER_ROWS[1:]:
        seconds, number = trainer_steps(pairs, row, steps)
        print(f"  Trainer, {ROWS[row].title}: {seconds * 1000:.1f} ms per step, {number} steps per fold")
        total += seconds * number * folds
    return total


def main() -> None:
    """Measure, print, and fail below the target."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("dataset", nargs="?", default="demo/vrf", help="a dataset folder; `make demo` writes demo/vrf")
    parser.add_argument("--folds", default="", help="which; all ten by default")
    parser.add_argument("--steps", type=int, default=40, help="of the Trainer, to extrapolate from")
    parser.add_argument("--cache", help="the folder of all feature caches")
    parser.add_argument("--out", help="keep the experiment in this folder, which has to be new")
    options = parser.parse_args()
    folds = parse_folds(options.folds)
    config = get_preset("fast")
    experiment = Experiment(options.dataset, OFFLINE_BACKBONE, OFFLINE_WEIGHTS, options.cache, "fast", config)
    pairs = load_pairs(options.dataset, experiment.features())
    before = estimate(pairs, len(folds), options.steps)
    with tempfile.TemporaryDirectory() as scratch:
        started = time.perf_counter()
        run_experiment(experiment, Path(options.out or scratch), PAPER_ROWS, folds)
        ours = time.perf_counter() - started
    after = estimate(pairs, len(folds), options.steps)
    theirs = min(before, after)  # in its favour, too
    print(f"ours: {ours:.0f} s; Trainer: {theirs:.0f} s (from {before:.0f} and {after:.0f})")
    print(f"ours is {theirs / ours:.2f} x as fast (target: at least {TARGET:.2f})")
    sys.exit(theirs / ours < TARGET)


if __name__ == "__main__":
    main()
