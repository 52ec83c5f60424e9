"""A model that `transformers.Trainer` has trained and saved is a model like any other."""

import json

import pytest
import torch
from transformers import Trainer, TrainingArguments

from configuration_vrf import VRFConfig
from tests.model.test_hub_package import run_isolated
from tests.model_helpers import random_batch, small_model

QUIET = {"use_cpu": True, "report_to": [], "save_strategy": "no", "disable_tqdm": True}


def split_rows(batch: dict[str, torch.Tensor]) -> list[dict[str, torch.Tensor]]:
    return [dict(zip(batch, values, strict=True)) for values in zip(*batch.values(), strict=True)]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """One step of training on the CPU, and what `save_model` leaves behind."""
    folder = tmp_path_factory.mktemp("trainer")
    batch = random_batch(4)
    arguments = TrainingArguments(
        str(folder / "run"), max_steps=1, per_device_train_batch_size=4, learning_rate=0.1, **QUIET
    )
    model = small_model()
    before = model.query_encoder.hidden.weight.detach().clone()
    trainer = Trainer(model, arguments, train_dataset=split_rows(batch))
    trainer.train()
    assert not torch.equal(before, model.query_encoder.hidden.weight), "nothing was learnt"
    trainer.save_model(str(folder / "model"))
    model.eval()
    with torch.no_grad():
        torch.save((batch, model(**batch, return_loss=False).query_embeds), folder / "expected.pt")
    return folder


@pytest.mark.parametrize("loss", ["triplet", "contrastive"])
def test_a_last_batch_of_one_row_teaches_nothing_and_stops_nothing(loss, tmp_path):
    rows = split_rows(random_batch(3))
    arguments = TrainingArguments(
        str(tmp_path), num_train_epochs=1, per_device_train_batch_size=2, learning_rate=0.1, **QUIET
    )
    trainer = Trainer(small_model(loss=loss), arguments, train_dataset=rows, eval_dataset=rows[:1])
    trainer.train()
    assert trainer.state.global_step == 2
    assert trainer.evaluate()["eval_loss"] == 0


LOAD = """
from transformers import AutoConfig, AutoModel

batch, expected = torch.load({expected!r}, weights_only=True)
model = AutoModel.from_pretrained({model!r}, trust_remote_code=True)
with torch.no_grad():
    assert torch.equal(model(**batch, return_loss=False).query_embeds, expected)
AutoConfig.from_pretrained({model!r}, trust_remote_code=True)
print("bit-equal")
"""


def test_it_loads_again_anywhere_with_the_same_embeddings(saved, tmp_path):
    code = LOAD.format(model=str(saved / "model"), expected=str(saved / "expected.pt"))
    assert "bit-equal" in run_isolated(code, tmp_path / "process")


def test_a_file_may_hold_keys_that_are_unknown_and_a_warning_names_them(saved, tmp_path, caplog):
    settings = json.loads((saved / "model" / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(settings | {"margins": 0.3, "from_the_future": 1}))
    config = VRFConfig.from_pretrained(tmp_path)
    assert not hasattr(config, "margins") and config.margin == 0.1
    assert "margins (did you mean margin?), from_the_future" in caplog.text


@pytest.mark.parametrize("key", ["use_cache", "from_the_future", "margins"])
def test_what_a_person_types_is_still_checked(saved, key):
    with pytest.raises(TypeError, match=f"expected a field of VRFConfig, found '{key}'"):
        VRFConfig(**{key: 1})
    with pytest.raises(TypeError, match=f"expected a field of VRFConfig, found '{key}'"):
        VRFConfig.from_pretrained(saved / "model", **{key: 1})


def test_a_file_of_another_model_is_no_config_with_unknown_keys(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "bert", "hidden_size": 5}')
    with pytest.raises(ValueError, match="of type 'vrf', found one of type 'bert'"):
        VRFConfig.from_pretrained(tmp_path)
