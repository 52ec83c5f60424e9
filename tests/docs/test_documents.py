"""What the pages show exists: commands with their options, targets of make, files, and what snippets import.

``test_readme.py`` runs those of the README; the others are read by the command's own parser, without running.
"""

import ast
import importlib
import inspect
import re
from collections.abc import Iterator

import pytest
import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException

from recipeflow.cli import app
from tests.docs.documents import (
    PAGES,
    README,
    ROOT,
    find_blocks,
    find_spans,
    make_targets,
    split_command,
    vrf_arguments,
)

OWN = ("recipeflow", "configuration_vrf", "modeling_vrf", "processing_vrf", "vrf_dataset", "retrieval_vrf")
LANGUAGES = {"sh", "python", "bibtex", ""}
LOADING_SCRIPT = "an environment of its own; tests/dataset/test_loading_script.py makes the same"
OTHERS = {
    "python3.11": LOADING_SCRIPT,
    "old/bin/pip": LOADING_SCRIPT,
    "old/bin/python": LOADING_SCRIPT,
    "curl": "asks a running server; tests/annotate/test_server.py sends the same requests",
    "hf": "the Hub's own command",
    "inspect": "Inspect's own command; tests/tasks/test_harness.py runs the task that it names",
    "accelerate": "read by the parser where it launches this project, see `vrf_arguments`",
}
"""Programs of others that a page may name, and why they are not read here."""

group = typer.main.get_command(app)
blocks = [block for page in PAGES for block in find_blocks(page)]


def parse(arguments: list[str]) -> TyperCommand:
    """The command that these arguments name, once it has read them all; its function is not called."""
    context = group.make_context("vrf", list(arguments))
    while isinstance(context.command, TyperGroup):
        name, command, rest = context.command.resolve_command(context, [*context._protected_args, *context.args])
        context = command.make_context(name, rest, parent=context)
    return context.command


def commands(language="sh"):
    return [
        pytest.param(words, id=f"{block.place} {' '.join(words)}")
        for block in blocks
        if block.language == language
        for line in block.commands
        for words in split_command(line)
    ]


@pytest.mark.parametrize("words", commands())
def test_every_command_of_a_block_is_read_by_its_parser(words):
    arguments = vrf_arguments(words)
    if arguments is not None:
        parse(arguments)
    elif words[0] == "make":
        assert set(words[1:]) <= make_targets()
    else:
        assert words[0] in OTHERS, f"expected a command that this test knows, found {words[0]!r}"
    for file in (word for word in words if word.startswith("docs/")):
        assert (ROOT / file).exists() or words[0] == "vrf"  # ours may write there


@pytest.mark.parametrize("line", ["train", "train vrf --fold one", "train vrf --epoch 3", "cook vrf", "push data a b"])
def test_wrong_commands_are_found(line):
    with pytest.raises(TyperException):
        parse(line.split())


spans = sorted({(span, str(page.relative_to(ROOT))) for page in PAGES for span in find_spans(page)})


@pytest.mark.parametrize(("span", "page"), spans)
def test_commands_in_the_text_exist_with_their_options(span, page):
    """Arguments may be left out there, as in `vrf train --fold K`."""
    words = next(split_command(span))[1:]
    command = group
    while isinstance(command, TyperGroup) and words and not words[0].startswith("-"):
        command, words = command.commands[words[0]], words[1:]
    known = {name for parameter in command.params for name in parameter.opts} | {"--help"}
    assert {word for word in words if re.match(r"--?[a-z]", word)} <= known


def test_every_block_is_of_a_known_language():
    """Blocks without a language are listings and output; what can be typed says so."""
    assert {block.place: block.language for block in blocks if block.language not in LANGUAGES} == {}
    typed = re.compile(r"^(vrf|make|python|accelerate|from \w+ import) ", re.MULTILINE)
    assert [block.place for block in blocks if not block.language and typed.search(block.text)] == []


snippets = [pytest.param(block.text, id=block.place) for block in blocks if block.language == "python"]
examples = [pytest.param(path.read_text("utf-8"), id=path.name) for path in (ROOT / "examples").glob("*.py")]


@pytest.mark.parametrize("code", snippets + examples)
def test_snippets_compile_and_import_what_exists(code):
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] in OWN:
            module = importlib.import_module(node.module)
            assert [name.name for name in node.names if not hasattr(module, name.name)] == []


def makefile_commands() -> list[list[str]]:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    for variable, value in {"$(BIN)/": "", "$(RECIPES)": "200", "$(INPUTS_$*)": "image", "$*": "image"}.items():
        text = text.replace(variable, value)
    return [words for line in re.findall(r"^\t(vrf .*)$", text, re.MULTILINE) for words in split_command(line)]


def test_commands_of_the_makefile_are_read_by_their_parser():
    assert len(makefile_commands()) > 5
    for words in makefile_commands():
        parse(words[1:])


def test_make_demo_begins_as_the_readme_does():
    """The same kitchen, checked and built in the same way, so that its figures are those of the README."""
    block = next(block for block in blocks if block.page == README and "vrf kitchen" in block.text)
    shown = [words for line in block.commands for words in split_command(line)]
    demo = [[word.removeprefix("demo/") for word in words if word != "--overwrite"] for words in makefile_commands()]
    assert demo[: len(shown)] == shown


def all_commands(command: TyperCommand | TyperGroup = group, name: str = "vrf") -> Iterator:
    if isinstance(command, TyperGroup):
        for part, below in command.commands.items():
            yield from all_commands(below, f"{name} {part}")
    else:
        yield pytest.param(command, id=name)


@pytest.mark.parametrize("command", list(all_commands()))
def test_examples_of_the_help_are_read_by_their_parser(command):
    """Each command has one, and it is of this command."""
    text = inspect.getdoc(command.callback)
    examples = re.findall(r"^Example: +(.*)$", re.sub(r"\\\n\s*", "", text), re.MULTILINE)
    assert examples
    for example in examples:
        assert parse(next(split_command(example))[1:]) is command
