"""The API of the pages: recipes, documents, operations, undo and redo, pictures. GET never writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from recipeflow import __version__
from recipeflow.annotate.likely import LIKELY
from recipeflow.annotate.requests import ApiError, Json, error_body, read_body, take, take_uuid
from recipeflow.annotate.store import Layer, Saved
from recipeflow.annotate.workspace import Workspace
from recipeflow.errors import ConflictError

FOR_GOOD = "private, max-age=31536000, immutable"


class Api:
    """The endpoints around one workspace.

    Args:
        workspace: The workspace.
        annotator: The only annotator, if there is only one.
    """

    def __init__(self, workspace: Workspace, annotator: str | None = None) -> None:
        self.workspace = workspace
        self.annotator = annotator

    def routes(self) -> list[Route]:
        """The addresses."""
        document = "/api/layers/{layer}/recipes/{recipe}"
        return [
            Route("/api/session", self.session),
            Route("/api/layers", self.add_layer, methods=["POST"]),
            Route("/api/layers/{layer}/recipes", self.recipes),
            Route(document, self.document),
            Route(f"{document}/log", self.log),
            Route(f"{document}/operations", self.save, methods=["POST"]),
            Route(f"{document}/undo", self.undo, methods=["POST"]),
            Route(f"{document}/redo", self.redo, methods=["POST"]),
            Route("/api/frames/{recipe}/{number:int}.jpg", self.frame),
            Route("/api/thumbnails/{recipe}/{number:int}.jpg", self.thumbnail),
            Route("/api/sheets/{recipe}/{number:int}.jpg", self.sheet),
        ]

    def session(self, request: Request) -> Response:
        """Permissions, and the names of tags and labels."""
        work = self.workspace
        scheme = work.scheme
        return Json(
            {
                "release": work.release and work.release.resolve().name,
                "layers": [{"name": layer.name, "kind": layer.kind} for layer in work.layers()],
                "annotator": self.annotator,
                "curating": work.curating,
                "origins": work.store.origins(),
                "language": scheme.language,
                "tags": dict(scheme.tags),
                "labels": dict(scheme.labels),
                "likely": LIKELY,
                "version": __version__,
            }
        )

    async def add_layer(self, request: Request) -> Response:
        name = take(await read_body(request), "name", str)
        layer, new = await run_in_threadpool(self.workspace.add_layer, name)
        return Json({"name": layer.name, "kind": layer.kind}, 201 if new else 200)

    def recipes(self, request: Request) -> Response:
        """Every recipe, with its progress."""
        return Json(self.workspace.list_recipes(self.find_layer(request)))

    def document(self, request: Request) -> Response:
        recipe_id, layer = self.find(request)
        return Json(self.workspace.view(recipe_id, layer))

    def log(self, request: Request) -> Response:
        recipe_id, layer = self.find(request)
        after = request.query_params.get("after", "0")
        return Json({"operations": self._operations(recipe_id, layer, int(after) if after.isdecimal() else 0)})

    def _operations(self, recipe_id: str, layer: Layer, after: int) -> list[dict[str, Any]]:
        standing = self.workspace.store.history(recipe_id, layer).undoable
        return [
            {
                "revision": entry.revision,
                "who": entry.who,
                "operation": entry.operation,
                "undone": entry.kind == "do" and entry.revision not in standing,
                "time": entry.time,
            }
            for entry in self.workspace.store.entries(recipe_id, layer, after)
        ]

    async def save(self, request: Request) -> Response:
        body = await read_body(request)
        operation = take(body, "operation", dict)
        return await self._change(request, body, lambda *place: self.workspace.save(*place, operation))

    async def undo(self, request: Request) -> Response:
        return await self._change(request, await read_body(request), self.workspace.store.undo)

    async def redo(self, request: Request) -> Response:
        return await self._change(request, await read_body(request), self.workspace.store.redo)

    async def _change(self, request: Request, body: dict[str, Any], change: Callable[..., Saved]) -> Response:
        base, uuid = take(body, "base", int), take_uuid(body)
        return await run_in_threadpool(self._run, request, base, uuid, change)

    def _run(self, request: Request, base: int, uuid: str, change: Callable[..., Saved]) -> Response:
        recipe_id, layer = self.find(request)
        try:
            saved = change(recipe_id, layer, base, uuid)
        except ConflictError as conflict:
            return self._conflict(recipe_id, layer, conflict)
        view = self.workspace.changing(recipe_id, layer, saved.history, saved.divided)
        answer = {"revision": saved.revision, "repeated": saved.repeated, "effects": saved.effects.as_dict()}
        return Json({**answer, "document": view})

    def _conflict(self, recipe_id: str, layer: Layer, conflict: ConflictError) -> Response:
        body = error_body("conflict", str(conflict), {"base": conflict.base, "revision": conflict.revision})
        history = self.workspace.store.history(recipe_id, layer)
        body["operations"] = self._operations(recipe_id, layer, max(0, conflict.base))
        body["document"] = self.workspace.changing(recipe_id, layer, history, words=True)
        return Json(body, 409)

    def find_layer(self, request: Request, name: str | None = None) -> Layer:
        name = request.path_params["layer"] if name is None else name
        if self.workspace.is_hidden(name):
            raise ApiError(403, "blind", "expected your own layer: annotators cannot see each other's")
        if (layer := self.workspace.find_layer(name)) is None:
            raise ApiError(404, "no_layer", f"expected a layer, found none called {name[:100]!r}", {"layer": name})
        return layer

    def find_recipe(self, request: Request) -> str:
        recipe_id = request.path_params["recipe"]
        if not self.workspace.store.has_recipe(recipe_id):
            reason = f"expected a recipe, found none called {recipe_id[:100]!r}"
            raise ApiError(404, "no_recipe", reason, {"recipe": recipe_id})
        return recipe_id

    def find(self, request: Request) -> tuple[str, Layer]:
        return self.find_recipe(request), self.find_layer(request)

    def frame(self, request: Request) -> Response:
        """The unchanged frame."""
        film, number = self._film(request)
        if number not in film.numbers:
            raise ApiError(404, "no_frame", f"expected an existing frame, found number {number}")
        return self._picture(request, film.path(number).read_bytes())

    def thumbnail(self, request: Request) -> Response:
        film, number = self._film(request)
        return self._picture(request, self.workspace.pictures.thumbnail(film.path(number)))

    def sheet(self, request: Request) -> Response:
        """Fifty frames in one picture."""
        film, number = self._film(request)
        if number >= film.sheets:
            raise ApiError(404, "no_frame", f"expected a sheet below {film.sheets}, found {number}")
        return self._picture(request, self.workspace.pictures.sheet(film.sheet_paths(number), film.cell))

    def _film(self, request: Request) -> tuple[Any, int]:
        recipe_id = self.find_recipe(request)
        if (film := self.workspace.film(recipe_id)) is None:
            raise ApiError(404, "no_frame", f"expected frames of {recipe_id}, found none")
        return film, request.path_params["number"]

    def _picture(self, request: Request, data: bytes) -> Response:
        caching = FOR_GOOD if "v" in request.query_params else "no-cache"
        return Response(data, media_type="image/jpeg", headers={"cache-control": caching})
