"""A finished run, pushed."""

from recipeflow.hub import push_model
from recipeflow.hub.model_card import make_default_card
from recipeflow.training.runs import prepare_run
from recipeflow.training.settings import TrainingConfig
from recipeflow.training.trainer import VRFTrainer
from tests.pairs.pairing import OFFLINE, SMALL, make_pairs


def test_a_finished_run_goes_to_the_hub_with_its_figures(here, tmp_path):
    config = TrainingConfig(epochs=1, learning_rate=1e-3, checkpoint_every=0, feature_precision="bf16")
    run = prepare_run(make_pairs(), config, 0, **OFFLINE, **SMALL)
    options = {"eval_data": run.eval_data, "show_progress": False, "make_card": make_default_card}
    trainer = VRFTrainer(run.model, run.processor, config, run.train_data, tmp_path / "run", **options)
    trainer.train()
    card = (tmp_path / "run" / "model" / "README.md").read_text(encoding="utf-8")
    precision = "| features | computed once, in bf16 |"
    assert 'repo = "."' in card and "## Results" not in card and precision in card
    assert "lab/trained" in push_model(tmp_path / "run", "lab/trained").summary()
    repository = here.state.repositories["model", "lab/trained"]
    assert repository.private
    files = repository.find("main").files
    assert {"model.safetensors", "config.json", "modeling_vrf.py", "tokenizer.json"} <= files.keys()
    pushed = files["README.md"].content.decode()
    assert f"{trainer.state.history[-1]['recall_at_5']:.2f}" in pushed
    assert precision in pushed and "| feature precision |" not in pushed
