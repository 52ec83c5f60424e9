"""Find the answer in what a language model wrote: it may think aloud first, so the last one that fits counts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from recipeflow.tasks.candidates import LETTERS, SIZE
from recipeflow.tasks.schema import CHOICE, JOINT, ORDER, WRITING
from recipeflow.tasks.scoring.judging import READERS

Row = dict[str, Any]


def extract_answer(kind: str, row: Row, text: str) -> Any:
    """The answer in a text, in the form that predictions have; the text itself if there is none, which is malformed.

    Args:
        kind: The form of the answer.
        row: The question.
        text: What the model wrote.
    """
    if kind == WRITING:
        return text.strip()
    found = list(_letters(kind, row, text) if kind in (CHOICE, JOINT, ORDER) else _values(text))
    fitting = [answer for answer in found if READERS[kind](row, answer) is not None]
    return fitting[-1] if fitting else text


def _letters(kind: str, row: Row, text: str) -> Iterator[str]:
    if kind == ORDER:
        several = r"[,\s→>\-]*".join([rf"[{LETTERS}]"] * len(row["answer"]))
        yield from re.findall(rf"(?<![A-Za-z]){several}(?![A-Za-z])", text)
    else:
        yield from re.findall(rf"(?<![A-Za-z])[{LETTERS[:SIZE]}](?![A-Za-z])", text)


def _values(text: str) -> Iterator[Any]:
    """Every JSON list or object in a text, and a bare yes or no."""
    decoder = json.JSONDecoder()
    for start in (match.start() for match in re.finditer(r"[\[{]", text)):
        try:
            yield decoder.raw_decode(text, start)[0]
        except (ValueError, RecursionError):
            continue
    if re.fullmatch(r"\W*(yes|no)\W*", text, re.IGNORECASE):
        yield re.sub(r"\W", "", text).lower()
