"""Find the word of a model's vocabulary that a written word means.

Recipes are segmented into stems (切, 茹で), but people write dictionary forms, inflections and kana (切る, 切って,
ゆでる, きゃべつ). A word in the vocabulary is never replaced, and for an ambiguous word none is chosen.

This file is saved with every processor and imports nothing from the project.
"""

import importlib
import re
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from transformers.utils import logging

logger = logging.get_logger(__name__)

Forms = dict[str, list[str]]
"""Other ways to write a word, by that word."""

TABLES = ("forms", "readings", "inflected")
"""From the most to the least certain: the dictionary form of a stem (切: 切る), how a word is read (切: きる), and the
dictionary form of what is inflected already (切り: 切る)."""

KANA = re.compile(r"[\u3041-\u30ff]")
KANJI = re.compile(r"[\u3400-\u9fff々]")
JAPANESE = re.compile(r"[\u3041-\u30ff\u3400-\u9fff々]")
HIRAGANA = {code: code - 0x60 for code in range(0x30A1, 0x30F7)}  # from katakana

DICTIONARY_ENDINGS = "るうくぐすつぬぶむ"
FROM_CONTINUATIVE = str.maketrans("りいきぎしちにびみ", DICTIONARY_ENDINGS)
"""The last letter of 切り, 洗い, … to that of the dictionary form."""

AFTER_ANY_STEM = ("る", "て", "た", "ます", "する", "して", "した", "します")
AFTER_ANY_STEM += tuple(particle + ending for particle in "にと" for ending in AFTER_ANY_STEM[4:])
AFTER_KANJI = (
    *DICTIONARY_ENDINGS,
    *"りいきぎしちにびみ",
    *(letter + "ます" for letter in "りいきぎしちにびみ"),
    *("って", "った", "いて", "いた", "いで", "いだ", "して", "した", "んで", "んだ"),
)
"""Endings of verbs whose stem ends in a consonant. Cut off kana alone, they would make other words: から of からし."""


class WordFinder:
    """Finds words of a vocabulary under other ways to write them.

    Args:
        vocabulary: All words, as the tokenizer normalises them.
        word_forms: What `describe_words` returned for them; without it, kana and endings alone are understood.
    """

    def __init__(self, vocabulary: Iterable[str], word_forms: Mapping[str, Forms] | None = None) -> None:
        self._vocabulary = set(vocabulary)
        described = word_forms or {}
        same = {word: [word] for word in sorted(self._vocabulary)}
        self._tables = [_by_form(same), *(_by_form(described.get(name, {})) for name in TABLES)]

    def find(self, word: str) -> list[str]:
        """The words that a written one, normalised, may mean: one, several if it is ambiguous, or none."""
        for stem in (word, *_stems(word)):
            if stem in self._vocabulary:
                return [stem]
            for table in self._tables:
                if found := table.get(fold_kana(stem)):
                    return found
        return []


def fold_kana(word: str) -> str:
    """Write katakana as hiragana."""
    return word.translate(HIRAGANA)


def _by_form(forms: Forms) -> Forms:
    found: Forms = {}
    for word, written in forms.items():
        for form in dict.fromkeys(map(fold_kana, written)):
            found.setdefault(form, []).append(word)
    return found


def _stems(word: str) -> Iterator[str]:
    """What is left of a word without verb endings, the longest first."""
    for start in range(len(word) - 1, 0, -1):
        stem, ending = word[:start], word[start:]
        has_kanji = KANJI.search(stem) is not None
        if (ending in AFTER_ANY_STEM and (has_kanji or len(stem) > 1)) or (ending in AFTER_KANJI and has_kanji):
            yield stem


SYNONYMS = {
    "shred": "julienne",
    "chop": "cut",
    "cut up": "cut",
    "slice": "slice thinly",
    "cube": "dice",
    "combine": "mix together",
    "stir": "mix",
    "toss": "dress",
    "cook": "boil",
    "simmer": "boil",
    "saute": "fry",
    "sauté": "fry",
    "rinse": "wash",
    "crush": "mash",
    "rip": "tear",
    "plate": "serve",
    "arrange": "serve",
}
"""Other English words for cooking actions, where a glossary has only one."""


PARTICLES = frozenset({"in", "into", "off", "on", "up", "out", "top", "together", "with"})
"""What an English verb may be written with or without: put, put in."""


class Translator:
    """Finds the words of a vocabulary that an English phrase means, by a glossary of the vocabulary's language.

    Args:
        glossary: English for phrases; several meanings are separated by " / ".
        processor: A `VRFProcessor`, whose vocabulary the words have to be in.
    """

    def __init__(self, glossary: Mapping[str, str], processor: Any) -> None:
        self._processor = processor
        meanings = [(_plain_english(part), phrase) for phrase, all in glossary.items() for part in all.split(" / ")]
        self._phrases: dict[str, list[str]] = {}
        for meaning, phrase in meanings + [(_without_particles(meaning), phrase) for meaning, phrase in meanings]:
            self._phrases.setdefault(meaning, []).append(phrase)

    def words(self, phrase: Sequence[str], among: Collection[str] = ()) -> list[str]:
        """A phrase in words of the vocabulary, or as it was."""
        return self.known(phrase, among) or list(phrase)

    def known(self, phrase: Sequence[str], among: Collection[str] = ()) -> list[str]:
        """A phrase in words of the vocabulary; none if it has no such words.

        Args:
            phrase: Words of the vocabulary, or of English.
            among: Which phrases of the glossary are preferred, such as the names of all actions.
        """
        if len(self._processor.missed_words([phrase])) < len(set(phrase)):
            return list(phrase)
        for size in range(len(phrase), 0, -1):
            for start in range(len(phrase) - size + 1):
                plain = _plain_english(" ".join(phrase[start : start + size]))
                found = self._phrases.get(plain) or self._phrases.get(_plain_english(SYNONYMS.get(plain, "")))
                if plain and found:
                    return self._processor.split_phrase(min(found, key=lambda one: one not in among))
        return []


def _plain_english(phrase: str) -> str:
    """Lower case, without articles and the plural's s."""
    words = [word for word in phrase.casefold().split() if word not in ("a", "an", "the", "some")]
    return " ".join(map(_singular, words))


def _singular(word: str) -> str:
    if len(word) <= 3 or not word.endswith("s") or word.endswith("ss"):
        return word
    return word[:-2] if word.endswith("oes") else word[:-1]


def _without_particles(phrase: str) -> str:
    first, *rest = phrase.split() or [""]
    return first if all(word in PARTICLES for word in rest) else phrase


def describe_missed(missed: Mapping[str, Sequence[str]]) -> str:
    """Say which words a model does not know, and which may mean several that it does."""
    unknown = [word for word, found in missed.items() if not found]
    lines = [f"the model does not know: {', '.join(unknown)}"] if unknown else []
    lines += [
        f"{word} may mean {' or '.join(found)}, and counts as unknown: write one of these"
        for word, found in missed.items()
        if found
    ]
    return "; ".join(lines)


class UnknownWordsWarning(UserWarning):
    """A query has words that the model does not know; shown every time, unless a filter says otherwise."""


warnings.simplefilter("always", UnknownWordsWarning, append=True)


def describe_words(words: Iterable[str]) -> dict[str, Forms] | None:
    """Find dictionary forms and readings of Japanese words, to be kept with a vocabulary.

    They come from MeCab with UniDic (`fugashi`, `unidic-lite`), which are not needed to use the vocabulary later;
    None if these are not installed.
    """
    try:  # by name, because transformers takes an import statement for a requirement of every saved model
        fugashi: Any = importlib.import_module("fugashi")
        unidic: Any = importlib.import_module("unidic_lite")
    except ImportError:
        logger.info("fugashi and unidic-lite are not installed: readings of words are not stored")
        return None
    tagger = fugashi.Tagger(f'-d "{unidic.DICDIR}"')
    found: dict[str, Forms] = {name: {} for name in TABLES}
    for word in sorted(word for word in words if JAPANESE.search(word)):
        for name, forms in zip(TABLES, _describe_word(word, tagger), strict=True):
            if forms := [form for form in dict.fromkeys(forms) if fold_kana(form) != fold_kana(word)]:
                found[name][word] = forms
    return found


def _describe_word(word: str, tagger: Any) -> tuple[list[str], list[str], list[str]]:
    """The entries of a word in each of the tables."""
    has_kanji = KANJI.search(word) is not None
    if not has_kanji and len(word) < 2:  # particles, above all
        return [], [], []
    verbs = _read_verbs([word + ending for ending in DICTIONARY_ENDINGS], tagger)
    readings = list(verbs.values())
    tokens = tagger(word)
    if not verbs or _is_verb(tokens):  # otherwise it is not a word on its own, and would be read as another
        readings.append(fold_kana("".join(token.feature.kana or "" for token in tokens)))
    inflected = _read_verbs([word[:-1] + word[-1].translate(FROM_CONTINUATIVE)], tagger) if has_kanji else {}
    return list(verbs), [kana for kana in readings if len(kana) > 1], [*inflected, *inflected.values()]


def _read_verbs(candidates: Iterable[str], tagger: Any) -> dict[str, str]:
    """Those candidates that are dictionary forms of verbs, each with its reading in hiragana."""
    found = {}
    for candidate in candidates:
        tokens = tagger(candidate)  # used before the next call, which reuses their memory
        if _is_verb(tokens) and tokens[0].feature.orthBase == candidate:
            found[candidate] = fold_kana(tokens[0].feature.kanaBase)
    return found


def _is_verb(tokens: Sequence[Any]) -> bool:
    return len(tokens) == 1 and tokens[0].feature.pos1 == "動詞"


__all__ = ["Translator", "UnknownWordsWarning", "WordFinder", "describe_missed", "describe_words", "fold_kana"]
