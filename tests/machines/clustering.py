"""What the tests of Ray share: a cluster of two nodes on the loopback interface, and small pieces of work.

Nodes import this module, which is why it imports nothing that learns.
"""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

ENVIRONMENT = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # stay on the loopback interface
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "disabled",  # or a token would be written to the home folder
}
NODE = {"num_cpus": 1, "node_ip_address": "127.0.0.1"}


def double(number: int) -> int:
    return 2 * number


def die(number: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return number


def start_cluster():
    """Two nodes with one core each; shut it down."""
    os.environ.update(ENVIRONMENT)
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:  # nodes run functions of the tests, too
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
        cluster = Cluster(initialize_head=True, head_node_args=NODE | {"include_dashboard": False})
        cluster.add_node(**NODE)
    return cluster


def is_working(node) -> bool:
    """Whether a process of this node is doing a piece of work right now; Ray names processes by what they do."""
    raylet = node.all_processes["raylet"][0].process.pid
    for task in Path(f"/proc/{raylet}/task").iterdir():
        for child in (task / "children").read_text().split():
            if Path(f"/proc/{child}/cmdline").read_bytes().startswith(b"ray::do_work"):
                return True
    return False


@contextmanager
def killing(cluster, node) -> Iterator[list[str]]:
    """Kill a node as soon as it works; a list that says so afterwards."""
    killed: list[str] = []

    def kill() -> None:
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            if is_working(node):
                cluster.remove_node(node, allow_graceful=False)
                killed.append("in the middle")
                return
            time.sleep(0.05)

    thread = Thread(target=kill, daemon=True)
    thread.start()
    yield killed
    thread.join()


def processes_of(folder: Path) -> list[str]:
    """The processes whose environment mentions a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if str(folder).encode() in (path / "environ").read_bytes():
                found.append((path / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:  # ended meanwhile, or not ours
            continue
    return found
