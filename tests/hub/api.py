"""The Hub's HTTP API, as far as ``huggingface_hub``, ``datasets`` and ``transformers`` ask for it."""

import base64
import json
import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlencode

import yaml
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from tests.hub.repositories import LARGE, File, Hub, Refusal, Repository, User
from tests.hub.storage import ranged, sign

DATE = "2024-01-01T00:00:00.000Z"


def refuse(request: Request, error: Refusal) -> Response:
    """An error as clients recognise it: by its headers."""
    headers = {"X-Error-Message": error.message}
    if error.code:
        headers["X-Error-Code"] = error.code
    if error.commit:
        headers["X-Repo-Commit"] = error.commit
    return JSONResponse({"error": error.message}, error.status, headers)


class Api:
    """The endpoints over a Hub's state."""

    def __init__(self, hub: Hub):
        self.hub = hub
        self.url = self.storage_url = ""  # known when the ports are

    def app(self) -> Starlette:
        routes = [
            self._route("whoami", "/api/whoami-v2", self.whoami),
            self._route("validate", "/api/validate-yaml", self.validate, "POST"),
            self._route("create", "/api/repos/create", self.create, "POST", writes=True),
            self._route("delete", "/api/repos/delete", self.delete, "DELETE", writes=True),
        ]
        for kind, prefix in (("model", ""), ("dataset", "/datasets")):
            routes += self._repository_routes(kind, f"/api/{kind}s/{{owner}}/{{name}}")
            page = f"{prefix}/{{owner}}/{{name}}"
            routes += [
                self._route("lfs", f"{page}.git/info/lfs/objects/batch", self.lfs_batch, "POST", kind),
                self._route("verify", f"{page}.git/info/lfs/verify", self.lfs_verify, "POST", kind),
                self._route("resolve", f"{page}/resolve/{{revision}}/{{path:path}}", self.resolve, kind=kind),
            ]
        return Starlette(routes=routes, exception_handlers={Refusal: refuse})

    def _repository_routes(self, kind: str, base: str) -> list[Route]:
        return [
            self._route("preupload", f"{base}/preupload/{{revision}}", self.preupload, "POST", kind),
            self._route("commit", f"{base}/commit/{{revision}}", self.commit, "POST", kind, writes=True),
            self._route("settings", f"{base}/settings", self.settings, "PUT", kind, writes=True),
            self._route("branch", f"{base}/branch/{{name_of_ref}}", self.branch, "POST", kind, writes=True),
            self._route("tag", f"{base}/tag/{{revision}}", self.tag, "POST", kind, writes=True),
            self._route("paths-info", f"{base}/paths-info/{{revision}}", self.paths_info, "POST", kind),
            self._route("tree", f"{base}/tree/{{revision}}", self.tree, kind=kind),
            self._route("tree", f"{base}/tree/{{revision}}/{{path:path}}", self.tree, kind=kind),
            self._route("commits", f"{base}/commits/{{revision}}", self.commits, kind=kind),
            self._route("refs", f"{base}/refs", self.refs, kind=kind),
            self._route("info", f"{base}/revision/{{revision:path}}", self.info, kind=kind),
            self._route("info", base, self.info, kind=kind),
        ]

    def _route(
        self,
        name: str,
        path: str,
        endpoint: Callable,
        method: str = "GET",
        kind: str | None = None,
        writes: bool = False,
    ) -> Route:
        async def answer(request: Request) -> Response:
            self.hub.meet(name, writes)
            token = re.fullmatch(r"Bearer (.+)", request.headers.get("authorization", ""))
            user = self.hub.who(token and token[1])
            if kind is None:
                return await endpoint(request, user)
            repo_id = "{owner}/{name}".format(**request.path_params)
            find = self.hub.writable if writes or name in ("preupload", "lfs", "verify") else self.hub.repository
            return await endpoint(request, find(kind, repo_id, user), user)

        return Route(path, answer, methods=[method])

    # Users and repositories.

    async def whoami(self, request: Request, user: User | None) -> Response:
        if user is None:
            raise Refusal(401, "Invalid username or password.")
        orgs = [{"name": name, "type": "org"} for name in user.organisations]
        token = {"displayName": "test", "role": "write" if user.may_write else "read"}
        about = {"type": "user", "name": user.name, "fullname": user.name, "orgs": orgs}
        return JSONResponse(about | {"auth": {"type": "access_token", "accessToken": token}})

    async def validate(self, request: Request, user: User | None) -> Response:
        match = re.match(r"---\n(.*?)\n---", (await request.json())["content"], re.DOTALL)
        try:
            yaml.safe_load(match[1] if match else "")
        except yaml.YAMLError as error:
            return JSONResponse({"errors": [{"message": str(error)}], "warnings": []}, 400)
        return JSONResponse({"errors": [], "warnings": []})

    async def create(self, request: Request, user: User | None) -> Response:
        wanted = await request.json()
        kind, repo_id = wanted.get("type") or "model", f"{wanted.get('organization') or user.name}/{wanted['name']}"
        answer = {"url": self._page(kind, repo_id), "name": repo_id}
        try:
            self.hub.create(kind, repo_id, wanted.get("visibility") == "private", user)
        except Refusal as refusal:
            if refusal.status != 409:
                raise
            return JSONResponse({"error": refusal.message, **answer}, 409)
        return JSONResponse(answer)

    async def delete(self, request: Request, user: User | None) -> Response:
        named = await request.json()
        key = named.get("type") or "model", f"{named.get('organization') or user.name}/{named['name']}"
        self.hub.writable(*key, user)
        del self.hub.repositories[key]
        return JSONResponse({})

    async def settings(self, request: Request, repository: Repository, user: User) -> Response:
        wanted = await request.json()
        if "visibility" in wanted or "private" in wanted:
            repository.private = wanted.get("visibility") == "private" or wanted.get("private", False)
        return JSONResponse({"private": repository.private})

    async def info(self, request: Request, repository: Repository, user: User | None) -> Response:
        commit = repository.find(request.path_params.get("revision", "main"))
        return JSONResponse(
            {
                "_id": repository.id,
                "id": repository.id,
                "author": repository.owner,
                "sha": commit.oid,
                "private": repository.private,
                "gated": False,
                "disabled": False,
                "lastModified": DATE,
                "createdAt": DATE,
                "tags": [],
                "downloads": 0,
                "likes": 0,
                "siblings": [{"rfilename": path} for path in sorted(commit.files)],
            }
        )

    # Revisions.

    async def refs(self, request: Request, repository: Repository, user: User | None) -> Response:
        def rows(kind: str, refs: dict[str, str]) -> list[dict[str, str]]:
            return [{"name": name, "ref": f"refs/{kind}/{name}", "targetCommit": oid} for name, oid in refs.items()]

        branches, tags = rows("heads", repository.branches), rows("tags", repository.tags)
        return JSONResponse({"branches": branches, "tags": tags, "converts": []})

    async def commits(self, request: Request, repository: Repository, user: User | None) -> Response:
        rows = [
            {
                "id": commit.oid,
                "title": commit.title,
                "message": "",
                "date": DATE,
                "authors": [{"user": commit.author}],
            }
            for commit in repository.history(request.path_params["revision"])
        ]
        return self._paginated(request, rows)

    async def branch(self, request: Request, repository: Repository, user: User) -> Response:
        wanted = json.loads(await request.body() or b"{}")
        start = repository.find(wanted.get("startingPoint") or "main")
        repository.branches[request.path_params["name_of_ref"]] = start.oid
        return JSONResponse({})

    async def tag(self, request: Request, repository: Repository, user: User) -> Response:
        name = (await request.json())["tag"]
        if name in repository.tags:
            raise Refusal(409, f"Tag reference exists already: {name}")
        repository.tags[name] = repository.find(request.path_params["revision"]).oid
        return JSONResponse({})

    # Listings.

    async def tree(self, request: Request, repository: Repository, user: User | None) -> Response:
        commit = repository.find(request.path_params["revision"])
        below = request.path_params.get("path", "").strip("/")
        prefix = f"{below}/" if below else ""
        files = {path: file for path, file in sorted(commit.files.items()) if path.startswith(prefix)}
        if below and not files:
            raise Refusal(404, f"{below} does not exist", "EntryNotFound", commit.oid)
        recursive = request.query_params.get("recursive", "").lower() == "true"
        rows = [_file_row(path, file) for path, file in files.items() if recursive or "/" not in path[len(prefix) :]]
        rows += [_folder_row(path) for path in _folders(files, prefix, recursive)]
        return self._paginated(request, rows)

    async def paths_info(self, request: Request, repository: Repository, user: User | None) -> Response:
        commit = repository.find(request.path_params["revision"])
        folders = _folders(commit.files, "", recursive=True)
        rows = []
        for path in parse_qs((await request.body()).decode()).get("paths", []):
            if path in commit.files:
                rows.append(_file_row(path, commit.files[path]))
            elif path in folders:
                rows.append(_folder_row(path))
        return JSONResponse(rows)

    def _paginated(self, request: Request, rows: list[dict]) -> Response:
        start = int(request.query_params.get("cursor", 0))
        stop = start + self.hub.page_size
        headers = {}
        if stop < len(rows):
            query = urlencode({**request.query_params, "cursor": stop})
            headers["Link"] = f'<{self.url}{request.url.path}?{query}>; rel="next"'
        return JSONResponse(rows[start:stop], headers=headers)

    # Uploads.

    async def preupload(self, request: Request, repository: Repository, user: User) -> Response:
        known = repository.find(request.path_params["revision"]).files
        rows = []
        for file in (await request.json())["files"]:
            old = known.get(file["path"])
            rows.append(
                {
                    "path": file["path"],
                    "uploadMode": "lfs" if file["path"].endswith(LARGE) else "regular",
                    "shouldIgnore": False,
                    "oid": old and (old.sha256 or old.oid),
                }
            )
        return JSONResponse({"files": rows})

    async def lfs_batch(self, request: Request, repository: Repository, user: User) -> Response:
        return JSONResponse(
            {"objects": [self._lfs_actions(repository, row) for row in (await request.json())["objects"]]}
        )

    def _lfs_actions(self, repository: Repository, row: dict) -> dict:
        """Where to send an object; nothing where it is there already."""
        oid, size = row["oid"], row["size"]
        if oid in self.hub.objects:
            return {"oid": oid, "size": size}
        part = self.hub.part_size
        upload = {"href": self.storage_url + sign(f"/whole/{oid}"), "header": {}}
        if size > part:
            parts = range(1, -(-size // part) + 1)
            urls = {str(number): self.storage_url + sign(f"/part/{oid}/{number}") for number in parts}
            upload = {
                "href": self.storage_url + sign(f"/complete/{oid}"),
                "header": {"chunk_size": str(part), **urls},
            }
        verify = {"href": f"{self._page(repository.kind, repository.id)}.git/info/lfs/verify"}
        return {"oid": oid, "size": size, "actions": {"upload": upload, "verify": verify}}

    async def lfs_verify(self, request: Request, repository: Repository, user: User) -> Response:
        wanted = await request.json()
        if len(self.hub.objects.get(wanted["oid"], b"")) != wanted["size"]:
            raise Refusal(404, "the object is not there")
        return JSONResponse({})

    async def commit(self, request: Request, repository: Repository, user: User) -> Response:
        branch = request.path_params["revision"]
        lines = [json.loads(line) for line in (await request.body()).splitlines()]
        header = lines[0]["value"]
        current = repository.find(branch)
        if header.get("parentCommit") and not current.oid.startswith(header["parentCommit"]):
            raise Refusal(412, "A commit has happened since. Please refresh and try again.")
        files = dict(current.files)
        for line in lines[1:]:
            self._apply(files, line["key"], line["value"])
        commit = repository.commit(branch, header["summary"], user.name, files)
        page = self._page(repository.kind, repository.id)
        return JSONResponse(
            {"success": True, "commitOid": commit.oid, "commitUrl": f"{page}/commit/{commit.oid}", "hookOutput": ""}
        )

    def _apply(self, files: dict[str, File], key: str, value: dict) -> None:
        path = value["path"]
        if key == "file":
            files[path] = File.regular(base64.b64decode(value["content"]))
        elif key == "lfsFile":
            if value["oid"] not in self.hub.objects:
                raise Refusal(400, f"{path}: its object was never uploaded")
            files[path] = File.large(value["oid"], len(self.hub.objects[value["oid"]]))
        elif key == "deletedFile":
            if files.pop(path, None) is None:
                raise Refusal(404, "A file with this name doesn't exist", "EntryNotFound")
        elif key == "deletedFolder":
            for below in [known for known in files if known.startswith(path.rstrip("/") + "/")]:
                del files[below]

    # Downloads.

    async def resolve(self, request: Request, repository: Repository, user: User | None) -> Response:
        commit = repository.find(request.path_params["revision"])
        path = request.path_params["path"]
        file = commit.files.get(path)
        if file is None:
            raise Refusal(404, f"{path} does not exist", "EntryNotFound", commit.oid)
        headers = {"X-Repo-Commit": commit.oid}
        if file.sha256 is None:
            return ranged(request, file.content, {**headers, "ETag": f'"{file.oid}"'})
        headers |= {"X-Linked-Etag": f'"{file.sha256}"', "X-Linked-Size": str(file.size)}
        return RedirectResponse(self.storage_url + sign(f"/object/{file.sha256}"), 302, headers)

    def _page(self, kind: str, repo_id: str) -> str:
        return f"{self.url}/{'datasets/' if kind == 'dataset' else ''}{repo_id}"


def _file_row(path: str, file: File) -> dict:
    row = {"type": "file", "path": path, "oid": file.oid, "size": file.size}
    return row | ({"lfs": {"oid": file.sha256, "size": file.size, "pointerSize": 130}} if file.sha256 else {})


def _folder_row(path: str) -> dict:
    return {"type": "directory", "path": path, "oid": "0" * 40, "size": 0}


def _folders(files: dict[str, File], prefix: str, recursive: bool) -> list[str]:
    found: dict[str, None] = {}
    for path in files:
        parts = path[len(prefix) :].split("/")[:-1]
        for depth in range(1, (len(parts) if recursive else min(len(parts), 1)) + 1):
            found[prefix + "/".join(parts[:depth])] = None
    return sorted(found)
