from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from processing_vrf import VRFProcessor
from recipeflow.dataset.folds import split_folds
from recipeflow.errors import NoPairsError, UsageError
from recipeflow.features.rows import draw_views
from recipeflow.pairs.batches import RecipeBatches, make_tensors
from recipeflow.training.settings import INPUTS
from tests.pairs.pairing import OFFLINE, make_pairs


@pytest.fixture(scope="module")
def pairs():
    return make_pairs()


@pytest.fixture(scope="module")
def processor(pairs):
    return VRFProcessor.from_phrases(pairs.phrases(torch.arange(100)), OFFLINE["backbone"])


def test_only_rows_with_what_the_inputs_need_are_used(pairs):
    assert pairs.usable(()).sum() == 100
    assert pairs.usable(("action",)).sum() == 100
    assert pairs.usable(("object",)).sum() == 100 - 9
    assert pairs.usable(("image",)).sum() == 80
    both = pairs.usable(("object",)) & pairs.usable(("image",))
    assert pairs.usable(("action", "object", "image")).equal(both)


def test_folds_split_recipes_and_nothing_is_in_both_parts(pairs):
    train, test = split_folds(3)
    inside, outside = pairs.rows((), test), pairs.rows((), train)
    assert set(pairs.folds[inside].tolist()) == {3}
    assert sorted([*inside.tolist(), *outside.tolist()]) == list(range(100))
    inner_train, inner_test = split_folds(9, inner=True)
    assert inner_test == [0] and inner_train == list(range(1, 9))
    for fold in (-1, 10):
        with pytest.raises(UsageError, match="0 to 9"):
            split_folds(fold)


def test_a_batch_holds_the_rows_as_they_are_and_every_image_once(pairs, processor):
    rows = pairs.rows(INPUTS, range(10))
    data = make_tensors(pairs, rows, INPUTS, processor)
    chosen = torch.tensor([0, 1, 2, 5])
    batch = data.batch(chosen)
    table = pairs.images
    assert batch.frames.equal(torch.cat([table.pre[rows[chosen]], table.post[rows[chosen]]]).unique())
    assert batch.frames[batch.pre].equal(table.pre[rows[chosen]])
    assert batch.image_ids.equal(table.post[rows[chosen]])
    assert batch.image_ids[0] == batch.image_ids[1]
    phrases = [pairs.actions[row] for row in rows[chosen].tolist()]
    assert batch.words["action_ids"].equal(processor(actions=phrases)["action_ids"])


@pytest.mark.parametrize("inputs", [("action",), ("object", "image"), ("image",)])
def test_only_what_the_inputs_need_is_there(pairs, processor, inputs):
    batch = make_tensors(pairs, pairs.rows(inputs, range(10)), inputs, processor).batch(torch.arange(4))
    assert set(batch.words) == {f"{name}_ids" for name in inputs if name != "image"}
    assert (batch.pre is not None) == ("image" in inputs)


def test_no_row_is_an_error(pairs, processor):
    with pytest.raises(NoPairsError, match="action, image, found none"):
        make_tensors(pairs, torch.tensor([], dtype=torch.long), ("action", "image"), processor)


@given(st.integers(1, 23), st.integers(1, 3), st.integers(1, 3), st.integers(0, 99))
def test_every_process_gets_its_share_of_every_batch(recipes, shares, world, seed):
    owner = torch.arange(recipes).repeat_interleave(2)
    per_batch = shares * world
    whole = RecipeBatches(owner, per_batch, seed)
    parts = [RecipeBatches(owner, per_batch, seed, rank, world) for rank in range(world)]
    if world > 1 and len(parts[0]) != len(whole):
        assert recipes % per_batch < world  # a last batch that cannot be shared is left out
    for rows, *shared in zip(whole.epoch(1), *(part.epoch(1) for part in parts), strict=False):
        assert torch.cat(shared).equal(rows)


@given(st.integers(2, 23), st.integers(2, 5), st.integers(0, 99))
def test_an_epoch_is_every_recipe_once_in_an_order_of_its_own(recipes, per_batch, seed):
    batches = RecipeBatches(torch.arange(recipes).repeat_interleave(3), per_batch, seed)
    first = torch.cat(list(batches.epoch(0)))
    assert len(first) == len(first.unique())
    assert len(first) >= 3 * (recipes - 1)  # a single recipe left over has no other to be compared with
    again = torch.cat(list(batches.epoch(0)))
    assert first.equal(again)


def test_recipes_that_cannot_be_shared_are_refused():
    with pytest.raises(UsageError, match="share equally"):
        RecipeBatches(torch.arange(9), per_batch=4, seed=0, rank=0, world=3)


def test_rows_without_a_pre_action_image_are_masked_or_get_the_last_one_seen(pairs, processor):
    rows = pairs.rows(INPUTS, range(10), incomplete=True)
    complete = pairs.rows(INPUTS, range(10))
    missing = rows[~torch.isin(rows, complete)]
    assert len(missing) and (pairs.images.pre[missing] < 0).all()
    assert pairs.rows(("image",), range(10), incomplete=True).equal(pairs.rows(("image",), range(10)))

    masked = make_tensors(pairs, rows, INPUTS, processor, "modifiers")
    batch = masked.batch(torch.arange(len(rows)))
    assert batch.pre_mask.equal(pairs.images.pre[rows] >= 0)
    assert batch.frames[batch.pre][batch.pre_mask].equal(pairs.images.pre[rows][batch.pre_mask])
    seen = make_tensors(pairs, rows, INPUTS, processor, "history").batch(torch.arange(len(rows)))
    assert seen.pre_mask is None and seen.frames[seen.pre].equal(pairs.seen[rows])


def test_a_context_becomes_words_with_roles(pairs):
    rows = torch.arange(8)
    processor = VRFProcessor.from_phrases(pairs.phrases(rows, "history"), OFFLINE["backbone"])
    words = make_tensors(pairs, rows, ("action",), processor, "history").words_of(rows)
    assert words["context_ids"].shape == words["context_roles"].shape == (8, 2)
    assert words["context_roles"].tolist() == [[1, 4] if row % 4 else [0, 0] for row in range(8)]
    assert set(make_tensors(pairs, rows, ("action",), processor).words_of(rows)) == {"action_ids"}


def test_a_step_looks_at_one_view_of_each_image_and_another_step_at_others(pairs, processor):
    centre = pairs.images.features
    views = torch.stack([centre, centre + 1000, centre + 2000, centre + 3000])
    viewed = replace(pairs, images=replace(pairs.images, views=views))
    rows = pairs.rows(("image",), range(10))
    tensors, plain = (make_tensors(data, rows, ("image",), processor) for data in (viewed, pairs))
    frames = tensors.batch(torch.arange(20)).frames
    look = tensors.images.look
    seen = look(frames, seed=1)
    drawn = ((seen - centre[frames]).mean(1) / 1000).round().long()
    assert set(drawn.tolist()) == {0, 1, 2, 3}
    assert torch.equal(seen, views[drawn, frames])
    assert torch.equal(seen, look(frames, seed=1)) and not torch.equal(seen, look(frames, seed=2))
    assert torch.equal(seen[5:], look(frames[5:], seed=1)), "whichever process holds the images"
    assert torch.equal(look(frames), centre[frames]), "without a seed it is the whole picture"
    assert torch.equal(plain.images.look(frames, seed=1), centre[frames]), "one view is the feature itself"


def test_every_view_is_drawn_about_equally_often(pairs):
    drawn = draw_views(torch.arange(40_000), seed=5, number=4)
    assert all(9_700 < (drawn == view).sum() < 10_300 for view in range(4))
    again = draw_views(torch.arange(40_000), seed=6, number=4)
    assert 9_700 < (drawn == again).sum() < 10_300, "steps are independent of each other"
