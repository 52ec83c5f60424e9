"""``vrf build``: what it writes, and that it loads as the Hub's users expect."""

import json
import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from datasets import load_dataset

from recipeflow.dataset.build import build_dataset
from recipeflow.dataset.folder import MANIFEST, DatasetFolder
from recipeflow.dataset.recipes import DatasetSource
from recipeflow.errors import DatasetFolderError, OutputExistsError, UsageError
from recipeflow.kitchen import cook_release
from recipeflow.release import check_release, reading
from tests.building import CONFIGS, all_files, many_recipes, read_rows, run_python, run_vrf
from tests.making import RECIPES, TEA, make_frame, make_release
from tests.watching import opened_files
from vrf_dataset import VRFDataset


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")


def test_writes_the_repository_and_nothing_else(release, tmp_path):
    built = build_dataset(release, tmp_path / "vrf")
    shard = "train-00000-of-00001.parquet"
    assert set(all_files(tmp_path / "vrf")) == {"README.md", MANIFEST, *(f"{config}/{shard}" for config in CONFIGS)}
    assert {path.name for path in tmp_path.iterdir()} == {"release", "vrf"}, "no cache and no scratch folder stays"
    manifest = json.loads((tmp_path / "vrf" / MANIFEST).read_text(encoding="utf-8"))
    assert manifest == built.manifest
    assert {config: row["rows"] for config, row in manifest["configs"].items()} == {
        "recipes": 3,
        "flow_graphs": 3,
        "image_pairs": 12,
    }


LOAD = """
import json
from datasets import load_dataset

def plain(value):
    return value if not hasattr(value, "tobytes") else [type(value).__module__, value.size, value.tobytes().hex()]

tables = {}
for config in ("recipes", "flow_graphs", "image_pairs", None):
    normal = load_dataset("vrf", config, split="train")
    stream = load_dataset("vrf", config, split="train", streaming=True)
    rows = [{key: plain(value) for key, value in row.items()} for row in normal]
    assert rows == [{key: plain(value) for key, value in row.items()} for row in stream]
    assert normal.features == stream.features
    tables[config or "default"] = rows
print(json.dumps(tables))
"""


def test_load_dataset_gives_the_rows_of_the_builder_normal_and_streaming(release, tmp_path):
    build_dataset(release, tmp_path / "vrf")
    tables = json.loads(run_python(LOAD, tmp_path))
    assert tables["default"] == tables["image_pairs"]
    for config in CONFIGS:
        builder = VRFDataset(config_name=config, data_dir=str(release))
        builder.download_and_prepare()
        expected = builder.as_dataset(split="train").to_list()
        found = tables[config]
        for row, wanted in zip(found, expected, strict=True):
            for side in ("pre_image", "post_image"):
                image, origin = row.pop(side, None), wanted.pop(side, None)
                assert (image is None) == (origin is None)
                if image is not None:
                    assert image[:2] == ["PIL.JpegImagePlugin", [24, 16]]
            assert row == wanted


def test_some_recipes_may_be_without_state_changes(tmp_path):
    recipes = [replace(recipe, state_changes=()) for recipe in many_recipes(3)] + many_recipes(6)[3:]
    release = make_release(tmp_path / "release", recipes)
    build_dataset(release, tmp_path / "vrf", num_proc=2)
    tables = json.loads(run_python(LOAD, tmp_path))
    assert {config: len(rows) for config, rows in tables.items()} == {
        "recipes": 6,
        "flow_graphs": 6,
        "image_pairs": 12,
        "default": 12,
    }


def test_a_release_without_state_changes_has_no_image_pairs_since_datasets_cannot_load_an_empty_table(tmp_path):
    release = make_release(tmp_path / "release", [replace(TEA, state_changes=())])
    assert list(build_dataset(release, tmp_path / "vrf").manifest["configs"]) == ["recipes", "flow_graphs"]
    assert load_dataset(str(tmp_path / "vrf"), split="train", cache_dir=tmp_path / "cache")["title"] == ["麦茶"]
    card = (tmp_path / "vrf" / "README.md").read_text(encoding="utf-8")
    assert "**no image pairs**" in card and 'load_dataset("vrf", "image_pairs"' not in card
    assert [checked.recipe.title for checked in DatasetSource(tmp_path / "vrf").recipes()] == ["麦茶"]
    with pytest.raises(DatasetFolderError, match="a release without state changes"):
        DatasetFolder(tmp_path / "vrf").files()
    with pytest.raises(UsageError, match=r"at least one state change.*without a build: VRFDataset"):
        VRFDataset(config_name="image_pairs", data_dir=release, cache_dir=tmp_path / "cache").download_and_prepare()


def test_images_are_embedded_byte_by_byte(release, tmp_path):
    build_dataset(release, tmp_path / "vrf")
    shutil.rmtree(release)
    for row in read_rows(tmp_path / "vrf", "image_pairs"):
        for side in ("pre", "post"):
            number, image = row[f"{side}_frame"], row[f"{side}_image"]
            assert image == (number and {"bytes": make_frame(number), "path": f"frame_{number}.jpg"})


def test_every_frame_is_read_once_in_a_whole_build(release, tmp_path):
    with opened_files() as opened:
        build_dataset(release, tmp_path / "vrf")
    frames = Counter(name for name in opened if Path(name).parent.name == "frames")
    used = {str(release / "recipes" / r.id / "frames" / f"frame_{n}.jpg") for r in RECIPES for n in r.used_frames}
    assert frames == Counter(used)


def test_official_annotations_build_and_load(official, tmp_path):
    build_dataset(official, tmp_path / "vrf")
    code = (
        "from datasets import load_dataset; d = load_dataset('vrf'); print(len(d['train']), d['train'][0]['action'])"
    )
    assert run_python(code, tmp_path).split() == ["3705", "None"]
    card = (tmp_path / "vrf" / "README.md").read_text(encoding="utf-8")
    for part in ("license: mit", "rights holders", "**no text**", "**no images**", "revised after the paper"):
        assert part in card


def test_shards_are_cut_by_size_and_keep_the_order(tmp_path):
    release = make_release(tmp_path / "release", many_recipes(120))
    build_dataset(release, tmp_path / "vrf", max_shard_size="100KB")
    shards = sorted(path.name for path in (tmp_path / "vrf" / "image_pairs").iterdir())
    assert len(shards) >= 3
    assert shards == [f"train-{number:05d}-of-{len(shards):05d}.parquet" for number in range(len(shards))]
    ids = [row["pair_id"] for row in read_rows(tmp_path / "vrf", "image_pairs")]
    assert ids == [f"{recipe.id}:{n}" for recipe in many_recipes(120) for n in range(len(recipe.state_changes))]
    code = "from datasets import load_dataset; print(*load_dataset('vrf', 'image_pairs', split='train')['pair_id'])"
    assert run_python(code, tmp_path).split() == ids


def test_row_groups_are_small_and_indexed(tmp_path):
    build_dataset(make_release(tmp_path / "release", many_recipes(120)), tmp_path / "vrf")
    (path,) = (tmp_path / "vrf" / "image_pairs").iterdir()
    metadata = pq.read_metadata(path)
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    assert max(group.num_rows for group in groups) <= 100
    assert groups[0].column(0).has_offset_index


def test_several_processes_write_the_same_rows(tmp_path):
    release = make_release(tmp_path / "release", many_recipes(20))
    build_dataset(release, tmp_path / "one")
    build_dataset(release, tmp_path / "two", num_proc=2)
    for config in CONFIGS:
        assert read_rows(tmp_path / "one", config) == read_rows(tmp_path / "two", config)


def test_the_same_release_gives_the_same_bytes(release, tmp_path):
    build_dataset(release, tmp_path / "one" / "vrf")
    shutil.copytree(release, tmp_path / "copy")
    build_dataset(tmp_path / "copy", tmp_path / "two" / "vrf")
    assert all_files(tmp_path / "one") == all_files(tmp_path / "two")


def test_an_earlier_build_is_replaced_only_on_demand(release, tmp_path):
    build_dataset(release, tmp_path / "vrf", max_shard_size="1KB")
    before = all_files(tmp_path / "vrf")
    with pytest.raises(OutputExistsError, match="--overwrite"):
        build_dataset(release, tmp_path / "vrf")
    assert all_files(tmp_path / "vrf") == before
    smaller = make_release(tmp_path / "smaller", [TEA])
    build_dataset(smaller, tmp_path / "vrf", overwrite=True)
    assert len(read_rows(tmp_path / "vrf", "recipes")) == 1


def test_a_foreign_folder_is_never_replaced(release, tmp_path):
    foreign = tmp_path / "vrf"
    foreign.mkdir()
    (foreign / "README.md").write_text("mine", encoding="utf-8")
    for out in (foreign, release):
        with pytest.raises(OutputExistsError, match="not written by this command"):
            build_dataset(make_release(tmp_path / f"r-{out.name}"), out, overwrite=True)
    assert (foreign / "README.md").read_text(encoding="utf-8") == "mine"
    assert check_release(release) == []


def test_a_release_inside_the_output_is_refused_not_deleted(release, tmp_path):
    build_dataset(release, tmp_path / "vrf")
    inside = shutil.move(release, tmp_path / "vrf" / "release")
    with pytest.raises(UsageError, match="choose another --out"):
        build_dataset(inside, tmp_path / "vrf", overwrite=True)
    assert check_release(inside) == []


@pytest.mark.parametrize(
    ("options", "message"), [({"max_shard_size": "much"}, "500MB"), ({"num_proc": 0}, "at least one process")]
)
def test_wrong_options_are_reported_before_any_work(release, tmp_path, options, message):
    with pytest.raises(UsageError, match=message):
        build_dataset(release, tmp_path / "vrf", **options)
    assert not (tmp_path / "vrf").exists()


def test_the_command_builds_and_reports(release, tmp_path):
    done = run_vrf(tmp_path, "build", "release")
    assert (done.returncode, done.stderr.split()) == (0, ["parse", *CONFIGS])
    assert re.search(r"image_pairs\s+│\s+12\s+│\s+1\s+│", done.stdout)
    again = run_vrf(tmp_path, "build", "release", "--overwrite", "--json")
    assert json.loads(again.stdout) == json.loads((tmp_path / "vrf" / MANIFEST).read_text(encoding="utf-8"))
    refused = run_vrf(tmp_path, "build", "release")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "--overwrite" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"release", "vrf"}, "nothing is written to the user's caches"


def test_a_small_kitchen_builds_and_loads(tmp_path):
    cook_release(tmp_path / "kitchen", recipes=2, used_only=True, workers=1)
    built = build_dataset(tmp_path / "kitchen", tmp_path / "vrf")
    assert "**This is simulated data.**" in (tmp_path / "vrf" / "README.md").read_text(encoding="utf-8")
    code = "from datasets import load_dataset; d = load_dataset('vrf', split='train'); print(len(d), d[0]['action'])"
    rows, action = run_python(code, tmp_path).split()
    assert int(rows) == built.manifest["configs"]["image_pairs"]["rows"] > 10
    assert action == read_rows(tmp_path / "vrf", "image_pairs")[0]["action"]


def test_a_build_parses_each_recipe_once(release, tmp_path, monkeypatch):
    parsed = []
    parser = reading.RecipeParser
    monkeypatch.setattr(
        reading, "RecipeParser", lambda recipe_id, scheme: parsed.append(recipe_id) or parser(recipe_id)
    )
    build_dataset(release, tmp_path / "vrf")
    assert parsed == [recipe.id for recipe in RECIPES]
