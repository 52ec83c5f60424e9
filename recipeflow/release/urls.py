"""``recipe_urls.txt``: where each recipe was published, one URL per line, ending in the recipe's id."""

from __future__ import annotations

from pathlib import Path

from recipeflow.errors import ReleaseProblem
from recipeflow.release.recipe_files import read_text, split_lines

URLS = "recipe_urls.txt"
_PREFIX = "https://www."


def read_urls(folder: Path) -> tuple[dict[str, list[str]] | None, list[ReleaseProblem]]:
    """The URLs by recipe id, or ``None`` if the release has no list or it cannot be read."""
    path = folder / URLS
    if not path.exists():
        return None, []
    try:
        lines = split_lines(read_text(path, URLS))
    except ReleaseProblem as problem:
        return None, [problem]
    urls: dict[str, list[str]] = {}
    for line in filter(None, (line.strip() for line in lines)):
        urls.setdefault(line_id(line), []).append(line if "://" in line else _PREFIX + line)
    return urls, []


def url_line(url: str) -> str:
    """A URL as written in the list, without the parts that the official list omits."""
    return url.removeprefix(_PREFIX)


def line_id(line: str) -> str:
    """The recipe's id in a line of the list: its last part."""
    return line.strip().rstrip("/").rpartition("/")[2]
