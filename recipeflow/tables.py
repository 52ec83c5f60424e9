"""One table, printed for a person (rich), for a document (Markdown), or both ways from the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table as RichTable

Cell = str | int | float | None


@dataclass(frozen=True)
class Table:
    """A titled table. Numbers are set with thousands separators, ``None`` as a dash.

    Args:
        title: What the table shows.
        columns: The heads.
        rows: One cell per column; a column of numbers is set flush right.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]

    def rich(self) -> RichTable:
        """For the terminal."""
        table = RichTable(title=self.title, title_justify="left", title_style="bold")
        for column, right in zip(self.columns, self.numeric(), strict=True):
            table.add_column(column, justify="right" if right else "left")
        for row in self.rows:
            table.add_row(*map(format_cell, row))
        return table

    def markdown(self) -> str:
        """For a document, with the title as a heading."""
        rules = ["---:" if right else "---" for right in self.numeric()]
        rows = [self.columns, rules, *([format_cell(cell) for cell in row] for row in self.rows)]
        lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
        return f"### {self.title}\n\n" + "\n".join(lines) + "\n"

    def numeric(self) -> list[bool]:
        """Which columns hold no text, and are set flush right."""
        return [all(not isinstance(row[i], str) for row in self.rows) for i in range(len(self.columns))]


def format_cell(cell: Cell) -> str:
    """A cell as text: ``11,686``, ``8.51``, ``—`` for nothing."""
    if cell is None:
        return "—"
    if isinstance(cell, float):
        return f"{cell:,.2f}"
    return cell if isinstance(cell, str) else f"{cell:,}"
