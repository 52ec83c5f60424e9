"""Work on a real Ray cluster of two nodes: the same results as without it, though a node dies; and what is refused."""

import json
import shutil
import socket
import subprocess
import sys
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from recipeflow.download.frames import VIDEO, sample_release
from recipeflow.errors import ClusterError, WorkerDiedError
from recipeflow.experiment.jobs import Experiment, run_experiment
from recipeflow.machines import ray_cluster
from recipeflow.machines.ray_cluster import join_cluster
from recipeflow.release.recipe_files import recipe_folder
from recipeflow.training.settings import PRESETS
from tests.building import all_files, many_recipes
from tests.cli.commanding import vrf
from tests.cli.test_interrupts import interrupt
from tests.download.filming import make_video
from tests.machines.clustering import die, double, killing, processes_of, start_cluster
from tests.making import make_release
from tests.model_helpers import BACKBONE
from tests.search.searching import Table, make_table, own_cache  # noqa: F401  (autouse)

JOBS = {"rows": ("text", "both"), "folds": [0, 1, 2]}


@pytest.fixture(scope="module")
def nodes():
    cluster = start_cluster()
    yield cluster
    cluster.shutdown()


@pytest.fixture(scope="module")
def table(tmp_path_factory) -> Table:
    return make_table(tmp_path_factory.mktemp("data"), recipes=10)


@pytest.fixture
def filmed(tmp_path) -> Path:
    """A release with videos, and no frames."""
    recipes = many_recipes(3)
    release = make_release(tmp_path / "release", recipes, frames=False)
    make_video(tmp_path / VIDEO, 120, 30)
    for recipe in recipes:
        shutil.copy(tmp_path / VIDEO, recipe_folder(release, recipe.id) / VIDEO)
    return release


# The same results.


def test_frames_are_those_of_a_local_run(nodes, filmed):
    answer = vrf("frames", filmed, "--ray", nodes.address, "--json")
    assert answer.code == 0, answer.stderr
    assert json.loads(answer.stdout)["done"] == 3
    sampled = all_files(filmed)
    sample_release(filmed, overwrite=True, workers=1)
    assert all_files(filmed) == sampled, "and nothing else is left there"


def test_features_are_those_of_a_local_run(nodes, table, tmp_path):
    source = ("--backbone", BACKBONE, "--weights", table.weights, "--views", "2")
    answers = [
        vrf("features", table.folder, *source, "--cache", tmp_path / name, "--json", *options)
        for name, options in (("ray", ("--ray", nodes.address)), ("local", ()))
    ]
    assert [answer.code for answer in answers] == [0, 0], answers[0].stderr
    found = [json.loads(answer.stdout) for answer in answers]
    assert found[0]["computed"] == found[1]["computed"] > 0
    ray, local = (
        {path.relative_to(tmp_path / name).parent: read_records(path) for path in (tmp_path / name).rglob("*.rows")}
        for name in ("ray", "local")
    )
    assert ray == local and len(ray) == 2


def read_records(path: Path) -> list[bytes]:
    size = 32 + 4 * 96 + 4
    content = path.read_bytes()
    return sorted(content[start : start + size] for start in range(0, len(content), size))


def test_an_experiment_ends_with_the_results_of_a_local_run_though_a_node_dies(nodes, table, tmp_path):
    config = replace(PRESETS["fast"], epochs=1)
    experiment = Experiment(str(table.folder), BACKBONE, str(table.weights), str(table.cache), "fast", config)
    local = run_experiment(experiment, tmp_path / "local", **JOBS, workers=1)
    (node,) = nodes.worker_nodes
    with join_cluster(nodes.address) as cluster, killing(nodes, node) as killed:
        ray = run_experiment(experiment, tmp_path / "ray", **JOBS, cluster=cluster)
    assert killed == ["in the middle"]
    assert ray["rows"] == local["rows"]
    jobs = [read_jobs(tmp_path / name) for name in ("local", "ray")]
    assert jobs[0] == jobs[1] and len(jobs[0]) == 6
    kept = all_files(tmp_path / "ray" / "jobs")
    with join_cluster(nodes.address) as cluster:
        again = run_experiment(experiment, tmp_path / "ray", **JOBS, cluster=cluster)
    assert again["rows"] == ray["rows"] and all_files(tmp_path / "ray" / "jobs") == kept, "nothing was run again"


def read_jobs(folder: Path) -> dict[Path, dict]:
    """Everything that jobs wrote, except how long they took."""
    found = {}
    for path in folder.rglob("fold-*.json"):
        result = json.loads(path.read_text())
        result["history"] = [{k: v for k, v in row.items() if k != "seconds"} for row in result["history"]]
        answers = path.with_suffix(".safetensors").read_bytes()
        found[path.relative_to(folder)] = result | {"seconds": None, "answers": answers}
    return found


# What is refused, before any work.


def test_a_node_without_the_folder_is_named(nodes, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "file").touch()
    elsewhere = Path("/proc/self/cwd/data")  # another folder, if any, in each process
    monkeypatch.setattr("recipeflow.machines.ray_cluster.PATIENCE", 0.1)
    with join_cluster(nodes.address) as cluster:
        with pytest.raises(ClusterError, match=r"Ray node .* \(127.0.0.1\): .*/data on a file system that all nodes"):
            cluster.require_shared(elsewhere)
        assert [path.name for path in (tmp_path / "data").iterdir()] == ["file"]
        with pytest.raises(ClusterError, match=r"Ray node .* \(127.0.0.1\): .* found nothing there; put it on a"):
            cluster.require_same(elsewhere)
        cluster.require_shared(tmp_path / "new" / "data")
        cluster.require_same(tmp_path / "data")
        # A process that dies every time, and one that does not.
        monkeypatch.setattr("recipeflow.machines.ray_cluster.RETRIES", 0)
        with pytest.raises(WorkerDiedError, match="what is finished is kept"):
            list(cluster.run(die, [1]))
        assert list(cluster.run(die, [1], when_lost=lambda item: -item)) == [(1, -1)]
        assert sorted(cluster.run(double, range(5))) == [(n, 2 * n) for n in range(5)]


def test_files_of_one_size_and_other_content_are_found_on_nodes_that_join_later_too(tmp_path, monkeypatch):
    """Weights of one network have one size, as have manifests of datasets."""
    for name in ("weights", "manifest"):
        (tmp_path / name).mkdir()
    weights, manifest = tmp_path / "weights" / "backbone.pth", tmp_path / "manifest" / "vrf_build.json"
    monkeypatch.setattr(ray_cluster, "SMALL", 10)
    for path in (weights, manifest):
        path.write_text("first, and longer" if path == weights else "first")
    for place, path in ((weights, weights), (manifest.parent, manifest)):
        expected = ray_cluster.Expected(ray_cluster._our_code(), {str(place): ray_cluster.list_files(place)})
        assert ray_cluster.do_work(expected, double, 2) == 4
        path.write_text(path.read_text().replace("first", "other"))
        ray_cluster._checked = None  # as in a new process
        with pytest.raises(ClusterError, match=f"Ray node {socket.gethostname()}: expected {place} as on the machine"):
            ray_cluster.do_work(expected, double, 2)


def test_a_node_with_other_code_is_named(nodes, monkeypatch):
    monkeypatch.setattr("recipeflow.machines.ray_cluster.code_version", lambda: "9.9.9")
    with (
        pytest.raises(ClusterError, match=r"Ray node .*: expected recipeflow 9.9.9 .* found recipeflow .*; install"),
        join_cluster(nodes.address),
    ):
        pass


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("127.0.0.1:1", "found: Connection refused; is `ray start --head` running"),
        ("ray://127.0.0.1:10001", "pass HOST:PORT"),
        ("somewhere", "pass HOST:PORT"),
    ],
)
def test_an_address_without_a_cluster_is_one_message(filmed, address, found):
    answer = vrf("frames", filmed, "--ray", address)
    assert answer.code == 1 and "ClusterError" in answer.stderr and found in answer.stderr


def test_another_server_is_no_cluster(filmed):
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        thread = Thread(target=server.handle_request)
        thread.start()
        answer = vrf("frames", filmed, "--ray", f"127.0.0.1:{server.server_port}")
        thread.join()
    assert answer.code == 1 and "found: another kind of server" in answer.stderr


def test_without_ray_the_extra_is_named(filmed, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    answer = vrf("frames", filmed, "--ray", "local")
    assert answer.code == 1 and "pip install 'recipeflow[ray]'" in answer.stderr


def test_nothing_imports_ray_by_itself():
    modules = "recipeflow.cli, recipeflow.download.frames, recipeflow.machines.ray_cluster"
    code = f"import sys, {modules}; print('ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


# Ctrl-C.


def test_an_interrupted_local_cluster_leaves_no_process(tmp_path):
    recipes = many_recipes(60)
    release = make_release(tmp_path / "films", recipes, frames=False)
    make_video(tmp_path / VIDEO, 600, 30)
    for recipe in recipes:
        shutil.copy(tmp_path / VIDEO, recipe_folder(release, recipe.id) / VIDEO)

    def sampling():
        return any(release.glob("recipes/*/frames"))

    printed = interrupt(tmp_path, "frames", "films", "--ray", "local", when=sampling)
    assert printed == "interrupted; finished recipes are kept: run the same command again to resume"
    assert processes_of(tmp_path) == []
