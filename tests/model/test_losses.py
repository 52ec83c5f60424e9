"""The losses: by hand, against plain sums, and with bad input."""

import itertools
import math
from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import modeling_vrf
from modeling_vrf import batch_loss, contrastive_loss, triplet_loss
from tests.model_helpers import reference_loss, small_config

LOSSES = [triplet_loss, contrastive_loss]


def circle(angles) -> torch.Tensor:
    return torch.tensor([(math.cos(math.radians(a)), math.sin(math.radians(a))) for a in angles], dtype=torch.float64)


def chord(degrees: float) -> float:
    """Distance between two unit vectors at an angle."""
    return 2 * math.sin(math.radians(degrees) / 2)


def check_each_choice(loss_of, rows: list[list[float]]) -> None:
    """Compare the loss with hinges worked out by hand: for each row and side, one for every allowed negative."""
    assert float(loss_of(negatives="all")) == pytest.approx(sum(sum(row) / len(row) for row in rows))
    assert float(loss_of(negatives="hardest")) == pytest.approx(sum(max(row) for row in rows))
    possible = [sum(choice) for choice in itertools.product(*rows)]
    for seed in range(20):
        one = float(loss_of(negatives="one", generator=torch.Generator().manual_seed(seed)))
        assert any(one == pytest.approx(total) for total in possible)


def naive_contrastive(queries, images, ids, temperature):
    """Both sides of InfoNCE, a row at a time."""
    total = 0.0
    for one, other in ((queries, images), (images, queries)):
        for i in range(len(one)):
            scores = [
                math.exp(float(one[i] @ other[j]) / temperature) for j in range(len(one)) if j == i or ids[i] != ids[j]
            ]
            own = math.exp(float(one[i] @ other[i]) / temperature)
            total -= math.log(own / sum(scores)) / len(one)
    return total / 2


def test_three_pairs_by_hand():
    # Angles between query i and image j:   60  90 180
    #                                        0  30 120
    #                                      120  90   0
    rows = [
        [chord(60) - chord(90) + 0.5, 0],  # query 0: image 1 is within the margin, image 2 beyond it
        [chord(30) - chord(0) + 0.5, 0],  # query 1: image 0 is nearer than its own
        [0, 0],  # query 2: 0 - chord(120) + 0.5 and 0 - chord(90) + 0.5 are negative
        [chord(60) - chord(0) + 0.5, 0],  # image 0: query 1 is nearer than its own
        [0, 0],  # image 1: chord(30) - chord(90) + 0.5 is negative, for queries 0 and 2 alike
        [0, 0],  # image 2
    ]
    queries, images = circle((0, 60, 180)), circle((60, 90, 180))
    check_each_choice(partial(triplet_loss, queries, images, margin=0.5), rows)


def test_ties_count_once():
    queries, images = circle((0, 0, 0)), circle((10, 10, 10))  # all distances are equal: each hinge is the margin
    for negatives in ("one", "all", "hardest"):
        loss = triplet_loss(queries, images, margin=0.3, negatives=negatives)
        assert float(loss) == pytest.approx(3 * 2 * 0.3)


def test_pairs_of_one_image_are_no_negatives_of_each_other():
    # Rows 0 and 1 show the same image, so row 2 is their only negative; row 2 has both of them.
    # Angles between query i and image j:   90  90 180
    #                                       30  30 120
    #                                       90  90   0
    rows = [
        [chord(90) - chord(180) + 1],
        [chord(30) - chord(120) + 1],  # below zero: see the clamp in the last line
        [0 - chord(90) + 1, 0 - chord(90) + 1],
        [chord(90) - chord(90) + 1],
        [chord(30) - chord(90) + 1],
        [0 - chord(180) + 1, 0 - chord(120) + 1],
    ]
    queries, images, ids = circle((0, 60, 180)), circle((90, 90, 180)), torch.tensor([7, 7, 9])
    clamped = [[max(hinge, 0.0) for hinge in row] for row in rows]
    check_each_choice(partial(triplet_loss, queries, images, ids, margin=1.0), clamped)


@given(st.integers(2, 8), st.integers(0, 2**32), st.floats(0, 2), st.sampled_from(["all", "hardest"]), st.data())
def test_any_batch_equals_the_pairwise_sum(rows, seed, margin, negatives, data):
    ids = data.draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows).filter(lambda x: len(set(x)) > 1))
    generator = torch.Generator().manual_seed(seed)
    queries, images = (
        nn.functional.normalize(torch.randn(rows, 5, dtype=torch.float64, generator=generator)) for _ in range(2)
    )
    loss = triplet_loss(queries, images, torch.tensor(ids), margin=margin, negatives=negatives)
    assert float(loss) == pytest.approx(reference_loss(queries, images, ids, margin, negatives), abs=1e-9)
    shuffled = torch.randperm(rows, generator=generator)
    again = triplet_loss(
        queries[shuffled], images[shuffled], torch.tensor(ids)[shuffled], margin=margin, negatives=negatives
    )
    assert float(again) == pytest.approx(float(loss), abs=1e-9)


def test_one_negative_is_all_negatives_on_average():
    generator = torch.Generator().manual_seed(0)
    queries, images = (nn.functional.normalize(torch.randn(6, 4, generator=generator)) for _ in range(2))
    ids = torch.tensor([0, 0, 1, 2, 3, 3])
    draws = [triplet_loss(queries, images, ids, margin=0.5, negatives="one", generator=generator) for _ in range(2000)]
    everything = triplet_loss(queries, images, ids, margin=0.5, negatives="all")
    spread = torch.stack(draws).std() / math.sqrt(len(draws))
    assert spread > 0
    assert abs(torch.stack(draws).mean() - everything) < 5 * spread


@pytest.mark.parametrize("negatives", ["one", "all", "hardest"])
def test_gradients_in_double_precision(negatives):
    generator = torch.Generator().manual_seed(1)
    raw = [torch.randn(5, 4, dtype=torch.float64, generator=generator, requires_grad=True) for _ in range(2)]

    def loss(queries, images):
        unit = nn.functional.normalize(queries), nn.functional.normalize(images)
        choices = {"negatives": negatives, "generator": torch.Generator().manual_seed(2)}
        return triplet_loss(*unit, torch.tensor([0, 1, 1, 2, 3]), margin=0.7, **choices)

    assert loss(*raw) > 0
    assert torch.autograd.gradcheck(loss, raw)


def test_equal_vectors_give_finite_gradients():
    queries = circle((0, 90)).requires_grad_()
    triplet_loss(queries, circle((0, 90)), margin=2.0, negatives="all").backward()
    assert queries.grad.isfinite().all()


def unit_rows(rows: int, dtype: torch.dtype = torch.float64, seed: int = 0) -> list[torch.Tensor]:
    """Queries and images as a model gives them."""
    generator = torch.Generator().manual_seed(seed)
    return [nn.functional.normalize(torch.randn(rows, 6, dtype=dtype, generator=generator)) for _ in range(2)]


def test_the_contrastive_loss_is_the_naive_one_and_spares_rows_of_one_image():
    queries, images = unit_rows(5)
    ids = torch.tensor([7, 8, 7, 9, 10])
    loss = float(contrastive_loss(queries, images, ids, temperature=0.1))
    assert loss == pytest.approx(naive_contrastive(queries, images, ids.tolist(), 0.1), rel=1e-12)
    assert loss != pytest.approx(float(contrastive_loss(queries, images, temperature=0.1)), rel=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_single_pair_is_refused(loss):
    with pytest.raises(ValueError, match=r"at least two pairs, to have negatives, found a batch of 1; put more recip"):
        loss(circle((0,)), circle((5,)))


@pytest.mark.parametrize("loss", LOSSES)
def test_pairs_of_one_image_teach_nothing(loss):
    """That all rows show one image is known on the device alone: there is neither an error, a loss nor a gradient."""
    queries = circle((0, 1, 2)).requires_grad_()
    nothing = loss(queries, circle((3, 3, 3)), torch.tensor([5, 5, 5]))
    nothing.backward()
    assert nothing == 0 and torch.equal(queries.grad, torch.zeros_like(queries))


@pytest.mark.parametrize("loss", LOSSES)
def test_other_bad_input_is_refused(loss):
    with pytest.raises(ValueError, match=r"found shapes \(2, 2\) and \(3, 2\)"):
        loss(circle((0, 1)), circle((0, 1, 2)))
    with pytest.raises(ValueError, match=r"expected 2 image_ids, one per pair, found shape \(3,\)"):
        loss(circle((0, 1)), circle((0, 1)), torch.tensor([1, 2, 3]))


def test_an_unknown_choice_of_negatives_is_refused():
    with pytest.raises(ValueError, match="'one', 'all' or 'hardest', found 'easy'"):
        triplet_loss(circle((0, 1)), circle((0, 1)), negatives="easy")


@pytest.mark.parametrize("loss", [partial(triplet_loss, negatives="all"), contrastive_loss])
def test_the_loss_is_in_full_precision_whatever_the_embeddings_are_in(loss):
    queries, images = unit_rows(6, torch.float32)
    expected = loss(queries, images)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(loss(queries, images), expected)
    half = queries.bfloat16(), images.bfloat16()
    found = loss(*half)
    assert found.dtype == torch.float32
    assert torch.equal(found, loss(*(side.float() for side in half)))


def test_the_config_names_the_loss():
    queries, images = unit_rows(5)
    ids = torch.tensor([7, 8, 7, 9, 10])
    triplet = small_config(margin=0.7, negatives="hardest")
    expected = triplet_loss(queries, images, ids, margin=0.7, negatives="hardest")
    assert torch.equal(batch_loss(queries, images, ids, config=triplet), expected)
    contrastive = small_config(loss="contrastive", temperature=0.3)
    expected = contrastive_loss(queries, images, ids, temperature=0.3)
    assert torch.equal(batch_loss(queries, images, ids, config=contrastive), expected)


def test_the_losses_are_found_where_the_model_is():
    assert (modeling_vrf.batch_loss, modeling_vrf.triplet_loss) == (batch_loss, triplet_loss)
