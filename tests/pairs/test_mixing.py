from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from processing_vrf import VRFProcessor
from recipeflow.pairs.batches import make_tensors
from recipeflow.pairs.mixing import LEAST, add_mixes, draw_mixes
from recipeflow.training.settings import INPUTS
from tests.pairs.pairing import OFFLINE, make_pairs


@pytest.fixture(scope="module")
def data():
    pairs = make_pairs()
    rows = pairs.rows(INPUTS, range(10), incomplete=True)
    processor = VRFProcessor.from_phrases(pairs.phrases(rows), OFFLINE["backbone"])
    return make_tensors(pairs, rows, INPUTS, processor)


def mixed_batch(data, share=1.0, seed=0, **changes):
    batch = replace(data.batch(torch.arange(len(data))), **changes)
    features = data.images.look(batch.frames)
    mixes = draw_mixes(batch, share, torch.Generator().manual_seed(seed))
    return batch, features, mixes


@given(seed=st.integers(0, 2**40), share=st.floats(0, 1))
def test_only_pictures_of_one_action_are_mixed(data, seed, share):
    batch, _, mixes = mixed_batch(data, share, seed)
    first, second = mixes.first, mixes.second
    assert batch.words["action_ids"][first].equal(batch.words["action_ids"][second])
    assert (batch.post[first] != batch.post[second]).all()
    assert batch.pre_mask[first].all() and batch.pre_mask[second].all()
    assert ((mixes.share >= LEAST) & (mixes.share <= 1 - LEAST)).all()
    assert len(first.unique()) == len(first) <= len(data)


def test_about_as_many_rows_are_added_as_asked_for(data):
    counts = [len(mixed_batch(data, 0.3, seed)[2].first) for seed in range(200)]
    most = len(mixed_batch(data, 1.0)[2].first)
    assert sum(counts) / 200 == pytest.approx(0.3 * most, rel=0.15)
    assert len(mixed_batch(data, 0.0)[2].first) == 0


def test_a_mixed_row_has_the_words_of_the_first_and_pictures_of_both(data):
    batch, features, mixes = mixed_batch(data)
    more, images = add_mixes(batch, features, mixes)
    rows, count = len(batch.post), len(mixes.first)
    assert count > 10 and len(more.post) == rows + count
    for name, ids in more.words.items():
        assert ids[:rows].equal(batch.words[name]) and ids[rows:].equal(batch.words[name][mixes.first])
    for old, new in ((batch.pre, more.pre), (batch.post, more.post)):
        assert new[:rows].equal(old)
        expected = mixes.share * features[old[mixes.first]] + (1 - mixes.share) * features[old[mixes.second]]
        assert images[new[rows:]].equal(expected)
    assert images[: len(features)].equal(features)
    assert more.pre_mask[rows:].all() and more.recipes[rows:].equal(batch.recipes[mixes.first])


def test_every_mixture_is_an_image_of_its_own_in_all_processes(data):
    batch, features, mixes = mixed_batch(data)
    numbers = [add_mixes(batch, features, mixes, (3, rank))[0].image_ids[len(batch.post) :] for rank in range(3)]
    together = torch.cat(numbers)
    assert (together < 0).all() and len(together.unique()) == 3 * len(mixes.first)


def test_a_batch_with_nothing_to_mix_stays_as_it_is(data):
    batch, features, mixes = mixed_batch(data, pre_mask=torch.zeros(len(data), dtype=torch.bool))
    more, images = add_mixes(batch, features, mixes)
    assert len(mixes.first) == 0 and more.post.equal(batch.post) and images.equal(features)
