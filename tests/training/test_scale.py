"""The benchmark of growth, on a dataset so small that it only shows that every figure is measured."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_it_reports_every_figure_and_leaves_nothing_behind(tmp_path):
    command = [
        sys.executable,
        str(ROOT / "benchmarks" / "scale.py"),
        "--recipes",
        "30",
        "--rounds",
        "1",
        "--steps",
        "2",
    ]
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    (figures,) = json.loads(done.stdout)
    assert figures["recipes"] == 30 and figures["pairs"] == 600
    assert figures["ratio"] == 1
    for name in ("first_step", "cpu", "step", "memory_gb", "peak_gb", "second_gb", "checkpoint", "evaluation"):
        assert figures[name] > 0, name
    assert not list(tmp_path.iterdir())
