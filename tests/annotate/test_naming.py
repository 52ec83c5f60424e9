"""Renamed, replaced and deleted recipes: what stays, what comes back, and what a restart makes of it."""

import contextlib
import sqlite3

import pytest

from recipeflow.annotate.exporting import export_layer
from recipeflow.annotate.store import Layer, Store
from recipeflow.annotate.workspace import Workspace
from recipeflow.errors import RefusedError
from recipeflow.release import read_release
from tests.making import EGG, SALAD, TEA, make_release

ALICE = Layer("alice")
RETAG = {"op": "retag", "entity": "0-0-0", "tag": "T"}


@pytest.fixture
def workspace(tmp_path):
    release = make_release(tmp_path / "release")
    with Store(tmp_path / "w.db") as store:
        workspace = Workspace(store, release)
        workspace.import_folder(release)
        store.add_layer(ALICE)
        store.save(TEA.id, ALICE, 0, "a", RETAG)
        yield workspace


def test_a_renamed_recipe_keeps_its_work_and_frames(workspace, tmp_path):
    workspace.rename_recipe(TEA.id, "barley", "冷たい麦茶")
    assert workspace.store.recipe_ids() == [SALAD.id, EGG.id, "barley"]
    workspace.store.save("barley", ALICE, 1, "b", {"op": "done", "step": "words", "done": True})
    export_layer(workspace.store, ALICE, tmp_path / "out", release=workspace.release)
    exported = {recipe.id: recipe for recipe in read_release(tmp_path / "out")}
    assert exported["barley"].title == "冷たい麦茶" and exported["barley"].entities["0-0-0"].tag == "T"
    assert (tmp_path / "out" / "recipes" / "barley" / "frames" / "frame_1.jpg").is_file()


def test_what_was_deleted_or_renamed_does_not_come_back_by_itself(workspace, tmp_path):
    workspace.delete_recipe(EGG.id)
    workspace.rename_recipe(TEA.id, "barley", "麦茶")
    assert workspace.import_folder(workspace.release).added == []
    assert workspace.store.recipe_ids() == [SALAD.id, "barley"]
    workspace.store.close()
    with Store(tmp_path / "w.db") as store, Store(tmp_path / "w.db", read_only=True) as reader:
        assert store.recipe_ids() == reader.recipe_ids() == [SALAD.id, "barley"]
        assert reader.history("barley", ALICE).revision == 1


def test_an_edit_is_undone_once_and_only_while_nothing_else_happened(workspace):
    first = workspace.rename_recipe(TEA.id, "barley", "麦茶")
    second = workspace.rename_recipe("barley", "cold", "麦茶")
    with pytest.raises(RefusedError, match="expected an edit that can be undone"):
        workspace.undo_edit(first)
    workspace.undo_edit(second)
    with pytest.raises(RefusedError):
        workspace.undo_edit(second)
    workspace.undo_edit(first)
    assert workspace.store.recipe_ids()[-1] == TEA.id


def test_a_name_can_be_used_again(workspace):
    edit = workspace.delete_recipe(TEA.id)
    workspace.store.add_recipes([TEA])
    assert workspace.store.history(TEA.id, ALICE).revision == 0  # another recipe, without the work on the first
    with pytest.raises(RefusedError, match="already there"):
        workspace.undo_edit(edit)
    workspace.rename_recipe(TEA.id, "other", "麦茶")
    workspace.undo_edit(edit)
    assert workspace.store.history(TEA.id, ALICE).revision == 1


def test_a_replaced_text_begins_anew_and_gives_way_again(workspace):
    edit = workspace.replace_recipe(TEA.id, "麦茶", "麦茶１袋", "１．麦茶を注ぐ。")
    assert workspace.store.history(TEA.id, ALICE).document.base.instructions[0].text == "１．麦茶を注ぐ。"
    workspace.undo_edit(edit)
    assert workspace.store.history(TEA.id, ALICE).revision == 1


@pytest.mark.parametrize(("name", "title"), [("../up", "a"), ("", "a"), (SALAD.id, "a"), ("fine", " ")])
def test_names_that_cannot_be_used(workspace, name, title):
    with pytest.raises(RefusedError):
        workspace.rename_recipe(TEA.id, name, title)
    assert workspace.store.recipe_ids()[-1] == TEA.id


def test_a_database_of_the_first_version_can_be_read_and_then_written(workspace, tmp_path):
    workspace.store.close()
    with contextlib.closing(sqlite3.connect(tmp_path / "w.db")) as connection, connection:
        connection.executescript("DROP TABLE names; PRAGMA user_version=1;")
    with Store(tmp_path / "w.db", read_only=True) as reader:
        assert reader.recipe_ids() == [SALAD.id, EGG.id, TEA.id]
    with Store(tmp_path / "w.db") as store:
        store.name_recipe(TEA.id, None)
        assert store.recipe_ids() == [SALAD.id, EGG.id]
