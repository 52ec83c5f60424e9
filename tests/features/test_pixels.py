"""Fine-tuning from pixels, with a real but tiny network of timm's."""

import os
import signal
from dataclasses import replace
from multiprocessing import active_children
from pathlib import Path
from types import SimpleNamespace

import pytest
import timm
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from modeling_vrf import VRFModel
from processing_vrf import VRFProcessor
from recipeflow.dataset.build import build_dataset
from recipeflow.errors import BackboneError, TrainingInterruptedError, UsageError
from recipeflow.evaluation.ranking import evaluate
from recipeflow.features.backbone import decode
from recipeflow.features.pixels import FramePixels
from recipeflow.kitchen import cook_release
from recipeflow.pairs.loading import load_pairs
from recipeflow.training.runs import prepare_run
from recipeflow.training.settings import INPUTS, TrainingConfig
from recipeflow.training.trainer import VRFTrainer
from tests.pairs.pairing import SMALL

BACKBONE = "test_efficientnet.r160_in1k"
CONFIG = TrainingConfig(epochs=2, recipes_per_batch=2, learning_rate=1e-3, finetune=True, checkpoint_every=0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("pixels")
    cook_release(folder / "kitchen", recipes=10, used_only=True, workers=1)
    build_dataset(folder / "kitchen", folder / "vrf")
    torch.manual_seed(0)
    torch.save(timm.create_model(BACKBONE).state_dict(), folder / "weights.pth")
    return folder


@pytest.fixture(scope="module")
def pixels(folder) -> FramePixels:
    return FramePixels.open(folder / "vrf", BACKBONE, workers=0)


def make_trainer(folder, pixels, output, config=CONFIG) -> VRFTrainer:
    run = prepare_run(load_pairs(folder / "vrf", pixels), config, 0, BACKBONE, str(folder / "weights.pth"), **SMALL)
    data = replace(run.train_data, rows=run.train_data.rows[run.train_data.recipes < 5])
    return VRFTrainer(run.model, run.processor, config, data, output, eval_data=run.eval_data, show_progress=False)


def test_augmentation_depends_on_seed_step_and_frame_only(pixels):
    frames = torch.tensor([3, 1, 4])
    (first,) = pixels.augmented([frames], first_step=5, seed=1)
    _, second = pixels.augmented([frames[:1], frames.flip(0)], first_step=4, seed=1)
    assert first.shape == (3, 3, 160, 160)
    assert second.flip(0).equal(first)
    for step, seed in ((6, 1), (5, 2)):
        (other,) = pixels.augmented([frames], first_step=step, seed=seed)
        assert not other.equal(first)


def test_workers_make_the_same_pixels_and_leave_the_random_state_alone(pixels):
    steps = [torch.tensor([0, 2]), torch.tensor([1])]
    before = torch.get_rng_state()
    alone = list(pixels.augmented(steps, 0, 0))
    assert torch.get_rng_state().equal(before)
    helped = list(replace(pixels, workers=1).augmented(steps, 0, 0))
    assert all(one.equal(other) for one, other in zip(alone, helped, strict=True))


class Crossings(TorchDispatchMode):
    """Counts what passes between the host and a device, for which torch's meta device stands. A read makes it wait."""

    def __init__(self) -> None:
        super().__init__()
        self.sent, self.read = 0, 0

    def __torch_dispatch__(self, operation, types, arguments=(), options=None):
        options = options or {}
        tensors = [leaf for leaf in tree_leaves((arguments, options)) if isinstance(leaf, torch.Tensor)]
        takes = {tensor.device.type for tensor in tensors}
        is_number = operation is torch.ops.aten._local_scalar_dense.default
        if "meta" in takes and (is_number or torch.device(options.get("device") or "meta").type == "cpu"):
            self.read += 1
            return 0 if is_number else torch.zeros_like(arguments[0], device="cpu")
        result = operation(*arguments, **options)
        self.sent += takes == {"cpu"} and isinstance(result, torch.Tensor) and result.is_meta
        return result


def test_a_step_sends_its_frames_at_once_and_reads_nothing_back(folder, pixels, tmp_path, monkeypatch):
    """However many frames a batch has: a GPU would wait for each that is read by its number there."""
    counted = []
    for recipes in (2, 4):
        trainer = make_trainer(folder, pixels, None, replace(CONFIG, recipes_per_batch=recipes))
        monkeypatch.setattr(type(trainer.accelerator), "device", torch.device("meta"))
        with Crossings() as crossings:
            batch, images = next(trainer.load_epoch(0, done=0))
        monkeypatch.undo()
        assert images.is_meta and batch.post.is_meta
        counted.append((len(images), crossings.sent, crossings.read))
    (few, sent, read), (many, *again) = counted
    assert many > few and [sent, read] == again and read == 0 and 0 < sent < few


def test_features_are_read_back_once_per_batch(pixels):
    """Those that evaluation of fine-tuning needs on the host."""
    model = SimpleNamespace(device=torch.device("meta"), get_features=lambda images: images.mean((2, 3)))
    with Crossings() as crossings:
        features = pixels.features_of(model, torch.arange(40))
    assert features.views.shape == (1, 40, 3)
    assert (crossings.sent, crossings.read) == (2, 2)


def test_plain_pixels_are_the_processors(pixels):
    processor = VRFProcessor.from_phrases(["切る"], BACKBONE)
    expected = processor(post_images=[decode(pixels.frame(number)) for number in (0, 1)])["post_pixel_values"]
    (found,) = pixels.plain(torch.tensor([0, 1]))
    assert found.equal(expected)


def test_pixels_for_another_backbone_are_refused(folder, pixels):
    frozen = replace(CONFIG, finetune=False)
    others = load_pairs(folder / "vrf", replace(pixels, backbone="tf_efficientnet_lite0"))
    with pytest.raises(BackboneError, match=f"{BACKBONE}, found those for tf_efficientnet_lite0"):
        prepare_run(others, frozen, 0, BACKBONE, str(folder / "weights.pth"), **SMALL)
    prepare_run(load_pairs(folder / "vrf", pixels), frozen, 0, BACKBONE, str(folder / "weights.pth"), **SMALL)


def test_other_pictures_make_another_digest(folder, pixels):
    others = pixels.index.digests.copy()
    others[0] = bytes(others.itemsize)
    changed = replace(pixels, index=replace(pixels.index, digests=others))
    digests = [load_pairs(folder / "vrf", images).digest() for images in (pixels, pixels, changed)]
    assert digests[0] == digests[1] != digests[2]


def test_finetuning_trains_the_backbone_but_not_its_statistics(folder, pixels, tmp_path):
    trainer = make_trainer(folder, pixels, tmp_path / "run")
    before = {name: tensor.clone() for name, tensor in trainer.model.backbone.state_dict().items()}
    statistics = {
        f"{path}.{name}"
        for path, module in trainer.model.backbone.named_modules()
        if isinstance(module, nn.modules.batchnorm._BatchNorm)
        for name, _ in module.named_buffers()
    }
    rates = [group["lr"] for group in trainer.optimizer.param_groups]
    assert rates == pytest.approx([1e-3, 1e-4])
    trainer.train()
    changed = {name for name, tensor in trainer.model.backbone.state_dict().items() if not tensor.equal(before[name])}
    assert "timm_model.conv_stem.weight" in changed
    assert statistics and not statistics & changed


def test_groups_of_weights_keep_the_order_of_older_checkpoints(folder, pixels):
    trainer = make_trainer(folder, pixels, None, replace(CONFIG, word_rate=20.0))
    rates = [group["lr"] for group in trainer.optimizer.param_groups]
    assert rates == pytest.approx([1e-3, 1e-4, 2e-2]), "new parts, backbone, words"


def test_a_finetuned_model_is_saved_as_what_it_is(folder, pixels, tmp_path):
    trainer = make_trainer(folder, pixels, tmp_path / "run", replace(CONFIG, epochs=1))
    expected = evaluate(trainer.train(), trainer.eval_data)
    loaded = VRFModel.from_pretrained(tmp_path / "run" / "model").eval()
    assert not loaded.config.freeze_backbone
    assert loaded.config.backbone_weights.endswith("fine-tuned")
    assert evaluate(loaded, trainer.eval_data) == expected


@pytest.mark.parametrize("inputs", [("action", "object"), ("image",), INPUTS], ids="+".join)
def test_fine_tuning_keeps_queries_with_and_without_pictures(inputs, folder, pixels):
    """Only words: no picture is read for them, and none of nothing is asked for."""
    model = {"architecture": "residual", "loss": "contrastive", "hidden_dim": 8, "hub_groups": 6}
    trainer = make_trainer(folder, pixels, None, replace(CONFIG, epochs=1, model=model, inputs=inputs))
    trained = trainer.train().eval()
    assert trained.hubs.centres.any() and trained.hubs.shares.sum() == pytest.approx(1)
    assert trainer.last_figures()["queries"] > 0


def test_the_last_stage_is_trained_alone_where_that_is_asked_for(folder, pixels):
    trainer = make_trainer(folder, pixels, None, replace(CONFIG, epochs=1, finetune="last"))
    before = {name: tensor.clone() for name, tensor in trainer.model.backbone.state_dict().items()}
    trained = trainer.train()
    changed = {name for name, tensor in trained.backbone.state_dict().items() if not tensor.equal(before[name])}
    last = ("timm_model.blocks.4.", "timm_model.conv_head.", "timm_model.bn2.")
    assert changed and all(name.startswith(last) for name in changed)
    assert trained.config.backbone_weights.endswith("fine-tuned")
    with pytest.raises(UsageError, match=r"expected finetune among .*, found 'first'"):
        replace(CONFIG, finetune="first")


def test_an_interrupted_run_ends_with_the_same_weights(folder, pixels, tmp_path):
    """Interrupted after an evaluation, which the resumed run does not have: it must leave no trace."""
    config = replace(CONFIG, evaluate_every=1)
    trainer = make_trainer(folder, pixels, None, config)
    before = statistics(trainer.model)
    whole = trainer.train()
    assert "recall_at_5" in trainer.state.history[0]
    assert all(tensor.equal(before[name]) for name, tensor in statistics(whole).items())
    trainer = make_trainer(folder, pixels, tmp_path / "run", config)
    take_step = trainer.training_step

    def interrupted_step(batch):
        trainer.interrupted = trainer.state.step == 2
        return take_step(batch)

    trainer.training_step = interrupted_step
    with pytest.raises(TrainingInterruptedError, match="after step 3 of 4"):
        trainer.train()
    resumed = make_trainer(folder, pixels, tmp_path / "run", config).train()
    expected, found = whole.state_dict(), resumed.state_dict()
    assert all(expected[name].equal(found[name]) for name in expected)


def test_workers_leave_signals_to_the_training_process(folder):
    """A cluster sends SIGTERM to all processes of a job, and training needs pixels until its step is done."""
    pixels = FramePixels.open(folder / "vrf", BACKBONE, workers=1)
    loaded = pixels.augmented([torch.tensor([number]) for number in range(6)], first_step=0, seed=1)
    next(loaded)
    (worker,) = active_children()
    for number in (signal.SIGINT, signal.SIGTERM):
        os.kill(worker.pid, number)
    assert len(list(loaded)) == 5


def statistics(model) -> dict[str, torch.Tensor]:
    """What BatchNorm knows of its inputs, which fine-tuning keeps."""
    return {name: tensor.clone() for name, tensor in model.named_buffers() if "running" in name}
