"""What a Hub remembers: users, repositories with their commits, large objects, and every request it answered."""

import hashlib
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

LARGE = (".parquet", ".safetensors", ".arrow", ".faiss", ".bin", ".png", ".jpg")
"""What the Hub's default ``.gitattributes`` sends to large file storage."""


class Refusal(Exception):
    """An answer that is an error: its status, the code by which clients distinguish errors, and a message."""

    def __init__(self, status: int, message: str, code: str | None = None, commit: str | None = None):
        super().__init__(message)
        self.status, self.message, self.code, self.commit = status, message, code, commit


@dataclass(frozen=True)
class User:
    name: str
    organisations: tuple[str, ...] = ()
    may_write: bool = True


@dataclass(frozen=True)
class File:
    """A file of a commit: its bytes, or the SHA-256 under which the large objects have them."""

    oid: str
    size: int
    content: bytes | None = None
    sha256: str | None = None

    @classmethod
    def regular(cls, content: bytes) -> "File":
        return cls(_git_oid("blob", content), len(content), content)

    @classmethod
    def large(cls, sha256: str, size: int) -> "File":
        pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {size}\n"
        return cls(_git_oid("blob", pointer.encode()), size, sha256=sha256)


@dataclass(frozen=True)
class Commit:
    oid: str
    parent: str | None
    title: str
    author: str
    files: dict[str, File]


def _git_oid(kind: str, content: bytes) -> str:
    return hashlib.sha1(f"{kind} {len(content)}\0".encode() + content).hexdigest()


@dataclass
class Repository:
    kind: str
    id: str
    private: bool
    commits: dict[str, Commit] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)

    @property
    def owner(self) -> str:
        return self.id.partition("/")[0]

    def find(self, revision: str) -> Commit:
        """A commit by branch, tag or (short) id."""
        oid = self.branches.get(revision) or self.tags.get(revision)
        found = (
            [oid] if oid else [known for known in self.commits if len(revision) >= 7 and known.startswith(revision)]
        )
        if not found:
            raise Refusal(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        return self.commits[found[0]]

    def commit(self, branch: str, title: str, author: str, files: dict[str, File]) -> Commit:
        parent = self.branches.get(branch)
        listing = "".join(f"{path} {file.oid}\n" for path, file in sorted(files.items()))
        oid = _git_oid("commit", f"{parent} {title} {time.time_ns()}\n{listing}".encode())
        self.commits[oid] = Commit(oid, parent, title, author, files)
        self.branches[branch] = oid
        return self.commits[oid]

    def history(self, revision: str) -> list[Commit]:
        commits = [self.find(revision)]
        while commits[-1].parent:
            commits.append(self.commits[commits[-1].parent])
        return commits


@dataclass
class Transfers:
    """What goes wrong with uploads or downloads, and when: the first ``allowed`` of them are as usual."""

    allowed: int | None = None
    fault: str = "stall"
    """``stall`` sends or takes the first bytes and waits until the client is gone; ``refuse`` answers 403."""

    stalled: threading.Event = field(default_factory=threading.Event)

    def goes_wrong(self) -> bool:
        """Whether it is the turn of the fault."""
        if self.allowed is None:
            return False
        self.allowed -= 1
        return self.allowed < 0


class Hub:
    """The whole state, shared by the API and the storage; tests look into it and put faults into it."""

    def __init__(self):
        self.users: dict[str, User] = {}
        self.repositories: dict[tuple[str, str], Repository] = {}
        self.objects: dict[str, bytes] = {}
        self.uploads = Transfers()
        self.downloads = Transfers()
        self.part_size = 100_000
        self.page_size = 1000
        self.forget()
        self.before: dict[str, Callable[[], None]] = {}
        """Called before requests of a name are answered, as if someone else had been faster."""

    def forget(self) -> None:
        """Start counting anew; repositories and objects stay."""
        self.requests: Counter[str] = Counter()
        self.stored: list[str] = []
        """SHA-256 of every large object that came in, in order, repeated ones included."""
        self.tokens_at_storage: list[str] = []
        self.writes: list[str] = []
        """Names of the requests that change something."""

    def meet(self, name: str, writes: bool = False) -> None:
        """Count a request and let the fault that waits for it happen."""
        self.requests[name] += 1
        if writes:
            self.writes.append(name)
        interfere = self.before.pop(name, None)
        if interfere:
            interfere()

    # Who may do what.

    def who(self, token: str | None) -> User | None:
        if token is None:
            return None
        if token not in self.users:
            raise Refusal(401, "Invalid credentials in Authorization header")
        return self.users[token]

    def may_write(self, user: User | None, owner: str) -> bool:
        return user is not None and user.may_write and owner in (user.name, *user.organisations)

    def repository(self, kind: str, name: str, user: User | None) -> Repository:
        """A repository that this user may read; a private one does not exist for others."""
        found = self.repositories.get((kind, name))
        member = user is not None and found is not None and found.owner in (user.name, *user.organisations)
        if found is None or (found.private and not member):
            raise Refusal(401 if user is None else 404, "Repository not found", "RepoNotFound")
        return found

    def writable(self, kind: str, name: str, user: User | None) -> Repository:
        found = self.repository(kind, name, user)
        if not self.may_write(user, found.owner):
            raise Refusal(403, "Forbidden: you don't have write access to this repository")
        return found

    def create(self, kind: str, name: str, private: bool, user: User | None) -> Repository:
        owner = name.partition("/")[0]
        if user is None:
            raise Refusal(401, "Invalid username or password.")
        if not self.may_write(user, owner):
            raise Refusal(403, f"You don't have the rights to create a {kind} under the namespace {owner!r}")
        if (kind, name) in self.repositories:
            raise Refusal(409, "You already created this repo")
        repository = self.repositories[kind, name] = Repository(kind, name, private)
        attributes = "".join(f"*{ending} filter=lfs diff=lfs merge=lfs -text\n" for ending in LARGE)
        files = {".gitattributes": File.regular(attributes.encode())}
        repository.commit("main", "initial commit", user.name, files)
        return repository

    # Contents.

    def content(self, file: File) -> bytes:
        return file.content if file.sha256 is None else self.objects[file.sha256]

    def store(self, sha256: str, content: bytes) -> None:
        if hashlib.sha256(content).hexdigest() != sha256:
            raise Refusal(400, "the content does not have this SHA-256")
        self.stored.append(sha256)
        self.objects[sha256] = content
