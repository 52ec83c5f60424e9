"""What keeps the repository in order: one version everywhere, documentation that builds, files that end well."""

import os
import re
import shutil
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
import yaml

import recipeflow

ROOT = Path(__file__).parents[2]


def load(name: str):
    """A module of docs/making, which is no package."""
    spec = spec_from_file_location(f"docs_{name}", ROOT / "docs" / "making" / f"{name}.py")
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_version_citation_and_changelog_agree():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## \[(.+?)\](?: - (\S+))?$", changelog, re.MULTILINE)
    assert headings[:2] == [("Unreleased", ""), (recipeflow.__version__, str(citation["date-released"]))]
    assert citation["version"] == recipeflow.__version__


def test_text_files_end_with_one_newline_and_lines_without_spaces():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]
    texts = {path: path.read_bytes() for path in files}
    wrong = [
        str(path.relative_to(ROOT))
        for path, data in texts.items()
        if data and b"\0" not in data and (not data.endswith(b"\n") or data.endswith(b"\n\n") or b" \n" in data)
    ]
    assert len(texts) > 300
    assert not wrong


def test_the_picture_of_the_architecture_is_the_one_that_its_script_draws():
    drawing = load("architecture")
    assert drawing.PICTURE.read_text(encoding="utf-8") == drawing.draw()


# The documentation site.


def build_site(project: Path, folder: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("docs")
    done = build_site(ROOT, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_a_broken_link_or_anchor_fails_the_build(tmp_path):
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    (tmp_path / "recipeflow").mkdir()
    for path in (ROOT / "mkdocs.yml", *ROOT.glob("*.md"), ROOT / "recipeflow" / "errors.py"):
        shutil.copy(path, tmp_path / path.relative_to(ROOT))
    with (tmp_path / "docs" / "report.md").open("a", encoding="utf-8") as page:
        page.write("[a](nowhere.md), [b](../nowhere.md), [c](data.md#nowhere)\n")
    done = build_site(tmp_path, tmp_path / "site")
    assert done.returncode == 1
    for target in ("nowhere.md", "../nowhere.md", "data.md#nowhere"):
        assert f"Doc file 'report.md' contains a link '{target}'" in done.stderr


def test_every_module_is_in_the_reference(site):
    text = "\n".join(path.read_text(encoding="utf-8") for path in (site / "api").glob("*.html"))
    modules = [path.relative_to(ROOT).with_suffix("").parts for path in (ROOT / "recipeflow").rglob("[!_]*.py")]
    modules += [(path.stem,) for path in ROOT.glob("*vrf*.py")]
    assert len(modules) > 50
    assert [module for module in map(".".join, modules) if f'id="{module}"' not in text] == []


def test_pages_of_the_root_are_on_the_site_with_their_links(site):
    home = (site / "index.html").read_text(encoding="utf-8")
    assert 'href="data.html"' in home
    assert 'src="images/pairs.jpg"' in home
    assert 'href="docs/' not in home
    assert 'href="architecture.html"' in (site / "contributing.html").read_text(encoding="utf-8")


def test_no_page_loads_anything_from_another_host(site):
    for path in site.rglob("*.html"):
        loads = re.findall(
            r"<(?:script|img|link|iframe)\b[^>]*?(?:src|href)=\"(https?://[^\"]+)", path.read_text("utf-8")
        )
        assert [address for address in loads if 'rel="canonical"' not in address] == [], path.name


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        ("README.md", "[d](docs/data.md#x) ![i](docs/images/a.png)", "[d](data.md#x) ![i](images/a.png)"),
        ("README.md", "[s](space/README.md), [c](CHANGELOG.md)", "s, [c](changelog.md)"),
        (
            "docs/report.md",
            "[s](../space/README.md), [d](data.md), [r](../README.md)",
            "s, [d](data.md), [r](index.md)",
        ),
        ("docs/report.md", "[w](https://a.example/b)", "[w](https://a.example/b)"),
        ("docs/report.md", "[nowhere](../nowhere.md)", "[nowhere](../nowhere.md)"),
    ],
)
def test_links_of_the_repository_lead_to_pages_of_the_site(source, text, expected):
    assert load("hooks")._rewrite_links(text, source) == expected
