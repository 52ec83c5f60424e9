"""Words to ids and images to pixels, for the Visual Recipe Flow model.

This file is saved with every model and imports nothing from the project.
"""

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import timm.data
import torch
from PIL import Image, ImageOps
from torch.nn.utils.rnn import pad_sequence
from transformers import BatchFeature, PreTrainedTokenizerFast, ProcessorMixin, TimmWrapperImageProcessor

try:
    from .configuration_vrf import CONTEXT_ROLES, check_backbone
    from .vocabulary_hub import PAD, UNKNOWN, train_vocabulary
    from .words_vrf import JAPANESE, KANA, Forms, UnknownWordsWarning, WordFinder, describe_missed, describe_words
except ImportError:
    if __package__:  # inside a package the siblings exist: the error is a real one
        raise
    from configuration_vrf import CONTEXT_ROLES, check_backbone
    from vocabulary_hub import PAD, UNKNOWN, train_vocabulary
    from words_vrf import JAPANESE, KANA, Forms, UnknownWordsWarning, WordFinder, describe_missed, describe_words

CLOSER = 0.8
"""The share of width and height that a closer view shows."""


def _crop(image: Image.Image, corner: int) -> Image.Image:
    """The upper left (0) or lower right (1) of a picture."""
    left, top = (round(corner * side * (1 - CLOSER)) for side in image.size)
    width, height = (max(1, round(side * CLOSER)) for side in image.size)
    return image.crop((left, top, min(image.width, left + width), min(image.height, top + height)))


VIEWS: dict[str, Callable[[Image.Image], Image.Image]] = {
    "centre": lambda image: image,
    "flip": ImageOps.mirror,
    "upper left": lambda image: _crop(image, 0),
    "lower right": lambda image: _crop(image, 1),
}
"""Several views of one picture, made before the backbone's own transform; the centre is the unchanged picture."""

Phrase = str | Sequence[str]
ImageLike = Image.Image | str | PathLike | np.ndarray | torch.Tensor


class VRFProcessor(ProcessorMixin):
    """Make the tensors that a `VRFModel` takes.

    A phrase is a string, split at its white space, or a list of words; an image is a path, a PIL image, or an array
    of pixels. A list is a batch, so one phrase of several words is `[["薄切り", "に", "する"]]`; a single string or
    image is a batch of one. A word outside the vocabulary is looked up under its other forms (切る, きる: 切), then as
    several words without spaces (赤パプリカ: 赤 パプリカ), and a warning names those that are not found, or that are
    ambiguous.

    Args:
        tokenizer: A word-level vocabulary; `from_phrases` builds one.
        data_config: The transform of the images (size, crop, interpolation, mean and standard deviation) that the
            backbone's weights need, in timm's terms.
        word_forms: Dictionary forms and readings of the words, as `from_phrases` finds them.

    Attributes:
        views: How many of `VIEWS` to make of an image, from the first on: with more than one, pixels have a row per
            image and view, and the model uses the mean of their features. An index sets it to that of its candidates.
    """

    views = 1

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerFast,
        data_config: dict[str, Any],
        word_forms: dict[str, Forms] | None = None,
    ) -> None:
        super().__init__(tokenizer)
        self.word_forms = word_forms
        self.image_processor = TimmWrapperImageProcessor(pretrained_cfg=data_config)
        self.data_config = self.image_processor.data_config

    @classmethod
    def from_phrases(
        cls, phrases: Iterable[Phrase] | Mapping[Any, int], backbone: str, min_count: int = 1
    ) -> "VRFProcessor":
        """Build the vocabulary from the phrases of the training recipes and take the transform of a timm backbone.

        Words are compared after Unicode normalisation (NFKC) and in lower case. Every other word, and a word seen
        fewer than `min_count` times, is the unknown word; raise `min_count` to train that one, too. The phrases of
        millions of rows are better passed as a mapping, each distinct one with its number, such as a `Counter`.
        """
        check_backbone(backbone)
        tokenizer = train_vocabulary(_count_texts(phrases), min_count)
        pretrained = timm.get_pretrained_cfg(backbone)
        if pretrained is None:
            raise ValueError(f"expected the name of a timm model, found {backbone!r}")
        data_config = timm.data.resolve_data_config(pretrained.to_dict())
        return cls(tokenizer, data_config, describe_words(tokenizer.get_vocab().keys() - {PAD, UNKNOWN}))

    @classmethod
    def _load_tokenizer_from_pretrained(
        cls,
        sub_processor_type: str,
        pretrained_model_name_or_path: str | PathLike,
        subfolder: str = "",
        **kwargs: Any,
    ) -> PreTrainedTokenizerFast:
        """Load the vocabulary by its class, for which transformers would have to run the repository's code."""
        return PreTrainedTokenizerFast.from_pretrained(pretrained_model_name_or_path, subfolder=subfolder, **kwargs)

    @property
    def vocab_size(self) -> int:
        """Rows that the model's lookup table needs."""
        return len(self.tokenizer)

    @property
    def model_input_names(self) -> list[str]:
        """The names of the tensors that a call may return."""
        names = ["action_ids", "object_ids", "context_ids", "context_roles"]
        return [*names, "pre_pixel_values", "pre_mask", "post_pixel_values"]

    def missed_words(self, phrases: Iterable[Phrase]) -> dict[str, list[str]]:
        """The words of phrases that are not found in the vocabulary, each with those that it may mean, if any."""
        missed: dict[str, list[str]] = {}
        texts = [_phrase_text(phrase, row, "phrases") for row, phrase in enumerate(phrases)]
        self._encode_words(texts, missed)
        return missed

    def read_words(self, phrase: Phrase) -> list[str]:
        """The words of the vocabulary that a phrase means; one that is not found is the unknown word."""
        return self.tokenizer.convert_ids_to_tokens(self._encode_words([_phrase_text(phrase, 0, "phrase")], {})[0])

    def split_phrase(self, phrase: str) -> list[str]:
        """A phrase without spaces as the fewest words of the vocabulary; none if it has other words, too."""
        text = self.tokenizer.backend_tokenizer.normalizer.normalize_str(phrase)
        vocabulary = self.tokenizer.get_vocab()
        longest = max(map(len, vocabulary))
        best: list[list[str] | None] = [[], *([None] * len(text))]
        for end in range(1, len(text) + 1):
            for start in range(max(end - longest, 0), end):
                before, shortest = best[start], best[end]
                if before is None or (shortest is not None and len(shortest) <= len(before) + 1):
                    continue
                if text[start:end] in vocabulary:
                    best[end] = [*before, text[start:end]]
        return best[-1] or []

    def __call__(
        self,
        actions: Phrase | Sequence[Phrase] | None = None,
        objects: Phrase | Sequence[Phrase] | None = None,
        pre_images: ImageLike | Sequence[ImageLike | None] | None = None,
        post_images: ImageLike | Sequence[ImageLike] | None = None,
        contexts: Sequence[Mapping[str, Phrase]] | None = None,
        return_tensors: str = "pt",
        as_written: bool = False,
    ) -> BatchFeature:
        """Turn any of the inputs into tensors, to be passed on with `**`.

        A None among `pre_images` is a missing image: its pixels are zeros and `pre_mask` is False there. No
        post-action image may be missing. A context says more about the action, as words by their role (one of
        `CONTEXT_ROLES`), such as `{"modifier": ["薄く"], "destination": ["ボウル"]}`; it may be empty.

        With `as_written`, words come from recipes, segmented like those of the vocabulary: no other form is looked up,
        and there is no warning.
        """
        if return_tensors != "pt":
            raise ValueError(f"expected return_tensors='pt', the only kind, found {return_tensors!r}")
        data: dict[str, torch.Tensor] = {}
        missed: dict[str, list[str]] | None = None if as_written else {}
        if actions is not None:
            data["action_ids"] = self._word_ids(actions, "actions", missed)
        if objects is not None:
            data["object_ids"] = self._word_ids(objects, "objects", missed)
        if contexts is not None:
            data["context_ids"], data["context_roles"] = self._context_ids(contexts, missed)
        if missed:
            warnings.warn(describe_missed(missed), UnknownWordsWarning, stacklevel=2)
        if pre_images is not None:
            images = _load_images(pre_images, "pre_images")
            data["pre_pixel_values"] = self._pixels(images)
            data["pre_mask"] = torch.tensor([image is not None for image in images])
        if post_images is not None:
            images = _load_images(post_images, "post_images")
            if None in images:
                raise ValueError(
                    f"expected an image in every row of post_images, found None in row {images.index(None)}; "
                    "omit such pairs"
                )
            data["post_pixel_values"] = self._pixels(images)
        if not data:
            raise ValueError(
                "expected at least one of actions, objects, pre_images, post_images and contexts, found none"
            )
        return BatchFeature(data)

    @cached_property
    def _finder(self) -> WordFinder:
        return WordFinder(self.tokenizer.get_vocab().keys() - {PAD, UNKNOWN}, self.word_forms)

    def _encode_words(self, texts: list[str], missed: dict[str, list[str]] | None) -> list[list[int]]:
        """The ids of the words of each text; unknown words are looked up unless `missed` is None.

        What is not found is added to `missed`. A word in the vocabulary always keeps its own id.
        """
        rows = self.tokenizer(texts)["input_ids"] if texts else []
        backend, unknown = self.tokenizer.backend_tokenizer, self.tokenizer.unk_token_id
        for text, ids in zip(texts, rows, strict=True):
            if missed is None or unknown not in ids:
                continue
            words = backend.pre_tokenizer.pre_tokenize_str(backend.normalizer.normalize_str(text))
            known = [
                self._look_up(word, missed) if one == unknown else [one]
                for (word, _), one in zip(words, ids, strict=True)
            ]
            ids[:] = [one for word in known for one in word]
        return rows

    def _look_up(self, word: str, missed: dict[str, list[str]]) -> list[int]:
        """The ids of what an unknown word means: one word in another form, or several written without spaces.

        Words of one kana are in nearly every other word, and prove nothing.
        """
        found = self._finder.find(word)
        parts = [] if found or not JAPANESE.search(word) else self.split_phrase(word)
        if len(found) == 1 or (parts and not any(KANA.fullmatch(part) for part in parts)):
            return self.tokenizer.convert_tokens_to_ids(found or parts)
        missed[word] = found
        return [self.tokenizer.unk_token_id]

    def _word_ids(
        self, phrases: Phrase | Sequence[Phrase], name: str, missed: dict[str, list[str]] | None
    ) -> torch.Tensor:
        batch = [phrases] if isinstance(phrases, str) else list(phrases)
        if not batch:
            raise ValueError(f"expected at least one phrase in {name}, found an empty list")
        texts = [_phrase_text(phrase, row, name) for row, phrase in enumerate(batch)]
        rows = [torch.tensor(word_ids) for word_ids in self._encode_words(texts, missed)]
        return pad_sequence(rows, batch_first=True, padding_value=self.tokenizer.pad_token_id)

    def _context_ids(
        self, contexts: Sequence[Mapping[str, Phrase]], missed: dict[str, list[str]] | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The words of every context in one row, and the number of each word's role, from 1."""
        ids, roles = [], []
        for row, context in enumerate([contexts] if isinstance(contexts, Mapping) else contexts):
            unknown = [role for role in context if role not in CONTEXT_ROLES]
            if unknown:
                raise ValueError(
                    f"expected the roles {', '.join(CONTEXT_ROLES)} in contexts, found {unknown[0]!r} in row {row}"
                )
            texts = [_phrase_text(context[role], row, "contexts") for role in CONTEXT_ROLES if context.get(role)]
            numbers = [number for number, role in enumerate(CONTEXT_ROLES, start=1) if context.get(role)]
            words = self._encode_words(texts, missed)
            ids.append(torch.tensor([word for phrase in words for word in phrase], dtype=torch.long))
            repeated = [number for number, phrase in zip(numbers, words, strict=True) for _ in phrase]
            roles.append(torch.tensor(repeated, dtype=torch.long))
        if not ids:
            raise ValueError("expected at least one context in contexts, found an empty list")
        padded = pad_sequence(ids, batch_first=True, padding_value=self.tokenizer.pad_token_id)
        return padded, pad_sequence(roles, batch_first=True)

    def _pixels(self, images: list[Image.Image | None]) -> torch.Tensor:
        pixels = torch.zeros(len(images), self.views, *self.data_config["input_size"])
        makers = list(VIEWS.values())[: self.views]
        present = {row: image for row, image in enumerate(images) if image is not None}
        if present:
            views = [make(image) for image in present.values() for make in makers]
            pixels[[*present]] = self.image_processor(views)["pixel_values"].unflatten(0, (-1, self.views))
        return pixels if self.views > 1 else pixels[:, 0]


def _count_texts(phrases: Iterable[Phrase] | Mapping[Any, int]) -> Counter[str]:
    """Each distinct phrase as text, with how many rows have it."""
    numbered = phrases.items() if isinstance(phrases, Mapping) else ((phrase, 1) for phrase in phrases)
    texts: Counter[str] = Counter()
    for row, (phrase, number) in enumerate(numbered):
        texts[_phrase_text(phrase, row, "phrases")] += number
    if not texts:
        raise ValueError("expected the phrases of the training recipes, found none; pass at least one")
    return texts


def _phrase_text(phrase: Phrase, row: int, name: str) -> str:
    words = [phrase] if isinstance(phrase, str) else phrase
    if not isinstance(words, Sequence) or not all(isinstance(word, str) for word in words):
        raise TypeError(f"expected a string or a list of words in {name}, found {phrase!r} in row {row}")
    text = " ".join(words)
    if not text.split():
        raise ValueError(f"expected at least one word in every row of {name}, found {phrase!r} in row {row}")
    return text


def _load_images(images: ImageLike | Sequence[ImageLike | None], name: str) -> list[Image.Image | None]:
    is_stack = isinstance(images, np.ndarray | torch.Tensor) and images.ndim >= 4
    batch: list[Any] = [images] if isinstance(images, ImageLike) and not is_stack else [*images]
    if not batch:
        raise ValueError(f"expected at least one image in {name}, found an empty list")
    return [None if image is None else _load_image(image, f"row {row} of {name}") for row, image in enumerate(batch)]


def _load_image(image: ImageLike, place: str) -> Image.Image:
    """Bring any kind of image to upright RGB."""
    if isinstance(image, str | PathLike):
        if not Path(image).is_file():
            raise FileNotFoundError(f"expected an image file in {place}, found no file at {str(image)!r}")
        try:
            with Image.open(image) as opened:
                return _upright_rgb(opened)
        except OSError as error:
            raise OSError(f"expected a readable image in {place}, found {str(image)!r}: {error}") from error
    if isinstance(image, np.ndarray | torch.Tensor):
        return _upright_rgb(_array_image(np.asarray(image), place))
    if isinstance(image, Image.Image):
        return _upright_rgb(image)
    raise TypeError(
        f"expected a path, a PIL image, an array or None in {place}, found {type(image).__name__}: {image!r}"
    )


def _upright_rgb(image: Image.Image) -> Image.Image:
    """Turn an image upright: a phone only records its orientation in the metadata."""
    return ImageOps.exif_transpose(image).convert("RGB")


def _array_image(array: np.ndarray, place: str) -> Image.Image:
    """Accept height x width, with 1, 3 or 4 channels first or last, as bytes or as numbers from 0 to 1."""
    found = f"shape {array.shape} of {array.dtype}"
    if array.ndim == 3 and array.shape[0] in (1, 3, 4) and array.shape[2] not in (1, 3, 4):
        array = np.moveaxis(array, 0, 2)
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    fits = array.ndim == 2 or (array.ndim == 3 and array.shape[2] in (3, 4))
    if fits and np.issubdtype(array.dtype, np.floating):
        if not ((array >= 0) & (array <= 1)).all():
            raise ValueError(
                f"expected numbers from 0 to 1 in the array in {place}, found {array.min()} to {array.max()}; "
                "arrays from 0 to 255 have to be of type uint8"
            )
        array = (array * 255).round().astype(np.uint8)
    if not fits or array.dtype != np.uint8 or array.size == 0:
        raise ValueError(
            f"expected an array of height x width, with 1, 3 or 4 channels, of uint8 or floating point in {place}, "
            f"found {found}"
        )
    return Image.fromarray(np.ascontiguousarray(array))


VRFProcessor.register_for_auto_class()

__all__ = ["VRFProcessor"]
