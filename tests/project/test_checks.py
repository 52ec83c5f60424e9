"""The checks of `make check` find what they are there for: a room that imports a later one, annotations that lie."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(sys.executable).parent


def run(folder: Path, name: str, *arguments: str) -> subprocess.CompletedProcess:
    command = [PROGRAMS / name, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def project(tmp_path) -> Path:
    shutil.copytree(
        ROOT / "recipeflow", tmp_path / "recipeflow", ignore=shutil.ignore_patterns("__pycache__", "static")
    )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def lint_imports(project: Path) -> subprocess.CompletedProcess:
    return run(project, "lint-imports", "--no-cache", "--no-logo")


def test_rooms_import_only_rooms_above_them(project):
    done = lint_imports(project)
    assert done.returncode == 0, done.stdout


def test_an_import_of_a_later_room_is_found_inside_a_function_too(project):
    with (project / "recipeflow" / "release" / "urls.py").open("a", encoding="utf-8") as module:
        module.write("\n\ndef late() -> None:\n    import recipeflow.graph.layout\n")
    done = lint_imports(project)
    assert done.returncode == 1
    assert "recipeflow.release is not allowed to import recipeflow.graph" in done.stdout
    assert "recipeflow.release.urls -> recipeflow.graph.layout" in done.stdout


def test_a_room_that_has_no_place_in_the_list_is_found(project):
    (project / "recipeflow" / "attic").mkdir()
    (project / "recipeflow" / "attic" / "__init__.py").touch()
    done = lint_imports(project)
    assert done.returncode == 1
    assert "attic" in done.stdout


LIE = """
def length(text: str | None) -> int:
    return len(text)


class Table:
    def features(self) -> list[float]:
        return []


def width(table: Table) -> int:
    return len(table.features)


names: list[str] = None
"""


@pytest.mark.parametrize("place", ["recipeflow/room/new.py", "new_vrf.py", "space/new.py", "benchmarks/new.py"])
def test_annotations_that_lie_are_found_everywhere(tmp_path, place):
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    path = tmp_path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(LIE, encoding="utf-8")
    done = run(tmp_path, "ty", "check", "--output-format", "concise")
    assert done.returncode == 1
    found = [line.split(":")[1] for line in done.stdout.splitlines() if line.startswith(f"{place}:")]
    lies = ("len(text)", "len(table.features)", "= None")
    assert found == [
        str(number) for number, line in enumerate(LIE.splitlines(), 1) if any(lie in line for lie in lies)
    ]
