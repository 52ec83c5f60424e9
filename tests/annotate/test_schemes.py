"""Annotation in another language, with other tags and labels than the paper's."""

import json
from dataclasses import replace

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from recipeflow.annotate.comparing import list_differences
from recipeflow.annotate.exporting import export_layer
from recipeflow.annotate.layers import annotation_scheme
from recipeflow.annotate.server import create_app
from recipeflow.annotate.store import Store
from recipeflow.annotate.workspace import Workspace
from recipeflow.cli import app
from recipeflow.corpora.conllu import SCHEME
from recipeflow.corpora.importing import import_corpus
from recipeflow.errors import RefusedError, UsageError
from recipeflow.graph.agreement import measure_agreement
from recipeflow.own.text import recipe_from_text
from recipeflow.release import read_info, read_release, write_release
from recipeflow.release.recipe import Flow, Word
from tests.making_english import ENGLISH_INFO, SOUP


@pytest.fixture
def english(tmp_path):
    write_release(tmp_path / "english", [SOUP], ENGLISH_INFO)
    return tmp_path / "english"


@pytest.fixture
def workspace(tmp_path, english):
    with Store(tmp_path / "a.db") as store:
        work = Workspace(store, english)
        work.import_folder(english)
        yield work


def do(work, base, **operation):
    layer, _ = work.add_layer("alice")
    return work.save(SOUP.id, layer, base, f"id-{base}-{operation}", operation)


def test_a_layer_has_the_releases_tags_and_labels_and_no_others(workspace, tmp_path):
    span = {"section": 1, "line": 1, "start": 4, "end": 5}
    do(workspace, 0, op="tag", **span, tag="At")
    do(workspace, 1, op="flow", start="1-1-4", end="1-1-3", label="s")
    for wrong in (
        {"op": "retag", "entity": "1-1-4", "tag": "Xx"},
        {"op": "flow", "start": "1-1-4", "end": "1-1-0", "label": "x"},
    ):
        with pytest.raises(RefusedError, match=r"expected a (tag|label) of .*(At|v), found"):
            do(workspace, 2, **wrong)
    layer = workspace.find_layer("alice")
    export_layer(workspace.store, layer, tmp_path / "out", release=workspace.release)
    (recipe,) = read_release(tmp_path / "out")
    assert recipe.entities["1-1-4"].tag == "At" and Flow("1-1-4", "1-1-3", "s") in recipe.flows
    assert read_info(tmp_path / "out").scheme == SCHEME


def test_the_scheme_stays_in_the_database(workspace, tmp_path):
    do(workspace, 0, op="tag", section=1, line=1, start=4, end=5, tag="At")
    workspace.store.close()
    source = f"{tmp_path / 'a.db'}:alice"
    assert annotation_scheme(source) == SCHEME
    result = CliRunner().invoke(app, ["agreement", str(tmp_path / "english"), source, "--json"])
    figures = json.loads(result.stdout)
    assert figures["by_kind"]["r-NE"]["At"] == {
        "precision": 50.0, "recall": 100.0, "f_measure": 200 / 3, "both": 1, "first": 1, "second": 2,
    }  # fmt: skip
    assert figures["paper"]["r-FG"]["f_measure"] == 86.11


def test_the_page_gets_the_tags_and_the_language(workspace):
    workspace.add_layer("alice")
    client = TestClient(create_app(workspace, "alice"), base_url="http://127.0.0.1")
    session = client.get("/api/session").json()
    assert (session["language"], list(session["tags"])[-1], list(session["labels"])[-1]) == ("en", "At", "v")
    assert client.get("/api/layers/alice/recipes/soup").json()["language"] == "en"


def test_recipes_of_another_scheme_need_another_database(workspace, release):
    with pytest.raises(UsageError, match=r"language, tags and labels .* start another --db"):
        workspace.import_folder(release)


def test_english_words_are_cut_and_joined_and_everything_follows(workspace, tmp_path):
    """½cup and salt-and-pepper are one word each when they are imported."""
    recipe = recipe_from_text("rub", "Rub", "", "Mix ½cup salt-and-pepper well.", "en")
    workspace.add_recipes([recipe], workspace.scheme)
    layer = workspace.add_layer("bob")[0]

    def save(**operation):
        revision = workspace.store.history("rub", layer).revision
        return workspace.save("rub", layer, revision, f"u{revision}", operation).history.document

    for start, tag in ((0, "Ac"), (1, "Q"), (2, "F")):
        save(op="tag", section=1, line=0, start=start, end=start + 1, tag=tag)
    save(op="flow", start="1-0-2", end="1-0-0", label="Targ")
    tagged = save(op="frame", key="1-0-0/1-0-2", side="before", value="none")
    assert save(op="cut", section=1, line=0, word=1, at=1).words.instructions[0].tokens[:4] == [
        *("Mix", "½", "cup", "salt-and-pepper")
    ]
    save(op="reshape", entity="1-0-1", start=1, end=2)
    after = save(op="cut", section=1, line=0, word=3, at=4)
    assert after.recipe.instructions[0].tokens == ["Mix", "½", "cup", "salt", "-and-pepper", "well", "."]
    assert [entity.text for entity in after.recipe.entities.values()] == ["Mix", "½", "salt-and-pepper"]
    assert [(flow.start, flow.end) for flow in after.flows] == [("1-0-3", "1-0-0")]
    assert after.pairs[0].key == "1-0-0/1-0-3"
    for form in ("release", "text", "brat"):
        export_layer(workspace.store, layer, tmp_path / form, form, only=["rub"])
    assert next(read_release(tmp_path / "release")) == after.recipe
    for form in ("tool", "brat"):
        import_corpus(form, tmp_path / {"tool": "text"}.get(form, form), tmp_path / f"{form}-again")
        assert next(read_release(tmp_path / f"{form}-again")) == after.recipe
    joined = save(op="join", section=1, line=0, start=3, end=5)
    joined = save(op="join", section=1, line=0, start=1, end=3)
    assert joined.cuts == () and joined.flows == tagged.flows and joined.pairs == tagged.pairs
    revision = workspace.store.history("rub", layer).revision
    for base in range(revision, revision + 5):
        undone = workspace.store.undo("rub", layer, base, f"z{base}").history.document
    assert undone == tagged


def test_a_word_with_a_space_inside_is_refused(workspace):
    layer = workspace.add_layer("bob")[0]
    before = workspace.store.history(SOUP.id, layer).document
    for start, end in ((0, 2), (1, 4), (0, 5)):
        with pytest.raises(RefusedError, match="without a space inside"):
            workspace.save(SOUP.id, layer, 0, "u", {"op": "join", "section": 1, "line": 0, "start": start, "end": end})
    joined = workspace.save(SOUP.id, layer, 0, "u", {"op": "join", "section": 1, "line": 0, "start": 3, "end": 5})
    assert joined.history.document.words.instructions[0].tokens == ["Chop", "2", "large", "tomatoes."]
    found = list_differences(before, joined.history.document, before)
    assert [row["item"]["text"] for row in found["only_first"]] == ["tomatoes"]  # it took the full stop in


def test_a_suggestion_in_english_may_divide_words_otherwise(workspace, tmp_path):
    line = SOUP.instructions[0]
    words = (*line.words[:3], Word(line.words[3].start, line.words[3].start + 6, "F-B"))
    words = (*words, Word(words[-1].end, line.words[3].end, "F-I"), *line.words[4:])
    other = replace(SOUP, instructions=(replace(line, words=words), SOUP.instructions[1]))
    write_release(tmp_path / "model", [other], ENGLISH_INFO)
    assert workspace.suggest(str(tmp_path / "model")).skipped == []
    layer = workspace.add_layer("bob")[0]
    assert workspace.view(SOUP.id, layer)["progress"]["pending"] == 0  # the same characters have the same tags


def test_english_text_is_kept_and_split_at_spaces():
    recipe = recipe_from_text("soup", "Tomato  soup", "2 large tomatoes\n", "Chop, then fry 2-3 minutes.\n", "en")
    assert recipe.title == "Tomato soup"
    assert recipe.ingredients[0].text == "2 large tomatoes"
    assert recipe.ingredients[0].tokens == ["2", "large", "tomatoes"]
    assert recipe.instructions[0].tokens == ["Chop", ",", "then", "fry", "2-3", "minutes", "."]
    assert recipe_from_text("soup", "Soup", "", "Eat.", "en").ingredients == ()


def test_the_language_of_a_folder_of_texts_decides_and_other_text_is_refused_not_destroyed(tmp_path):
    home = tmp_path / "texts" / "recipes" / "soup"
    home.mkdir(parents=True)
    for name, text in {"title": "Soup", "ingredients": "2 large tomatoes", "instructions": "Chop them."}.items():
        (home / f"{name}.txt").write_text(text + "\n", encoding="utf-8")
    runner = CliRunner()
    refused = runner.invoke(app, ["annotate-import", str(tmp_path / "ja.db"), str(tmp_path / "texts")])
    assert "left out: soup: expected Japanese text" in refused.stderr and "new recipes: 0" in refused.stdout
    (tmp_path / "texts" / "release.json").write_text('{"language": "en"}', encoding="utf-8")
    done = runner.invoke(app, ["annotate-import", str(tmp_path / "en.db"), str(tmp_path / "texts")])
    assert (done.stderr, done.stdout) == ("", "new recipes: 1\n")
    with Store(tmp_path / "en.db", read_only=True) as store:
        assert store.known_recipe("soup").ingredients[0].tokens == ["2", "large", "tomatoes"]
        assert store.scheme.language == "en"


def test_agreement_counts_what_only_one_side_declares():
    agreement = measure_agreement([SOUP], [SOUP])
    assert agreement.scores["r-NE"]["Ac2"].both == 1
    assert agreement.total("r-FG").both == len(SOUP.flows)
