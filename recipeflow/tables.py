"""A table that prints to the terminal (rich) or as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table as RichTable

Cell = str | int | float | None


@dataclass(frozen=True)
class Table:
    """A titled table. Numbers get thousands separators, ``None`` is a dash.

    Args:
        title: What the table shows.
        columns: The headers.
        rows: One cell per column; a column of numbers is right-aligned.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]

    def rich(self) -> RichTable:
        table = RichTable(title=self.title, title_justify="left", title_style="bold")
        for column, right in zip(self.columns, self.numeric(), strict=True):
            table.add_column(column, justify="right" if right else "left")
        for row in self.rows:
            table.add_row(*map(format_cell, row))
        return table

    def markdown(self) -> str:
        """Markdown, with the title as a heading."""
        rules = ["---:" if right else "---" for right in self.numeric()]
        rows = [self.columns, rules, *([format_cell(cell) for cell in row] for row in self.rows)]
        lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
        return f"### {self.title}\n\n" + "\n".join(lines) + "\n"

    def numeric(self) -> list[bool]:
        """Which columns have no text, and are right-aligned."""
        return [all(not isinstance(row[i], str) for row in self.rows) for i in range(len(self.columns))]


def format_cell(cell: Cell) -> str:
    """A cell as text: ``11,686``, ``8.51``, ``—`` for nothing."""
    if cell is None:
        return "—"
    if isinstance(cell, float):
        return f"{cell:,.2f}"
    return cell if isinstance(cell, str) else f"{cell:,}"
