"""Storyboards from annotated recipes and from text, and what happens with bad input."""

import json
import shutil
from dataclasses import replace

import pytest
from PIL import Image
from typer.testing import CliRunner

from recipeflow.cli import app
from recipeflow.errors import SearchIndexError, StoryboardError
from recipeflow.kitchen.pantry import PANTRY
from recipeflow.kitchen.world import WATERS
from recipeflow.release import read_release
from recipeflow.release.recipe import Flow
from recipeflow.search import Retriever
from recipeflow.storyboard import imagine
from recipeflow.storyboard.sources import read_source
from recipeflow.storyboard.truth import cook_states, find_scenes
from tests.download.site.server import Site
from tests.making import SALAD, make_frame, make_recipe
from tests.storyboard.boards import TEXT


def words(board) -> list[tuple[str, str]]:
    return [(panel.action, panel.object) for panel in board.panels]


def run(*arguments: object):
    return CliRunner().invoke(app, ["storyboard", *map(str, arguments)], catch_exceptions=False)


def test_text_is_parsed_traced_and_imagined(retriever, parser):
    board = imagine(TEXT, retriever, parser)
    assert words(board) == words(imagine(SALAD, retriever))
    assert board.notes[0] == "tags and flows were read by a parser, not annotated"
    for panel in board.panels:
        assert 0 <= panel.confidence <= 1 and panel.answers[0]["probability"] <= panel.confidence + 1e-6
        assert panel.sure == (not panel.doubts)
    assert [panel.state.before for panel in board.panels] == [None, None, 0, 2, 3, 4]


def test_a_board_is_saved_as_a_page_a_strip_and_data(retriever, tmp_path):
    board = imagine(SALAD, retriever)
    board.save(tmp_path / "board")
    page = (tmp_path / "board" / "index.html").read_text()
    assert "http://" not in page and "https://" not in page and "<script" not in page
    assert page.count("data:image/jpeg") == len(board.panels)
    with Image.open(tmp_path / "board" / "strip.png") as strip:
        assert strip.width > 1000
    data = json.loads((tmp_path / "board" / "storyboard.json").read_text())
    assert [panel["continues"] for panel in data["panels"]] == [None, None, 1, 3, 4, 5]
    trails = {trail["ingredient"]: trail["panels"] for trail in data["trails"]}
    assert trails["きゅうり"] == [1, 3, 6] and trails["塩"] == [5, 6]


def test_words_of_a_recipe_are_escaped(retriever):
    from recipeflow.storyboard.page import render_page

    wild = replace(SALAD, title="<script>alert(1)</script>")
    assert "<script>" not in render_page(imagine(wild, retriever))


def test_own_pictures_replace_imagined_ones(retriever, tmp_path):
    (tmp_path / "cucumber.jpg").write_bytes(make_frame(3))
    path = tmp_path / "cucumber.jpg"
    plain = imagine(SALAD, retriever)
    board = imagine(SALAD, retriever, pictures={"きゅうり": path, "2": path})
    first, second, third = board.panels[:3]
    assert first.before == path and first.answers[0]["probability"] != plain.panels[0].answers[0]["probability"]
    assert second.own == path and second.sure and not second.answers
    assert third.answers != plain.panels[2].answers
    with pytest.raises(StoryboardError, match="1 to 6, or a food that is used raw"):
        imagine(SALAD, retriever, pictures={"カレー": path})


def test_a_model_that_ignores_pictures_says_so_and_yours_change_nothing(retriever, monkeypatch, tmp_path):
    (tmp_path / "cucumber.jpg").write_bytes(make_frame(3))
    said = "the model ignores pictures"
    assert not any(said in note for note in imagine(SALAD, retriever).notes)
    monkeypatch.setattr(retriever.model.config, "image_dropout", 1.0)
    plain = imagine(SALAD, retriever)
    board = imagine(SALAD, retriever, pictures={"きゅうり": tmp_path / "cucumber.jpg"})
    assert any(said in note for note in board.notes)
    chances = [[answer["probability"] for panel in each.panels for answer in panel.answers] for each in (plain, board)]
    assert chances[0] == chances[1]


def test_features_of_an_older_index_are_computed(model, retriever, tmp_path):
    older = shutil.copytree(model, tmp_path / "older")
    (older / "index" / "features.npy").unlink()
    board = imagine(SALAD, Retriever.from_pretrained(older))
    for found, expected in zip(board.panels, imagine(SALAD, retriever).panels, strict=True):
        assert found.confidence == pytest.approx(expected.confidence, abs=0.01)


def test_without_a_calibration_nothing_is_sure(model, tmp_path):
    bare = shutil.copytree(model, tmp_path / "bare")
    (bare / "calibration.json").unlink()
    board = imagine(SALAD, Retriever.from_pretrained(bare))
    assert all(panel.confidence is None and "not calibrated" in panel.doubts[0] for panel in board.panels)


# Bad input.


@pytest.mark.parametrize("text", ["", " \n\n", "材料\n\n作り方\n"])
def test_empty_text_is_refused(retriever, parser, text):
    with pytest.raises(StoryboardError, match="expected text to read, found none"):
        imagine(text, retriever, parser)


def test_one_line_is_enough_if_it_has_an_action(retriever, parser):
    board = imagine({"instructions": TEXT["instructions"][:1]}, retriever, parser)
    assert words(board) == [("切り", "きゅうり")]


def test_text_without_an_action_is_refused(retriever, parser):
    with pytest.raises(StoryboardError, match=r"at least one action.*found (no action|actions without)"):
        imagine("材料\n塩少々", retriever, parser)


def test_five_hundred_lines_are_refused_with_their_number_of_words(retriever, parser):
    with pytest.raises(StoryboardError, match=r"at most 2,000 words, found one of \d,\d\d\d; split the text"):
        imagine("きゅうりは薄く切ります。\n" * 500, retriever, parser)


def test_a_language_without_a_parser_is_refused(retriever, parser):
    with pytest.raises(StoryboardError, match=r"expected text of the model's language \(ja\).*trained on this"):
        imagine("Peel the potatoes and boil them.", retriever, parser)


def test_text_without_a_parser_is_refused(retriever):
    with pytest.raises(StoryboardError, match="expected a parser to read plain text, found none"):
        imagine(TEXT, retriever)


def test_a_cycle_is_repaired_and_reported(retriever):
    mix, slice_ = SALAD.actions[3].id, SALAD.actions[0].id
    board = imagine(replace(SALAD, flows=(*SALAD.flows, Flow(mix, slice_, "Targ"))), retriever)
    assert "the flow 混ぜ → 切り (Targ) was removed, because it closed a cycle" in board.notes
    assert words(board) == words(imagine(SALAD, retriever))


def test_what_the_model_does_not_know_gets_no_picture(retriever):
    odd = make_recipe("odd", "odd", "卵/F:a", "ブブブ/F:b を 切り/Ac:cut ます", "b Targ cut")
    (panel,) = imagine(odd, retriever).panels
    assert not panel.answers and panel.confidence is None and panel.doubts == ["the model does not know ブブブ"]
    assert "used, but not in the list of ingredients: ブブブ" in imagine(odd, retriever).notes


def test_a_model_without_an_index_is_refused(model, tmp_path):
    bare = shutil.copytree(model, tmp_path / "bare")
    shutil.rmtree(bare / "index")
    with pytest.raises(SearchIndexError, match="expected an index of candidates"):
        run(tmp_path, "x", "--model", bare, "--out", tmp_path / "board")
    assert not (tmp_path / "board").exists()


# Where recipes come from.


def test_the_command_reads_a_recipe_of_a_release_and_the_kitchen_cooks_it(table, model, tmp_path):
    release = table.folder.parent / "kitchen"
    recipe = next(read_release(release))
    result = run(release, recipe.id, "--model", model, "--out", tmp_path / "board", "--kitchen", "--json")
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    page = (tmp_path / "board" / "index.html").read_text()
    assert page.count("What really happens in panel") == len(data["panels"])


def test_the_kitchen_shows_what_its_own_film_shows(table, retriever):
    for recipe in read_release(table.folder.parent / "kitchen"):
        script = imagine(recipe, retriever).script
        scenes = find_scenes(recipe, script)
        assert scenes.keys() == set(range(1, len(script.states) + 1))
        for number, state in enumerate(script.states, start=1):
            name = script.nodes[state.object]["text"]
            seen = {portion.ingredient for portion in scenes[number].portions}
            assert name in seen or name not in PANTRY or name in WATERS  # parts have no name there; water is drained


def test_what_the_kitchen_does_not_know_is_reported(retriever):
    board = imagine(SALAD, retriever)
    with pytest.raises(StoryboardError, match=r"the kitchen cannot cook this recipe: word .* expected"):
        cook_states(board.recipe, board.script)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{release}"], "found only the folder"),
        (["{release}", "nobody"], "found 'nobody'; pass another, such as"),
        (["{text}", "kitchen-0-0000"], "a release folder and the id of one of its recipes"),
        (["{text}"], "expected a parser to read"),
        (["{release}/nothing.txt"], "expected a parser"),
    ],
)
def test_sources_that_are_none_are_refused(table, tmp_path, arguments, message):
    (tmp_path / "salad.txt").write_text("きゅうりを切る")
    places = {"release": table.folder.parent / "kitchen", "text": tmp_path / "salad.txt"}
    with pytest.raises(StoryboardError, match=message):
        read_source(*(argument.format(**places) for argument in arguments))


def test_a_page_on_the_web_is_fetched_and_parsed(retriever, parser):
    from recipeflow.kitchen.cooking import cook_recipe
    from recipeflow.storyboard.sources import open_parser

    with Site() as site:
        cooked = cook_recipe(0, 0, used_only=True)
        site.publish(cooked)
        path = cooked.recipe.url.partition("invalid")[2]
        read = read_source(site.url + path, None, open_parser(parser))
    assert read.is_parsed and read.recipe.title == cooked.recipe.title
    assert len(read.recipe.instructions) == len(cooked.recipe.instructions)


@pytest.mark.parametrize("option", ["cabbage.jpg", "=cabbage.jpg", "キャベツ="])
def test_own_pictures_need_a_name_and_a_file(model, option, tmp_path):
    from recipeflow.errors import UsageError

    with pytest.raises(UsageError, match="expected --picture as a food or the number of a panel"):
        run(tmp_path, "x", "--model", model, "--picture", option)
