"""``vrf_dataset.py`` as a loading script under ``datasets`` 3.6, the last line of versions that runs such scripts.

It needs an environment of its own, without torch, which is made once below ``.cache/`` and used again until the
requirements change.
"""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.building import CONFIGS, ROOT
from tests.making import make_release
from vrf_dataset import VRFDataset

HOME = ROOT / ".cache" / "datasets-3.6"
REQUIREMENTS = ("datasets==3.6.0", "huggingface-hub<3", "networkx>=3.6,<4", "pillow>=12,<14", "pyarrow<27")


@pytest.fixture(scope="module")
def old_python() -> Path:
    """The interpreter of an environment with ``datasets`` 3.6."""
    interpreter = HOME / "bin" / "python"
    wanted = "\n".join((sys.version, *REQUIREMENTS))
    made_for = HOME / "made-for.txt"
    HOME.parent.mkdir(exist_ok=True)
    with (HOME.parent / f"{HOME.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # test runners in parallel wait for the first
        if not made_for.is_file() or made_for.read_text(encoding="utf-8") != wanted:
            shutil.rmtree(HOME, ignore_errors=True)
            subprocess.run([sys.executable, "-m", "venv", HOME], check=True)
            install = [interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *REQUIREMENTS]
            subprocess.run(install, check=True)
            made_for.write_text(wanted, encoding="utf-8")
    return interpreter


def run(python: Path, code: str, folder: Path) -> dict:
    """Run code that prints JSON, beside a copy of the script, with empty caches and no network."""
    shutil.copy(ROOT / "vrf_dataset.py", folder)
    # The package is importable, the script at the project's root is not what gets loaded.
    (folder / "packages").mkdir(exist_ok=True)
    for name in ("recipeflow", "segmentation_rfg.py", "flows_vrf.py"):
        (folder / "packages" / name).symlink_to(ROOT / name)
    keep = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    environment = keep | {
        "HF_HOME": str(folder / "hf"),
        "HF_HUB_OFFLINE": "1",
        "PYTHONPATH": str(folder / "packages"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        [python, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


HEAD = """
import datasets, importlib.util, json
from datasets import load_dataset

def load(config, **options):
    return load_dataset("vrf_dataset.py", config, data_dir="release", trust_remote_code=True, split="train", **options)

def plain(value):
    return value if not hasattr(value, "tobytes") else [type(value).__module__, value.size, value.tobytes().hex()]

def rows(dataset):
    return [{key: plain(value) for key, value in row.items()} for row in dataset]
"""

LOAD = """
result = {"version": datasets.__version__, "torch": importlib.util.find_spec("torch") is not None}
for config in ("recipes", "flow_graphs", "image_pairs"):
    normal = load(config)
    result[config] = rows(normal)
    result[config + " columns"] = list(normal.features)
    assert rows(load(config, streaming=True)) == result[config]
    assert rows(load(config, num_proc=2, cache_dir="two")) == result[config]
default = load(None)
result["default"] = [default.info.config_name, len(default)]
print(json.dumps(result))
"""


def plain(value: object) -> object:
    is_image = hasattr(value, "tobytes")
    return [type(value).__module__, list(value.size), value.tobytes().hex()] if is_image else value


def test_the_script_gives_the_rows_that_the_current_version_gives(old_python, release, tmp_path):
    found = run(old_python, HEAD + LOAD, tmp_path)
    assert (found["version"], found["torch"]) == ("3.6.0", False)
    for config in CONFIGS:
        builder = VRFDataset(config_name=config, data_dir=str(release), cache_dir=str(tmp_path / "current"))
        builder.download_and_prepare()
        rows = builder.as_dataset(split="train")
        assert found[config] == [{key: plain(value) for key, value in row.items()} for row in rows]
        assert found[f"{config} columns"] == list(rows.features)
    assert found["default"] == ["image_pairs", 12]


CHANGE = """
import shutil
result = []
for change in ("annotations.json", "recipes/tea_3/instructions.txt", "recipes/tea_3/frames/frame_2.jpg"):
    before = [rows(load(config)) for config in ("recipes", "flow_graphs", "image_pairs")]
    shutil.copyfile(f"changed/{change}", f"release/{change}")
    after = [rows(load(config)) for config in ("recipes", "flow_graphs", "image_pairs")]
    result.append([old != new for old, new in zip(before, after)])
print(json.dumps(result))
"""


def test_a_changed_release_is_never_served_from_the_cache(old_python, release, tmp_path):
    changed = make_release(tmp_path / "changed")
    annotations = changed / "annotations.json"
    text = annotations.read_text(encoding="utf-8").replace('"label": "Dest"', '"label": "T-comp"')
    annotations.write_text(text, encoding="utf-8")
    instructions = changed / "recipes" / "tea_3" / "instructions.txt"
    instructions.write_text(instructions.read_text(encoding="utf-8").replace("冷やし", "温めて"), encoding="utf-8")
    shutil.copyfile(release / "recipes/tea_3/frames/frame_1.jpg", changed / "recipes/tea_3/frames/frame_2.jpg")
    assert run(old_python, HEAD + CHANGE, tmp_path) == [[False, True, False], [True, True, True], [False, False, True]]


REFUSE = """
from datasets.exceptions import DatasetGenerationError
result = {}
try:
    load_dataset("vrf_dataset.py", "recipes", trust_remote_code=True)
except Exception as error:
    result["no data_dir"] = [type(error).__name__, str(error)]
try:
    load("image_pairs")
except DatasetGenerationError as error:
    result["frame"] = [type(error.__cause__).__name__, str(error.__cause__)]
open("release/recipes/tea_3/title.txt", "wb").write(bytes([255]))
try:
    load("recipes")
except Exception as error:
    result["text"] = [type(error).__name__, str(error)]
print(json.dumps(result))
"""


def test_the_script_refuses_with_our_errors(old_python, release, tmp_path):
    (release / "recipes" / "tea_3" / "frames" / "frame_2.jpg").write_bytes(b"no picture")
    found = run(old_python, HEAD + REFUSE, tmp_path)
    assert found["no data_dir"][0] == "UsageError"
    assert "vrf kitchen OUT" in found["no data_dir"][1]
    assert found["frame"][0] == found["text"][0] == "InvalidReleaseError"
    assert "recipes/tea_3/frames/frame_2.jpg" in found["frame"][1]
    assert "recipes/tea_3/title.txt" in found["text"][1]
