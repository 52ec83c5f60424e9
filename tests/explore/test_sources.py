import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recipeflow.dataset import recipes as dataset_source
from recipeflow.dataset.build import build_dataset
from recipeflow.dataset.folder import MANIFEST
from recipeflow.dataset.recipes import DatasetSource
from recipeflow.errors import DatasetFolderError, SourceFolderError
from recipeflow.explore.sources import ReleaseSource, open_source
from tests.making import EGG, INFO, RECIPES, SALAD, make_frame, make_release


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A built dataset; tests that damage it take a copy."""
    folder = tmp_path_factory.mktemp("built")
    build_dataset(make_release(folder / "release"), folder / "vrf")
    return folder / "vrf"


@pytest.fixture
def damaged(built, tmp_path):
    return shutil.copytree(built, tmp_path / "vrf")


def edit_table(folder, config, edit):
    path = next((folder / config).iterdir())
    pq.write_table(edit(pq.read_table(path)), path)


def test_a_release_and_what_was_built_of_it_are_the_same_recipes(release, built):
    sources = open_source(release), open_source(built)
    assert [type(source) for source in sources] == [ReleaseSource, DatasetSource]
    read = [[checked.recipe for checked in source.recipes()] for source in sources]
    assert read[0] == read[1] == list(RECIPES)
    for source, recipes in zip(sources, read, strict=True):
        assert source.info.glossary == INFO.glossary
        assert source.info.source == "hand-made"
        for recipe in recipes:
            for number in recipe.used_frames:
                assert source.has_picture(recipe, number)
                assert source.picture(recipe, number) == make_frame(number)
            assert not source.has_picture(recipe, 999)
            assert source.picture(recipe, 999) is None


def test_pictures_are_read_one_row_group_at_a_time(damaged, monkeypatch):
    edit_table(damaged, "image_pairs", lambda table: table)
    path = next((damaged / "image_pairs").iterdir())
    pq.write_table(pq.read_table(path), path, row_group_size=2)
    source = open_source(damaged)
    recipes = [checked.recipe for checked in source.recipes()]
    read = []
    original = source._read_images
    monkeypatch.setattr(source, "_read_images", lambda place: read.append(place[:3]) or original(place))
    for recipe in recipes:
        for number in recipe.used_frames:
            assert source.picture(recipe, number) == make_frame(number)
    assert len(set(read)) > dataset_source.HELD_GROUPS
    assert len(source._held) <= dataset_source.HELD_GROUPS


def test_the_official_annotations_have_neither_text_nor_pictures(official):
    source = open_source(official)
    recipe = next(source.recipes()).recipe
    assert source.info.source == "official"
    assert recipe.title is None
    assert not any(source.has_picture(recipe, number) for number in recipe.used_frames)
    assert source.picture(recipe, recipe.used_frames[0]) is None


@pytest.mark.parametrize("kind", ["foreign", "empty", "missing", "file"])
def test_what_is_no_source_is_reported_with_a_way_out(tmp_path, kind):
    folder = tmp_path / "folder"
    if kind == "foreign":
        (folder / "recipes").mkdir(parents=True)
        (folder / "recipes" / "notes.txt").write_text("tea")
    elif kind == "empty":
        folder.mkdir()
    elif kind == "file":
        folder.write_text("tea")
    with pytest.raises(SourceFolderError, match=r"annotations\.json.*recipes/\*\.parquet.*vrf kitchen"):
        open_source(folder)


def test_a_dataset_without_its_manifest_is_still_shown(damaged):
    (damaged / MANIFEST).unlink()
    source = open_source(damaged)
    assert [checked.recipe for checked in source.recipes()] == list(RECIPES)
    assert source.info.glossary == {}


def test_a_manifest_from_before_glossaries_were_kept(damaged):
    manifest = json.loads((damaged / MANIFEST).read_text())
    del manifest["release"]["glossary"]
    (damaged / MANIFEST).write_text(json.dumps(manifest))
    assert open_source(damaged).info.source == "hand-made"


def test_a_damaged_manifest_is_named(damaged):
    (damaged / MANIFEST).write_text("{")
    with pytest.raises(DatasetFolderError, match=MANIFEST):
        open_source(damaged)


def test_a_damaged_table_is_named(damaged):
    path = next((damaged / "flow_graphs").iterdir())
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(DatasetFolderError, match=r"flow_graphs.*build the dataset again"):
        list(open_source(damaged).recipes())


def test_tables_of_other_recipes_are_refused(damaged):
    edit_table(damaged, "flow_graphs", lambda table: table.slice(1))
    with pytest.raises(DatasetFolderError, match=f"{SALAD.id!r} beside {EGG.id!r}"):
        list(open_source(damaged).recipes())


def test_pairs_that_stand_elsewhere_are_refused(damaged):
    edit_table(damaged, "image_pairs", lambda table: pa.concat_tables([table.slice(7), table.slice(0, 7)]))
    with pytest.raises(DatasetFolderError, match="out of order in image_pairs"):
        list(open_source(damaged).recipes())


def test_a_table_without_a_column_is_refused(damaged):
    edit_table(damaged, "recipes", lambda table: table.drop_columns(["instructions"]))
    with pytest.raises(DatasetFolderError, match=r"expected the columns instructions in .*build the dataset again"):
        list(open_source(damaged).recipes())


def test_a_recipe_that_does_not_hold_together_is_reported_and_the_others_are_shown(damaged):
    def dangle(table):
        rows = table.to_pylist()
        rows[1]["edges"][0]["end"] = "1-9-9"
        return pa.Table.from_pylist(rows, schema=table.schema)

    edit_table(damaged, "flow_graphs", dangle)
    checked = list(open_source(damaged).recipes())
    assert [each.recipe is None for each in checked] == [False, True, False]
    assert "1-9-9" in str(checked[1].problems[0])


def test_a_dataset_that_changes_while_it_is_looked_at(damaged):
    source = open_source(damaged)
    recipe = next(source.recipes()).recipe
    next((damaged / "image_pairs").iterdir()).unlink()
    with pytest.raises(DatasetFolderError, match="rebuilt meanwhile"):
        source.picture(recipe, recipe.used_frames[0])
