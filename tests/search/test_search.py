import gc
import hashlib
import io
import json
import math
import os
import shutil
import warnings
from pathlib import Path

import datasets
import numpy as np
import pytest
import torch
from PIL import Image
from transformers.utils import logging
from typer.testing import CliRunner

import retrieval_vrf
from configuration_vrf import VRFConfig
from modeling_vrf import VRFModel
from recipeflow.cli import app
from recipeflow.cli.searching import _parse_context
from recipeflow.dataset.frames import index_frames
from recipeflow.errors import CalibrationError, QueryError, SearchIndexError, UsageError
from recipeflow.search import index as search_index
from recipeflow.search.retriever import Retriever, load_calibration
from retrieval_vrf import EMBEDDING, VRFCalibration, VRFIndex, arrange_queries, kind_of, query_kinds, unknown_words
from tests.building import all_files, read_rows
from tests.model_helpers import BACKBONE, RESIDUAL, small_model
from tests.search.searching import Table, make_hub_cache, make_table, own_cache, write_calibration  # noqa: F401  (autouse)

datasets.disable_progress_bars()


@pytest.fixture(scope="module")
def table(tmp_path_factory) -> Table:
    return make_table(tmp_path_factory.mktemp("search"))


@pytest.fixture(scope="module")
def retriever(table) -> Retriever:
    return Retriever.build(*table.make_model(), table.folder, weights=table.weights, cache=table.cache)


@pytest.fixture(scope="module")
def saved(retriever, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "model"
    retriever.model.save_pretrained(folder, processor=retriever.processor)
    retriever.save(folder)
    return folder


@pytest.fixture
def picture() -> Image.Image:
    return Image.fromarray(np.random.default_rng(0).integers(0, 256, (60, 80, 3), np.uint8))


def plain(rows: list[dict]) -> list[tuple]:
    """Answers without their images, which compare by identity."""
    return [tuple((name, str(value)) for name, value in row.items() if name not in ("image", "score")) for row in rows]


# The candidates.


def test_each_distinct_post_action_image_is_a_candidate_once(table, retriever):
    images = [row["post_image"]["bytes"] for row in read_rows(table.folder, "image_pairs") if row["post_image"]]
    found = [hashlib.sha256(image["bytes"]).digest() for image in retriever.index.rows["image"]]
    assert len(found) == len(set(found)) < len(images)
    assert set(found) == {hashlib.sha256(image).digest() for image in images}


def test_a_candidate_says_where_it_comes_from(table, retriever):
    titles = {row["recipe_id"]: row["title"] for row in read_rows(table.folder, "recipes")}
    pairs = [row for row in read_rows(table.folder, "image_pairs") if row["post_image"]]
    for row in retriever.index.rows:
        shown = [pair for pair in pairs if pair["post_image"]["bytes"] == row["image"]["bytes"]]
        first = shown[0]
        assert row["title"] == titles[row["recipe_id"]]
        for name in ("recipe_id", "fold", "action", "object", "object_tag", "instruction"):
            assert row[name] == first[name]
        assert row["frame"] == first["post_frame"]
        assert row["objects"] == list(dict.fromkeys(pair["object"] for pair in shown if pair["object"] is not None))


def test_features_come_from_the_cache(table, retriever):
    said = []
    build = {"weights": table.weights, "cache": table.cache, "announce": said.append}
    Retriever.build(*table.make_model(), table.folder, **build)
    assert any("0 to compute" in line for line in said)


def test_a_fine_tuned_backbone_is_run_itself(table, retriever, monkeypatch):
    monkeypatch.setattr(search_index, "compute_features", None)
    model, processor = table.make_model(freeze_backbone=False)
    own = Retriever.build(model, processor, table.folder)
    expected, found = (side.index.rows.get_index(EMBEDDING).faiss_index for side in (retriever, own))
    vectors = [index.reconstruct_n(0, index.ntotal) for index in (expected, found)]
    np.testing.assert_allclose(*vectors, atol=1e-5)


def test_a_model_still_in_training_mode_makes_the_same_index(table):
    """As `train()` returns it: without dropout, and as wide as the queries that are asked later."""
    model, processor = table.make_model(**RESIDUAL, hub_groups=6, dropout=0.5)
    options = {"weights": table.weights, "cache": table.cache}
    vectors = []
    for mode in (False, True):
        index = Retriever.build(model.train(mode), processor, table.folder, **options).index
        faiss_index = index.rows.get_index(EMBEDDING).faiss_index
        vectors.append(faiss_index.reconstruct_n(0, faiss_index.ntotal))
    np.testing.assert_array_equal(*vectors)
    assert vectors[0].shape[1] == model.config.output_dim


def test_weights_from_an_unnamed_file_have_to_be_passed(table):
    with pytest.raises(SearchIndexError, match=r"backbone\.pth.*pass --weights"):
        Retriever.build(*table.make_model(), table.folder, cache=table.cache)


# Searching.


def uses(*inputs: str, context: str = "none") -> VRFConfig:
    used = {f"use_{name}": name in inputs for name in ("action", "object", "image")}
    return VRFConfig(backbone=BACKBONE, architecture="residual", context=context, **used)


def test_answers_are_the_nearest_by_brute_force(retriever, picture):
    found = retriever.search(action="切", object="キャベツ", image=picture, k=7)
    model, processor = retriever.model, retriever.processor
    images = [Image.open(io.BytesIO(image["bytes"])) for image in retriever.index.rows["image"]]
    query = model.encode_queries(["切"], ["キャベツ"], [picture], processor=processor)
    similarity = (query @ model.encode_images(images, processor).T)[0]
    best = similarity.argsort(descending=True)[:7]
    assert [row["score"] for row in found] == pytest.approx(similarity[best].tolist(), abs=1e-5)
    assert [row["frame"] for row in found] == [retriever.index.rows[int(row)]["frame"] for row in best]
    assert found[0]["image"].convert("RGB").size == images[int(best[0])].size


def test_a_batch_has_the_answers_of_its_queries(retriever, picture):
    actions, objects, pictures = ["切", "茹で", ["千切り"]], ["トマト", "卵", "キャベツ"], [picture, None, None]
    batch = retriever.search(actions, objects, pictures, k=3)
    for found, action, object, image in zip(batch, actions, objects, pictures, strict=True):
        one = retriever.search(action if isinstance(action, str) else [action], object, image, k=3)
        one = one if isinstance(action, str) else one[0]
        assert plain(found) == plain(one)
        assert [row["score"] for row in found] == pytest.approx([row["score"] for row in one], abs=1e-6)
    same = retriever.search("切", ["トマト", "トマト"], picture, k=3)
    assert plain(same[0]) == plain(same[1]) == plain(batch[0])


def test_words_out_of_the_vocabulary_are_reported(retriever):
    with pytest.warns(UserWarning, match="does not know: blorb, とうふ"):
        retriever.search(action="切 blorb", object="とうふ")
    assert unknown_words([{"action": "切", "object": ["とうふ", "切"]}], retriever.processor) == ["とうふ"]
    with warnings.catch_warnings(action="error"):
        retriever.search(action="切", object="キャベツ")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({}, "expected action and object in the query, found none"),
        ({"action": "切"}, "expected object in the query.*action, object, image: pass it too"),
        ({"action": " ", "object": "卵"}, "expected at least one word"),
        ({"action": "切", "object": "卵", "image": "nowhere.jpg"}, "no file at 'nowhere.jpg'"),
        ({"action": "切", "object": "卵", "k": 0}, "expected k from 1 to"),
        ({"action": "切", "object": "卵", "k": 10**6}, "the number of candidates, found 1000000"),
        ({"action": ["切"], "object": ["卵", "卵"]}, "lists of one length, found {'action': 1, 'object': 2}"),
        ({"action": [], "object": []}, "at least one query"),
        ({"action": ["切", "切"], "object": ["卵", None]}, "expected object in query 1"),
        ({"action": 7, "object": "卵"}, "expected a string or a list of words in actions, found 7"),
    ],
)
def test_bad_queries_are_refused_with_what_to_do(retriever, query, message):
    with pytest.raises(QueryError, match=message):
        retriever.search(**query)


def test_a_query_has_what_the_model_uses_and_no_more():
    words, image = {"action": "切", "object": "卵"}, {"image": "before.jpg"}
    with_context = words | {"context": {"modifier": "薄く"}}
    texts, pictures, both = uses("action", "object"), uses("image"), uses("action", "object", "image")
    assert arrange_queries([words], texts) == {"actions": ["切"], "objects": ["卵"]}
    assert arrange_queries([image | {"action": None}], pictures) == {"pre_images": ["before.jpg"]}
    assert arrange_queries([words], both)["pre_images"] == [None]
    reader = uses("action", "object", context="history")
    assert arrange_queries([with_context, words], reader)["contexts"] == [{"modifier": "薄く"}, {}]
    with pytest.raises(ValueError, match=r"expected no context in the query"):
        arrange_queries([with_context], texts)
    with pytest.raises(ValueError, match=r"expected no image in the query.*consist of action, object: omit it"):
        arrange_queries([words | image], texts)
    with pytest.raises(ValueError, match="expected image in the query, found none"):
        arrange_queries([{}], pictures)
    with pytest.raises(ValueError, match="expected no taste in the query"):
        arrange_queries([words | {"taste": "sour"}], texts)


@pytest.mark.parametrize("query", [{}, {"image": None, "context": None}, {"context": {}}, {"context": {"done": "切"}}])
def test_a_context_is_no_query(query):
    """A model that takes pictures alone and reads the flow graph has nothing to go by without a picture."""
    with pytest.raises(ValueError, match="expected image in the query, found none"):
        arrange_queries([query], uses("image", context="history"))


def test_parts_of_a_context_that_a_model_does_not_read_are_refused():
    query = {"action": "切", "context": {"modifier": "薄く", "done": "茹で"}}
    assert arrange_queries([query], uses("action", context="history"))["contexts"] == [query["context"]]
    message = "expected a context of modifier, destination in query 1, found 'done', which this model does not read"
    with pytest.raises(ValueError, match=message):
        arrange_queries([{"action": "切"}, query], uses("action", context="modifiers"))


def test_a_context_changes_the_answer_of_a_model_that_reads_it(table, picture):
    model, processor = table.make_model(architecture="residual", context="modifiers", loss="contrastive")
    retriever = Retriever.build(model, processor, table.folder, weights=table.weights, cache=table.cache)
    query = {"action": "切", "object": "卵", "image": picture}
    word = next(word for word in processor.tokenizer.get_vocab() if not word.startswith("["))
    scores = [
        [row["score"] for row in retriever.search(**query, context=context)]
        for context in (None, {}, {"modifier": word})
    ]
    assert scores[0] == scores[1] != scores[2]
    for role in ("smell", "done"):
        with pytest.raises(QueryError, match=f"expected a context of modifier, destination.*found '{role}'"):
            retriever.search(**query, context={role: word})


@pytest.mark.parametrize("inputs", [("action", "object"), ("image",)])
def test_models_of_words_or_pictures_alone(table, retriever, picture, inputs):
    uses = {f"use_{name}": name in inputs for name in ("action", "object", "image")}
    own = Retriever.build(*table.make_model(**uses), table.folder, weights=table.weights, cache=table.cache)
    given = {"action": "切", "object": "キャベツ", "image": picture}
    assert len(own.search(**{name: given[name] for name in inputs}, k=4)) == 4
    with pytest.raises(QueryError, match="omit it"):
        own.search(**given)


# Saving and loading.


def test_a_saved_index_gives_the_same_answers(retriever, saved, picture):
    loaded = Retriever.from_pretrained(saved)
    before, after = (side.search("切", "トマト", picture, k=9) for side in (retriever, loaded))
    assert plain(before) == plain(after)
    assert [row["score"] for row in before] == pytest.approx([row["score"] for row in after], abs=1e-6)
    assert sorted(path.suffix for path in (saved / "index").iterdir()) == [".arrow", ".faiss", ".json", ".npy"]
    about = json.loads((saved / "index" / "index.json").read_text())
    assert about["kind"] == "Flat" and about["rows"] == len(loaded.index)
    assert about["dataset"]["release"]["source"] == "simulated"


def test_an_older_index_with_its_rows_as_parquet_still_loads(saved, picture, tmp_path):
    folder = shutil.copytree(saved, tmp_path / "model")
    new = Retriever.from_pretrained(folder)
    new.index.rows.to_parquet(folder / "index" / "rows.parquet")
    (folder / "index" / "rows.arrow").unlink()
    about = json.loads((folder / "index" / "index.json").read_text())
    digest = hashlib.sha256((folder / "index" / "rows.parquet").read_bytes()).hexdigest()
    (folder / "index" / "index.json").write_text(json.dumps(about | {"format": 1, "rows_sha256": digest}))
    old = Retriever.from_pretrained(folder)
    assert plain(old.search("切", "トマト", picture, k=9)) == plain(new.search("切", "トマト", picture, k=9))
    old.save(folder)
    assert not (folder / "index" / "rows.parquet").exists()
    assert plain(Retriever.from_pretrained(folder).search("切", k=3, object="トマト")) != []


def test_the_images_of_an_index_are_on_disk_once(table, retriever, saved, tmp_path, monkeypatch):
    """Loading maps the file, and what was written for the index of a table is the file of the saved one."""
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    (mapped,) = VRFIndex.load(saved).rows.cache_files
    assert Path(mapped["filename"]) == saved / "index" / "rows.arrow"
    assert not (tmp_path / "cache").exists()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    post = torch.from_numpy(index_frames(table.folder).post)
    rows = search_index.read_candidates(table.folder, post, search_index.first_rows(post)[1])
    (own,) = (Path(file["filename"]) for file in rows.cache_files)
    assert own.exists()
    del rows
    gc.collect()
    assert not own.exists(), "nothing is left of an index that was not saved"


def test_saving_again_replaces_all_of_it(retriever, saved, tmp_path):
    folder = shutil.copytree(saved, tmp_path / "model")
    before = all_files(folder)
    (folder / "index" / "vectors.faiss").write_bytes(b"damaged")
    retriever.save(folder)
    after = all_files(folder)
    assert after == before
    with pytest.raises(SearchIndexError, match=r"found no config\.json"):
        retriever.save(tmp_path)


def test_a_new_index_is_never_mixed_with_what_was_cached_of_the_old_one(retriever, saved, tmp_path):
    """Not even where both files have the same times, as unpacked ones often do."""
    folder = shutil.copytree(saved, tmp_path / "model")
    for number in range(2):
        rows = retriever.index.rows.to_pandas()[:: 1 - 2 * number]
        rows = datasets.Dataset.from_pandas(rows, retriever.index.rows.features, preserve_index=False)
        search_index.attach_vectors(rows, np.eye(len(rows), dtype=np.float32))
        search_index.save_index(VRFIndex(rows, retriever.index.about), folder)
        os.utime(folder / "index" / "rows.arrow", (1e9, 1e9))
        assert VRFIndex.load(folder).rows[0] == rows[0]


def test_it_comes_from_the_hub_too(saved, tmp_path):
    cache = make_hub_cache(tmp_path, "lab/salad", saved)
    loaded = Retriever.from_pretrained("lab/salad", cache_dir=cache, local_files_only=True)
    assert len(loaded.search("切", "トマト", k=2)) == 2
    with pytest.raises(SearchIndexError, match="expected the folder of a model or its name on the Hub"):
        Retriever.from_pretrained("lab/soup", cache_dir=cache, local_files_only=True)


def test_an_index_of_another_model_is_refused(table, retriever):
    model, processor = table.make_model(seed=1)
    with pytest.raises(SearchIndexError, match="expected an index that was made with this model's weights"):
        Retriever(model, processor, retriever.index)


@pytest.mark.parametrize("name", ["index.json", "rows.arrow", "vectors.faiss"])
@pytest.mark.parametrize("content", [None, b"", b"rubbish"])
def test_a_damaged_index_is_reported(saved, tmp_path, name, content):
    path = shutil.copytree(saved / "index", tmp_path / "index") / name
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(ValueError, match=r"expected (an index of candidates|a complete index) in .*vrf index"):
        VRFIndex.load(tmp_path)


def test_an_index_of_another_format_or_length_is_reported(saved, tmp_path):
    folder = shutil.copytree(saved / "index", tmp_path / "index")
    about = json.loads((folder / "index.json").read_text())
    (folder / "index.json").write_text(json.dumps(about | {"format": 99}))
    with pytest.raises(ValueError, match="format 99"):
        VRFIndex.load(tmp_path)
    path = folder / "rows.arrow"
    search_index._save_rows(datasets.Dataset.from_file(str(path)).select(range(5)), tmp_path / "fewer.arrow")
    (tmp_path / "fewer.arrow").replace(path)
    (folder / "index.json").write_text(json.dumps(about))
    with pytest.raises(ValueError, match="expected a complete index"):
        VRFIndex.load(tmp_path)


def test_many_candidates_get_an_approximate_index(monkeypatch, tmp_path):
    monkeypatch.setattr(search_index, "EXACT_UP_TO", 1000)
    random = np.random.default_rng(0)
    vectors = random.standard_normal((4000, 6), np.float32) @ random.standard_normal((6, 16), np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = datasets.Dataset.from_dict({"number": range(4000)})
    assert search_index.attach_vectors(rows, vectors) == "IVF256,Flat"
    exact = (vectors[:50] @ vectors.T).argsort()[:, :-11:-1]
    rows.save_faiss_index(EMBEDDING, tmp_path / "vectors.faiss")
    rows.drop_index(EMBEDDING)
    rows.load_faiss_index(EMBEDDING, tmp_path / "vectors.faiss")
    _, found = VRFIndex(rows, {}).search(vectors[:50], 10)
    recall = np.mean([len(set(one) & set(other)) / 10 for one, other in zip(exact, found, strict=True)])
    assert recall > 0.9
    few = datasets.Dataset.from_dict({"number": range(1000)})
    assert search_index.attach_vectors(few, vectors[:1000]) == "Flat"


# How sure the model is.


@pytest.fixture(scope="module")
def calibrated(saved, tmp_path_factory) -> Path:
    """The saved model with a calibration beside it."""
    folder = shutil.copytree(saved, tmp_path_factory.mktemp("calibrated") / "model")
    write_calibration(folder, complete=(0.05, 0.2), no_image=(0.1, 0.6))
    return folder


def test_confidences_are_the_softmax_over_all_candidates(calibrated, picture):
    loaded = Retriever.from_pretrained(calibrated)
    every = loaded.search("切", "キャベツ", picture, k=len(loaded.index))
    similarity = torch.tensor([row["score"] for row in every], dtype=torch.float64)
    expected = (similarity / 0.05).softmax(0)
    assert [row["confidence"] for row in every] == pytest.approx(expected.tolist(), abs=1e-6)
    assert sum(row["confidence"] for row in every) == pytest.approx(1, abs=1e-5)
    few = loaded.search("切", "キャベツ", picture, k=2)
    assert [row["confidence"] for row in few] == pytest.approx(expected[:2].tolist(), abs=1e-6)


def test_a_model_is_sure_from_the_least_confidence_on(calibrated):
    loaded = Retriever.from_pretrained(calibrated)
    first = loaded.search("切", "キャベツ", k=1)[0]
    assert first["sure"] == (first["confidence"] >= 0.6)
    for least, sure in ((0.0, True), (first["confidence"] - 1e-6, True), (first["confidence"] + 1e-6, False)):
        rows = loaded.search("切", "キャベツ", k=3, min_confidence=least)
        assert [row["sure"] for row in rows] == [sure] * 3  # of the first answer, and said with each
    batch = loaded.search("切", ["キャベツ", "卵"], k=2)
    assert all(row["sure"] == (rows[0]["confidence"] >= 0.6) for rows in batch for row in rows)


def test_a_query_is_judged_by_what_it_lacks(calibrated, picture):
    """In a batch, too; a threshold that is asked for holds for all."""
    loaded = Retriever.from_pretrained(calibrated)
    count = len(loaded.index)
    for rows, temperature, least in zip(
        loaded.search("切", "卵", [picture, None], k=count), (0.05, 0.1), (0.2, 0.6), strict=True
    ):
        scores = torch.tensor([row["score"] for row in rows], dtype=torch.float64)
        expected = (scores / temperature).softmax(0).tolist()
        assert [row["confidence"] for row in rows] == pytest.approx(expected, abs=1e-6)
        assert rows[0]["sure"] == (rows[0]["confidence"] >= least)
    never = loaded.search("切", "卵", [picture, None], k=1, min_confidence=1)
    assert [rows[0]["sure"] for rows in never] == [False, False]


def test_what_no_candidate_shows_is_said(calibrated, tmp_path):
    """By the names of the first answers, in whatever form they are asked for."""
    folder = shutil.copytree(calibrated, tmp_path / "model")
    weights = {"bias": 2.0, "similarity": 0.0, "same_action": 0.0, "same_object": 0.0, "same_state": -4.0}
    write_calibration(folder, complete=(0.05, 0.2), no_image=(0.1, 0.6), absence=weights)
    loaded = Retriever.from_pretrained(folder)
    shown = {(row["action"], name) for row in loaded.search("切", "卵", k=10) for name in row["objects"]}
    found = loaded.search("切", "卵", k=3)
    expected = 1 / (1 + math.exp(-(2.0 - 4.0 * (("切", "卵") in shown))))
    assert [row["absent"] for row in found] == pytest.approx([expected] * 3)
    assert loaded.search("切る", "卵", k=1)[0]["absent"] == pytest.approx(expected)
    nothing = loaded.search("切", "空想の野菜", k=1)[0]
    assert nothing["absent"] == pytest.approx(1 / (1 + math.exp(-2.0)))
    asked = ["search", "--model", str(folder), "--action", "切", "--object", "空想の野菜"]
    assert "perhaps nothing here is right" in CliRunner().invoke(app, asked).stdout
    assert "absent" not in Retriever.from_pretrained(calibrated).search("切", "卵", k=1)[0]


def test_a_model_that_ignores_pictures_says_so_and_answers_as_without(table, picture, tmp_path):
    picture.save(tmp_path / "before.png")
    for share, said in ((1.0, True), (0.5, False)):
        folder = tmp_path / str(share)
        model, processor = table.make_model(**RESIDUAL | {"image_dropout": share})
        model.save_pretrained(folder, processor=processor)
        Retriever.build(model, processor, table.folder, weights=table.weights, cache=table.cache).save(folder)
        asked = ["search", "--model", str(folder), "--action", "切", "--object", "卵"]
        without = CliRunner().invoke(app, asked)
        found = CliRunner().invoke(app, [*asked, "--image", str(tmp_path / "before.png")])
        assert ("ignores the picture" in found.stderr) == (found.stdout == without.stdout) == said
        assert "ignores" not in without.stderr


def test_an_ignored_picture_makes_no_other_kind_of_query():
    config = small_model(**RESIDUAL | {"image_dropout": 1.0, "context": "history"}).config
    assert "image" in config.query_parts and query_kinds(config.read_parts) == [(), ("context",)]
    words = {"action": "切", "object": "卵"}
    assert kind_of(words, config.read_parts) == kind_of(words | {"image": "a.jpg"}, config.read_parts) == ("context",)


def test_kinds_of_queries():
    assert query_kinds(["action", "object"]) == query_kinds(["image"]) == [()]
    assert query_kinds(["action", "image"]) == [(), ("image",)]
    assert query_kinds(["image", "context"]) == [(), ("context",)]
    parts = ["action", "object", "image", "context"]
    assert query_kinds(parts) == [(), ("image",), ("context",), ("image", "context")]
    words = {"action": "切", "object": "卵"}
    assert kind_of(words, parts) == kind_of(words | {"image": None, "context": {}}, parts) == ("image", "context")
    assert kind_of(words | {"image": "a.jpg", "context": {"done": ""}}, parts) == ("context",)
    assert kind_of(words | {"context": {"done": "", "modifier": ["薄く"]}}, parts) == ("image",)
    assert kind_of(words | {"image": np.zeros((2, 2, 3))}, parts[:3]) == ()


def test_a_kind_that_was_not_calibrated_is_reported(calibrated):
    calibration = VRFCalibration.load(calibrated)
    with pytest.raises(ValueError, match=r"with no context, found only those of: complete, no image; run `vrf cal"):
        calibration.scale(("context",))


def test_without_a_calibration_nothing_changes_and_asking_is_an_error(retriever, saved):
    for loaded in (retriever, Retriever.from_pretrained(saved)):
        assert not {"confidence", "sure"} & loaded.search("切", "卵", k=1)[0].keys()
        with pytest.raises(QueryError, match=r"expected a calibrated model.*vrf calibrate"):
            loaded.search("切", "卵", min_confidence=0.5)


@pytest.mark.parametrize("least", [-0.1, 1.5, float("nan")])
def test_a_confidence_is_from_0_to_1(calibrated, least):
    with pytest.raises(QueryError, match="expected a confidence from 0 to 1"):
        Retriever.from_pretrained(calibrated).search("切", "卵", min_confidence=least)


@pytest.mark.parametrize(
    "change",
    [
        {"format": 1},
        {"temperature": 0},
        {"temperature": "hot"},
        {"min_confidence": 2},
        {"min_confidence": 0},
        {"incomplete": [{"without": ["image"], "temperature": 0.1}]},
        {"weights": None},
    ],
)
def test_a_damaged_or_foreign_calibration_is_reported(calibrated, table, retriever, tmp_path, change):
    folder = shutil.copytree(calibrated, tmp_path / "model")
    path = folder / "calibration.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(SearchIndexError, match=r"expected (a|the) calibration .*vrf calibrate"):
        Retriever.from_pretrained(folder)
    if change.keys() == {"weights"}:
        calibration = load_calibration(folder)
        model, processor = retriever.model, retriever.processor
        options = {"weights": table.weights, "cache": table.cache, "calibration": calibration}
        with pytest.raises(CalibrationError, match="found that of others"):
            Retriever.build(model, processor, table.folder, **options)
    else:
        with pytest.raises(CalibrationError, match="delete the file"):
            load_calibration(folder)


def test_a_dataset_of_ones_own_is_searched_with_the_model_s_calibration(calibrated, table, retriever):
    calibration = load_calibration(calibrated)
    options = {"weights": table.weights, "cache": table.cache, "calibration": calibration}
    own = Retriever.build(retriever.model, retriever.processor, table.folder, **options)
    found, expected = (side.search("切", "卵", k=1)[0] for side in (own, Retriever.from_pretrained(calibrated)))
    assert found["confidence"] == pytest.approx(expected["confidence"], abs=1e-6)
    assert load_calibration(calibrated.parent) is None


@pytest.mark.parametrize("exact", [True, False])
def test_all_candidates_count_also_where_only_some_are_looked_at(monkeypatch, exact):
    monkeypatch.setattr(search_index, "EXACT_UP_TO", 10**6 if exact else 1000)
    monkeypatch.setattr(retrieval_vrf, "CHUNK", 700)
    vectors = np.random.default_rng(0).standard_normal((4000, 16), np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = datasets.Dataset.from_dict({"number": range(4000)})
    assert (search_index.attach_vectors(rows, vectors) == "Flat") == exact
    expected = torch.from_numpy(vectors[:5] @ vectors.T).double().div(0.1).logsumexp(1)
    np.testing.assert_allclose(VRFIndex(rows, {}).log_totals(vectors[:5], np.full(5, 0.1)), expected, rtol=1e-5)


# Encoding, which the model brings along.


def test_encoding_in_batches_is_encoding_at_once(retriever, picture):
    model, processor = retriever.model, retriever.processor
    images = [picture, picture.rotate(90), picture.resize((30, 30))]
    queries = {
        "actions": ["切", "茹で", "切"],
        "objects": ["卵", "卵", "トマト"],
        "images": [picture, None, picture],
    }
    model.train()
    with torch.no_grad():
        expected = model.get_image_embeds(**processor(post_images=images))
        torch.testing.assert_close(model.encode_images(images, processor, batch_size=2), expected)
        pictures = {"pre_images": queries["images"]}
        words = {name: queries[name] for name in ("actions", "objects")}
        expected = model.get_query_embeds(**processor(**words, **pictures))
        torch.testing.assert_close(model.encode_queries(**queries, processor=processor, batch_size=2), expected)
    assert model.training and not model.encode_images(images, processor).requires_grad
    model.eval()


def test_encoding_shows_progress_when_asked(retriever, picture, capsys):
    logging.enable_progress_bar()  # a command that ran before in this process may have switched them off
    retriever.model.encode_images([picture] * 3, retriever.processor, batch_size=1)
    assert capsys.readouterr().err == ""
    retriever.model.encode_images([picture] * 3, retriever.processor, batch_size=1, show_progress=True)
    assert "3/3" in capsys.readouterr().err


def test_one_query_or_image_gives_one_vector_and_what_is_no_list_is_the_same_for_all(retriever, picture, tmp_path):
    model, processor = retriever.model, retriever.processor
    picture.save(tmp_path / "before.png")
    lists = model.encode_queries(["切", "茹で"], ["卵", "卵"], [picture, picture], processor=processor)
    mixed = model.encode_queries(["切", "茹で"], "卵", tmp_path / "before.png", processor=processor)
    assert torch.equal(lists, mixed)
    one = model.encode_queries("切", "卵", np.asarray(picture), processor=processor)
    torch.testing.assert_close(one, lists[0])
    torch.testing.assert_close(model.encode_images(picture, processor), model.encode_images([picture], processor)[0])


def test_without_any_picture_a_query_rests_on_its_words(retriever):
    model, processor = retriever.model, retriever.processor
    words = {"actions": ["切", "茹で"], "objects": "卵", "processor": processor}
    assert torch.equal(model.encode_queries(**words), model.encode_queries(**words, images=[None, None]))


def test_a_model_encodes_with_its_own_processor_which_is_loaded_once(retriever, picture, tmp_path):
    retriever.model.save_pretrained(tmp_path / "model", processor=retriever.processor)
    model = VRFModel.from_pretrained(tmp_path / "model")
    own = model.encode_queries(actions=["切"], objects=["キャベツ"], images=[picture])
    given = model.encode_queries(["切"], ["キャベツ"], [picture], processor=retriever.processor)
    assert torch.equal(own, given) and model.processor is model.processor
    shutil.rmtree(tmp_path / "model")
    assert torch.equal(model.encode_images([picture]), model.encode_images([picture], retriever.processor))


def test_a_model_without_a_processor_says_so(retriever, picture, tmp_path):
    with pytest.raises(
        OSError, match=r"expected the model's own processor in '', found none .*made in memory.*pass processor="
    ):
        small_model().encode_queries("切", "卵", picture)
    small_model().save_pretrained(tmp_path)
    with pytest.raises(
        OSError,
        match=r"found none \(no processor_config\.json there\).*save_pretrained\(folder, processor=processor\)",
    ):
        VRFModel.from_pretrained(tmp_path).encode_images(picture)


def test_unknown_words_are_named_once_for_all_batches(retriever, picture):
    with warnings.catch_warnings(record=True, action="always") as caught:
        for _ in range(2):
            retriever.model.encode_queries(
                ["切", "blorb", "切る"], "とうふ", picture, processor=retriever.processor, batch_size=1
            )
    assert [str(warning.message) for warning in caught] == ["the model does not know: blorb, とうふ"] * 2


def test_encoding_refuses_lists_that_do_not_fit(retriever):
    model, processor = retriever.model, retriever.processor
    with pytest.raises(ValueError, match=r"expected a list with at least one item in images, found list"):
        model.encode_images([], processor)
    with pytest.raises(ValueError, match="expected the same number of rows"):
        model.encode_queries(["切", "切", "切"], ["卵", "卵"], processor=processor)
    with pytest.raises(ValueError, match="found none"):
        model.encode_queries(processor=processor)


# The command line.


def test_words_of_one_part_of_a_context_go_together():
    assert _parse_context(["modifier=薄く", "destination=ボウル", "modifier= 3 分 "]) == {
        "modifier": "薄く 3 分",
        "destination": "ボウル",
    }
    assert _parse_context(None) is None
    for wrong in ("modifier", "modifier=", "=薄く"):
        with pytest.raises(UsageError, match="expected --context as a role and words"):
            _parse_context([wrong])
