"""What a command costs before it begins: processor time of whole processes, over that of a bare `import torch`.

    a wrong argument    `vrf train` with a missing folder, which must be refused without torch
    PreTrainedModel     transformers' base class alone, which imports torch._dynamo: most of what is above 1 is that
    modeling_vrf        importing the model's file
    search              everything that `vrf search` imports

All are measured in turns, so that a busy machine slows them alike, by processor time and not by the clock; figures are
medians over the rounds, after one round that fills the caches of bytecode.

    python benchmarks/startup.py [--rounds 5]

The exit code is 1 if a wrong argument costs more than half as much as importing torch.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
BASE, WRONG = "import torch", "a wrong argument"
LARGEST = 0.5

PROCESSES = {
    BASE: ["-c", "import torch"],
    WRONG: ["-m", "recipeflow.cli", "train", "nowhere"],
    "PreTrainedModel": ["-c", "from transformers import PreTrainedModel"],
    "modeling_vrf": ["-c", "import modeling_vrf"],
    "search": ["-c", "import retrieval_vrf, recipeflow.search"],
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    seconds: dict[str, list[float]] = {name: [] for name in PROCESSES}
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(rounds + 1):
            for name, arguments in PROCESSES.items():
                spent = processor_time(arguments, Path(scratch))
                if number:
                    seconds[name].append(spent)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    for name, median in medians.items():
        print(f"{name:24} {median / medians[BASE]:.2f} x import torch")
    if medians[WRONG] > LARGEST * medians[BASE]:
        sys.exit(f"expected a wrong argument to cost at most {LARGEST} x import torch")


def processor_time(arguments: list[str], scratch: Path) -> float:
    """Seconds of processor time of a Python process, which may keep bytecode of its own."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": str(scratch), "OMP_NUM_THREADS": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], env=environment, cwd=scratch, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
