"""The layout of ``--help``: plain text that fits 80 columns, with examples left unwrapped."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from typer._click.core import Command  # the base of both, of which typer has no public name
else:
    Command = object

KEEP_AS_IT_IS = "\b\n"
"""Marks a paragraph that click's formatter must not wrap."""

FIXED_SPACE = "\xa0"
"""A space at which lines are not wrapped."""

NAMES = {"int": "INT", "int range": "INT", "float": "NUMBER", "float range": "NUMBER", "path": "PATH", "str": "TEXT"}
NAMES |= {"list[str]": NAMES["str"], "list[Path]": NAMES["path"]}
"""The name shown for a value, by typer's name for its type; a choice is shown as its values."""


class _HelpPage(Command):
    """A help page with examples on separate lines and short names for option values."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Show required arguments bare, optional ones in brackets, and dots after one that can be repeated."""
        return [re.sub(r"^\{(.*)\}(\.\.\.)?$", r"\1\2", piece) for piece in super().collect_usage_pieces(ctx)]

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write the docstring: prose is wrapped, examples and indented commands are not."""
        paragraphs = inspect.cleandoc(self.help or "").split("\n\n")
        kept = [KEEP_AS_IT_IS + text if text.startswith(("Example:", "  ")) else text for text in paragraphs]
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text("\n\n".join(kept))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments by name only, then options with their values, then the commands of a group."""
        rows: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            if record := parameter.get_help_record(ctx):
                name, text = record
                if parameter.param_type_name == "argument":
                    rows["Arguments"].append((name.partition(" ")[0], text))
                else:
                    rows["Options"].append((re.sub(r"<(.+)>$", _name_of_type, name), text))
        for title, lines in rows.items():
            if lines:
                with formatter.section(title):
                    formatter.write_dl([(name, _in_one_piece(text)) for name, text in lines])
        formatter.buffer = [text.replace(FIXED_SPACE, " ") for text in formatter.buffer]
        if isinstance(self, TyperGroup):
            self.format_commands(ctx, formatter)


def _in_one_piece(text: str) -> str:
    """Keep a default in brackets on one line."""
    return re.sub(r"\[[^\[\]]+\]$", lambda found: found[0].replace(" ", FIXED_SPACE), text)


def _name_of_type(found: re.Match) -> str:
    return NAMES.get(found[1], found[1])


class HelpCommand(_HelpPage, TyperCommand):
    """A command with this help page."""


class HelpGroup(_HelpPage, TyperGroup):
    """A group of commands with this help page."""


class App(typer.Typer):
    """A group of commands whose help is plain text: rich's boxes leave too little room for words at 80 columns."""

    def __init__(self, cls: type[HelpGroup] = HelpGroup, **options: Any) -> None:
        super().__init__(cls=cls, rich_markup_mode=None, **options)

    def command(self, name: str | None = None, **options: Any) -> Callable:
        """Add a command, as `typer.Typer.command` does."""
        return super().command(name, cls=HelpCommand, **options)
