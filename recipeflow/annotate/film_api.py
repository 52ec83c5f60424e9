"""Endpoints for new recipes: reading pasted text, uploading a film in pieces, and how far its frames are."""

from __future__ import annotations

from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from plaintext_rfg import read_plain_text
from recipeflow.annotate.api import Api
from recipeflow.annotate.films import READY, FilmState
from recipeflow.annotate.requests import ApiError, Json, error_body, read_body, take
from recipeflow.annotate.uploads import PIECE, Upload
from recipeflow.annotate.views import film_view
from recipeflow.errors import ConflictingUploadError, SegmenterError
from recipeflow.language.languages import guess_language
from recipeflow.own.text import make_id

BUFFER = 1 << 20
"""Bytes that are written at a time, outside the event loop."""


class FilmApi:
    """These endpoints, next to those of ``api``, which decides who may change recipes.

    Args:
        api: The other endpoints.
    """

    def __init__(self, api: Api) -> None:
        self.api = api
        self.films = api.workspace.films
        self.uploads = self.films.uploads

    def routes(self) -> list[Route]:
        """The addresses."""
        film = "/api/recipes/{recipe}/film"
        return [
            Route("/api/import/read", self.read, methods=["POST"]),
            Route(film, self.state),
            Route(film, self.begin, methods=["POST"]),
            Route(f"{film}/{{upload}}/{{offset:int}}", self.append, methods=["POST"]),
        ]

    async def read(self, request: Request) -> Response:
        """Title, ingredients and instructions of a pasted text, to be looked at before it is imported."""
        text = take(await read_body(request), "text", str)
        found = read_plain_text(text)
        names = self.api.workspace.store
        taken = {*names.names(), *names.recipe_ids()}
        return Json(
            {
                "id": make_id(found.title or "recipe", taken),
                "title": found.title or "",
                "ingredients": "\n".join(found.ingredients),
                "instructions": "\n".join(found.instructions),
                "left_out": found.left_out,
                "language": _guess(text),
            }
        )

    def state(self, request: Request) -> Response:
        recipe_id, name = self._find(request)
        return Json(self._view(recipe_id, name))

    async def begin(self, request: Request) -> Response:
        """Announce a file; the answer says from which byte to send it, in pieces of which size."""
        body = await read_body(request)
        self.api.check_editing()
        recipe_id, name = self._find(request)
        self._check_free(recipe_id, name)
        details = (take(body, "name", str), take(body, "size", int), take(body, "stamp", int, 0))
        upload = await run_in_threadpool(self.uploads.begin, name, *details)
        return self._answer(upload, recipe_id, name)

    async def append(self, request: Request) -> Response:
        """Take one piece, written as it arrives; what arrived before the connection was lost is kept."""
        self.api.check_editing()
        recipe_id, name = self._find(request)
        upload = self.uploads.find(name, request.path_params["upload"])
        if upload is None:
            reason = "expected an upload that was announced, found none; choose the file again"
            raise ApiError(404, "no_upload", reason)
        offset, buffer = request.path_params["offset"], bytearray()
        try:
            async for chunk in request.stream():
                buffer += chunk
                if len(buffer) >= BUFFER:
                    offset, buffer = await self._write(upload, offset, buffer), bytearray()
            await self._write(upload, offset, buffer)
        except ClientDisconnect:
            await self._write(upload, offset, buffer)
            return Response(status_code=400)  # which nobody receives
        except ConflictingUploadError as conflict:
            return Json(error_body("piece", str(conflict), {"received": conflict.received}), 409)
        return self._answer(upload, recipe_id, name)

    async def _write(self, upload: Upload, offset: int, data: bytearray) -> int:
        return await run_in_threadpool(self.uploads.append, upload, offset, bytes(data))

    def _answer(self, upload: Upload, recipe_id: str, name: str) -> Response:
        received = upload.received
        if received == upload.size:
            self.films.take(upload.path, name)
        row = {"upload": upload.id, "received": received, "size": upload.size, "piece": PIECE}
        return Json({**row, "film": self._view(recipe_id, name)})

    def _view(self, recipe_id: str, name: str) -> dict[str, Any]:
        """How far the film is; with its frames, once they are there."""
        state, upload = self.films.state(name), self.uploads.find(name)
        film = None if state.is_busy else self.api.workspace.film(recipe_id)
        if film is not None and state == FilmState():
            state = FilmState(READY, len(film.numbers), len(film.numbers))
        row = state.as_dict() | {"received": upload.received if upload else 0, "size": upload.size if upload else 0}
        return row | {"view": film and film_view(film, recipe_id)}

    def _find(self, request: Request) -> tuple[str, str]:
        recipe_id = self.api.find_recipe(request)
        return recipe_id, self.api.workspace.store.folder_of(recipe_id)

    def _check_free(self, recipe_id: str, name: str) -> None:
        """Refuse a film where one is in use: frames that were chosen would show something else."""
        if self.films.state(name).is_busy or self.api.workspace.recipe_films.is_fixed(recipe_id):
            reason = "expected a recipe without a film, or whose film nobody has used yet, found one that is in use"
            raise ApiError(409, "has_film", f"{reason}; add the recipe again under another id")


def _guess(text: str) -> str | None:
    try:
        return guess_language(text)
    except SegmenterError:
        return None
