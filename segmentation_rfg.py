"""Plain text of a recipe to words, by the rules of its language, as the words of a release are split.

Japanese lines are brought to the release's form (NFKC, full-width, no spaces) and split by MeCab with UniDic. MeCab
keeps an inflected word whole (切り, ます, 薄く) where the release has 切|り, ま|す and 薄|く, and takes ``１、２`` for
one number; its own analysis says where stems end. Languages with spaces keep their lines, and split at spaces and
signs.

This file is saved with every model and imports nothing from the project.
"""

import importlib
import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

Span = tuple[int, int]

WITHOUT_SPACES = frozenset({"ja", "zh", "yue", "th", "lo", "km", "my"})
"""Languages that write no spaces between words; of these, only Japanese can be split here."""

WORD = re.compile(r"\w+(?:['’/-]\w+|[.,]\d\w*)*|\S")
"""A word with its hyphens, apostrophes, fractions and decimals ("medium-high", "1/2", "1.5cm"), or one other sign."""

UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9f]+"
)
"""Thai, Lao, Burmese, Khmer, kana and Chinese characters: scripts without spaces."""

JAPANESE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9f]")
LETTERS = re.compile(r"[^\W\d_]{2,}")
FULL_WIDTH = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")

INFLECTED = ("動詞", "形容詞", "助動詞", "接尾辞")
LIST_MARK = re.compile("(、)")
"""Parts of speech whose words have endings, and the comma that MeCab takes for a part of a number."""


def normalise_line(line: str, language: str) -> str:
    """A line in the form that the offsets of its words refer to; control characters count as spaces.

    Raises:
        ValueError: If the line cannot be text of this language.
    """
    if any("\ud800" <= character <= "\udfff" for character in line):
        raise ValueError("expected text, found half of a surrogate pair; pass text that can be saved as UTF-8")
    parts = CONTROL.sub(" ", line).split()
    if is_spaced(language):
        return " ".join(unicodedata.normalize("NFC", " ".join(parts)).split())
    if not JAPANESE.search(line) and sum(bool(LETTERS.search(part)) for part in parts) > 1:
        raise ValueError(
            f"expected text of the model's language ({language}), found {line[:40]!r}, whose words would be joined "
            "into one; use a model that was trained on this language"
        )
    return "".join(unicodedata.normalize("NFKC", "".join(parts)).translate(FULL_WIDTH).split())


def split_line(line: str, language: str) -> list[Span]:
    """The start and end of each word of a normalised line.

    Raises:
        ValueError: If words of this language, or this script, cannot be split.
    """
    if is_spaced(language):
        if found := UNSPACED.search(line):
            raise ValueError(
                f"expected text of the model's language ({language}), with spaces between words, found "
                f"{line[found.start() : found.start() + 20]!r}; use a model that was trained on this language"
            )
        return [match.span() for match in WORD.finditer(line)]
    if language.partition("-")[0] != "ja":
        raise ValueError(
            f"expected a language whose words can be split here, found {language!r}; pass lists of words instead"
        )
    spans, end = [], 0
    for word in japanese_words()(line):
        spans.append((end, end + len(word)))
        end += len(word)
    return spans


def is_spaced(language: str) -> bool:
    """Whether words of a language have spaces between them."""
    return language.partition("-")[0] not in WITHOUT_SPACES


@cache
def japanese_words() -> Callable[[str], list[str]]:
    """MeCab's words, with stems and endings apart.

    Raises:
        ImportError: If MeCab is not installed.
    """
    try:  # by name, because transformers takes an import statement for a requirement of every saved model
        fugashi: Any = importlib.import_module("fugashi")
        unidic: Any = importlib.import_module("unidic_lite")
    except ImportError as error:
        raise ImportError(
            "expected fugashi and unidic-lite, which split Japanese text into words, found that they are not "
            "installed; run `pip install fugashi unidic-lite`, or pass lists of words"
        ) from error
    tagger = fugashi.Tagger(f'-d "{unidic.DICDIR}"')

    return lambda line: divide(tagger(line))


def divide(tokens: Iterable[Any]) -> list[str]:
    """The words of a line from MeCab's tokens (``fugashi``, UniDic)."""
    words: list[str] = []
    stuck = False  # whether the next token belongs to the last word
    for token in tokens:
        first, *rest = _divide_token(token)
        if words and (stuck or _continues(token)):
            words[-1] += first
        else:
            words.append(first)
        words += rest
        stuck = token.feature.pos1 == "接頭辞" and token.surface in "おご"
    return words


def _continues(token: Any) -> bool:
    """Whether a suffix makes one word with what is before it: 食べ+やすい, 大き+さ."""
    suffix = token.feature.pos1 == "接尾辞"
    return suffix and (token.feature.pos2 == "形容詞的" or token.surface == "さ")


def _divide_token(token: Any) -> list[str]:
    surface, feature = token.surface, token.feature
    if feature.pos1 in INFLECTED and feature.cType not in (None, "*"):
        stem = _stem(feature.orthBase or "", feature.cType)
        if stem and surface.startswith(stem) and surface != stem:
            return [stem, surface[len(stem) :]]
    return [piece for piece in LIST_MARK.split(surface) if piece] or [surface]


def _stem(base: str, inflection: str) -> str:
    """What all forms of a word share, from its dictionary form: 切 of 切る, 茹で of 茹でる, 熱 of 熱する."""
    endings = 2 if "サ行変格" in inflection and len(base) > 2 else 1
    return base[:-endings] or base


__all__ = ["divide", "is_spaced", "japanese_words", "normalise_line", "split_line"]
