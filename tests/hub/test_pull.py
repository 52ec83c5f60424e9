"""Back from the Hub: the same files, all of them or none."""

import signal
import time

import pytest

from recipeflow.dataset.build import build_dataset
from recipeflow.errors import HubError, HubNotFoundError, OutputExistsError
from recipeflow.hub import pull_dataset, pull_model, push_dataset
from tests.building import all_files
from tests.hub.clients import finish, start
from tests.hub.conftest import TOKEN
from tests.making import TEA, make_release


@pytest.fixture
def tiny(tmp_path):
    build_dataset(make_release(tmp_path / "release"), tmp_path / "vrf")
    return tmp_path / "vrf"


def test_a_pulled_dataset_is_the_pushed_one(here, tiny, tmp_path):
    push_dataset(tiny, "lab/vrf")
    assert pull_dataset("lab/vrf", tmp_path / "pulled") == tmp_path / "pulled"
    pushed, pulled = all_files(tiny), all_files(tmp_path / "pulled")
    assert pulled.keys() == pushed.keys()
    assert {name for name in pushed if pushed[name] != pulled[name]} == {"README.md"}  # its code names the repository
    assert push_dataset(tmp_path / "pulled", "lab/vrf").sent == []


def test_an_older_revision_can_be_had_and_nothing_is_replaced_unasked(here, tiny, tmp_path):
    first = push_dataset(tiny, "lab/vrf")
    build_dataset(make_release(tmp_path / "other", [TEA]), tiny, overwrite=True)
    push_dataset(tiny, "lab/vrf")
    folder = pull_dataset("lab/vrf", tmp_path / "pulled")
    latest = all_files(folder)
    with pytest.raises(OutputExistsError, match="--overwrite"):
        pull_dataset("lab/vrf", folder, revision=first.commit)
    pull_dataset("lab/vrf", folder, revision=first.commit, overwrite=True)
    assert all_files(folder).keys() == latest.keys() and all_files(folder) != latest
    with pytest.raises(HubNotFoundError, match="found none with that name"):
        pull_dataset("lab/vrf", folder, revision="v9", overwrite=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("mine")
    with pytest.raises(OutputExistsError, match="not written by this command"):
        pull_dataset("lab/vrf", tmp_path / "mine", overwrite=True)


def test_what_was_not_pushed_by_us_is_refused(here, tmp_path):
    here.state.create("dataset", "lab/other", False, here.state.users[TOKEN])
    here.state.create("model", "lab/other", False, here.state.users[TOKEN])
    with pytest.raises(HubError, match=r"no vrf_build\.json in lab/other"):
        pull_dataset("lab/other", tmp_path / "pulled")
    with pytest.raises(HubError, match=r"no config\.json in lab/other"):
        pull_model("lab/other", tmp_path / "pulled")
    assert not (tmp_path / "pulled").exists()


def test_a_file_that_came_to_harm_in_the_cache_is_noticed(here, tiny, tmp_path):
    push_dataset(tiny, "lab/vrf")
    pull_dataset("lab/vrf", tmp_path / "pulled")
    (cached,) = (tmp_path / "hub-cache").glob("*/snapshots/*/recipes/*.parquet")
    size = cached.stat().st_size
    cached.resolve().write_bytes(bytes(size))
    with pytest.raises(HubError, match="with `hf cache rm dataset/lab/vrf` and pull again"):
        pull_dataset("lab/vrf", tmp_path / "again")
    assert not (tmp_path / "again").exists()


def complete(own):
    return [path for path in own.glob("hf/hub/*/blobs/*") if path.suffix != ".incomplete"]


def test_a_killed_pull_leaves_nothing_and_the_next_one_fetches_the_rest(hub, here, dataset, tmp_path):
    push_dataset(dataset, "lab/vrf")
    hub.state.forget()
    command = ("-m", "recipeflow.cli", "pull", "dataset", "lab/vrf", "pulled")
    hub.state.downloads.allowed = 2
    process = start(hub, tmp_path, *command, token=TOKEN)
    assert hub.state.downloads.stalled.wait(240)
    while len(complete(process.own)) < 4:  # all but the file that is held up
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    finish(process)
    assert not (tmp_path / "pulled").exists()
    hub.state.downloads.allowed = None
    done = finish(start(hub, tmp_path, *command, token=TOKEN, own=process.own))
    assert done.returncode == 0, done.stderr
    assert hub.state.requests["download"] == 4, "three files, one of them twice"
    assert all_files(tmp_path / "pulled").keys() == all_files(dataset).keys()
    assert not list(tmp_path.glob(".pulled*"))
