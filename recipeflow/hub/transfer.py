"""Push a folder as one commit of a repository, and pull a repository into a folder.

A push compares, sends the differences and commits once, so that a repository is always complete: the old state or the
new one. Large files go to storage first; those that arrived before an interruption are not sent again.
"""

from __future__ import annotations

import hashlib
import io
import re
import shutil
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi
from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError
from huggingface_hub.hf_api import RepoFile
from huggingface_hub.utils.sha import git_hash

from recipeflow.dataset.folder import MANIFEST
from recipeflow.errors import HubError, VisibilityError
from recipeflow.files import StagedFolder
from recipeflow.hub_client import explain_hub_errors
from recipeflow.tables import Table
from recipeflow.tasks.material import SPLITS
from recipeflow.tasks.schema import MANIFEST as TASKS_MANIFEST
from recipeflow.tasks.schema import TASKS
from vrf_dataset import FEATURES

Source = Path | bytes
"""The source of a file of a repository: a local file, or generated content."""


@dataclass(frozen=True)
class Kind:
    """A kind of repository.

    Args:
        name: The Hub's name for it.
        marker: The file that identifies a folder or a repository of this kind.
        files: Which files are ours. Others in a folder are not sent, others in a repository are not changed.
    """

    name: Literal["dataset", "model"]
    marker: str
    files: re.Pattern[str]

    def owns(self, path: str) -> bool:
        """Whether a file is ours: with a known name, and neither hidden nor incomplete."""
        parts = PurePosixPath(path).parts
        return bool(self.files.fullmatch(path)) and not any(_is_scratch(part) for part in parts)


def _is_scratch(name: str) -> bool:
    return name.startswith(".") or name.endswith(".partial")


CARD = "README.md"
_TABLES = "|".join(FEATURES)
DATASETS = Kind("dataset", MANIFEST, re.compile(rf"README\.md|vrf_build\.json|({_TABLES})/train-\d+-of-\d+\.parquet"))
TASK_SETS = Kind(
    "dataset",
    TASKS_MANIFEST,
    re.compile(
        rf"README\.md|eval\.yaml|vrf_tasks\.json|lmms_eval/(utils\.py|vrf_\w+\.yaml)"
        rf"|({'|'.join(TASKS)})/({'|'.join(SPLITS)})-\d+-of-\d+\.parquet"
    ),
)
MODELS = Kind("model", "config.json", re.compile(r"README\.md|[^/]+\.(json|py|safetensors|png|jpg)|index/.+"))


@dataclass(frozen=True)
class Change:
    """What a push does, or would do, to one file."""

    path: str
    size: int
    status: Literal["new", "changed", "same", "deleted"]


@dataclass(frozen=True)
class Push:
    """A push: done, or only planned if there is no commit.

    Attributes:
        repo_id: The repository.
        url: Its page.
        private: Whether only its owner sees it.
        commit: Its revision afterwards; ``None`` after a dry run.
        changes: All our files, including unchanged ones.
        notes: What the user should know.
    """

    repo_id: str
    url: str
    private: bool
    commit: str | None
    changes: tuple[Change, ...]
    notes: tuple[str, ...] = ()

    @property
    def sent(self) -> list[Change]:
        """The files whose content is not on the Hub yet."""
        return [change for change in self.changes if change.status in ("new", "changed")]

    def table(self) -> Table:
        """All files and their status."""
        rows = [(change.path, change.size, change.status) for change in self.changes]
        return Table(f"{self.repo_id} ({'private' if self.private else 'public'})", ("file", "bytes", "status"), rows)

    def summary(self) -> str:
        deleted = sum(change.status == "deleted" for change in self.changes)
        size = sum(change.size for change in self.sent)
        counts = f"{len(self.sent)} of {len(self.changes) - deleted} files, {size:,} bytes; {deleted} deleted"
        return f"{'would send' if self.commit is None else 'sent'} {counts}: {self.url}"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class _Remote:
    """The current state of a repository."""

    head: str
    private: bool
    files: Mapping[str, RepoFile]


def collect_files(folder: Path, kind: Kind) -> dict[str, Source]:
    """Our files in a folder, by their path in a repository."""
    paths = ((path.relative_to(folder).as_posix(), path) for path in sorted(folder.rglob("*")) if path.is_file())
    return {name: path for name, path in paths if kind.owns(name)}


def push_files(
    api: HfApi, kind: Kind, repo_id: str, files: Mapping[str, Source], *, private: bool, dry_run: bool
) -> Push:
    """Make a repository contain these files, with one commit.

    Args:
        api: The client.
        kind: Of the repository, which is created if missing.
        repo_id: ``OWNER/NAME``.
        files: All of them; ours that are not among them are deleted there.
        private: Make a new repository private; refuse to push to one that is public.
        dry_run: Only compare.
    """
    with explain_hub_errors(api, repo_id):
        remote = _look_if_there(api, kind, repo_id)
        changes = tuple(_compare(files, {} if remote is None else remote.files, kind))
        if remote is None and not dry_run:
            api.create_repo(repo_id, repo_type=kind.name, private=private)
            remote = _look(api, kind, repo_id)
        notes = () if remote is None else tuple(_check_visibility(remote, repo_id, private))
        commit = None if dry_run or remote is None else _commit(api, kind, repo_id, files, changes, remote.head)
    page = f"{api.endpoint}/{'datasets/' if kind.name == 'dataset' else ''}{repo_id}"
    return Push(repo_id, page, private if remote is None else remote.private, commit, changes, notes)


def _look(api: HfApi, kind: Kind, repo_id: str, revision: str | None = None) -> _Remote:
    info = api.repo_info(repo_id, repo_type=kind.name, revision=revision)
    if info.sha is None:
        raise HubError(f"expected the latest revision of {repo_id}, found none; try again later")
    entries = api.list_repo_tree(repo_id, recursive=True, revision=info.sha, repo_type=kind.name)
    return _Remote(
        info.sha, bool(info.private), {entry.path: entry for entry in entries if isinstance(entry, RepoFile)}
    )


def _look_if_there(api: HfApi, kind: Kind, repo_id: str) -> _Remote | None:
    try:
        return _look(api, kind, repo_id)
    except GatedRepoError:  # it exists, but we have no access
        raise
    except RepositoryNotFoundError:
        return None


def _check_visibility(remote: _Remote, repo_id: str, private: bool) -> Iterator[str]:
    """An existing repository keeps its visibility; publishing by accident is refused."""
    if private and not remote.private:
        raise VisibilityError(
            f"expected {repo_id} to be private, found that it is public; pass --public to push to it, or choose "
            "another name"
        )
    if remote.private and not private:
        yield f"{repo_id} was private and stays private; make it public in its settings on the Hub"


def _compare(files: Mapping[str, Source], remote: Mapping[str, RepoFile], kind: Kind) -> Iterator[Change]:
    for path, source in sorted(files.items()):
        if path not in remote:
            status = "new"
        else:
            status = "same" if _has_content(source, remote[path]) else "changed"
        yield Change(path, _size(source), status)
    for path, file in sorted(remote.items()):
        if path not in files and kind.owns(path):
            yield Change(path, file.size, "deleted")


def _size(source: Source) -> int:
    return len(source) if isinstance(source, bytes) else source.stat().st_size


def _has_content(source: Source, file: RepoFile) -> bool:
    """Whether a file equals the Hub's, by size and then by the Hub's hash."""
    if _size(source) != file.size:
        return False
    with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as stream:
        if file.lfs is not None:
            return hashlib.file_digest(stream, "sha256").hexdigest() == file.lfs.sha256
        return git_hash(stream.read()) == file.blob_id


def _commit(
    api: HfApi, kind: Kind, repo_id: str, files: Mapping[str, Source], changes: tuple[Change, ...], head: str
) -> str:
    """Send the differences, and fail if someone else has pushed since we compared; return the new revision."""
    operations: list[CommitOperationAdd | CommitOperationDelete] = [
        CommitOperationAdd(c.path, files[c.path]) for c in changes if c.status in ("new", "changed")
    ]
    operations += [CommitOperationDelete(c.path, is_folder=False) for c in changes if c.status == "deleted"]
    if not operations:
        return head
    message = f"Push {len(operations)} files with vrf push {kind.name}"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="It seems that you are about to commit a data file")  # an index is
        commit = api.create_commit(
            repo_id, operations, commit_message=message, repo_type=kind.name, parent_commit=head
        )
    return commit.oid


def pull_files(
    api: HfApi,
    kinds: Sequence[Kind],
    repo_id: str,
    folder: Path,
    *,
    revision: str | None = None,
    overwrite: bool = False,
) -> Path:
    """Fetch a repository into a folder that appears when it is complete.

    Files are fetched into the Hub's cache, so that an interrupted pull resumes, and copied from there.

    Args:
        api: The client.
        kinds: Those it may be of, all with one name on the Hub.
        repo_id: ``OWNER/NAME``.
        folder: The folder to write.
        revision: A branch, tag or commit; the latest by default.
        overwrite: Replace an earlier folder of this kind.
    """
    with explain_hub_errors(api, repo_id):
        remote = _look(api, kinds[0], repo_id, revision)
        kind = next((kind for kind in kinds if kind.marker in remote.files), None)
        if kind is None:
            raise HubError(
                f"expected a {kinds[0].name} sent by `vrf push {kinds[0].name}`, found no {kinds[0].marker} in "
                f"{repo_id}; check its name and kind"
            )
        with StagedFolder(folder, kind.marker, overwrite) as staged:
            hidden = [".*", "*/.*"]
            fetched = api.snapshot_download(repo_id, repo_type=kind.name, revision=remote.head, ignore_patterns=hidden)
            snapshot = Path(fetched)
            for path, file in remote.files.items():
                if not any(part.startswith(".") for part in PurePosixPath(path).parts):
                    _copy(snapshot / path, staged / path, file, f"{kind.name}/{repo_id}")
    return folder


def _copy(source: Path, target: Path, file: RepoFile, repo: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    if not _has_content(target, file):
        raise HubError(
            f"expected {file.path} as on the Hub, found other content in the cache; remove the cached copy with "
            f"`hf cache rm {repo}` and pull again"
        )
