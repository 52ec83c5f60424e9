"""The residual architecture and its context."""

import subprocess
import sys

import pytest
import torch
from huggingface_hub.errors import StrictDataclassError

from modeling_vrf import VRFModel
from residual_vrf import VRFDropout
from tests.model_helpers import CONTEXT, RESIDUAL, random_batch, small_model


def residual_model(**changes) -> VRFModel:
    return small_model(**(RESIDUAL | changes)).eval()


def query(model, batch, **more):
    return model.get_query_embeds(**{name: batch[name] for name in batch if name != "post_features"} | more)


def test_without_words_a_query_starts_from_the_image():
    """With the difference switched off, the query is the linear map of the pre-action feature."""
    model = residual_model()
    torch.nn.init.zeros_(model.query_encoder.output.weight)
    torch.nn.init.zeros_(model.query_encoder.output.bias)
    batch = random_batch() | {"pre_mask": None}
    start = model.query_encoder.start(batch["pre_features"])
    torch.testing.assert_close(query(model, batch), torch.nn.functional.normalize(start, dim=1))


def test_with_a_shared_map_a_picture_means_the_same_before_and_after():
    """With all differences switched off, the query of a picture is the embedding of the same picture."""
    model, batch = residual_model(shared_map=True), random_batch() | {"pre_mask": None}
    names = {name for name, _ in model.named_parameters()}
    assert "appearance.linear.weight" in names
    assert not {"query_encoder.start.weight", "image_encoder.linear.weight"} & names
    for encoder in (model.query_encoder, model.image_encoder):
        torch.nn.init.zeros_(encoder.output.weight)
        torch.nn.init.zeros_(encoder.output.bias)
    torch.testing.assert_close(query(model, batch), model.get_image_embeds(post_features=batch["pre_features"]))
    words = residual_model(shared_map=True, use_image=False)
    assert query(words, batch).shape == (5, words.config.embedding_dim)


@pytest.mark.parametrize("context", ["modifiers", "history"])
def test_context_counts_by_role_and_an_empty_one_is_like_none(context):
    model, batch = residual_model(context=context), random_batch()
    without, full = query(model, batch), query(model, batch, **CONTEXT)
    torch.testing.assert_close(full[2], without[2])
    assert not torch.allclose(full[0], without[0])
    # A word of the object's history counts only where history is read.
    assert torch.allclose(full[1], without[1]) == (context == "modifiers")
    swapped = {**CONTEXT, "context_roles": CONTEXT["context_roles"].clone()}
    swapped["context_roles"][4, 0] = 1
    assert not torch.allclose(query(model, batch, **swapped)[4], full[4])


def test_the_order_and_padding_of_a_context_do_not_count():
    model, batch = residual_model(context="history"), random_batch()
    full = query(model, batch, **CONTEXT)
    turned = {name: value.flip(1) for name, value in CONTEXT.items()}
    torch.testing.assert_close(query(model, batch, **turned), full, rtol=0, atol=1e-6)
    wider = {name: torch.nn.functional.pad(value, (0, 3)) for name, value in CONTEXT.items()}
    torch.testing.assert_close(query(model, batch, **wider), full, rtol=0, atol=1e-6)


def test_the_paper_model_ignores_a_context():
    model, batch = small_model().eval(), random_batch()
    assert torch.equal(query(model, batch, **CONTEXT), query(model, batch))


def test_the_role_of_padding_does_not_count():
    model, batch = residual_model(context="history"), random_batch()
    marked = CONTEXT | {"context_roles": CONTEXT["context_roles"].masked_fill(CONTEXT["context_ids"] == 0, 3)}
    assert torch.equal(query(model, batch, **marked), query(model, batch, **CONTEXT))


@pytest.mark.parametrize(("change", "message"), [
    ({"context_ids": torch.ones(5, 3)}, r"context_ids as a matrix of whole numbers.*float32"),
    ({"context_ids": torch.tensor([1, 2])}, r"context_ids as a matrix.*found shape \(2,\)"),
    ({name: tensor[:0] for name, tensor in CONTEXT.items()}, "at least one row in context_ids, found none"),
    ({name: tensor[:4] for name, tensor in CONTEXT.items()}, "same number of rows.*'context_ids': 4"),
    ({"context_ids": None}, "expected context_ids with context_roles, found none; the processor makes both"),
    ({"context_roles": None}, r"context_roles as whole numbers of shape \(5, 3\), found none"),
    ({"context_roles": torch.ones(5, 2).long()}, r"of shape \(5, 3\), found shape \(5, 2\)"),
    ({"context_roles": torch.ones(5, 3)}, "context_roles as whole numbers.*float32"),
])  # fmt: skip
def test_a_bad_context_is_refused_with_what_was_expected_and_found(change, message):
    with pytest.raises(ValueError, match=message):
        query(residual_model(context="history"), random_batch(), **(CONTEXT | change))


@pytest.mark.parametrize(("name", "value"), [("context_ids", 30), ("context_ids", -1), ("context_roles", 7)])
def test_a_word_or_role_that_is_none_raises_from_the_lookup(name, value):
    tensor = CONTEXT[name].clone()
    tensor[0, 0] = value
    with pytest.raises(IndexError, match="index out of range"):
        query(residual_model(context="history"), random_batch(), **(CONTEXT | {name: tensor}))


def test_a_missing_image_adds_nothing():
    model, batch = residual_model(), random_batch()
    mask = torch.tensor([False, True, True, True, True])
    other = batch | {"pre_features": batch["pre_features"].clone()}
    other["pre_features"][0] = 1000.0
    assert torch.equal(query(model, batch, pre_mask=mask), query(model, other, pre_mask=mask))


def test_features_of_one_length_make_the_scale_of_a_backbone_no_matter():
    batch = random_batch()
    larger = batch | {name: 50 * batch[name] for name in ("pre_features", "post_features")}
    scaled, plain = residual_model(feature_length=10.0), residual_model()
    assert torch.allclose(query(scaled, larger), query(scaled, batch), atol=1e-6)
    assert torch.allclose(
        scaled.get_image_embeds(post_features=larger["post_features"]),
        scaled.get_image_embeds(post_features=batch["post_features"]),
        atol=1e-6,
    )
    assert not torch.allclose(query(plain, larger), query(plain, batch), atol=1e-3)


def test_dropout_is_only_for_training():
    model, batch = residual_model(dropout=0.5, feature_dropout=0.5), random_batch()
    assert torch.equal(query(model, batch), query(model, batch))
    model.train()
    assert not torch.equal(query(model, batch), query(model, batch))


@pytest.mark.parametrize(("rate", "share"), [(0.3, 77 / 256), (0.5, 0.5), (0.999, 255 / 256)])
def test_dropout_keeps_the_mean(rate, share):
    torch.manual_seed(0)
    dropped = VRFDropout(rate)(torch.ones(999, 1001))  # no multiple of the eight numbers that are drawn at once
    kept = dropped > 0
    assert (1 - kept.float().mean()).item() == pytest.approx(share, abs=0.002)
    assert dropped[kept].unique().item() == pytest.approx(1 / (1 - share))
    assert kept.float().mean(0).std() < 0.05 and kept.float().mean(1).std() < 0.05, "every number is as likely"


def test_some_images_are_missing_while_training_and_none_afterwards():
    model, batch = residual_model(image_dropout=0.999), random_batch()
    without = query(model, batch, pre_mask=torch.zeros(5, dtype=torch.bool))
    assert not torch.allclose(query(model, batch), without)
    model.train()
    torch.manual_seed(0)
    torch.testing.assert_close(query(model, batch), without)
    torch.testing.assert_close(query(model, batch, pre_mask=torch.tensor([False, True, True, False, True])), without)


def test_a_model_that_never_saw_an_image_ignores_them_in_use_and_draws_nothing():
    model, batch = residual_model(image_dropout=1.0, shared_map=True), random_batch() | {"pre_mask": None}
    without = query(model, batch, pre_mask=torch.zeros(5, dtype=torch.bool))
    state = torch.get_rng_state()
    assert torch.equal(query(model, batch), without)
    assert torch.equal(torch.get_rng_state(), state)
    model.train()
    torch.testing.assert_close(query(model, batch), without)
    model(**batch).loss.backward()
    unused = [name for name, weight in model.named_parameters() if weight.requires_grad and weight.grad is None]
    assert not unused, "several processes wait for the gradient of every weight"


def test_in_training_a_fixed_share_of_the_queries_has_an_image():
    model, batch = residual_model(image_dropout=0.4, shared_map=True), random_batch() | {"pre_mask": None}
    full, without = query(model, batch), query(model, batch, pre_mask=torch.zeros(5, dtype=torch.bool))
    model.train()
    torch.manual_seed(0)
    seen = []
    for _ in range(5):
        found = query(model, batch)
        pictured = torch.isclose(found, full, atol=1e-6).all(1)
        assert pictured.sum() == 3 and torch.isclose(found, without, atol=1e-6).all(1).equal(~pictured)
        seen.append(pictured)
    assert torch.stack(seen).any(0).all(), "any query can lose its image"


def test_some_words_are_unknown_while_training_and_none_afterwards():
    model, batch = residual_model(context="history", word_dropout=0.999), random_batch() | CONTEXT
    unknown = {
        name: batch[name].masked_fill(batch[name] != 0, 1) for name in ("action_ids", "object_ids", "context_ids")
    }
    known = query(model, batch)
    assert not torch.equal(known, query(model, batch | unknown))
    model.train()
    torch.manual_seed(0)
    assert torch.equal(query(model, batch), query(model, batch | unknown)), "nearly every word is the unknown one"


def hub_model(queries: torch.Tensor) -> tuple[VRFModel, VRFModel]:
    """A model that keeps these queries, and the same model without any."""
    model, plain = residual_model(hub_groups=6), residual_model()
    plain.load_state_dict({name: each for name, each in model.state_dict().items() if not name.startswith("hubs.")})
    model.hubs.keep(queries)
    return model, plain


def test_an_image_loses_its_nearness_to_the_kept_queries():
    """By hand: the soft maximum over the groups; all embeddings are still unit vectors, and two wider."""
    batch, others = random_batch(), random_batch(96, seed=1)
    plain = residual_model()
    model, plain = hub_model(query(plain, others))
    (query_embeds, images), (queries, posts) = (
        (query(each, batch), each.get_image_embeds(post_features=batch["post_features"])) for each in (model, plain)
    )
    near = 0.15 * (((posts @ model.hubs.centres.T) / 0.15).exp() @ model.hubs.shares).log()
    torch.testing.assert_close(query_embeds @ images.T, (queries @ posts.T - near) / 2, rtol=0, atol=1e-6)
    for embeds in (query_embeds, images):
        assert embeds.shape == (5, plain.config.embedding_dim + 2)
        torch.testing.assert_close(embeds.norm(dim=1), torch.ones(5))
    assert near.std() > 0.01


def test_hubs_count_only_after_training():
    """In training embeddings and loss are those of the model without them; later the loss is, too."""
    batch, others = random_batch(), random_batch(96, seed=1)
    model, plain = hub_model(query(residual_model(), others))
    expected = plain(**batch)
    torch.testing.assert_close(model(**batch).loss, expected.loss)
    model.train()
    found = model(**batch)
    assert found.query_embeds.equal(expected.query_embeds) and found.image_embeds.equal(expected.image_embeds)
    assert found.loss.equal(expected.loss)


def test_without_queries_no_image_loses_anything():
    batch, model = random_batch(), residual_model(hub_groups=6)
    images = model.get_image_embeds(post_features=batch["post_features"])
    assert images[:, -2].abs().max() < 1e-6


def test_weights_without_queries_load_as_a_model_that_keeps_none(tmp_path):
    residual_model().save_pretrained(tmp_path)
    model = VRFModel.from_pretrained(tmp_path, hub_groups=6).eval()
    assert not model.hubs.centres.any() and model.hubs.shares.sum() == pytest.approx(1)
    model.hubs.keep(query(model, random_batch(96, seed=1)))
    model.save_pretrained(tmp_path / "kept")
    loaded = VRFModel.from_pretrained(tmp_path / "kept").hubs
    assert loaded.centres.equal(model.hubs.centres) and loaded.shares.equal(model.hubs.shares)


@pytest.mark.parametrize("count", [1, 15, 40, 96, 600])
def test_any_number_of_queries_can_be_kept(count):
    """Each group's centre is the mean of the queries that are nearest to it; none has only a few of many."""
    queries = torch.nn.functional.normalize(torch.randn(count, 8, generator=torch.Generator().manual_seed(0)), dim=1)
    hubs = hub_model(queries)[0].hubs
    used = hubs.shares > 0
    assert used.sum() <= max(1, min(6, count // 16)) and hubs.shares.sum() == pytest.approx(1)
    torch.testing.assert_close(hubs.shares @ hubs.centres, queries.mean(0))
    if count < 32:
        torch.testing.assert_close(hubs.centres[0], queries.mean(0))


def test_queries_of_two_kinds_are_two_groups():
    kinds = torch.eye(8)[[0, 5]].repeat_interleave(torch.tensor([60, 36]), dim=0)
    hubs = hub_model(kinds)[0].hubs
    used = hubs.shares > 0
    assert sorted(hubs.shares[used].tolist()) == pytest.approx([36 / 96, 60 / 96])
    assert hubs.centres[used].equal(torch.eye(8)[[0, 5]]) or hubs.centres[used].equal(torch.eye(8)[[5, 0]])


def test_what_is_expected_of_a_temperature():
    assert small_model().config.expected_temperature == 0.05
    assert residual_model().config.expected_temperature == 0.1
    assert residual_model(hub_groups=6).config.expected_temperature == 0.05


def test_hubs_are_for_this_architecture():
    with pytest.raises(StrictDataclassError, match="hub_groups"):
        small_model(hub_groups=6)
    assert small_model().config.output_dim == 8 and residual_model(hub_groups=6).config.output_dim == 10
    with pytest.raises(StrictDataclassError, match="at least 0, found -1"):
        residual_model(hub_groups=-1)


def test_it_loads_anywhere_with_its_code(tmp_path):
    """In another process and folder, from the saved files alone."""
    model = residual_model(context="history", dropout=0.2, shared_map=True, hub_groups=4)
    model.hubs.keep(query(model, random_batch(seed=2)))
    model.save_pretrained(tmp_path / "saved")
    batch = {**random_batch(), **CONTEXT}
    torch.save((batch, model(**batch, return_loss=False).query_embeds), tmp_path / "expected.pt")
    script = f"""
import sys, torch
from transformers import AutoModel
model = AutoModel.from_pretrained({str(tmp_path / "saved")!r}, trust_remote_code=True)
batch, expected = torch.load({str(tmp_path / "expected.pt")!r})
torch.testing.assert_close(model(**batch, return_loss=False).query_embeds, expected, rtol=0, atol=1e-6)
assert "residual_vrf" not in sys.modules and "recipeflow" not in sys.modules
"""
    done = subprocess.run(
        [sys.executable, "-P", "-c", script],
        cwd=tmp_path,
        env={"HF_MODULES_CACHE": str(tmp_path / "modules"), "HOME": str(tmp_path), "PATH": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
