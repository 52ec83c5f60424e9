"""A dataset on its way to the Hub: what is sent, what is not, and what becomes of a push that is stopped."""

import json
import signal

import pytest

from recipeflow.dataset.build import build_dataset
from recipeflow.errors import (
    DatasetFolderError,
    HubAccessError,
    HubConnectionError,
    HubNotFoundError,
    HubTokenError,
    StaleRevisionError,
    VisibilityError,
)
from recipeflow.hub import pull_dataset, push_dataset
from recipeflow.tasks.making import make_tasks
from tests.building import CONFIGS, read_rows
from tests.hub.clients import finish, run_python, start, vrf
from tests.hub.conftest import TOKEN
from tests.hub.repositories import File
from tests.making import make_release

PAIRS = "image_pairs/train-00000-of-00001.parquet"
LOAD = """
import json
from datasets import load_dataset

found = {}
for config in ("recipes", "flow_graphs", "image_pairs"):
    table = load_dataset("lab/vrf", config, split="train")
    stream = load_dataset("lab/vrf", config, split="train", streaming=True)
    found[config] = [row["recipe_id"] for row in table], [row["recipe_id"] for row in stream]
images = [row["post_image"] and row["post_image"].size for row in stream]
assert images == [image and image.size for image in table["post_image"]]
print(json.dumps({"rows": found, "images": images}))
"""


def repository(hub, kind="dataset", name="lab/vrf"):
    return hub.state.repositories[kind, name]


def paths(hub):
    return set(repository(hub).find("main").files) - {".gitattributes"}


@pytest.fixture
def tiny(tmp_path):
    """A dataset of a few kilobytes that a test may change."""
    build_dataset(make_release(tmp_path / "release"), tmp_path / "vrf")
    return tmp_path / "vrf"


def test_what_is_pushed_is_loaded_by_anyone_with_plain_datasets(hub, dataset, tmp_path):
    done = vrf(hub, tmp_path, "push", "dataset", dataset, "lab/vrf", token=TOKEN)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{hub.url}/datasets/lab/vrf" in done.stdout
    assert repository(hub).private
    assert [commit.title for commit in repository(hub).history("main")][1:] == ["initial commit"]
    assert hub.state.requests["upload part"] > 0 and hub.state.requests["upload"] > 0
    loaded = json.loads(run_python(hub, tmp_path, LOAD, token=TOKEN))
    for config in CONFIGS:
        expected = [row["recipe_id"] for row in read_rows(dataset, config)]
        assert loaded["rows"][config] == [expected, expected]
    assert any(loaded["images"])
    card = repository(hub).find("main").files["README.md"].content.decode()
    assert 'load_dataset("lab/vrf", "image_pairs"' in card
    assert not hub.state.tokens_at_storage


def test_a_dry_run_lists_everything_and_writes_nothing(hub, tiny, tmp_path):
    done = vrf(hub, tmp_path, "push", "dataset", tiny, "lab/vrf", "--dry-run", "--json")
    plan = json.loads(done.stdout)
    assert plan["commit"] is None and plan["private"]
    assert {row["path"]: row["status"] for row in plan["changes"]} == {
        "README.md": "new",
        "vrf_build.json": "new",
        **{f"{config}/train-00000-of-00001.parquet": "new" for config in CONFIGS},
    }
    assert hub.state.writes == [] and not hub.state.repositories


def test_nothing_is_sent_twice_and_what_vanished_is_deleted(here, tiny):
    (tiny / ".hidden.parquet").write_text("mine")
    (tiny / "notes.txt").write_text("mine")
    first = push_dataset(tiny, "lab/vrf")
    assert paths(here) == {change.path for change in first.changes} and len(first.sent) == 5
    here.state.forget()
    again = push_dataset(tiny, "lab/vrf")
    assert (again.sent, again.commit, here.state.writes) == ([], first.commit, [])

    repository(here).find("main").files["LICENSE"] = File.regular(b"added on the web")
    (tiny / PAIRS).rename(tiny / "image_pairs/train-00000-of-00002.parquet")
    (tiny / "README.md").write_text("---\n---\nchanged")
    renamed = push_dataset(tiny, "lab/vrf")
    statuses = {change.path: change.status for change in renamed.changes if change.status != "same"}
    new = "image_pairs/train-00000-of-00002.parquet"
    assert statuses == {"README.md": "changed", new: "new", PAIRS: "deleted"}
    assert [commit.oid for commit in repository(here).history("main")][:2] == [renamed.commit, first.commit]
    assert paths(here) == {change.path for change in first.changes} - {PAIRS} | {new, "LICENSE"}
    assert here.state.stored == [], "the Hub had the content already"


def test_the_listing_may_come_in_pages(here, tiny):
    here.state.page_size = 2
    push_dataset(tiny, "lab/vrf")
    assert push_dataset(tiny, "lab/vrf").sent == []


@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_push_leaves_the_old_revision_whole_and_goes_on(hub, here, dataset, tiny, tmp_path, stop):
    push_dataset(tiny, "lab/vrf")
    old = repository(hub).find("main")
    hub.state.forget()
    hub.state.uploads.allowed = 6
    process = start(hub, tmp_path, "-m", "recipeflow.cli", "push", "dataset", dataset, "lab/vrf", token=TOKEN)
    assert hub.state.uploads.stalled.wait(240)
    process.send_signal(stop)
    stopped = finish(process)
    if stop == signal.SIGINT:
        assert stopped.returncode == 130 and "interrupted" in stopped.stderr and "Traceback" not in stopped.stderr
    assert repository(hub).find("main") is old
    assert all(file.sha256 is None or file.sha256 in hub.state.objects for file in old.files.values())
    already = list(hub.state.stored)
    hub.state.uploads.allowed = None
    push_dataset(dataset, "lab/vrf")
    assert already and hub.state.stored[: len(already)] == already
    assert len(hub.state.stored) == len(set(hub.state.stored)), "something was stored twice"
    assert paths(hub) == {str(path.relative_to(dataset)) for path in dataset.rglob("*") if path.is_file()}


def test_storage_that_breaks_off_is_reported_and_the_push_can_be_run_again(here, tiny):
    here.state.uploads.allowed, here.state.uploads.fault = 1, "refuse"
    with pytest.raises(HubConnectionError, match=r"403 in the middle.*run the same command again to resume"):
        push_dataset(tiny, "lab/vrf")
    assert paths(here) == set()
    here.state.uploads.allowed = None
    push_dataset(tiny, "lab/vrf")
    assert len(here.state.stored) == len(set(here.state.stored)) == 3


def test_someone_who_was_faster_is_not_overwritten(here, tiny):
    push_dataset(tiny, "lab/vrf")
    theirs = {"README.md": File.regular(b"theirs")}
    here.state.before["commit"] = lambda: repository(here).commit("main", "theirs", "colleague", theirs)
    (tiny / "README.md").write_text("---\n---\nours")
    with pytest.raises(StaleRevisionError, match="someone else pushed"):
        push_dataset(tiny, "lab/vrf")
    assert repository(here).find("main").files == theirs


def test_private_stays_private_and_public_is_asked_for(here, tiny):
    assert push_dataset(tiny, "lab/open", private=False).private is False
    with pytest.raises(VisibilityError, match="--public"):
        push_dataset(tiny, "lab/open")
    push_dataset(tiny, "lab/vrf")
    (note,) = push_dataset(tiny, "lab/vrf", private=False).notes
    assert "stays private" in note and repository(here).private


def test_a_user_without_access_is_refused(here, tiny, tmp_path, monkeypatch):
    push_dataset(tiny, "lab/vrf")
    with pytest.raises(HubAccessError, match=r"namespace 'lab'.*your own account"):
        push_dataset(tiny, "lab/other", token="hf_stranger")
    with pytest.raises(HubAccessError, match="write access"):
        push_dataset(tiny, "lab/other", token="hf_reader")
    with pytest.raises(HubNotFoundError, match="whether your token may see it"):
        pull_dataset("lab/vrf", tmp_path / "pulled", token="hf_stranger")
    for token in ("hf_nobody", "hf_with\nnewline"):
        with pytest.raises(HubTokenError, match="hf auth login") as error:
            push_dataset(tiny, "lab/vrf", token=token)
        assert token not in str(error.value)
    monkeypatch.delenv("HF_TOKEN")
    with pytest.raises(HubTokenError, match=r"found none.*hf auth login"):
        push_dataset(tiny, "lab/vrf")
    with pytest.raises(HubNotFoundError, match="log in"):
        pull_dataset("lab/vrf", tmp_path / "pulled")
    assert not (tmp_path / "pulled").exists()
    assert push_dataset(tiny, "kitchen/vrf", token=TOKEN).commit


def test_other_clients_are_refused_too(hub, here, tiny, tmp_path):
    push_dataset(tiny, "lab/vrf")
    code = """
from datasets import load_dataset
for token in (None, "hf_nobody", "hf_stranger"):
    try:
        load_dataset("lab/vrf", "recipes", token=token)
    except Exception as error:
        print("refused" if "401" in str(error) or "doesn't exist" in str(error) else error)
"""
    assert run_python(hub, tmp_path, code).split() == ["refused"] * 3
    assert hub.state.requests["download"] == 0


def test_the_token_is_nowhere_to_be_seen(hub, tiny, tmp_path):
    commands = [
        ("push", "dataset", tiny, "lab/vrf"),
        ("push", "dataset", tiny, "stranger/vrf"),
        ("pull", "dataset", "lab/vrf", tmp_path / "pulled"),
    ]
    codes = [vrf(hub, tmp_path, *command, token=TOKEN).returncode for command in commands]
    unknown = TOKEN + "X"
    codes.append(vrf(hub, tmp_path, "push", "dataset", tiny, "lab/vrf", token=unknown).returncode)
    assert codes == [0, 1, 0, 1]
    assert (tmp_path / "pulled" / "vrf_build.json").is_file()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert sum(path.name == "stderr" for path in files) == 4
    assert not [path for path in files if TOKEN.encode() in path.read_bytes()]
    assert not hub.state.tokens_at_storage


def test_no_network_is_reported_at_once(hub, tiny, tmp_path):
    hub.__exit__()
    done = vrf(hub, tmp_path, "push", "dataset", tiny, "lab/vrf", token=TOKEN)
    assert done.returncode == 1
    assert "HubConnectionError" in done.stderr and hub.url in done.stderr
    assert "Traceback" not in done.stderr


TASK_SETS = """
from datasets import load_dataset

rows = load_dataset("lab/tasks", "dependency", split="test")
stream = load_dataset("lab/tasks", "dependency", split="test", streaming=True)
assert [row["id"] for row in stream] == list(rows["id"]) and len(rows)
"""


def test_task_sets_are_pushed_loaded_and_pulled_like_any_dataset(hub, here, tiny, tmp_path):
    make_tasks(tiny, tmp_path / "tasks")
    (tmp_path / "tasks" / "notes.txt").write_text("mine")
    push_dataset(tmp_path / "tasks", "lab/tasks")
    files = repository(here, name="lab/tasks").find("main").files
    assert "notes.txt" not in files and "vrf_tasks.json" in files
    assert 'load_dataset("lab/tasks", "' in files["README.md"].content.decode()
    assert "dataset_path: lab/tasks\n" in files["lmms_eval/vrf_dependency.yaml"].content.decode()
    run_python(hub, tmp_path, TASK_SETS, token=TOKEN)
    pulled = pull_dataset("lab/tasks", tmp_path / "pulled")
    assert (pulled / "vrf_tasks.json").read_bytes() == (tmp_path / "tasks" / "vrf_tasks.json").read_bytes()
    assert push_dataset(tmp_path / "tasks", "lab/tasks").sent == []
    (tmp_path / "tasks" / "vrf_tasks.json").write_text("[]")
    with pytest.raises(DatasetFolderError, match="as written by `vrf tasks`"):
        push_dataset(tmp_path / "tasks", "lab/tasks")
