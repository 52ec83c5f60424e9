"""Machines that are set up in other ways: their locale, home folder and account, and how a process was started."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
IGNORING_CTRL_C = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh"]
"""As a shell without job control starts what ends in ``&``."""

OTHER_SETTINGS = {
    **{"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HUB_OFFLINE": "1", "HF_TOKEN": "hf_other", "HF_HOME": "/nowhere"},
    **{"RECIPEFLOW_CACHE": "/nowhere", "FORCE_COLOR": "1", "COLUMNS": "40", "http_proxy": "http://127.0.0.1:9"},
}


def run(*command: object, **environment: str) -> subprocess.CompletedProcess:
    """Run something with a clean environment of a few variables, and read bytes that need not be UTF-8."""
    kept = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": "/nowhere"}
    return subprocess.run(list(map(str, command)), cwd=ROOT, env=kept | environment, capture_output=True, timeout=120)


def run_vrf(*arguments: object, **environment: str) -> subprocess.CompletedProcess:
    return run(sys.executable, "-m", "recipeflow.cli", *arguments, **environment)


def test_commands_work_in_a_locale_that_is_not_utf_8(tmp_path):
    latin = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for arguments in (
        ("kitchen", tmp_path / "kitchen", "--recipes", 1, "--used-only"),
        ("check", tmp_path / "kitchen"),
        ("stats", tmp_path / "kitchen", "--markdown"),
        ("program", tmp_path / "kitchen", "kitchen-0-0000"),
    ):
        done = run_vrf(*arguments, **latin)
        assert (done.returncode, done.stderr) == (0, b""), done
    assert '"kitchen-0-0000"' in done.stdout.decode()
    assert (tmp_path / "kitchen" / "recipes" / "kitchen-0-0000" / "title.txt").read_text(encoding="utf-8")


def test_a_release_is_the_same_in_every_time_zone_and_with_any_number_of_processes(tmp_path):
    made = []
    for zone, workers in (("Asia/Tokyo", 1), ("America/Los_Angeles", 3)):
        folder = tmp_path / str(workers)
        done = run_vrf("kitchen", folder, "--recipes", 3, "--used-only", "--workers", workers, TZ=zone)
        assert done.returncode == 0, done.stderr
        made.append({path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()})
    assert made[0] == made[1]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no such thing on this system")
def test_no_more_processes_are_started_than_there_are_cores_to_use():
    code = "import os; from recipeflow.machines.processes import available_cores as cores\n"
    code += "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); print(cores(), os.cpu_count())"
    done = run(sys.executable, "-c", code)
    assert done.stdout.split() == [b"1", str(os.cpu_count()).encode()]


NO_ACCOUNT = """
import os
from recipeflow.files import cache_folder
from recipeflow.errors import UsageError
os.setgid(54321), os.setuid(54321)
try:
    cache_folder("features")
except UsageError as error:
    print(error)
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become a user without an account")
def test_a_user_without_a_home_folder_is_asked_for_a_cache_folder():
    done = run("env", "-u", "HOME", sys.executable, "-c", NO_ACCOUNT)
    assert done.stdout.startswith(
        b"expected a home folder to keep the cache of features in, found none; set RECIPEFLOW"
    )


PINNED = """
import json, os, signal, subprocess, sys
from tests.environment import pin_environment
pin_environment()
ask = "import signal; print(signal.getsignal(signal.SIGINT) == signal.default_int_handler)"
child = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True).stdout.strip()
print(json.dumps({"child": child, "environment": dict(os.environ)}))
"""


def test_the_suite_has_its_own_settings_and_caches_and_listens_to_ctrl_c():
    done = run(*IGNORING_CTRL_C, sys.executable, "-c", PINNED, **OTHER_SETTINGS)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["child"] == "True"
    assert not {"HF_ENDPOINT", "HF_HUB_OFFLINE", "HF_TOKEN", "COLUMNS", "http_proxy"} & found["environment"].keys()
    for name in ("HF_HOME", "RECIPEFLOW_CACHE"):
        folder = Path(found["environment"][name])
        assert folder.parent.name.startswith("vrf-tests-") and not folder.parent.exists()  # and is gone at its end


def test_the_suite_says_that_it_needs_utf_8():
    latin = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = run(sys.executable, "-m", "pytest", "--collect-only", "-q", "tests/dataset/test_folds.py", **latin)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert b"expected file names in UTF-8, found ascii; run PYTHONUTF8=1 python -m pytest" in done.stderr
