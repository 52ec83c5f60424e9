"""Columns of numbers read like the tuples that they replace, and are encoded like them."""

import pickle
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import NFKC, Lowercase, Sequence
from tokenizers.pre_tokenizers import WhitespaceSplit
from tokenizers.trainers import WordLevelTrainer

from configuration_vrf import CONTEXT_ROLES
from processing_vrf import PAD, UNKNOWN, VRFProcessor
from recipeflow.pairs.batches import make_tensors
from recipeflow.pairs.columns import ContextColumn, PhraseColumn
from tests.pairs.pairing import OFFLINE, make_pairs

WORDS = ("切る", "Ａbc", "abc", "㍍", "゛", "a\u3000b", "🍅", "ﾊﾞﾀｰ", "[UNK]", "e\u0301", "塩")
PHRASES = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(tuple), min_size=1, max_size=12)
CONTEXTS = st.lists(
    st.lists(st.tuples(st.sampled_from(CONTEXT_ROLES), st.sampled_from(WORDS)), max_size=6, unique=True).map(tuple),
    min_size=1,
    max_size=8,
)


@given(st.lists(st.none() | st.lists(st.sampled_from(WORDS), max_size=3).map(tuple), max_size=10))
def test_phrases_read_like_a_tuple(phrases):
    column = pickle.loads(pickle.dumps(PhraseColumn.of(phrases)))
    assert tuple(column) == tuple(phrases) == column[:] and len(column) == len(phrases)
    assert column[::-1] == tuple(phrases[::-1])
    rows = np.arange(0, len(phrases), 2)
    assert tuple(column.take(rows)) == tuple(phrases[::2])
    assert column.tally(rows) == Counter(words for words in phrases[::2] if words is not None)


@given(CONTEXTS, st.randoms())
def test_contexts_read_like_a_tuple(contexts, random):
    column = ContextColumn.of(contexts)
    assert tuple(column) == tuple(contexts) and column[-1] == contexts[-1]
    rows = random.sample(range(len(contexts)), len(contexts))
    chosen = [contexts[row] for row in rows]
    assert tuple(column.take(np.array(rows))) == tuple(chosen)
    read = CONTEXT_ROLES[:2]
    assert column.tally(np.array(rows), read) == Counter((word,) for c in chosen for role, word in c if role in read)
    assert column.has_role(np.array(rows), read).tolist() == [any(role in read for role, _ in c) for c in chosen]


def test_there_is_no_row_after_the_last():
    with pytest.raises(IndexError, match="from 0 to 1, found 2"):
        PhraseColumn.of([None, None])[2]
    assert list(ContextColumn.empty(3)) == [(), (), ()]


@given(PHRASES, st.integers(1, 3))
def test_a_vocabulary_is_that_of_the_tokenizers_own_trainer(phrases, min_count):
    expected = Tokenizer(WordLevel(unk_token=UNKNOWN))
    expected.normalizer, expected.pre_tokenizer = Sequence([NFKC(), Lowercase()]), WhitespaceSplit()
    trainer = WordLevelTrainer(min_frequency=min_count, special_tokens=[PAD, UNKNOWN], show_progress=False)
    expected.train_from_iterator([" ".join(words) for words in phrases], trainer)
    for given_as in (phrases, Counter(phrases)):
        processor = VRFProcessor.from_phrases(given_as, "test_resnet", min_count)
        assert processor.tokenizer.get_vocab() == expected.get_vocab()


@given(CONTEXTS)
def test_contexts_are_encoded_as_the_processor_does(contexts):
    pairs = make_pairs(recipes=1, rows_each=len(contexts), width=1)
    pairs = type(pairs)(**{**vars(pairs), "contexts": contexts})
    processor = VRFProcessor.from_phrases(["塩 abc 切る a"], OFFLINE["backbone"])
    by_role = [{role: [word for r, word in context if r == role] for role, _ in context} for context in contexts]
    expected = processor(contexts=by_role, as_written=True)
    rows = torch.arange(len(contexts))
    data = make_tensors(pairs, rows, ("action",), processor, "history")
    for name in ("context_ids", "context_roles"):
        assert data.words_of(rows)[name].equal(expected[name])
