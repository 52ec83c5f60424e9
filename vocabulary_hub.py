"""A vocabulary of whole words, as a tokenizer of transformers.

This file is saved with every model and imports nothing from the project.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import NFKC, Lowercase
from tokenizers.normalizers import Sequence as Normalizers
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import PreTrainedTokenizerFast

PAD, UNKNOWN = "[PAD]", "[UNK]"  # ids 0 and 1


def train_vocabulary(texts: Iterable[str] | Mapping[str, int], min_count: int = 1) -> PreTrainedTokenizerFast:
    """Number the words of texts, which are split at their spaces, by frequency, as the trainer of `tokenizers` does.

    Words are compared after Unicode normalisation (NFKC) and in lower case. Every other word, and a word seen fewer
    than `min_count` times, is the unknown word. Many equal texts are better passed as a `Counter`: each is read once.
    """
    numbered = texts.items() if isinstance(texts, Mapping) else ((text, 1) for text in texts)
    normalizer, splitter = Normalizers([NFKC(), Lowercase()]), WhitespaceSplit()
    words: Counter[str] = Counter()
    for text, number in numbered:
        for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text)):
            words[word] += number
    frequent = sorted((-number, word) for word, number in words.items() if number >= min_count)
    listed = dict.fromkeys([PAD, UNKNOWN, *(word for _, word in frequent)])
    tokenizer = Tokenizer(WordLevel({word: place for place, word in enumerate(listed)}, unk_token=UNKNOWN))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, splitter
    tokenizer.add_special_tokens([PAD, UNKNOWN])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token=PAD, unk_token=UNKNOWN, split_special_tokens=True
    )


__all__ = ["PAD", "UNKNOWN", "train_vocabulary"]
