"""The command line as a person meets it: in a process of its own."""

import json
import os
import pty
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.making import EGG, SALAD, edit_annotations

ROOT = Path(__file__).parents[2]


def vrf(*arguments, cwd=None, **environment):
    """Run ``vrf`` in a pipe, from any folder, and never show it a terminal."""
    env = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "100", "TERM": "dumb"} | environment
    command = [sys.executable, "-m", "recipeflow.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd or ROOT, env=env, encoding="utf-8")


def test_help_is_quick_and_light():
    code = (
        "import sys, recipeflow.cli; sys.argv = ['vrf', '--help']\n"
        "try: recipeflow.cli.main()\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'datasets', 'transformers', 'pyarrow', 'numpy', 'huggingface_hub'}\n"
        "print(sorted(heavy & sys.modules.keys()))"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    # Time on the processor, because others may be using it too.
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 2
    assert result.stdout.splitlines()[-1] == "[]"
    assert "check" in result.stdout
    assert "stats" in result.stdout


@pytest.mark.parametrize("command", ["check", "stats"])
def test_help_teaches_with_an_example(command):
    result = vrf(command, "--help")
    assert result.returncode == 0
    assert f"Example:  vrf {command} kitchen" in result.stdout
    assert "RELEASE" in result.stdout
    assert "--json" in result.stdout


def test_a_good_release_is_one_line(release):
    result = vrf("check", release)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == "ok: 3 recipes, 3 with text, 3 with frames (10 images in use)\n"


def test_a_terminal_gets_a_progress_bar_and_the_pipe_does_not(release):
    terminal, stderr = pty.openpty()
    command = [sys.executable, "-m", "recipeflow.cli", "check", str(release)]
    result = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=stderr, cwd=ROOT, env=os.environ | {"TERM": "xterm"}
    )
    os.close(stderr)
    assert result.stdout.startswith(b"ok: 3 recipes")
    assert b"checking recipes" in os.read(terminal, 10_000)
    os.close(terminal)


def test_the_official_release_is_ok(official):
    result = vrf("check", official)
    assert result.stdout == "ok: 200 recipes, 0 with text, 0 with frames (0 images in use)\n"
    assert result.returncode == 0


@pytest.fixture
def damaged(release):
    """A release with three problems, one of them with an id no terminal can show."""

    def damage(raw):
        raw[SALAD.id]["recipe_flows"][0]["label"] = "F-same"
        raw["bad\x1b[31m\ud800"] = raw.pop(EGG.id)

    edit_annotations(release, damage)
    (release / "recipe_urls.txt").unlink()
    (release / "recipes" / SALAD.id / "frames" / "frame_7.jpg").write_bytes(b"[red]<html>")
    return release


def test_all_problems_are_listed_by_kind(damaged):
    result = vrf("check", damaged)
    assert (result.returncode, result.stderr) == (1, "")
    lines = result.stdout.splitlines()
    assert [line.partition(":")[0] for line in lines if line and not line.startswith(" ")] == [
        "BrokenImageError (1)",
        "UnknownLabelError (1)",
        "UnsafeIdError (1)",
        "3 problems, 2 of 3 recipes are bad",
    ]
    assert f"  recipes/{SALAD.id}/frames/frame_7.jpg, recipe {SALAD.id}, frame 7: expected an image" in result.stdout
    assert "[red]<ht" in result.stdout
    assert f"  annotations.json, recipe {SALAD.id}, flow 0: expected a label of Agent, Targ" in result.stdout
    assert "found 'F-same'\n" in result.stdout
    assert "  annotations.json, recipe bad\\x1b[31m\\ud800: expected a recipe id" in result.stdout
    assert "  hint: rename the recipe" in result.stdout
    assert "\x1b" not in result.stdout


def test_problems_as_json(damaged):
    result = vrf("check", damaged, "--json")
    assert (result.returncode, result.stderr) == (1, "")
    report = json.loads(result.stdout)
    assert (report["ok"], report["recipes"], report["bad_recipes"]) == (False, 3, 2)
    rows = {row.pop("kind"): row for row in report["problems"]}
    assert rows.keys() == {"UnknownLabelError", "BrokenImageError", "UnsafeIdError"}
    assert rows["UnknownLabelError"].pop("message").endswith("found 'F-same'")
    assert rows["UnknownLabelError"] == {
        "file": "annotations.json",
        "recipe": SALAD.id,
        "place": "flow 0",
        "value": "F-same",
        "hint": None,
    }
    assert rows["UnsafeIdError"]["recipe"] == "bad\x1b[31m\ud800"


def test_a_good_release_as_json(release):
    report = json.loads(vrf("check", release, "--json").stdout)
    assert report == {"release": str(release), "ok": True, "recipes": 3, "bad_recipes": 0, "problems": []}


@pytest.mark.parametrize("command", ["check", "stats"])
@pytest.mark.parametrize("name", ["nowhere", "file"])
def test_no_release_is_one_clear_error(tmp_path, command, name):
    (tmp_path / "file").touch()
    result = vrf(command, name, cwd=tmp_path)
    output = result.stdout + result.stderr
    assert result.returncode == 1
    assert f"MissingFileError{':' if command == 'stats' else ' (1):'}" in output
    assert f"{name}/annotations.json" in output
    assert "vrf kitchen OUT" in output
    assert "Traceback" not in output


def test_statistics_of_a_bad_release_are_refused(damaged):
    result = vrf("stats", damaged)
    assert (result.returncode, result.stdout) == (1, "")
    assert "InvalidReleaseError" in result.stderr
    assert "UnknownLabelError" in result.stderr
    assert "vrf check" in result.stderr
    assert "Traceback" not in result.stderr


def test_statistics_as_json_are_only_json(official):
    result = vrf("stats", official, "--json")
    assert (result.returncode, result.stderr) == (0, "")
    rows = json.loads(result.stdout)
    assert rows["source"] == "official"
    assert rows["figures"]["words"] == {"release": 33389, "paper": 33400}
    assert rows["labels"]["F-eq"] == {"release": 1601, "paper": 2397}
    assert "revised after the paper" in rows["note"]


def test_statistics_as_tables(official):
    result = vrf("stats", official)
    assert (result.returncode, result.stderr) == (0, "")
    for text in ("r-NE tags", "r-FG labels", "Image annotation", " 33,389 │ 33,400 │", "revised after the paper"):
        assert text in result.stdout


def test_statistics_as_markdown(official):
    result = vrf("stats", official, "--markdown")
    assert (result.returncode, result.stderr) == (0, "")
    assert "### r-FG labels\n\n| Label | Meaning | release | paper |\n| --- | --- | ---: | ---: |\n" in result.stdout
    assert "| F-eq | Food equality | 1,601 | 2,397 |\n" in result.stdout
    assert "both are right" in result.stdout


def test_statistics_in_two_forms_at_once_are_refused(release):
    result = vrf("stats", release, "--json", "--markdown")
    assert (result.returncode, result.stdout) == (1, "")
    assert "choose one" in result.stderr


def test_a_terminal_that_knows_only_ascii(official, damaged):
    for arguments in (("stats", official), ("check", damaged)):
        result = vrf(*arguments, PYTHONIOENCODING="ascii")
        assert "Traceback" not in result.stderr
        assert result.stdout


def test_a_reader_that_goes_away(release):
    command = f"{sys.executable} -m recipeflow.cli stats {release} --json | head -1"
    result = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=ROOT)
    assert result.stdout == "{\n"
    assert "Traceback" not in result.stderr
