"""The Hub of these tests as the Hub's own client sees it, where nothing else asks for it."""

from pathlib import Path

import pytest
from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi
from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, RepositoryNotFoundError

from tests.hub.conftest import TOKEN


@pytest.fixture
def api(here) -> HfApi:
    api = HfApi(endpoint=here.url, token=TOKEN)
    api.create_repo("lab/repo", private=True)
    files = {"a.txt": b"a", "folder/b.txt": b"b", "folder/deep/c.bin": b"c" * 250_000}
    operations = [CommitOperationAdd(path, content) for path, content in files.items()]
    api.create_commit("lab/repo", operations, commit_message="three files")
    return api


def test_users_and_repositories(api, here):
    assert api.whoami()["name"] == "lab" and api.whoami()["orgs"][0]["name"] == "kitchen"
    with pytest.raises(HfHubHTTPError, match="409"):
        api.create_repo("lab/repo")
    assert api.create_repo("lab/repo", exist_ok=True).repo_id == "lab/repo"
    assert api.repo_info("lab/repo").private
    api.update_repo_settings("lab/repo", private=False)
    assert not HfApi(endpoint=here.url, token=False).repo_info("lab/repo").private
    api.delete_repo("lab/repo")
    with pytest.raises(RepositoryNotFoundError):
        api.repo_info("lab/repo")


def test_revisions(api):
    first, initial = (commit.commit_id for commit in api.list_repo_commits("lab/repo"))
    api.create_tag("lab/repo", tag="v1")
    api.create_branch("lab/repo", branch="try", revision=initial)
    delete = [CommitOperationDelete("folder/", is_folder=True)]
    api.create_commit("lab/repo", delete, commit_message="less", parent_commit=first)
    refs = api.list_repo_refs("lab/repo")
    assert {ref.name: ref.target_commit for ref in refs.branches}["try"] == initial
    assert {ref.name: ref.target_commit for ref in refs.tags} == {"v1": first}
    assert api.list_repo_files("lab/repo") == [".gitattributes", "a.txt"]
    assert len(api.list_repo_files("lab/repo", revision="v1")) == 4


def test_listings_and_downloads(api, here):
    here.state.page_size = 2
    assert {entry.path for entry in api.list_repo_tree("lab/repo")} == {".gitattributes", "a.txt", "folder"}
    tree = {entry.path for entry in api.list_repo_tree("lab/repo", "folder", recursive=True)}
    assert tree == {"folder/b.txt", "folder/deep", "folder/deep/c.bin"}
    found = {info.path: info for info in api.get_paths_info("lab/repo", ["folder", "folder/deep/c.bin", "none"])}
    assert found.keys() == {"folder", "folder/deep/c.bin"} and found["folder/deep/c.bin"].lfs.size == 250_000
    content = Path(api.hf_hub_download("lab/repo", "folder/deep/c.bin")).read_bytes()
    assert content == b"c" * 250_000
    with pytest.raises(EntryNotFoundError):
        api.hf_hub_download("lab/repo", "none")
    assert here.state.requests["upload part"] == 3 and not here.state.tokens_at_storage
