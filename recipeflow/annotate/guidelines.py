"""The guidelines of a project: a Markdown file that the pages show beside a recipe.

It is read anew for every page, so that a curator can correct it while people work. The pages draw it themselves, as
plain elements: nothing in it is run, and nothing is loaded.
"""

from __future__ import annotations

from pathlib import Path

from recipeflow.errors import UsageError

LARGEST = 1_000_000
"""In bytes: more is a book, not guidelines."""


def read_guidelines(path: Path) -> str:
    """The text of the file.

    Raises:
        UsageError: If it cannot be read, is too large, or is not text.
    """
    advice = "pass a Markdown file with --guidelines"
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise UsageError(f"expected guidelines in {path}, found: {error.strerror}; {advice}") from None
    if len(data) > LARGEST:
        raise UsageError(f"expected guidelines of at most {LARGEST} bytes in {path}, found more; {advice}")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise UsageError(f"expected text in UTF-8 in {path}, found something else; {advice}") from None
