"""Starts ``training_script.py``, or ``vrf`` under accelerate's launcher, in processes of their own."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("training_script.py")
LAUNCH = "-m accelerate.commands.launch --multi_gpu --num_machines 1 --mixed_precision no --dynamo_backend no"


def run_script(task: str, output: Path, processes: int = 1) -> subprocess.CompletedProcess:
    command = [str(SCRIPT), task, str(output)]
    if processes > 1:
        command = [*LAUNCH.split(), "--num_processes", str(processes), "--main_process_port", "0", *command]
    # The launcher's own --cpu would start a single process.
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true"}
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, env=environment, timeout=300)


def launch_vrf(*arguments: object, config: str, cpu: bool) -> subprocess.CompletedProcess:
    """Run a command under ``accelerate launch`` with one of the documented configurations, and without a GPU."""
    launch = [sys.executable, "-m", "accelerate.commands.launch", "--main_process_port", "0"]
    launch += ["--config_file", str(ROOT / "docs" / "accelerate" / f"{config}.yaml")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    environment |= {"ACCELERATE_USE_CPU": "true"} if cpu else {"CUDA_VISIBLE_DEVICES": ""}
    command = [*launch, "-m", "recipeflow.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
