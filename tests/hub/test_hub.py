"""What a push looks at before it asks anything of the Hub; ``tests/hub`` has the rest."""

import pytest

from recipeflow.dataset.build import build_dataset
from recipeflow.errors import DatasetFolderError, HubTokenError, OfficialFramesError, RepoNameError
from recipeflow.hub import pull_model, push_dataset
from recipeflow.hub.transfer import DATASETS, MODELS, Change, Push
from recipeflow.release import ReleaseInfo
from tests.cli.test_cli import vrf
from tests.making import make_release


@pytest.fixture(autouse=True)
def nobody_is_logged_in(monkeypatch):
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr("recipeflow.hub_client.get_token", lambda: None)


def build(folder, source: str | None, frames: bool = True):
    release = make_release(folder / "release", frames=frames, info=ReleaseInfo(source=source))
    build_dataset(release, folder / "vrf")
    return folder / "vrf"


@pytest.mark.parametrize("name", ["vrf", "lab/vrf/2", "lab/", "lab/a b", "lab/--vrf", "../vrf", ""])
def test_a_name_that_no_repository_can_have(tmp_path, name):
    with pytest.raises(RepoNameError, match="expected OWNER/NAME, found"):
        push_dataset(tmp_path, name)
    with pytest.raises(RepoNameError, match="expected OWNER/NAME, found"):
        pull_model(name, tmp_path / "model")


@pytest.mark.parametrize("content", [None, "not JSON", "[]"])
def test_a_folder_that_is_no_dataset(tmp_path, content):
    if content is not None:
        (tmp_path / "vrf_build.json").write_text(content)
    with pytest.raises(DatasetFolderError, match=r"vrf_build\.json.*build"):
        push_dataset(tmp_path, "lab/vrf")


@pytest.mark.parametrize("source", ["official", None])
def test_frames_of_the_official_videos_are_refused(tmp_path, source):
    """A release that does not name its source is known by the addresses of its recipes."""
    folder = build(tmp_path, source)
    with pytest.raises(OfficialFramesError, match=r"belong to their owner.*--with-official-frames"):
        push_dataset(folder, "lab/vrf")
    with pytest.raises(HubTokenError):
        push_dataset(folder, "lab/vrf", allow_official_frames=True)


@pytest.mark.parametrize(("source", "frames"), [("official", False), ("simulated", True), ("our lab", True)])
def test_other_data_get_as_far_as_the_token(tmp_path, source, frames):
    with pytest.raises(HubTokenError, match=r"found none; log in with `hf auth login`, or set HF_TOKEN"):
        push_dataset(build(tmp_path, source, frames), "lab/vrf")


def test_only_known_files_are_ours():
    for path in ("README.md", "vrf_build.json", "image_pairs/train-00003-of-00012.parquet"):
        assert DATASETS.owns(path)
    for path in (".gitattributes", "LICENSE", "image_pairs/test.parquet", "videos/train-00000-of-00001.parquet"):
        assert not DATASETS.owns(path)
    for path in ("model-00001-of-00002.safetensors", "model.safetensors.index.json", "index/rows.arrow", "a.py"):
        assert MODELS.owns(path)
    hidden = (".config.json.partial", "index/.cache/x", "index.123.partial/x", "index/vectors.partial")
    for path in ("checkpoint-00000040/model.safetensors", "best/config.json", "optimizer.bin", "LICENSE", *hidden):
        assert not MODELS.owns(path)


def test_a_push_is_reported_in_one_line_and_as_a_table():
    changes = (Change("a.parquet", 1000, "new"), Change("b.json", 10, "same"), Change("c.parquet", 5, "deleted"))
    planned = Push("lab/vrf", "https://huggingface.co/datasets/lab/vrf", True, None, changes)
    assert planned.summary() == (
        "would send 1 of 2 files, 1,000 bytes; 1 deleted: https://huggingface.co/datasets/lab/vrf"
    )
    assert "| a.parquet | 1,000 | new |" in planned.table().markdown()
    assert planned.as_dict()["changes"][0] == {"path": "a.parquet", "size": 1000, "status": "new"}


@pytest.mark.parametrize("command", ["push dataset", "push model", "pull dataset", "pull model"])
def test_help_teaches_with_an_example(command):
    result = vrf(*command.split(), "--help")
    assert f"Example:  vrf {command}" in result.stdout and "OWNER/NAME" in result.stdout
