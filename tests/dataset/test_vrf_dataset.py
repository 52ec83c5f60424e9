"""The builder under the installed ``datasets``: columns, rows, shards, caches and what it refuses."""

import os
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from datasets import ClassLabel, Features, Image, Value
from datasets.exceptions import DatasetGenerationError
from hypothesis import given, settings
from hypothesis import strategies as st

from recipeflow.dataset.folds import assign_folds
from recipeflow.errors import BrokenImageError, EmptyReleaseError, InvalidReleaseError, MissingFileError, UsageError
from recipeflow.release import check_release, write_release
from recipeflow.release.recipe import IOB2_TAGS, LABELS, TAGS, StateChange
from tests.building import CONFIGS, many_recipes
from tests.making import EGG, SALAD, TEA, edit_annotations, frames_of, make_frame, make_recipe, make_release
from tests.making_english import ENGLISH_INFO, SOUP
from tests.watching import opened_files
from vrf_dataset import FEATURES, MAX_SHARDS, VRFDataset, pair_rows


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")


def prepare(release: Path, config: str | None = None, num_proc: int | None = None, **options):
    builder = VRFDataset(config_name=config, data_dir=str(release), **options)
    builder.download_and_prepare(num_proc=num_proc)
    return builder.as_dataset(split="train")


def test_columns_are_those_of_the_design():
    text, number, tag = Value("string"), Value("int32"), ClassLabel(names=list(TAGS))
    tokens = {"text": text, "tokens": [text], "ner_tags": [ClassLabel(names=list(IOB2_TAGS))]}
    line = tokens | {"starts": [number], "ends": [number]}
    recipe = {"recipe_id": text, "title": text, "url": text, "source": text, "fold": number}
    node = {"id": text, "text": text, "tag": tag} | dict.fromkeys(
        ("section", "line", "start_word", "end_word"), number
    )
    edge = {"start": text, "end": text, "label": ClassLabel(names=list(LABELS))}
    pair = {"recipe_id": text, "fold": number, "pair_id": text, "action_id": text, "action": text, "object_id": text}
    pair |= {"object": text, "object_tag": tag, "instruction": text, "instruction_index": number}
    pair |= {"pre_frame": number, "post_frame": number, "pre_image": Image(), "post_image": Image()}
    expected = {
        "recipes": recipe | {"ingredients": [line], "instructions": [line]},
        "flow_graphs": {"recipe_id": text, "fold": number, "nodes": [node], "edges": [edge]},
        "image_pairs": pair,
    }
    assert [config.name for config in VRFDataset.BUILDER_CONFIGS] == list(CONFIGS)
    for config in CONFIGS:
        info = VRFDataset(config_name=config).info
        assert info.features == Features(expected[config])
        assert list(info.features) == list(expected[config])
        assert "Shirai" in info.citation
        assert info.description
    assert IOB2_TAGS[:5] == ("O", "B-F", "I-F", "B-T", "I-T")


def test_recipes_hold_words_tags_and_offsets(release):
    rows = prepare(release, "recipes")
    assert [row["recipe_id"] for row in rows] == ["c0ffee00-salad", "ゆで卵", "tea_3"]
    row = rows[0]
    assert row["title"] == "きゅうりとトマトのサラダ"
    assert row["url"] == "https://www.kurashiru.com/recipes/c0ffee00-salad"
    assert row["source"] == "hand-made"
    line = row["ingredients"][1]
    names = rows.features["ingredients"].feature["ner_tags"].feature.int2str(line["ner_tags"])
    assert line | {"ner_tags": names} == {
        "text": "（Ａ）ミニトマト２個",
        "tokens": ["（", "Ａ", "）", "ミニ", "トマト", "２", "個"],
        "ner_tags": ["O", "O", "O", "B-F", "I-F", "B-Q", "I-Q"],
        "starts": [0, 1, 2, 3, 5, 8, 9],
        "ends": [1, 2, 3, 5, 8, 9, 10],
    }
    assert [len(row["ingredients"]), len(row["instructions"])] == [3, 3]


def test_flow_graphs_hold_every_entity_and_flow(release):
    rows = prepare(release, "flow_graphs")
    tag = rows.features["nodes"].feature["tag"]
    label = rows.features["edges"].feature["label"]
    tea = rows[2]
    assert [(node["id"], node["text"], tag.int2str(node["tag"])) for node in tea["nodes"]] == [
        ("0-0-0", "麦茶", "F"),
        ("0-0-1", "１袋", "Q"),
        ("1-0-2", "麦茶", "F"),
        ("1-0-4", "冷やし", "Ac"),
        ("1-0-6", "注ぎ", "Ac"),
    ]
    assert tea["nodes"][1] | {"text": "", "tag": ""} == {
        "id": "0-0-1",
        "text": "",
        "tag": "",
        "section": 0,
        "line": 0,
        "start_word": 1,
        "end_word": 3,
    }
    assert [(edge["start"], label.int2str(edge["label"]), edge["end"]) for edge in tea["edges"]] == [
        ("0-0-0", "F-eq", "1-0-2"),
        ("1-0-2", "Targ", "1-0-4"),
        ("1-0-2", "Targ", "1-0-6"),
    ]


def test_image_pairs_are_one_row_per_annotated_object_in_order(release):
    rows = prepare(release, "image_pairs")
    tag = rows.features["object_tag"]
    columns = ("pair_id", "action", "object", "object_tag", "instruction_index", "pre_frame", "post_frame")
    found = [tuple(row[name] for name in columns) for row in rows]
    named = [(*row[:3], row[3] if row[3] is None else tag.int2str(row[3]), *row[4:]) for row in found]
    assert named == [
        ("c0ffee00-salad:0", "切り", "きゅうり", "F", 0, 1, 3),
        ("c0ffee00-salad:1", "切り", "ミニトマト", "F", 1, 3, 5),
        ("c0ffee00-salad:2", "入れ", "きゅうり", "F", 2, 3, 7),
        ("c0ffee00-salad:3", "入れ", "ミニトマト", "F", 2, 5, 7),
        ("c0ffee00-salad:4", "入れ", "塩", "F", 2, None, 7),
        ("c0ffee00-salad:5", "混ぜ", "入れ", "Ac", 2, 7, None),
        ("c0ffee00-salad:6", "混ぜ", None, None, 2, None, None),
        ("ゆで卵:0", "沸かし", "水", "F", 0, None, None),
        ("ゆで卵:1", "茹で", "卵", "F", 1, 2, 4),
        ("ゆで卵:2", "むき", "殻", "F", 2, 4, 9),
        ("tea_3:0", "冷やし", "麦茶", "F", 0, 1, None),
        ("tea_3:1", "注ぎ", "麦茶", "F", 0, 2, 3),
    ]
    assert rows[4]["instruction"] == "３．ボウルに具材と塩を入れ、混ぜます。"
    assert (rows[4]["action_id"], rows[4]["object_id"]) == ("1-2-8", "1-2-6")
    assert rows[6]["object_id"] is None


def test_images_are_the_frames_byte_by_byte(release):
    rows = prepare(release, "image_pairs")
    first = rows[0]
    assert first["pre_image"].size == (24, 16)
    raw = rows.cast_column("pre_image", Image(decode=False)).cast_column("post_image", Image(decode=False))
    for row in raw:
        for side in ("pre", "post"):
            number, image = row[f"{side}_frame"], row[f"{side}_image"]
            assert (image and image["bytes"]) == (number and make_frame(number))


def test_an_action_in_the_ingredient_list_has_no_instruction(tmp_path):
    recipe = make_recipe("r", "t", "刻み/Ac:chop ねぎ/F:leek", "１ ． 盛る/Ac ．", "leek Targ chop", "chop - 1")
    row = prepare(make_release(tmp_path / "release", [recipe]), "image_pairs")[0]
    assert (row["instruction"], row["instruction_index"], row["object"]) == (None, None, "ねぎ")


def test_without_text_text_is_null_and_the_annotation_stays(release):
    shutil.rmtree(release / "recipes")
    recipe, graph, pair = (prepare(release, config)[0] for config in CONFIGS)
    line = recipe["ingredients"][0]
    assert (recipe["title"], line["text"], line["tokens"]) == (None, None, None)
    assert line["starts"] == [0, 4, 5]
    assert line["ner_tags"] == [1, 7, 8]
    assert {node["text"] for node in graph["nodes"]} == {None}
    assert graph["nodes"][0]["tag"] == 0
    nothing = ("action", "object", "instruction", "pre_image", "post_image")
    assert [pair[name] for name in nothing] == [None] * 5
    assert (pair["object_tag"], pair["instruction_index"], pair["pre_frame"], pair["post_frame"]) == (0, 0, 1, 3)


def test_official_annotations(official):
    recipes, graphs, pairs = (prepare(official, config) for config in CONFIGS)
    assert [len(recipes), len(graphs), len(pairs)] == [200, 200, 3705]
    assert sum(map(len, graphs["nodes"])) == 11_686
    assert sum(map(len, graphs["edges"])) == 11_512
    has = Counter(
        (pre is not None, post is not None) for pre, post in zip(pairs["pre_frame"], pairs["post_frame"], strict=True)
    )
    assert has == {(True, True): 2538, (False, True): 484, (True, False): 72, (False, False): 611}
    assert set(recipes["title"]) == set(pairs["action"]) == {None}
    assert len(set(pairs["pair_id"])) == 3705
    assert set(recipes["source"]) == {"official"}


def test_folds_go_by_recipe_and_are_the_same_in_all_tables(tmp_path):
    release = make_release(tmp_path / "release", many_recipes(23), frames=False)
    expected = assign_folds(f"r{number:03d}" for number in range(23))
    for config in CONFIGS:
        rows = prepare(release, config)
        assert dict(zip(rows["recipe_id"], rows["fold"], strict=True)) == expected
    assert sorted(Counter(expected.values()).values()) == [2] * 7 + [3] * 3


@pytest.mark.parametrize("count", [1, 2, MAX_SHARDS, MAX_SHARDS + 1, 3 * MAX_SHARDS + 5])
def test_rows_keep_order_and_number_in_workers_and_streams(tmp_path, count):
    release = make_release(tmp_path / "release", many_recipes(count), frames=False)
    for config in CONFIGS:
        rows = prepare(release, config).to_list()
        stream = VRFDataset(config_name=config, data_dir=str(release)).as_streaming_dataset(split="train")
        assert list(stream) == rows
        assert stream.num_shards == min(count, stream.num_shards) <= MAX_SHARDS
    ids = [row["recipe_id"] for row in rows]
    assert ids == [recipe.id for recipe in many_recipes(count) for _ in recipe.state_changes]


def test_several_processes_give_the_same_rows(tmp_path):
    release = make_release(tmp_path / "release", many_recipes(20))
    for config in CONFIGS:
        one = prepare(release, config, cache_dir=str(tmp_path / "one"))
        two = prepare(release, config, num_proc=2, cache_dir=str(tmp_path / "two"))
        assert one.data.table == two.data.table


def test_a_frame_of_several_rows_is_read_once(release):
    with opened_files() as opened:
        prepare(release, "image_pairs")
    folder = release / "recipes" / SALAD.id / "frames"
    frames = Counter(Path(name).name for name in opened if Path(name).parent == folder)
    assert frames == {f"frame_{number}.jpg": 1 for number in (1, 3, 5, 7)}


@settings(max_examples=60, deadline=None)
@given(
    changes=st.lists(st.tuples(st.sampled_from(SALAD.actions), *[st.none() | st.integers(1, 6)] * 2), max_size=12).map(
        lambda found: tuple(StateChange(action.id, before, after) for action, before, after in found)
    )
)
def test_any_state_changes_give_their_rows(tmp_path_factory, changes):
    recipe = replace(SALAD, state_changes=changes)
    folder = tmp_path_factory.mktemp("frames")
    for number, data in frames_of(recipe).items():
        (folder / f"frame_{number}.jpg").write_bytes(data)
    rows = list(pair_rows(replace(recipe, frames_folder=folder), fold=3))
    assert [StateChange(row["action_id"], row["pre_frame"], row["post_frame"]) for row in rows] == list(changes)
    assert len({row["pair_id"] for row in rows}) == len(rows)
    for row in rows:
        for side in ("pre", "post"):
            number, image = row[f"{side}_frame"], row[f"{side}_image"]
            assert image == (None if number is None else {"bytes": make_frame(number), "path": f"frame_{number}.jpg"})
    per_action = Counter(row["action_id"] for row in rows)
    traced = {"1-0-5": 1, "1-1-7": 1, "1-2-8": 3, "1-2-10": 1}
    missing = Counter(row["action_id"] for row in rows if row["object_id"] is None)
    assert missing == Counter({key: count - traced[key] for key, count in per_action.items() if count > traced[key]})


def test_no_config_name_means_image_pairs(release):
    builder = VRFDataset(data_dir=str(release))
    assert builder.config.name == "image_pairs"
    assert len(prepare(release)) == 12


def test_no_data_dir_says_how_to_get_one():
    builder = VRFDataset(config_name="recipes")
    for attempt in (builder.download_and_prepare, builder.as_streaming_dataset):
        with pytest.raises(UsageError, match=r"vrf kitchen OUT.*vrf download OUT.*data_dir"):
            attempt()


def test_data_files_are_refused(release):
    with pytest.raises(UsageError, match="data_dir"):
        VRFDataset(config_name="recipes", data_files=str(release / "annotations.json"))


def test_a_folder_without_annotations_is_named(tmp_path):
    with pytest.raises(MissingFileError, match="vrf kitchen"):
        prepare(tmp_path / "nowhere")


def test_a_relative_folder_stays_the_same_after_a_change_of_directory(release, tmp_path, monkeypatch):
    monkeypatch.chdir(release.parent)
    builder = VRFDataset(config_name="recipes", data_dir=release.name)
    monkeypatch.chdir(tmp_path.parent)
    builder.download_and_prepare()
    assert len(builder.as_dataset(split="train")) == 3


def test_an_unchanged_release_is_not_built_again(release):
    first = VRFDataset(config_name="recipes", data_dir=str(release))
    first.download_and_prepare()
    written = Path(first.cache_dir, "dataset_info.json").stat().st_mtime_ns
    again = VRFDataset(config_name="recipes", data_dir=str(release))
    again.download_and_prepare()
    assert again.cache_dir == first.cache_dir
    assert Path(first.cache_dir, "dataset_info.json").stat().st_mtime_ns == written


def change_annotation(release: Path) -> None:
    edit_annotations(release, lambda raw: raw["tea_3"]["state_changes"].pop())


def change_text(release: Path) -> None:
    path = release / "recipes" / "tea_3" / "instructions.txt"
    path.write_text(path.read_text(encoding="utf-8").replace("冷やし", "温めて"), encoding="utf-8")


def change_frame(release: Path) -> None:
    """The hardest case: another picture of the same size in bytes, and the old time of change."""
    path = release / "recipes" / "tea_3" / "frames" / "frame_2.jpg"
    before = path.stat()
    same_size = next(data for data in map(make_frame, range(3, 99)) if len(data) == before.st_size)
    path.write_bytes(same_size)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def change_source(release: Path) -> None:
    path = release / "release.json"
    path.write_text(path.read_text(encoding="utf-8").replace("hand-made", "re-made"), encoding="utf-8")


@pytest.mark.parametrize("change", [change_annotation, change_text, change_frame, change_source])
def test_a_changed_release_is_never_served_from_the_cache(release, change):
    before = {config: prepare(release, config).data.table for config in CONFIGS}
    change(release)
    assert check_release(release) == []
    after = {config: prepare(release, config).data.table for config in CONFIGS}
    fresh = {config: prepare(release, config, cache_dir=str(release.parent / "new")).data.table for config in CONFIGS}
    assert after == fresh
    assert after != before


def test_problems_of_annotation_and_text_come_as_the_whole_list(release):
    def damage(raw: dict) -> None:
        raw[SALAD.id]["recipe_flows"][0]["label"] = "F-equal"
        raw["tea_3"]["instructions"][0][0]["ne"] = "Z-B"

    edit_annotations(release, damage)
    (release / "recipes" / EGG.id / "ingredients.txt").write_text("卵\n", encoding="utf-8")
    for config in CONFIGS:
        with pytest.raises(InvalidReleaseError) as caught:
            prepare(release, config)
        kinds = [problem.kind for problem in caught.value.problems]
        assert kinds == ["UnknownLabelError", "LineCountError", "UnknownTagError"]


@pytest.mark.parametrize("num_proc", [None, 2])
def test_a_broken_frame_is_not_written(release, num_proc):
    (release / "recipes" / EGG.id / "frames" / "frame_4.jpg").write_bytes(make_frame(4)[:-200])
    with pytest.raises(DatasetGenerationError) as caught:
        prepare(release, "image_pairs", num_proc)
    if num_proc is None:
        assert isinstance(caught.value.__cause__, InvalidReleaseError)
        assert [type(problem) for problem in caught.value.__cause__.problems] == [BrokenImageError]
    stream = VRFDataset(data_dir=str(release)).as_streaming_dataset(split="train")
    with pytest.raises(InvalidReleaseError, match=r"ゆで卵/frames/frame_4.jpg"):
        list(stream)
    assert len(prepare(release, "recipes")) == 3, "tables without images do not open frames"


def test_excluded_recipes_are_left_out_and_folds_dealt_over_the_rest(tmp_path):
    release = make_release(tmp_path / "release", many_recipes(12), frames=False)
    edit_annotations(release, lambda raw: raw["r004"].pop("state_changes"))
    bad = ("r004", "r007")
    expected = assign_folds(f"r{number:03d}" for number in range(12) if number not in (4, 7))
    for config in CONFIGS:
        rows = prepare(release, config, exclude=bad)
        assert dict(zip(rows["recipe_id"], rows["fold"], strict=True)) == expected


def test_a_worker_without_rows_does_no_harm(tmp_path):
    recipes = [replace(recipe, state_changes=()) for recipe in many_recipes(3)] + many_recipes(6)[3:]
    rows = prepare(make_release(tmp_path / "release", recipes), "image_pairs", num_proc=2)
    assert [row["recipe_id"] for row in rows] == ["r003"] * 7 + ["r004"] * 3 + ["r005"] * 2


def test_exclude_must_name_recipes_and_leave_some(release):
    with pytest.raises(UsageError, match="nobody"):
        prepare(release, "recipes", exclude=("tea_3", "nobody"))
    with pytest.raises(EmptyReleaseError, match="3 are left out"):
        prepare(release, "recipes", exclude=(SALAD.id, EGG.id, TEA.id))


def test_columns_and_rows_agree(release):
    for config in CONFIGS:
        assert list(prepare(release, config).features) == list(FEATURES[config])


def test_a_corpus_with_more_tags_has_them_in_its_own_class_labels(tmp_path):
    write_release(tmp_path / "english", [SOUP], ENGLISH_INFO)
    recipes, graphs = (prepare(tmp_path / "english", config) for config in ("recipes", "flow_graphs"))
    tags = recipes.features["instructions"].feature["ner_tags"].feature
    assert tags.names == list(ENGLISH_INFO.scheme.iob2_tags)
    assert [tags.int2str(tag) for tag in recipes[0]["instructions"][1]["ner_tags"]][3:7] == ["B-Ac2", "O", "O", "B-At"]
    assert recipes[0]["instructions"][0]["tokens"] == ["Chop", "2", "large", "tomatoes", "."]
    labels = graphs.features["edges"].feature["label"]
    assert [labels.int2str(edge["label"]) for edge in graphs[0]["edges"]][2] == "s"
    assert "recipes in English" in recipes.info.description
