"""Features of frames: each once, kept safely, shared by processes, and never another network's."""

import io
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import datasets
import numpy as np
import pytest
import timm
import torch
from PIL import Image
from typer.testing import CliRunner

from configuration_vrf import OFFLINE_BACKBONE, OFFLINE_WEIGHTS, VRFConfig
from modeling_vrf import VRFModel
from processing_vrf import VRFProcessor
from recipeflow.cli import app
from recipeflow.dataset.build import build_dataset
from recipeflow.errors import BackboneError, BrokenImageError, DatasetFolderError, FeatureCacheError, UsageError
from recipeflow.features import backbone as backbone_module
from recipeflow.features.backbone import in_lanes, intra_op_threads
from recipeflow.features.cache import ABOUT, record_type
from recipeflow.features.compute import FeatureTable, compute_features, weights_origin
from recipeflow.files import cache_folder
from tests.making import EGG, SALAD, TEA, make_release

ROOT = Path(__file__).parents[2]
BACKBONE = "test_resnet.r160_in1k"  # timm's network for tests: real layers
WIDTH = 96


@pytest.fixture(autouse=True)
def two_lanes() -> Iterator[None]:
    """Other tests may have left torch with one thread, and then one lane would do all the work."""
    with intra_op_threads(2):
        yield
        assert torch.get_num_threads() == 2


def save_weights(path: Path, backbone: str = BACKBONE, seed: int = 0) -> Path:
    torch.manual_seed(seed)
    torch.save(timm.create_model(backbone).state_dict(), path)
    return path


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_weights(tmp_path_factory.mktemp("weights") / "tiny.pth")


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three small recipes, whose frames of equal number are the same picture."""
    folder = tmp_path_factory.mktemp("built")
    return build_dataset(make_release(folder / "release"), folder / "vrf").folder


def picture(number: int, **options) -> bytes:
    colours = np.random.default_rng(number).integers(0, 256, (6, 8, 3), np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(colours).resize((80, 60)).save(buffer, "JPEG", **options)
    return buffer.getvalue()


def write_pairs(folder: Path, pre: list[bytes | None], post: list[bytes | None], **options) -> Path:
    columns = {
        name: [None if data is None else {"bytes": data, "path": "frame.jpg"} for data in side]
        for name, side in (("pre_image", pre), ("post_image", post))
    }
    kinds = datasets.Features({name: datasets.Image() for name in columns})
    (folder / "image_pairs").mkdir(parents=True, exist_ok=True)
    table = datasets.Dataset.from_dict(columns, features=kinds)
    table.to_parquet(folder / "image_pairs" / "train-00000-of-00001.parquet", **options)
    return folder


def records(cache: Path) -> list[np.ndarray]:
    """The whole records of every file in the only cache below a folder."""
    (about,) = cache.glob(f"*/{ABOUT}")
    kind = record_type(json.loads(about.read_text())["feature_dim"])
    files = sorted(about.parent.glob("*.rows"))
    return [np.fromfile(file, kind, file.stat().st_size // kind.itemsize) for file in files]


def compute(dataset: Path, weights: Path, cache: Path, **options) -> FeatureTable:
    return compute_features(dataset, **{"backbone": BACKBONE, "weights": weights, "cache": cache} | options)


def test_every_row_has_the_features_that_the_model_would_compute(built: Path, weights: Path, tmp_path: Path):
    table = compute(built, weights, tmp_path)
    model = VRFModel.from_backbone(VRFConfig(backbone=BACKBONE), weights).eval()
    processor = VRFProcessor.from_phrases(["切る"], BACKBONE)
    pairs = datasets.load_dataset(str(built), "image_pairs", split="train", cache_dir=str(tmp_path / "datasets"))
    assert len(table.pre) == len(table.post) == len(pairs)
    assert table.features.dtype == torch.float32
    for side, rows in (("pre_image", table.pre), ("post_image", table.post)):
        for image, row in zip(pairs[side], rows.tolist(), strict=True):
            assert (image is None) == (row == -1)
            if image is not None:
                with torch.no_grad():
                    expected = model.backbone(processor(post_images=[image])["post_pixel_values"]).pooler_output
                torch.testing.assert_close(table.features[row : row + 1], expected, rtol=1e-4, atol=1e-5)
    assert (table.backbone, table.weights) == (BACKBONE, model.config.backbone_weights)
    table.check_model(model.config)
    torch.nn.functional.linear(table.features, torch.ones(2, WIDTH, requires_grad=True)).sum().backward()


def test_a_picture_is_computed_once_however_many_rows_show_it(weights: Path, tmp_path: Path):
    first, second = picture(1), picture(2)
    pairs = write_pairs(tmp_path / "vrf", [first, None, second] * 40, [second, first, None] * 40, batch_size=7)
    table = compute(pairs, weights, tmp_path / "cache")
    assert (table.stats.rows, table.stats.frames, table.stats.computed) == (120, 2, 2)
    assert sum(map(len, records(tmp_path / "cache"))) == 2
    assert table.pre.tolist() == [0, -1, 1] * 40
    assert table.post.tolist() == [1, 0, -1] * 40


def test_a_complete_cache_needs_no_network_and_no_picture(
    built: Path, weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    first = compute(built, weights, tmp_path)
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.setattr(backbone_module.VRFModel, "from_backbone", None)
    monkeypatch.setattr(backbone_module, "decode", None)
    second = compute(built, weights, tmp_path)
    assert second.stats.computed == 0
    assert second.stats.seconds < 2
    assert sorted(tmp_path.rglob("*")) == before
    for name in ("features", "pre", "post"):
        assert torch.equal(getattr(first, name), getattr(second, name))


def test_another_recipe_costs_its_own_frames_only(weights: Path, tmp_path: Path):
    small = build_dataset(make_release(tmp_path / "small", (SALAD, TEA)), tmp_path / "vrf-small").folder
    large = build_dataset(make_release(tmp_path / "large", (SALAD, EGG, TEA)), tmp_path / "vrf-large").folder
    before = compute(small, weights, tmp_path / "cache").stats
    after = compute(large, weights, tmp_path / "cache").stats
    new = set(EGG.used_frames) - set(SALAD.used_frames) - set(TEA.used_frames)
    assert new and after.computed == len(new)
    assert after.frames == before.frames + after.computed


@pytest.mark.parametrize("what", ["feature", "digest", "checksum", "torn", "cut", "empty"])
def test_a_damaged_entry_is_found_and_computed_again(built: Path, weights: Path, tmp_path: Path, what: str):
    whole = compute(built, weights, tmp_path)
    (file,) = whole.folder.glob("*.rows")
    size = record_type(whole.features.shape[1]).itemsize
    data = bytearray(file.read_bytes())
    if what in ("feature", "digest", "checksum"):
        data[size * 2 + {"feature": 40, "digest": 3, "checksum": size - 1}[what]] ^= 16
    lost = {"torn": 1, "cut": 2, "empty": len(data) // size}.get(what, 1)
    file.write_bytes(data[: {"torn": len(data) - 5, "cut": len(data) - size * 2, "empty": 0}.get(what, len(data))])
    lines = []
    repaired = compute(built, weights, tmp_path, announce=lines.append)
    assert repaired.stats.computed == lost
    assert repaired.stats.damaged == (what in ("feature", "checksum"))
    assert any(" damaged" in line for line in lines) == (what in ("feature", "checksum"))
    torch.testing.assert_close(repaired.features, whole.features, rtol=1e-4, atol=1e-5)
    assert compute(built, weights, tmp_path).stats.computed == 0


def test_networks_weights_and_precisions_are_kept_apart(built: Path, weights: Path, tmp_path: Path):
    first = compute(built, weights, tmp_path)
    (tmp_path / "other").mkdir()
    retrained = compute(built, save_weights(tmp_path / "other" / weights.name, seed=1), tmp_path)
    other = "test_efficientnet.r160_in1k"
    second = compute(built, save_weights(tmp_path / "other.pth", other), tmp_path, backbone=other)
    short = compute(built, weights, tmp_path, precision="bf16")
    tables = (first, retrained, second, short)
    assert len({table.folder for table in tables}) == 4
    assert all(table.stats.computed == first.stats.frames for table in tables)
    assert not torch.allclose(first.features, retrained.features)
    assert first.weights != retrained.weights
    with pytest.raises(BackboneError, match="compute them with the same backbone"):
        second.check_model(VRFConfig(backbone=BACKBONE, backbone_weights=first.weights))


def test_bf16_is_near_to_fp32_and_auto_goes_on_with_what_is_there(weights: Path, tmp_path: Path):
    pictures = [picture(number) for number in range(9)]
    pairs = write_pairs(tmp_path / "vrf", pictures[:8], pictures[:8])
    lines = []
    short = compute(pairs, weights, tmp_path / "a", precision="bf16", announce=lines.append)
    plain = compute(pairs, weights, tmp_path / "b", precision="fp32")
    similarity = torch.cosine_similarity(short.features, plain.features)
    assert not torch.equal(short.features, plain.features)
    assert similarity.min() > 0.999 and 0.999 < short.stats.similarity < 1
    assert any(
        re.fullmatch(r"bf16: cosine similarity with fp32 at least 0\.999\d+ on 8 images", line) for line in lines
    )
    assert plain.stats.similarity is None
    write_pairs(pairs, pictures, pictures)
    longer = compute(pairs, weights, tmp_path / "a", precision="auto", announce=lines.append)
    assert (longer.precision, longer.stats.computed) == ("bf16", 1)
    assert "bf16: the cache has 8 of these frames in it" in lines
    with pytest.raises(UsageError, match="fp16"):
        compute(pairs, weights, tmp_path / "a", precision="fp16")


def test_a_precision_that_is_too_far_from_fp32_is_refused(
    built: Path, weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("recipeflow.features.precision.LOWEST_SIMILARITY", 0.9999999)
    with pytest.raises(BackboneError, match=r"bf16.*above 0\.9999999, found 0\.9.*--precision fp32"):
        compute(built, weights, tmp_path, precision="bf16")
    monkeypatch.setattr("recipeflow.features.precision.has_native_bf16", lambda device: True)
    assert compute(built, weights, tmp_path, precision="auto").precision == "fp32"


def test_auto_takes_bf16_where_it_is_faster_and_near(
    built: Path, weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    lines = []
    monkeypatch.setattr("recipeflow.features.precision.has_native_bf16", lambda device: True)
    seconds = {"fp32": 2.0, "bf16": 1.0}
    monkeypatch.setattr(backbone_module.FrozenBackbone, "seconds", lambda self, pixels: seconds[self.precision])
    table = compute(built, weights, tmp_path, precision="auto", announce=lines.append)
    assert table.precision == "bf16" and table.stats.similarity > 0.999
    assert any("2.00 x the speed of fp32" in line for line in lines)


def test_a_compiled_network_gives_the_same_features(weights: Path, tmp_path: Path):
    pictures = [picture(number) for number in range(6)]
    pairs = write_pairs(tmp_path / "vrf", pictures, pictures)
    plain = compute(pairs, weights, tmp_path / "plain")
    compiled = compute(pairs, weights, tmp_path / "compiled", compile=True, batch_size=4)
    torch.testing.assert_close(compiled.features, plain.features, rtol=1e-3, atol=1e-4)
    assert compiled.stats.similarity > 0.99999


def test_a_cache_that_is_not_what_its_name_says_is_refused(built: Path, weights: Path, tmp_path: Path):
    table = compute(built, weights, tmp_path)
    about = table.folder / ABOUT
    original = json.loads(about.read_text())
    for change, message in (
        ({"backbone": "resnet18.a1_in1k"}, r"expected the features of test_resnet.*found those of resnet18\.a1_in1k"),
        ({"transform": {"input_size": [3, 9, 9]}}, "was the folder renamed"),
        ({"feature_dim": None}, "damaged"),
    ):
        about.write_text(json.dumps(original | change))
        with pytest.raises(FeatureCacheError, match=message):
            compute(built, weights, tmp_path)
    about.write_text("{")
    with pytest.raises(FeatureCacheError, match="damaged"):
        compute(built, weights, tmp_path)
    about.write_text(json.dumps(original | {"weights_sha256": "0"}))
    assert compute(built, weights, tmp_path).stats.computed == 0
    next(table.folder.glob("*.rows")).unlink()
    with pytest.raises(FeatureCacheError, match="others with the same name"):
        compute(built, weights, tmp_path)
    with pytest.raises(FeatureCacheError, match=f"pass {re.escape(str(tmp_path))}"):
        compute(built, weights, table.folder)
    with pytest.raises(FeatureCacheError, match="Not a directory"):
        compute(built, weights, weights)


def test_a_full_disk_is_reported_and_keeps_what_was_written(weights: Path, tmp_path: Path):
    pictures = [picture(number) for number in range(12)]
    pairs = write_pairs(tmp_path / "vrf", pictures, pictures)
    size = record_type(WIDTH).itemsize
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size * 9 // 2, limits[1]))
    try:
        with pytest.raises(FeatureCacheError, match=r"expected to be able to write .*\.rows, found: File too large"):
            compute(pairs, weights, tmp_path / "cache", batch_size=1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert compute(pairs, weights, tmp_path / "cache").stats.computed == 12 - 4


def test_a_killed_run_loses_no_more_than_the_batches_in_work(weights: Path, tmp_path: Path):
    count, cache = 1500, tmp_path / "cache"
    pictures = [picture(number) for number in range(count)]
    pairs = write_pairs(tmp_path / "vrf", pictures, [None] * count)
    command = [sys.executable, "-m", "recipeflow.cli", "features", pairs, "--batch-size", "2", "--cache", cache]
    process = subprocess.Popen([*command, "--backbone", BACKBONE, "--weights", weights], cwd=ROOT)
    while not any(file.stat().st_size > 40_000 for file in cache.glob("*/*.rows")):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    (kept,) = records(cache)
    assert 0 < len(kept) < count
    table = compute(pairs, weights, cache)
    assert table.stats.computed == count - len(kept)
    assert table.stats.damaged == 0
    fresh = compute(write_pairs(tmp_path / "few", pictures[:20], [None] * 20), weights, tmp_path / "fresh")
    torch.testing.assert_close(table.features[:20], fresh.features, rtol=1e-4, atol=1e-5)


def launch(*arguments: object) -> subprocess.CompletedProcess:
    """Run ``vrf features`` in two processes on the CPU; the launcher's own ``--cpu`` would start a single one."""
    command = [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2"]
    command += ["--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", "0"]
    command += ["-m", "recipeflow.cli", "features", *map(str, arguments)]
    environment = os.environ | {"ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)


def test_two_processes_share_the_work_and_compute_nothing_twice(weights: Path, tmp_path: Path):
    pictures = [picture(number) for number in range(31)]
    pairs = write_pairs(tmp_path / "vrf", pictures, pictures[::-1], batch_size=5)
    compute(write_pairs(tmp_path / "some", pictures[:6], pictures[:6]), weights, tmp_path / "cache")
    options = ("--backbone", BACKBONE, "--weights", weights, "--cache", tmp_path / "cache", "--json")
    result = launch(pairs, *options)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["computed"] == 25
    before, *shares = records(tmp_path / "cache")
    assert (len(before), sorted(map(len, shares))) == (6, [12, 13])
    assert len({record["digest"].tobytes() for share in (before, *shares) for record in share}) == 31
    alone = compute(pairs, weights, tmp_path / "alone")
    together = compute(pairs, weights, tmp_path / "cache")
    assert together.stats.computed == 0
    torch.testing.assert_close(together.features, alone.features, rtol=1e-4, atol=1e-5)


def test_an_error_in_one_of_two_processes_ends_both(weights: Path, tmp_path: Path):
    pictures = [picture(number) for number in range(4)]
    pairs = write_pairs(tmp_path / "vrf", [*pictures, b"no picture"], [None] * 5)
    result = launch(pairs, "--backbone", BACKBONE, "--weights", weights, "--cache", tmp_path / "cache")
    assert result.returncode != 0
    assert "BrokenImageError: image_pairs/train-00000-of-00001.parquet, row 4, pre_image" in result.stderr


def test_frames_are_upright_as_the_processor_makes_them(weights: Path, tmp_path: Path):
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was held sideways
    turned = picture(5, exif=exif)
    table = compute(write_pairs(tmp_path / "vrf", [turned], [picture(5)]), weights, tmp_path / "cache")
    model = VRFModel.from_backbone(VRFConfig(backbone=BACKBONE), weights).eval()
    pixels = VRFProcessor.from_phrases(["a"], BACKBONE)(post_images=[Image.open(io.BytesIO(turned))])
    with torch.no_grad():
        expected = model.backbone(pixels["post_pixel_values"]).pooler_output
    torch.testing.assert_close(table.features[table.pre], expected, rtol=1e-4, atol=1e-5)
    assert not torch.allclose(table.features[table.pre], table.features[table.post], rtol=1e-3)


def test_datasets_that_cannot_be_used_are_refused(built: Path, weights: Path, tmp_path: Path):
    good = picture(1)
    for folder, message in (
        (tmp_path / "nowhere", "vrf build"),
        (write_pairs(tmp_path / "empty", [None, None], [None, None]), "2 rows without one"),
    ):
        with pytest.raises(DatasetFolderError, match=message):
            compute(folder, weights, tmp_path / "cache")
    broken = write_pairs(tmp_path / "broken", [good, good, good[:-200]], [None, None, good])
    with pytest.raises(BrokenImageError, match=r"train-00000-of-00001\.parquet, row 2, pre_image: expected a JPEG"):
        compute(broken, weights, tmp_path / "cache")
    for name, columns, message in (
        ("paths", {"pre_image": [None, {"bytes": None, "path": "a.jpg"}], "post_image": [None, None]}, "in row 1"),
        ("columns", {"pre_image": [{"bytes": good, "path": "a"}], "post_imag": [None]}, "post_imag"),
        ("types", {"pre_image": ["a"], "post_image": ["b"]}, "column of string"),
    ):
        folder = tmp_path / name / "image_pairs"
        folder.mkdir(parents=True)
        datasets.Dataset.from_dict(columns).to_parquet(folder / "train.parquet")
        with pytest.raises(DatasetFolderError, match=message):
            compute(tmp_path / name, weights, tmp_path / "cache")
    shutil.copytree(built, tmp_path / "cut")
    (file,) = (tmp_path / "cut" / "image_pairs").iterdir()
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(DatasetFolderError, match="cannot be read"):
        compute(tmp_path / "cut", weights, tmp_path / "cache")


def test_a_dataset_that_changes_meanwhile_is_noticed(weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pairs = write_pairs(tmp_path / "vrf", [picture(1), picture(2)], [None, None])
    real = backbone_module.VRFModel.from_backbone

    def rebuild_meanwhile(*arguments):
        write_pairs(pairs, [picture(1), picture(3)], [None, None])
        return real(*arguments)

    monkeypatch.setattr(backbone_module.VRFModel, "from_backbone", rebuild_meanwhile)
    with pytest.raises(DatasetFolderError, match="row 1 of image_pairs to stay unchanged"):
        compute(pairs, weights, tmp_path / "cache")


def test_backbones_that_cannot_be_had_are_refused(built: Path, weights: Path, tmp_path: Path):
    for options, message in (
        ({"backbone": "resnet15"}, "found 'resnet15'; nearest: resnet152"),
        ({"weights": tmp_path / "none.pth"}, "none.pth.*No such file"),
        ({"weights": OFFLINE_WEIGHTS}, f"expected backbone='{OFFLINE_BACKBONE}'"),
        ({"backbone": "resnet18.a1_in1k"}, "expected the weights of 'resnet18.a1_in1k'"),
    ):
        with pytest.raises(BackboneError, match=message):
            compute(built, **{"weights": weights, "cache": tmp_path / "cache"} | options)
    state = torch.load(weights, weights_only=True)
    next(iter(state.values())).fill_(torch.nan)
    torch.save(state, tmp_path / "nan.pth")
    with pytest.raises(BackboneError, match=r"found NaN or infinity for image_pairs/.*row [0-9]+, p"):
        compute(built, tmp_path / "nan.pth", tmp_path / "cache")
    assert not any(map(len, records(tmp_path / "cache")))
    with pytest.raises(UsageError, match="at least one frame, found 0"):
        compute(built, weights, tmp_path / "cache", batch_size=0)


def test_the_origin_of_weights_is_what_the_model_says(weights: Path):
    for name, source in ((BACKBONE, weights), (OFFLINE_BACKBONE, OFFLINE_WEIGHTS)):
        model = VRFModel.from_backbone(VRFConfig(backbone=name), source)
        assert weights_origin(name, source) == model.config.backbone_weights


def test_the_cache_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RECIPEFLOW_CACHE", "/a")
    assert cache_folder("features") == Path("/a/features")
    monkeypatch.delenv("RECIPEFLOW_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/b")
    assert cache_folder("features") == Path("/b/recipeflow/features")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder("features") == Path.home() / ".cache" / "recipeflow" / "features"


def test_the_command_prints_what_was_done(built: Path, weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RECIPEFLOW_CACHE", str(tmp_path))
    arguments = ["features", str(built), "--backbone", BACKBONE, "--weights", str(weights)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert str(tmp_path / "features") in result.stdout
    assert " computed in " in result.stdout
    about = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)
    assert (about["computed"], about["backbone"], about["precision"]) == (0, BACKBONE, "fp32")


def test_lanes_take_few_items_ahead_and_pass_errors_on():
    taken = []

    def items():
        for number in range(100):
            taken.append(number)
            yield number

    results = in_lanes(lambda number: number * number, items(), 2)
    first = next(results)
    assert len(taken) <= 4
    assert sorted([first, *results]) == [(number, number * number) for number in range(100)]
    with pytest.raises(ZeroDivisionError):
        list(in_lanes(lambda number: 1 // (number - 3), range(50), 2))
    with pytest.raises(KeyError):
        list(in_lanes(lambda number: number, ({}[number] for number in range(3)), 2))
