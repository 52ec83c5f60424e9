"""The languages of recipes: how a line becomes words, and how words become a line.

A release names its language by its code (``"language": "en"``). Words are never split or joined by the rules of
another language: a language without a module here can be read and written, but not segmented.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from recipeflow.errors import SegmenterError, short
from recipeflow.language import english, japanese, spaced
from segmentation_rfg import is_spaced

Span = tuple[int, int]
DEFAULT = "ja"
"""The language of the paper's dataset, and of a release that names none."""

CODE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")


@dataclass(frozen=True)
class Language:
    """How text of a language is read.

    Attributes:
        code: Its code, as in ``release.json``.
        name: Its English name.
        normalise: Turns a line into the form that offsets refer to.
        segment: Splits a normalised line into words, given by their starts and ends.
    """

    code: str
    name: str
    normalise: Callable[[str], str]
    segment: Callable[[str], list[Span]]


def _checked_japanese(text: str) -> str:
    japanese.check_script(text)
    return japanese.normalise(text)


LANGUAGES = {
    language.code: language
    for language in (
        Language("ja", "Japanese", _checked_japanese, japanese.segment),
        Language("en", "English", english.normalise, english.segment),
    )
}
"""The languages that plain text can be segmented in."""


def find_language(code: str) -> Language:
    """The language of this code; of ``en-GB``, that is English.

    Raises:
        SegmenterError: If there is no module for it.
    """
    if (language := LANGUAGES.get(code.partition("-")[0])) is None:
        raise SegmenterError(
            f"expected a language that can be split into words here ({', '.join(LANGUAGES)}), found {code!r}; "
            "import words that are already split, with `vrf import jsonl`"
        )
    return language


_KANA = re.compile(r"[\u3041-\u30ff]")
_ENGLISH = re.compile(r"\b(an?|and|the|of|in|with|to|for|until|on|or|into|salt|oil|water|cup|tbsp|tsp)\b")
_SHORT_TEXT = 8


def guess_language(text: str) -> str:
    """The code of the language of a text, as far as it can be told: kana are Japanese, common words English.

    Raises:
        SegmenterError: If it is neither: a wrong guess would record the wrong language.
    """
    if _KANA.search(text):
        return "ja"
    words = re.findall(r"[^\W\d_]+", text.lower())
    is_latin = all(letter < "\u0250" for word in words for letter in word)
    if is_latin and (len(words) <= _SHORT_TEXT or _ENGLISH.search(text.lower())):
        return "en"
    raise SegmenterError(
        f"expected Japanese or English text, found {short(text.strip())}, of which neither can be told for certain; "
        f"name its language, one of {', '.join(LANGUAGES)}"
    )


def language_name(code: str) -> str:
    """The English name of a language, as far as it is known here; otherwise its code."""
    known = LANGUAGES.get(code.partition("-")[0])
    return code if known is None else known.name


def join_words(words: Sequence[str], code: str) -> tuple[str, list[Span]]:
    """Words as a readable line, and where each is in it; for any language, because nothing is segmented."""
    return (spaced if is_spaced(code) else japanese).join(words)
