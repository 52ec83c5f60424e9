"""Every page of ``--help``, as it is read in a terminal of 80 columns."""

import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from rich.cells import cell_len
from typer.testing import CliRunner

from recipeflow import __version__
from recipeflow.cli import app
from recipeflow.errors import UsageError

FOLDER = Path(__file__).parents[2]
ROOT_COMMAND = typer.main.get_command(app)


def all_commands(command=ROOT_COMMAND, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    for name, below in getattr(command, "commands", {}).items():
        yield from all_commands(below, (*path, name))


def find(path: tuple[str, ...]):
    command = ROOT_COMMAND
    for name in path:
        command = command.commands[name]
    return command


def help_page(path: tuple[str, ...], **environment) -> str:
    result = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "80"} | environment, prog_name="vrf")
    assert result.exit_code == 0, result.output
    return result.stdout


pages = pytest.mark.parametrize("path", list(all_commands()), ids=lambda path: " ".join(path) or "vrf")


@pages
def test_a_page_fits_80_columns_and_is_plain_text(path):
    page = help_page(path)
    assert max(map(cell_len, page.splitlines())) <= 80
    assert not set("│╭╰─\x1b\b\xa0") & set(page)
    assert page == help_page(path, COLUMNS="200", FORCE_COLOR="1", TERM="xterm")


@pages
def test_flags_take_nothing_and_options_say_in_a_word_what_they_take(path):
    page = help_page(path)
    assert not re.search(r"<(bool|int|str|float|path|list)", page)
    options = [option for option in find(path).params if option.param_type_name == "option"]
    for option in options:
        (name, *_) = option.opts
        follows = r"(  |\n)" if option.is_flag else r" (INT|NUMBER|PATH|TEXT|DIR|\w+\|\w+)(  |\n)"
        assert re.search(rf"^  (-\w, )?{re.escape(name)}{follows}", page, re.MULTILINE), name


@pages
def test_examples_keep_their_lines_and_nothing_is_cut_off(path):
    page, command = help_page(path), find(path)
    assert "..." not in page.replace("[ARGS]...", "").replace("PREDICTIONS...", "")
    if not hasattr(command, "commands"):
        example = inspect.cleandoc(command.help).split("\n\n")[-1]
        assert example.startswith("Example:  vrf " + " ".join(path))
        assert "".join(f"\n  {line}" for line in example.splitlines()) in page


def test_indented_commands_keep_their_lines():
    assert "\n\n      accelerate launch -m recipeflow.cli train vrf --out run\n\n" in help_page(("train",))


def test_the_usage_line_shows_what_is_required_bare():
    assert help_page(("program",)).startswith("Usage: vrf program [OPTIONS] RELEASE [RECIPE_ID]\n")


def test_the_version_is_printed():
    result = CliRunner().invoke(app, ["--version"])
    assert (result.exit_code, result.stdout) == (0, f"vrf {__version__}\n")


def test_the_version_needs_no_heavy_library():
    code = (
        "import sys, recipeflow.cli; sys.argv = ['vrf', '--version']\n"
        "try: recipeflow.cli.main()\n"
        "finally: print(sorted({'torch', 'datasets', 'transformers', 'numpy'} & sys.modules.keys()))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=FOLDER, check=True)
    assert result.stdout.splitlines() == [f"vrf {__version__}", "[]"]


def test_inputs_that_there_are_not_are_answered_with_those_that_there_are():
    result = CliRunner().invoke(app, ["train", "nowhere", "--inputs", "verb+object"])
    assert isinstance(result.exception, UsageError)
    expected = "expected inputs among action, object, image, found 'verb+object'; join one or more of them by +"
    assert expected in str(result.exception)


def test_a_wrong_choice_is_answered_with_all_choices():
    result = CliRunner().invoke(app, ["train", "nowhere", "--mixed-precision", "half"])
    assert "expected mixed_precision among no, bf16, fp16, found 'half'" in str(result.exception)
