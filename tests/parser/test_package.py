"""A parser as a package: it loads and reads where this project is not installed, and is saved again whole."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from modeling_rfg import RFGModel
from parsing_rfg import RecipeFlowGraphPipeline
from processing_rfg import RFGProcessor
from recipeflow.errors import ModelFolderError
from recipeflow.parser.runs import load_parser
from tests.model.test_hub_package import run_isolated

ROOT = Path(__file__).parents[2]
TEXT = {"ingredients": "きゅうり 1本", "instructions": ["きゅうりを薄く切ります。", ["混ぜ", "ま", "す", "。"]]}
CODE = {
    *("configuration_rfg.py", "encoding_rfg.py", "decoding_rfg.py", "scoring_rfg.py", "modeling_rfg.py"),
    *("segmentation_rfg.py", "plaintext_rfg.py", "processing_rfg.py", "package_rfg.py", "parsing_rfg.py"),
    *("package_hub.py", "vocabulary_hub.py"),
}

READ = """
import json
from transformers import AutoConfig, AutoModel, AutoProcessor, pipeline

folder, text = {folder!r}, {text!r}
config = AutoConfig.from_pretrained(folder, trust_remote_code=True)
model = AutoModel.from_pretrained(folder, trust_remote_code=True)
processor = AutoProcessor.from_pretrained(folder, trust_remote_code=True)
assert [type(part).__name__ for part in (config, model, processor)] == ["RFGConfig", "RFGModel", "RFGProcessor"]
read = pipeline("recipe-flow-graph", model=folder, trust_remote_code=True)
model.save_pretrained("again")
again = pipeline("recipe-flow-graph", model="again", trust_remote_code=True)
print(json.dumps([read(text), again(text), read(["", text], batch_size=1)]))
"""


@pytest.fixture(scope="module")
def read(trained) -> RecipeFlowGraphPipeline:
    model, processor = load_parser(str(trained))
    return RecipeFlowGraphPipeline(model, processor=processor)


def test_it_reads_in_a_fresh_process_without_this_project(trained, read, tmp_path):
    code = READ.format(folder=str(trained), text=TEXT)
    first, again, several = json.loads(run_isolated(code, tmp_path / "process"))
    here = read(TEXT)
    for graph in (first, again, several[1]):
        assert graph["nodes"] and graph["nodes"][0].keys() == here["nodes"][0].keys()
        assert [node["id"] for node in graph["nodes"]] == [node["id"] for node in here["nodes"]]
        assert [edge["label"] for edge in graph["edges"]] == [edge["label"] for edge in here["edges"]]
        scores = [node["score"] for node in graph["nodes"]]
        assert scores == pytest.approx([node["score"] for node in here["nodes"]], abs=1e-4)
    assert several[0] == {"ingredients": [], "instructions": [], "nodes": [], "edges": []}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_it_reads_the_same_in_half_precision(trained, read, dtype):
    model = RFGModel.from_pretrained(trained, dtype=dtype)
    assert {weight.dtype for weight in model.parameters()} == {dtype}
    half, whole = RecipeFlowGraphPipeline(model, processor=read.processor)(TEXT), read(TEXT)
    assert whole["edges"]
    for part, names in (("nodes", ("id", "text", "tag")), ("edges", ("start", "end", "label"))):
        assert [[each[name] for name in names] for each in half[part]] == [
            [each[name] for name in names] for each in whole[part]
        ]
        scores = [each["score"] for each in half[part]]
        assert scores == pytest.approx([each["score"] for each in whole[part]], abs=0.1)


def test_the_package_has_all_code_and_names_its_pipeline(trained):
    assert {path.name for path in trained.glob("*.py")} == CODE
    assert all((trained / name).read_bytes() == (ROOT / name).read_bytes() for name in CODE)
    config = json.loads((trained / "config.json").read_text())
    assert config["custom_pipelines"]["recipe-flow-graph"]["impl"] == "parsing_rfg.RecipeFlowGraphPipeline"


def test_a_model_without_a_processor_names_no_pipeline(trained, tmp_path):
    for name in ("config.json", "model.safetensors"):
        (tmp_path / "bare").mkdir(exist_ok=True)
        shutil.copyfile(trained / name, tmp_path / "bare" / name)
    RFGModel.from_pretrained(tmp_path / "bare").save_pretrained(tmp_path / "copy")
    assert "custom_pipelines" not in json.loads((tmp_path / "copy" / "config.json").read_text())
    assert not (tmp_path / "copy" / "parsing_rfg.py").exists()
    RFGModel.from_pretrained(tmp_path / "bare").save_pretrained(
        tmp_path / "whole", processor=RFGProcessor.from_pretrained(trained)
    )
    assert (tmp_path / "whole" / "parsing_rfg.py").is_file()


def test_a_model_of_an_earlier_layout_is_refused(trained, tmp_path):
    old = tmp_path / "old"
    shutil.copytree(trained, old)
    weights = load_file(old / "model.safetensors")
    kept = {name: weight for name, weight in weights.items() if not name.startswith("graph.label_ends.")}
    save_file(kept | {"graph.pair_output.bias": torch.zeros(5)}, old / "model.safetensors", {"format": "pt"})
    with pytest.raises(
        ModelFolderError, match=r"none or others for graph\.label_ends\.\S+ and \d+ more: an earlier version"
    ):
        load_parser(str(old))


def test_nodes_name_their_words_and_texts(read):
    graph = read(TEXT)
    assert graph["ingredients"] == ["きゅうり１本"]
    for node in graph["nodes"]:
        line = graph[node["section"]][node["line"]]
        assert line[node["start_char"] : node["end_char"]] == node["text"] != ""
        assert 0 <= node["score"] <= 1 and node["start_word"] < node["end_word"]
    ids = [node["id"] for node in graph["nodes"]]
    assert all(edge["start"] in ids and edge["end"] in ids and 0 <= edge["score"] <= 1 for edge in graph["edges"])


def test_a_batch_reads_as_one_by_one_and_keeps_the_order(read):
    texts = ["塩を振ります。", "", "卵を１０分茹でます。\n殻をむきます。", "塩"]
    together = read(texts, batch_size=3)
    assert [graph["instructions"] for graph in together] == [read(text)["instructions"] for text in texts]
    for graph, text in zip(together, texts, strict=True):
        alone = read(text)
        assert [node["id"] for node in graph["nodes"]] == [node["id"] for node in alone["nodes"]]
        assert [(edge["start"], edge["end"], edge["label"]) for edge in graph["edges"]] == [
            (edge["start"], edge["end"], edge["label"]) for edge in alone["edges"]
        ]


def test_a_pipeline_without_a_processor_is_refused(read):
    with pytest.raises(ValueError, match="expected a processor, found none"):
        RecipeFlowGraphPipeline(read.model)


@pytest.mark.parametrize("recipe", [None, 7])
def test_a_pipeline_names_what_is_no_recipe(read, recipe):
    with pytest.raises(TypeError, match="expected a text or a mapping as a recipe, found"):
        read(recipe)
