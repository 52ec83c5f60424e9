"""The residual architecture and its context."""

import subprocess
import sys

import pytest
import torch
from huggingface_hub.errors import StrictDataclassError

from configuration_vrf import VRFConfig
from modeling_vrf import VRFModel
from tests.model_helpers import random_batch, small_model

RESIDUAL = {"architecture": "residual", "hidden_dim": 12, "loss": "contrastive", "temperature": 0.1}


def residual_model(**changes) -> VRFModel:
    return small_model(**(RESIDUAL | changes)).eval()


def query(model, batch, **more):
    return model.get_query_embeds(**{name: batch[name] for name in batch if name != "post_features"} | more)


CONTEXT = {
    "context_ids": torch.tensor([[3, 4, 5], [6, 0, 0], [0, 0, 0], [7, 8, 0], [9, 3, 0]]),
    "context_roles": torch.tensor([[1, 2, 4], [5, 0, 0], [0, 0, 0], [1, 6, 0], [2, 2, 0]]),
}


def test_without_words_a_query_starts_from_the_image():
    """With the difference switched off, the query is the linear map of the pre-action feature."""
    model = residual_model()
    torch.nn.init.zeros_(model.query_encoder.output.weight)
    torch.nn.init.zeros_(model.query_encoder.output.bias)
    batch = random_batch() | {"pre_mask": None}
    start = model.query_encoder.start(batch["pre_features"])
    torch.testing.assert_close(query(model, batch), torch.nn.functional.normalize(start, dim=1))


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


def test_the_paper_model_ignores_a_context_and_wrong_roles_are_refused():
    model, batch = small_model().eval(), random_batch()
    assert torch.equal(query(model, batch, **CONTEXT), query(model, batch))
    with pytest.raises(ValueError, match="context_roles"):
        query(residual_model(context="history"), batch, context_ids=CONTEXT["context_ids"])


def test_a_missing_image_adds_nothing():
    model, batch = residual_model(), random_batch()
    mask = torch.tensor([False, True, True, True, True])
    other = batch | {"pre_features": batch["pre_features"].clone()}
    other["pre_features"][0] = 1000.0
    assert torch.equal(query(model, batch, pre_mask=mask), query(model, other, pre_mask=mask))


def test_dropout_is_only_for_training():
    model, batch = residual_model(dropout=0.5, feature_dropout=0.5), random_batch()
    assert torch.equal(query(model, batch), query(model, batch))
    model.train()
    assert not torch.equal(query(model, batch), query(model, batch))


@pytest.mark.parametrize("setting", [{"dropout": 0.1}, {"feature_dropout": 0.1}, {"context": "history"}])
def test_settings_that_the_paper_architecture_does_not_heed_are_refused(setting):
    with pytest.raises(StrictDataclassError, match="architecture='residual'"):
        VRFConfig(**setting)


@pytest.mark.parametrize("setting", [{"dropout": 1.0}, {"temperature": 0.0}, {"hidden_dim": 0}, {"loss": "triple"}])
def test_values_out_of_range_are_refused(setting):
    with pytest.raises(StrictDataclassError, match=next(iter(setting))):
        VRFConfig(architecture="residual", **setting)


def test_it_loads_anywhere_with_its_code(tmp_path):
    """In another process and folder, from the saved files alone."""
    model = residual_model(context="history", dropout=0.2)
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
