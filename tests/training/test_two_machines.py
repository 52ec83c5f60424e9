"""Two machines, as docs/training.md says: two network namespaces with a cable between them, and a launcher on each."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from safetensors.torch import load_file
from torch.testing import assert_close

from recipeflow.pairs.batches import check_share
from recipeflow.training.settings import get_preset
from tests.cli.commanding import vrf
from tests.model_helpers import BACKBONE
from tests.search.searching import Table, make_table
from tests.training.launching import ROOT, documented_launches

CABLE = "vrf0"
SECONDS_TO_END = 120
"""How long a machine may take to notice that the other one is gone: a minute, and another one if it has other work."""
IMPATIENT = """
from recipeflow.machines import silence, waiting
silence.SILENCE, waiting.BEAT = 15.0, 1.0
"""
"""What every process runs first, so that nobody waits for signs of life as long as in earnest."""


@pytest.mark.parametrize(
    ("config", "arguments"), documented_launches(), ids=lambda value: getattr(value, "stem", None)
)
def test_the_processes_of_a_documented_launch_can_share_its_batches(config, arguments):
    processes = yaml.safe_load(config.read_text())["num_processes"]
    options = dict(pairwise(arguments))
    asked = options.get("--recipes-per-batch")
    default = "fast" if "--finetune" in arguments else "best"
    preset = get_preset(options.get("--preset", default), recipes_per_batch=asked and int(asked))
    check_share(preset.recipes_per_batch, processes)


@pytest.fixture(scope="module")
def machines() -> Iterator[list[str]]:
    """The names of two network namespaces with the addresses 10.0.0.1 and 10.0.0.2."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("needs root and the command ip (Debian: iproute2), to make network namespaces")
    names = [f"vrf-{os.getpid()}-{number}" for number in (1, 2)]
    try:
        made = subprocess.run(["ip", "netns", "add", names[0]], capture_output=True, text=True)
        if made.returncode != 0:
            pytest.skip(f"needs permission to make network namespaces: {made.stderr.strip()}")
        ip("netns", "add", names[1])
        ip("link", "add", CABLE, "netns", names[0], "type", "veth", "peer", "name", CABLE, "netns", names[1])
        for number, name in enumerate(names, start=1):
            ip("-n", name, "address", "add", f"10.0.0.{number}/24", "dev", CABLE)
            for device in ("lo", CABLE):
                ip("-n", name, "link", "set", device, "up")
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True)


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)


@pytest.fixture(scope="module")
def table(tmp_path_factory) -> Table:
    return make_table(tmp_path_factory.mktemp("machines"), recipes=10)


def options(table: Table, output: Path) -> list[str]:
    """The documented command's arguments for this dataset, with a small network and often a checkpoint."""
    _, (command, dataset, *documented) = next(pair for pair in documented_launches() if pair[0].stem == "two_machines")
    assert (command, dataset) == ("train", "vrf")
    documented[documented.index("--out") + 1] = str(output)
    own = {"--backbone": BACKBONE, "--weights": table.weights, "--cache": table.cache, "--checkpoint-every": 1}
    own |= {"--epochs": 24, "--learning-rate": 1e-3}
    own |= {"--preset": "fast"}  # no dropout, which differs between processes
    return [command, str(table.folder), *documented, *(str(word) for pair in own.items() for word in pair)]


def start(machines: list[str], arguments: list[str], config: Path) -> list[subprocess.Popen]:
    """Type the documented command on both machines."""
    (config.parent / "sitecustomize.py").write_text(IMPATIENT)
    environment = {**os.environ, "PYTHONPATH": f"{config.parent}:{ROOT}", "OMP_NUM_THREADS": "1"}
    environment |= {"ACCELERATE_USE_CPU": "true", "GLOO_SOCKET_IFNAME": CABLE, "COLUMNS": "200"}
    started = []
    for rank, name in enumerate(machines):
        launch = ["ip", "netns", "exec", name, sys.executable, "-m", "accelerate.commands.launch"]
        launch += ["--config_file", str(config), *(["--machine_rank", "1"] if rank else []), "-m", "recipeflow.cli"]
        with (config.parent / f"machine-{rank}.log").open("w") as log:
            streams = {"stdout": log, "stderr": log, "stdin": subprocess.DEVNULL}
            started.append(subprocess.Popen([*launch, *arguments], env=environment, **streams))
    return started


def kill(machine: str) -> None:
    """End all processes of a machine that a failed test may have left; launcher and worker are in different groups."""
    listed = subprocess.run(["ip", "netns", "pids", machine], capture_output=True, text=True, check=True).stdout
    for process in map(int, listed.split()):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def wait_for_checkpoint(run: Path, processes: list[subprocess.Popen]) -> None:
    deadline = time.monotonic() + 240
    while not any(path.suffix != ".partial" for path in run.glob("checkpoint-*")):
        assert time.monotonic() < deadline and all(process.poll() is None for process in processes)
        time.sleep(0.02)


def test_the_cable_is_pulled_both_machines_say_so_and_resume_to_the_weights_of_one(machines, table, tmp_path):
    """No connection is closed, so nobody notices anything but silence; a machine that is killed says more."""
    documented = yaml.safe_load((ROOT / "docs" / "accelerate" / "two_machines.yaml").read_text())
    config = tmp_path / "two_machines.yaml"
    config.write_text(yaml.safe_dump(documented | {"num_processes": 2}))  # one per machine, which has no GPU
    alone, run = tmp_path / "alone", tmp_path / "run"
    assert vrf(*options(table, alone)).code == 0
    logs = [tmp_path / f"machine-{rank}.log" for rank in (0, 1)]
    processes = start(machines, options(table, run), config)
    try:
        wait_for_checkpoint(run, processes)
        ip("-n", machines[1], "link", "set", CABLE, "down")
        assert 0 not in [process.wait(timeout=SECONDS_TO_END) for process in processes]
        assert not (run / "model").exists()
        for rank, log in enumerate(logs):
            lost = f"LaunchError: expected a sign of life from process {1 - rank} on "
            assert lost in log.read_text(), log.read_text()
        ip("-n", machines[1], "link", "set", CABLE, "up")
        processes = start(machines, options(table, run), config)
        codes = [process.wait(timeout=480) for process in processes]
    finally:
        for name in machines:
            kill(name)
    assert codes == [0, 0], logs[0].read_text() + logs[1].read_text()
    one, two = (load_file(folder / "model" / "model.safetensors") for folder in (alone, run))
    assert_close(two, one, rtol=1e-4, atol=1e-5)
