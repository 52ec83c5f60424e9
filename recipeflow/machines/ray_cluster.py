"""Independent pieces of work on a Ray cluster; Ray schedules them, and repeats on other nodes what a dead node had.

::

    with join_cluster("local") as cluster:              # or HOST:PORT, or "auto" on a node of the cluster
        cluster.require_shared(cache)                   # before any work
        for item, result in cluster.run(work, items):   # as they finish
            ...

Results come back to this process. Ray is imported inside `join_cluster` only, so that nothing needs it without
``--ray``. What leaves this machine goes to the cluster's nodes and nowhere else: Ray's usage statistics are off, and a
local cluster listens on the loopback interface only.
"""

from __future__ import annotations

import hashlib
import logging
import os
import platform
import socket
import time
import uuid
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeVar

import recipeflow
from recipeflow.errors import ClusterError, VRFError, WorkerDiedError
from recipeflow.files import saving
from recipeflow.machines.code_version import code_version
from recipeflow.machines.processes import available_cores

LOCAL, RUNNING = "local", "auto"
RETRIES = 3
"""How often a piece of work is repeated whose process or node died."""
WINDOW = 1000
"""Pieces of work that Ray is given at a time: enough for a large cluster, and few enough to wait for."""
PATIENCE = 30.0
"""Seconds until a file has to be visible on another machine's view of a shared file system."""
REACHABLE = 10.0
"""Seconds until a cluster has to answer."""
LIBRARIES = ("torch", "transformers", "timm", "datasets", "numpy", "av")
"""Results depend on them."""

BEFORE_RAY = {
    "RAY_USAGE_STATS_ENABLED": "0",
    # Messages about dead workers and nodes would go to standard output, into the middle of --json.
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",
}
"""Ray reads these when it is imported."""
LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Ray's way to stay on 127.0.0.1; without it, every port of a local cluster is open to the network."""

SMALL = 1_000_000
"""Bytes up to which files of a folder are compared by content."""

Files = list[tuple[str, int, str | None]]
"""Names, sizes and, where it is known, SHA-256."""

Item = TypeVar("Item")
Result = TypeVar("Result")


@contextmanager
def join_cluster(address: str, workers: int | None = None) -> Generator[RayCluster]:
    """A cluster whose nodes all have this version of the code; left, or ended if it is a local one, after the block.

    Args:
        address: ``HOST:PORT`` of its head; ``"auto"`` for the one that this machine belongs to; ``"local"`` to start
            one on this machine.
        workers: How many pieces of work to do at a time; by default as many as there are GPUs or, without any, cores.

    Raises:
        ClusterError: If it cannot be reached, or has a node with other code.
    """
    os.environ.update(_environment_for(address))
    import ray

    if ray.is_initialized():
        raise ClusterError("expected a process without Ray, found it in a cluster; leave that with `ray.shutdown()`")
    try:
        if address == LOCAL:
            cores = max(workers or 0, available_cores())
            advice = "is the machine overloaded? Ray's processes have 30 seconds to start; run the same command again"
            _connect(ray, address, advice, include_dashboard=False, num_cpus=cores)
        else:
            _connect(ray, address, "run this command on a node of the cluster, in the Python that `ray start` ran in")
        cluster = RayCluster(ray, workers)
        cluster.on_every_node(check_code, _our_code())
        yield cluster
    finally:
        ray.shutdown()


def _connect(ray: Any, address: str, advice: str, **options: Any) -> None:
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.CRITICAL, **options)
    except Exception as error:  # Ray has no class of its own for it, and raises even a bare one
        found = " ".join(str(error).split())
        raise ClusterError(f"expected a Ray cluster ({address}), found: {found}; {advice}") from error


def _environment_for(address: str) -> dict[str, str]:
    """What Ray needs in its environment; an address that no Ray answers at is refused, which Ray takes minutes for."""
    if address in (LOCAL, RUNNING):
        return BEFORE_RAY | (LOOPBACK if address == LOCAL else {})
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or "/" in host:
        raise ClusterError(
            f"expected the address of a Ray cluster, found {address!r}; pass HOST:PORT, as `ray start --head` prints "
            f"it, {RUNNING}, or {LOCAL}"
        )
    if fault := _find_fault(host.strip("[]"), int(port)):
        raise ClusterError(
            f"expected a Ray cluster at {address}, found: {fault}; is `ray start --head` running there, and is the "
            "port open?"
        )
    # Ray replaces a loopback address by that of this machine, which a cluster on loopback alone does not listen on.
    alone = host in ("localhost", "127.0.0.1") and _find_fault(_own_address(), int(port))
    return BEFORE_RAY | (LOOPBACK if alone else {})


def _find_fault(host: str, port: int) -> str | None:
    """Why no gRPC server can be reached there: that is what Ray's is, and it greets with a frame of settings."""
    try:
        with socket.create_connection((host, port), REACHABLE) as connection:
            if os.environ.get("RAY_USE_TLS", "0") not in ("", "0"):
                return None
            connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
            return None if connection.recv(9)[3:4] == b"\4" else "another kind of server"
    except OSError as error:
        return error.strerror or str(error)


def _own_address() -> str:
    """This machine's address on the network, as Ray finds it; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("8.8.8.8", 80))
        except OSError:  # without any network
            return "127.0.0.1"
        return probe.getsockname()[0]


@dataclass(frozen=True)
class RayCluster:
    """A cluster that this process has joined; made by `join_cluster`.

    Args:
        ray: The library.
        workers: How many pieces of work to do at a time; ``None`` for as many as fit.
        required: The files that every node has to have, by the path of their folder.
    """

    ray: Any
    workers: int | None = None
    required: dict[str, Files] = field(default_factory=dict)

    @property
    def has_gpus(self) -> bool:
        """Whether any node has a GPU; then only those work that have."""
        return self.ray.cluster_resources().get("GPU", 0) >= 1

    def run(
        self,
        work: Callable[[Item], Result],
        items: Iterable[Item],
        *,
        gpu: bool = True,
        when_lost: Callable[[Item], Result] | None = None,
    ) -> Generator[tuple[Item, Result]]:
        """Do the work on each item, on one GPU or one core, and yield items with their results as they finish.

        Args:
            work: What to do; it is pickled, as are the items, and only depends on what all nodes have.
            items: What to do it on; the first ones first.
            gpu: Whether GPUs are of use.
            when_lost: The result of an item whose process died every time; without it, that ends everything.

        Raises:
            WorkerDiedError: If a process died every time.
        """
        options = {"num_cpus": 1, "num_gpus": int(gpu and self.has_gpus), "max_retries": RETRIES}
        task = self.ray.remote(**options)(do_work)
        expected = Expected(_our_code(), dict(self.required))
        waiting, running = iter(items), {}
        while True:
            for item in islice(waiting, (self.workers or WINDOW) - len(running)):
                running[task.remote(expected, work, item)] = item
            if not running:
                return
            (done,), _ = self.ray.wait(list(running))
            item = running.pop(done)
            yield item, self._result(done, item, when_lost)

    def _result(self, done: Any, item: Item, when_lost: Callable[[Item], Result] | None) -> Result:
        try:
            return self.ray.get(done)
        except self.ray.exceptions.RayTaskError as error:
            _raise_cause(error)
        except self.ray.exceptions.RayError as error:  # what is left are deaths, of processes and of nodes
            if when_lost is not None:
                return when_lost(item)
            raise WorkerDiedError(
                f"expected every piece of work to finish, found that the process of one died {RETRIES + 1} times (out "
                f"of memory?): {_first_line(error)}; what is finished is kept: run the same command again"
            ) from error

    def on_every_node(self, check: Callable[..., None], *arguments: Any) -> None:
        """Call this on each node that can work, at the same time.

        Raises:
            ClusterError: If it raises on one, with that node's name.
        """
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as On

        task = self.ray.remote(num_cpus=0, max_retries=0)(check)
        calls = {
            task.options(scheduling_strategy=On(node["NodeID"], soft=False)).remote(*arguments): node
            for node in self.ray.nodes()
            if node["Alive"] and any(node["Resources"].get(kind, 0) >= 1 for kind in ("CPU", "GPU"))
        }
        if not calls:
            raise ClusterError("expected a Ray cluster that can work, found no core and no GPU in it; add a node")
        answered = 0
        for call, node in calls.items():
            try:
                self.ray.get(call)
                answered += 1
            except self.ray.exceptions.TaskUnschedulableError:
                continue  # the node has left the cluster meanwhile: nothing will run on it
            except self.ray.exceptions.RayError as error:
                raise ClusterError(_about_node(node, error)) from error
        if not answered:
            raise ClusterError("expected a Ray cluster that can work, found that all its nodes have left; add one")

    def require_shared(self, folder: Path) -> None:
        """Make sure that all nodes see this very folder; it is created if it is missing.

        Raises:
            ClusterError: If one does not.
        """
        token = folder.absolute() / f".shared-{uuid.uuid4().hex}"
        with saving(token):
            token.parent.mkdir(parents=True, exist_ok=True)
            token.touch()
        try:
            self.on_every_node(check_visible, str(token), PATIENCE)
        finally:
            token.unlink(missing_ok=True)

    def require_same(self, path: Path) -> None:
        """Make sure that all nodes have this file or folder, shared or copied; those that join later are asked, too.

        Raises:
            ClusterError: If one does not.
        """
        place, files = str(path.absolute()), list_files(path)
        self.on_every_node(check_same, place, files)
        self.required[place] = files


# What runs on the nodes.


class Expected(NamedTuple):
    """What every node has to have in common with the machine that started the work."""

    code: dict[str, str]
    files: dict[str, Files]


def do_work(expected: Expected, work: Callable[[Item], Result], item: Item) -> Result:
    """A piece of work; the node may have joined after all others were checked."""
    global _checked
    if _checked != expected:
        try:
            check_code(expected.code)
            for path, files in expected.files.items():
                check_same(path, files)
        except ClusterError as error:
            raise ClusterError(f"Ray node {socket.gethostname()}: {error}") from None
        _checked = expected
    return work(item)


_checked: Expected | None = None


def check_code(expected: dict[str, str]) -> None:
    """Refuse a node with another version of what results depend on."""
    found = _our_code()
    different = [name for name in expected if found.get(name) != expected[name]]
    if different:
        theirs, ours = ({name: code.get(name) for name in different} for code in (found, expected))
        raise ClusterError(
            f"expected {_names_and_versions(ours)} as on the machine that started this, found "
            f"{_names_and_versions(theirs)}; install the same version in the Python that `ray start` runs in"
        )


def _our_code() -> dict[str, str]:
    """The versions of everything that results depend on."""
    found = {"Python": platform.python_version(), "recipeflow": code_version()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def _names_and_versions(code: dict[str, str | None]) -> str:
    return ", ".join(f"{name} {number}" for name, number in code.items())


def check_visible(token: str, patience: float) -> None:
    """Refuse a node that does not see a file that another one has just written."""
    deadline = time.monotonic() + patience
    while not Path(token).exists():
        if time.monotonic() > deadline:
            folder = Path(token).parent
            found = "another folder with that name" if folder.is_dir() else "no such folder"
            raise ClusterError(
                f"expected {folder} on a file system that all nodes share, found {found}; pass a shared folder"
            )
        time.sleep(min(0.2, patience))


def check_same(path: str, expected: Files) -> None:
    """Refuse a node without these files."""
    found = list_files(Path(path))
    if list(expected) != found:
        different = len({*expected} ^ {*found})
        what = f"{different} other or missing files there" if found else "nothing there"
        raise ClusterError(
            f"expected {path} as on the machine that started this, found {what}; put it on a file system that all "
            "nodes share, or copy it to each of them"
        )


def list_files(path: Path) -> Files:
    """The files in a folder, or a file: names and sizes.

    Files of weights have equal sizes whatever the weights are, so a single file has its digest, too, and so have the
    small ones of a folder, such as the manifest of a dataset, which contains the digest of its rows.
    """
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    return [_describe(file, file.relative_to(path), file == path) for file in files if file.is_file()]


def _describe(file: Path, name: Path, is_alone: bool) -> tuple[str, int, str | None]:
    size = file.stat().st_size
    if size > SMALL and not is_alone:
        return str(name), size, None
    with file.open("rb") as content:
        return str(name), size, hashlib.file_digest(content, "sha256").hexdigest()


# What went wrong there.


def _raise_cause(error: Any) -> NoReturn:
    """Raise what the work raised; a bug keeps Ray's error, which has the node's traceback."""
    if isinstance(error.cause, VRFError):
        raise error.cause from None
    raise error


def _about_node(node: dict[str, Any], error: Any) -> str:
    where = f"Ray node {node['NodeManagerHostname']} ({node['NodeManagerAddress']})"
    cause = getattr(error, "cause", None)
    if isinstance(cause, ClusterError):
        return f"{where}: {cause}"
    if "No module named" in str(error):
        return (
            f"{where}: expected recipeflow {recipeflow.__version__}, found that it is not installed in the Python "
            "that `ray start` ran in; install it there"
        )
    return f"{where}: expected an answer, found: {_first_line(error)}; restart Ray on it, or remove it"


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
