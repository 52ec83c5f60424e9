"""A parser goes to the Hub with a card, and comes back."""

import json

import pytest

from recipeflow.errors import ModelFolderError, UsageError
from recipeflow.hub import pull_model, push_model
from recipeflow.hub.parser_card import make_default_parser_card
from recipeflow.parser.runs import load_parser, start_training
from tests.parser.reading import few_recipes, tiny_config


@pytest.fixture(scope="module")
def parser_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parser")
    release = few_recipes(folder / "release")
    start_training(release, folder / "run", tiny_config(), fold=0, make_card=make_default_parser_card).train()
    return folder / "run"


def test_a_parser_goes_to_the_hub_and_back(here, parser_run, tmp_path):
    card = (parser_run / "model" / "README.md").read_text(encoding="utf-8")
    assert 'model="."' in card and "## Results" not in card
    assert "lab/parser" in push_model(parser_run, "lab/parser", dataset="lab/salads").summary()
    files = here.state.repositories["model", "lab/parser"].find("main").files
    sent = files["README.md"].content.decode()
    history = json.loads((parser_run / "history.json").read_text())
    assert f"| edges, from text | {history[-1]['edges_text']:.1f} |" in sent
    assert 'model="lab/parser"' in sent and "datasets/lab/salads" in sent and "recipe-flow-graph" in sent
    pull_model("lab/parser", tmp_path / "pulled")
    model, processor = load_parser(str(tmp_path / "pulled"))
    assert model.parse(**processor("塩を振ります。"))
    model, processor = load_parser("lab/parser")  # by its name
    assert processor.vocab_size == model.config.vocab_size


def test_the_card_shows_the_results_of_an_experiment(here, parser_run, tmp_path):
    summary = {"mean": 61.25, "std": 1.5}
    names = ("entities", "edges_gold", "edges_gold_unlabelled", "edges_text", "edges_text_unlabelled")
    row = {"recipes": None, "runs": 5, "figures": dict.fromkeys(names, summary)}
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"settings": {"encoder": "scratch"}, "rows": [row]}))
    push_model(parser_run, "lab/measured", results=path)
    card = here.state.repositories["model", "lab/measured"].find("main").files["README.md"].content.decode()
    assert "61.2 ± 1.5" in card and "of 5 parsers" in card
    path.write_text(json.dumps({"settings": {"encoder": "bert"}, "rows": [row]}))
    with pytest.raises(ModelFolderError, match="encoder scratch"):
        push_model(parser_run, "lab/measured", results=path)
    path.write_text("{}")
    with pytest.raises(ModelFolderError, match="vrf parser experiment"):
        push_model(parser_run, "lab/measured", results=path)


def test_another_release_and_a_picture_are_refused(here, parser_run, tmp_path):
    with pytest.raises(ModelFolderError, match="the release that the parser was trained on"):
        push_model(parser_run, "lab/parser", dataset=few_recipes(tmp_path / "other", 3), dry_run=True)
    push_model(parser_run, "lab/parser", dataset=parser_run.parent / "release", dry_run=True)
    with pytest.raises(UsageError, match="omit --picture"):
        push_model(parser_run, "lab/parser", picture=tmp_path / "found.png", dry_run=True)
