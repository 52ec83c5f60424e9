"""What a run costs as the dataset grows to a million pairs: seconds to the first step, time per step, memory.

Datasets of 20 pairs per recipe are made up, with random features, in a temporary folder that is removed at the end.
Each is trained on by `start_training`, as ``vrf train`` does it, in processes of their own. All sizes take their steps
in turns, so that other work on the machine slows all of them down.

Memory is what a process has beyond mapped files: resident anonymous and shared memory (RssAnon + RssShmem of
``/proc/self/status``), its peak since the start. The feature table is a mapped file: its pages belong to the
host and can be dropped at any time. The second process is one of two that train together.

    python benchmarks/scale.py [--recipes 200,10000,50000] [--preset best] [--backbone test_resnet] [--json]

A frame takes 8 bytes per number of its feature on disk: with ``test_resnet`` and preset ``best`` (896 numbers) the
default sizes need about 9 GB, with ``tf_efficientnet_lite0`` (2,304) 24 GB.
"""

import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from recipeflow.tables import Table

LIMITS = {"ratio": 1.1, "peak_gb": 2.5, "first_step": 90.0, "second_gb": 0.6}
"""For 1,000,000 pairs on two cores and 24 GB."""

FULL_SIZE, PAIRS_EACH = 50_000, 20
GB = 10**9
HEADER = ("recipes", "pairs", "first step, s", "CPU, s", "step, ms", "x", "memory, GB", "peak, GB")
HEADER += ("second process, GB", "checkpoint, s", "evaluation, s")


# The process that trains.


class MemoryWatch(threading.Thread):
    """Notes the largest memory of this process that is not a mapped file."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak = 0

    def run(self) -> None:
        while True:
            self.peak = max(self.peak, memory())
            time.sleep(0.02)


def memory() -> int:
    """Bytes of this process beyond mapped files."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(("RssAnon", "RssShmem")))


def train(folder: Path, number: int, preset: str, backbone: str, started: float) -> None:
    """Prepare a run and take the first step; then take as many steps as each line of the standard input says."""
    watch = MemoryWatch()
    watch.start()
    from recipeflow.training.runs import start_training
    from recipeflow.training.settings import get_preset

    source: dict[str, Any] = {"backbone": backbone, "weights": str(folder / "weights.pth"), "cache": folder / "cache"}
    trainer: Any = start_training(folder / "vrf", folder / f"run-{number}", get_preset(preset), fold=0, **source)
    trainer.wrapped.train()
    batches = _forever(trainer)
    trainer.training_step(next(batches))
    report(
        first_step=time.monotonic() - started,
        cpu=time.process_time(),
    )
    for line in sys.stdin:
        if line.strip() in ACTS:
            begin = time.perf_counter()
            ACTS[line.strip()](trainer)
            report(seconds=time.perf_counter() - begin, memory_gb=memory() / GB, peak_gb=watch.peak / GB)
        else:
            report(step=statistics.median(_step_times(trainer, batches, int(line))))


ACTS: dict[str, Callable[[Any], object]] = {
    "look": lambda trainer: None,
    "checkpoint": lambda trainer: trainer.checkpoints.save(1),
    "evaluation": lambda trainer: trainer.evaluate(),
}
"""What a training process can be asked for besides steps."""


def _step_times(trainer: Any, batches: Iterator[Any], steps: int) -> list[float]:
    times = []
    for _ in range(steps):
        begin = time.perf_counter()
        trainer.training_step(next(batches))
        trainer.state.step += 1
        times.append(time.perf_counter() - begin)
    return times


def _forever(trainer: Any) -> Iterator[Any]:
    epoch = 0
    while True:
        yield from trainer.load_epoch(epoch, done=0)
        epoch += 1


def report(**figures: Any) -> None:
    print(json.dumps(figures), flush=True)


# The process that measures.


class Trained:
    """Processes that train together on one dataset.

    Args:
        folder: With the dataset, the weights and the cache.
        number: Of the run.
        options: Of the benchmark.
        processes: How many.
    """

    def __init__(self, folder: Path, number: int, options: argparse.Namespace, processes: int = 1) -> None:
        command = [sys.executable, __file__, "--train", str(folder), "--number", str(number)]
        command += ["--preset", options.preset, "--backbone", options.backbone, "--started", str(time.monotonic())]
        root = Path(__file__).parents[1]
        base = {**os.environ, "OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true", "PYTHONPATH": str(root)}
        groups = [{}] if processes == 1 else _launched(processes)
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.processes = [subprocess.Popen(command, env=base | extra, **pipes) for extra in groups]

    def ask(self, what: int | str | None = None) -> list[dict[str, Any]]:
        """The next report of every process, after it was asked for a number of steps, or one of `ACTS`."""
        if what is not None:
            for process in self.processes:
                print(what, file=process.stdin, flush=True)
        lines = [process.stdout.readline() if process.stdout else "" for process in self.processes]
        if not all(lines):
            raise SystemExit("expected a report of every process, found one that ended; its error is above")
        return [json.loads(line) for line in lines]

    def __enter__(self) -> "Trained":
        return self

    def __exit__(self, *problem: object) -> None:
        for process in self.processes:
            if problem[0] is not None:
                process.kill()
            process.communicate()  # closes its input, which ends it


def _launched(processes: int) -> list[dict[str, str]]:
    """What a launcher tells each process."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(processes)}
    return [shared | {"RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(processes)]


def make_folder(folder: Path, recipes: int, preset: str, backbone: str) -> None:
    """A dataset, a file of random weights, and a cache with all features that the preset reads."""
    import timm
    import torch
    from _made_up import write_dataset, write_features

    from configuration_vrf import VRFConfig
    from recipeflow.features.planning import open_caches, weights_origin
    from recipeflow.training.settings import get_preset

    folder.mkdir()
    network: Any = timm.create_model(backbone)
    torch.save(network.state_dict(), folder / "weights.pth")
    origin, kind = weights_origin(backbone, folder / "weights.pth"), get_preset(preset).image_features
    (cache,) = open_caches(folder / "cache", backbone, origin, "fp32", kind).values()
    write_features(cache, recipes, VRFConfig(backbone=backbone, image_features=kind).feature_dim, "made up")
    write_dataset(folder / "vrf", recipes)


def measure(folder: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    """The figures of every size."""
    found: list[dict[str, Any]] = []
    with ExitStack() as running:
        runs = []
        for recipes in options.recipes:
            place = folder / str(recipes)
            begin = time.monotonic()
            make_folder(place, recipes, options.preset, options.backbone)
            note(f"{recipes} recipes written in {time.monotonic() - begin:.0f} s")
            runs.append(running.enter_context(Trained(place, 0, options)))
            found.append({"recipes": recipes, "pairs": recipes * PAIRS_EACH} | runs[-1].ask()[0])
            note(found[-1])
        rounds = [[run.ask(options.steps)[0]["step"] for run in runs] for _ in range(options.rounds)]
        for number, (run, figures) in enumerate(zip(runs, found, strict=True)):
            figures["step"] = statistics.median(steps[number] for steps in rounds)
            figures["ratio"] = statistics.median(steps[number] / steps[0] for steps in rounds)
            figures["memory_gb"] = run.ask("look")[0]["memory_gb"]
            for name in ("checkpoint", "evaluation"):
                last = run.ask(name)[0]
                figures |= {name: last["seconds"], "peak_gb": last["peak_gb"]}
            note(figures)
    for figures in found:
        with Trained(folder / str(figures["recipes"]), 1, options, processes=2) as pair:
            pair.ask()
            pair.ask(options.steps)
            second = pair.ask("look")[1]
        figures |= {"second_gb": second["memory_gb"], "second_peak_gb": second["peak_gb"]}
        note(figures)
    return found


def note(line: object) -> None:
    """What is known so far, for those who wait."""
    print(line, file=sys.stderr, flush=True)


def show(found: Sequence[dict[str, Any]]) -> str:
    """The table."""
    rows = []
    for size in found:
        numbers = f"{size['recipes']:,}", f"{size['pairs']:,}"
        times = f"{size['first_step']:.0f}", f"{size['cpu']:.0f}", f"{1000 * size['step']:.1f}", f"{size['ratio']:.2f}"
        space = f"{size['memory_gb']:.2f}", f"{size['peak_gb']:.2f}", f"{size['second_gb']:.2f}"
        rows.append((*numbers, *times, *space, f"{size['checkpoint']:.1f}", f"{size['evaluation']:.1f}"))
    return Table("Growth", HEADER, rows).markdown()


def missed_limits(found: Sequence[dict[str, Any]]) -> list[str]:
    """The limits that the full size does not meet."""
    large = [size for size in found if size["recipes"] >= FULL_SIZE]
    return [
        f"{name} {size[name]:.2f}, limit {limit}"
        for size in large
        for name, limit in LIMITS.items()
        if size[name] > limit
    ]


def main() -> None:
    """Measure and print; fail over the limits."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    sizes = "numbers of recipes, 20 pairs each (default: 200,10000,50000)"
    parser.add_argument("--recipes", type=lambda text: [int(size) for size in text.split(",")], help=sizes)
    parser.add_argument("--preset", default="best")
    parser.add_argument("--backbone", default="test_resnet", help="its width is what a feature takes")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=20, help="per round")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    for name, kind in (("train", Path), ("number", int), ("started", float)):
        parser.add_argument(f"--{name}", type=kind, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.train:
        train(options.train, options.number, options.preset, options.backbone, options.started)
        return
    options.recipes = options.recipes or [200, 10_000, FULL_SIZE]
    folder = Path(tempfile.mkdtemp(prefix="vrf-scale-"))
    try:
        found = measure(folder, options)
    finally:
        shutil.rmtree(folder)
    print(json.dumps(found) if options.json else show(found))
    if missed := missed_limits(found):
        sys.exit("; ".join(missed))


if __name__ == "__main__":
    main()
