"""Recipes to the tensors of the model that reads them: words, characters or sub-words, and where each word stands.

This file is saved with every model and imports nothing from the project.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from os import PathLike
from typing import Any

import torch
import transformers
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoTokenizer, BatchFeature, PreTrainedTokenizerBase, PreTrainedTokenizerFast, ProcessorMixin
from transformers.models.auto.tokenization_auto import get_tokenizer_config

try:
    from .plaintext_rfg import read_plain_text
    from .segmentation_rfg import Span, is_spaced, normalise_line, split_line
    from .vocabulary_hub import PAD, UNKNOWN, train_vocabulary
except ImportError:
    if __package__:  # inside a package the siblings exist: the error is a real one
        raise
    from plaintext_rfg import read_plain_text
    from segmentation_rfg import Span, is_spaced, normalise_line, split_line
    from vocabulary_hub import PAD, UNKNOWN, train_vocabulary

MAX_WORDS = 2000
"""Longer texts are refused: all pairs of entities are scored, and no recipe is nearly that long."""

MAX_REMEMBERED = 100_000
"""Words whose ids are kept, so that each is tokenized once."""

SECTIONS = ("ingredients", "instructions")
SENTENCE_ENDS = frozenset(".!?。．！？")
PAD_ID, UNKNOWN_ID = 0, 1

Lines = str | Sequence[str | Sequence[str]]
RecipeLike = str | Mapping[str, Lines]


@dataclass(frozen=True)
class RFGLine:
    """A line of a recipe: its section, its number there, its text, and the words in it with their places."""

    section: int
    number: int
    text: str
    words: tuple[str, ...]
    spans: tuple[Span, ...]


@dataclass(frozen=True)
class RFGRecipe:
    """The lines of a recipe, ingredients first."""

    lines: tuple[RFGLine, ...]

    @cached_property
    def words(self) -> list[str]:
        """All words, in order."""
        return [word for line in self.lines for word in line.words]

    @cached_property
    def places(self) -> list[tuple[int, int]]:
        """For each word the number of its line through the recipe, and its number in that line."""
        return [(number, place) for number, line in enumerate(self.lines) for place in range(len(line.words))]


class RFGProcessor(ProcessorMixin):
    """Make the tensors that an `RFGModel` takes.

    A recipe is a text, or a mapping with `ingredients` and `instructions`; each of these is a text of several lines,
    or a list of lines, and a line is a text or a list of words. Text is split by the rules of the language. A list of
    recipes is a batch.

    Args:
        tokenizer: A vocabulary of words, as `from_recipes` builds one, or the tokenizer of a pre-trained encoder.
        characters: The characters that a model from scratch knows; None for a pre-trained encoder.
        language: The code of the language that text is split in.
        max_characters: Characters read of each word.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        characters: list[str] | None = None,
        language: str = "ja",
        max_characters: int = 20,
    ) -> None:
        super().__init__(tokenizer)
        self.characters = characters
        self.language = language
        self.max_characters = max_characters

    @classmethod
    def from_recipes(
        cls, recipes: Iterable[RFGRecipe], language: str = "ja", min_count: int = 1, max_characters: int = 20
    ) -> "RFGProcessor":
        """Build the vocabularies of words and characters from the training recipes, for a model from scratch.

        Words are compared after Unicode normalisation (NFKC) and in lower case, characters in their own case. A word
        seen fewer than `min_count` times is the unknown word.
        """
        words = [word for recipe in recipes for word in recipe.words]
        if not words:
            raise ValueError("expected the words of the training recipes, found none; pass at least one recipe")
        counts = Counter(character for word in words for character in unicodedata.normalize("NFKC", word))
        characters = sorted(counts, key=lambda character: (-counts[character], character))
        return cls(train_vocabulary(words, min_count), characters, language, max_characters)

    @classmethod
    def from_encoder(cls, name: str | PathLike, language: str) -> "RFGProcessor":
        """Take the tokenizer of a pre-trained encoder: a folder or a name on the Hub."""
        tokenizer = AutoTokenizer.from_pretrained(name)
        if tokenizer is None:
            raise ValueError(f"expected an encoder with a tokenizer, found none in {str(name)!r}")
        return cls(tokenizer, language=language)

    @classmethod
    def _load_tokenizer_from_pretrained(
        cls,
        sub_processor_type: str,
        pretrained_model_name_or_path: str | PathLike,
        subfolder: str = "",
        **kwargs: Any,
    ) -> PreTrainedTokenizerBase:
        """Load the tokenizer by its class, for which `AutoTokenizer` would have to run the repository's code."""
        saved = get_tokenizer_config(pretrained_model_name_or_path, subfolder=subfolder, **kwargs)
        loader = getattr(transformers, saved.get("tokenizer_class") or "", PreTrainedTokenizerFast)
        return loader.from_pretrained(pretrained_model_name_or_path, subfolder=subfolder, **kwargs)

    @property
    def is_scratch(self) -> bool:
        """Whether the model's own tables read the words, not a pre-trained encoder."""
        return self.characters is not None

    @property
    def vocab_size(self) -> int:
        """Rows that the table of words needs."""
        return len(self.tokenizer)

    @property
    def char_vocab_size(self) -> int:
        """Rows that the table of characters needs: one for padding, one for the unknown character."""
        return len(self.characters or ()) + 2

    @property
    def model_input_names(self) -> list[str]:
        """The names of the tensors that a call returns."""
        own = ["word_ids", "char_ids"] if self.is_scratch else ["input_ids", "input_words"]
        return ["word_mask", "form_ids", "section_ids", "line_ids", "sentence_ids", *own]

    def read(self, recipe: RecipeLike) -> RFGRecipe:
        """Split a recipe into words.

        Raises:
            TypeError: If it is not in one of the forms that the class describes.
            ValueError: If it is too long, or not text of the model's language.
        """
        if isinstance(recipe, str):
            found = read_plain_text(recipe)
            sections: Sequence[Lines] = (found.ingredients, found.instructions)
        elif isinstance(recipe, Mapping):
            if unknown := [str(name) for name in recipe if name not in SECTIONS]:
                raise TypeError(f"expected {' and '.join(SECTIONS)} of a recipe, found {unknown[0]!r}")
            sections = [recipe.get(name) or [] for name in SECTIONS]
        else:
            raise TypeError(f"expected a text or a mapping as a recipe, found {type(recipe).__name__}: {recipe!r:.60}")
        lines = [line for number, content in enumerate(sections) for line in self._read_section(number, content)]
        return check_length(RFGRecipe(tuple(lines)))

    def _read_section(self, section: int, content: Lines) -> list[RFGLine]:
        lines: list[RFGLine] = []
        for row in content.splitlines() if isinstance(content, str) else content:
            text, spans = self._read_line(row)
            if spans:
                words = tuple(text[start:end] for start, end in spans)
                lines.append(RFGLine(section, len(lines), text, words, tuple(spans)))
        return lines

    def _read_line(self, row: str | Sequence[str]) -> tuple[str, list[Span]]:
        if isinstance(row, str):
            text = normalise_line(row, self.language)
            return text, split_line(text, self.language)
        if not isinstance(row, Sequence) or not all(isinstance(word, str) for word in row):
            raise TypeError(f"expected a line as a text or as a list of words, found {row!r:.60}")
        text, spans = "", []
        for word in filter(None, row):
            text += " " if text and is_spaced(self.language) else ""
            spans.append((len(text), len(text) + len(word)))
            text += word
        return text, spans

    def __call__(
        self, recipes: RecipeLike | RFGRecipe | Sequence[RecipeLike | RFGRecipe], return_tensors: str = "pt"
    ) -> BatchFeature:
        """Turn recipes into tensors, to be passed on with `**`."""
        if return_tensors != "pt":
            raise ValueError(f"expected return_tensors='pt', the only kind, found {return_tensors!r}")
        batch = [recipes] if isinstance(recipes, str | Mapping | RFGRecipe) else list(recipes)
        if not batch:
            raise ValueError("expected at least one recipe, found an empty list")
        read = [recipe if isinstance(recipe, RFGRecipe) else self.read(recipe) for recipe in batch]
        data = {
            "word_mask": _pad([[True] * len(recipe.words) for recipe in read], dtype=torch.bool),
            "form_ids": _pad([self._forms(recipe) for recipe in read]),
            "section_ids": _pad([[recipe.lines[line].section for line, _ in recipe.places] for recipe in read]),
            "line_ids": _pad([[line for line, _ in recipe.places] for recipe in read]),
            "sentence_ids": _pad([_sentences(recipe) for recipe in read]),
        }
        return BatchFeature(data | (self._spelled(read) if self.is_scratch else self._sub_words(read)))

    def _forms(self, recipe: RFGRecipe) -> list[int]:
        numbers: dict[str, int] = {}
        is_english = self.language.partition("-")[0] == "en"
        return [numbers.setdefault(word_form(word, is_english), len(numbers) + 1) for word in recipe.words]

    @cached_property
    def _remembered(self) -> dict[str, Any]:
        return {}

    # From scratch.

    @cached_property
    def _vocabulary(self) -> dict[str, int]:
        return {word: number for word, number in self.tokenizer.get_vocab().items() if word not in (PAD, UNKNOWN)}

    @cached_property
    def _character_ids(self) -> dict[str, int]:
        return {character: number for number, character in enumerate(self.characters or (), start=2)}

    def _spell(self, word: str) -> tuple[int, list[int]]:
        if (known := self._remembered.get(word)) is not None:
            return known
        plain = unicodedata.normalize("NFKC", word)
        letters = [self._character_ids.get(letter, UNKNOWN_ID) for letter in plain[: self.max_characters]]
        found = self._vocabulary.get(plain.lower(), UNKNOWN_ID), letters or [UNKNOWN_ID]
        if len(self._remembered) >= MAX_REMEMBERED:
            self._remembered.clear()
        self._remembered[word] = found
        return found

    def _spelled(self, recipes: Sequence[RFGRecipe]) -> dict[str, torch.Tensor]:
        """The numbers of words and of their characters; each word of the batch is spelled once."""
        places: dict[str, int] = {"": 0}  # the first row of the table is padding
        rows = [[places.setdefault(word, len(places)) for word in recipe.words] for recipe in recipes]
        spelled = [(PAD_ID, [PAD_ID]), *(self._spell(word) for word in islice(places, 1, None))]
        words, letters = torch.tensor([word for word, _ in spelled]), _pad([letters for _, letters in spelled])
        index = _pad(rows)
        return {"word_ids": words[index], "char_ids": letters[index]}

    # For a pre-trained encoder.

    def _sub_words(self, recipes: Sequence[RFGRecipe]) -> dict[str, torch.Tensor]:
        words = {word for recipe in recipes for word in recipe.words}
        if len(self._remembered) + len(words) > MAX_REMEMBERED:
            self._remembered.clear()
        new = sorted(words - self._remembered.keys())
        before = " " if is_spaced(self.language) else ""  # as inside a text; byte-level tokenizers need it
        if new:
            ids = self.tokenizer([before + word for word in new], add_special_tokens=False)["input_ids"]
            self._remembered.update(zip(new, ids, strict=True))
        split = [[self._remembered[word] for word in recipe.words] for recipe in recipes]
        return {
            "input_ids": _pad([[number for word in row for number in word] for row in split]),
            "input_words": _pad(
                [[place for place, word in enumerate(row) for _ in word] for row in split], padding_value=-1
            ),
        }


def check_length(recipe: RFGRecipe) -> RFGRecipe:
    """Refuse a text that is much longer than any recipe.

    Raises:
        ValueError: With the number of words.
    """
    if len(recipe.words) > MAX_WORDS:
        raise ValueError(
            f"expected a recipe of at most {MAX_WORDS:,} words, found one of {len(recipe.words):,}; split the text "
            "into recipes"
        )
    return recipe


@lru_cache(maxsize=MAX_REMEMBERED)
def word_form(word: str, is_english: bool = False) -> str:
    """What two mentions of one thing have in common: upper and lower case, singular and plural are the same."""
    form = unicodedata.normalize("NFKC", word).casefold()
    if is_english and len(form) > 3 and form.endswith("s") and not form.endswith("ss"):
        if form.endswith("ies"):
            return form[:-3] + "y"
        return form[:-2] if form.endswith(("oes", "ches", "shes")) else form[:-1]
    return form


def _sentences(recipe: RFGRecipe) -> list[int]:
    """The number of each word's sentence: lines end one, and so do full stops."""
    numbers, number = [], -1
    for line in recipe.lines:
        begins = True
        for word in line.words:
            number += begins
            numbers.append(number)
            begins = word in SENTENCE_ENDS
    return numbers


def _pad(rows: Sequence[Sequence[Any]], padding_value: int = 0, dtype: torch.dtype = torch.long) -> torch.Tensor:
    return pad_sequence(
        [torch.tensor(row, dtype=dtype) for row in rows], batch_first=True, padding_value=padding_value
    )


RFGProcessor.register_for_auto_class()

__all__ = ["MAX_WORDS", "RFGLine", "RFGProcessor", "RFGRecipe", "RecipeLike", "check_length", "word_form"]
