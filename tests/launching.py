"""Starts ``training_script.py`` in processes of its own."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "tests" / "training_script.py"
LAUNCH = "-m accelerate.commands.launch --multi_gpu --num_machines 1 --mixed_precision no --dynamo_backend no"


def run_script(task: str, output: Path, processes: int = 1) -> subprocess.CompletedProcess:
    command = [str(SCRIPT), task, str(output)]
    if processes > 1:
        command = [*LAUNCH.split(), "--num_processes", str(processes), "--main_process_port", "0", *command]
    # The launcher's own --cpu would start a single process.
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true"}
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, env=environment, timeout=300)
