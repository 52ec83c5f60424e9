"""The explorer as a local server: everything is made on request."""

from __future__ import annotations

import secrets
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from recipeflow.errors import BrokenImageError, VRFError
from recipeflow.explore.library import Library
from recipeflow.explore.site import data_script, page_files
from recipeflow.images import page_picture

TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
KEPT = {"cache-control": "private, max-age=3600"}
"""Pictures may be cached by the browser: their URLs contain a stamp of the server that made them."""


def make_app(library: Library) -> Starlette:
    """The application that serves a library's site."""
    files = page_files()
    about = {**library.about(), "stamp": secrets.token_hex(4)}

    def page(request: Request) -> Response:
        name = request.path_params.get("name", "index.html")
        if name not in files:
            return _missing()
        return Response(files[name], media_type=TYPES[name.rpartition(".")[2]])

    def index(request: Request) -> Response:
        number = request.path_params["number"]
        return _data(f"data/index/{number}", library.chunk(number))

    def recipe(request: Request) -> Response:
        number = request.path_params["number"]
        return _data(f"data/recipes/{number}", library.page(number))

    def picture(request: Request) -> Response:
        number, frame = request.path_params["number"], request.path_params["frame"]
        data = library.picture(number, frame)
        try:
            small = None if data is None else page_picture(data, f"frame {frame}")
        except BrokenImageError:
            small = None  # the page says that it cannot be shown; `vrf check` says why
        return _missing() if small is None else Response(small, media_type="image/jpeg", headers=KEPT)

    routes = [
        Route("/", page),
        Route("/data/about.js", lambda request: _data("data/about", about)),
        Route("/data/index/{number:int}.js", index),
        Route("/data/recipes/{number:int}.js", recipe),
        Route("/pictures/{number:int}/{frame:int}.jpg", picture),
        Route("/{name}", page),
    ]
    return Starlette(routes=routes, exception_handlers={VRFError: _report_error})


def _data(name: str, data: Any) -> Response:
    return _missing() if data is None else Response(data_script(name, data), media_type=TYPES["js"])


def _missing() -> Response:
    return PlainTextResponse("there is nothing here\n", 404)


def _report_error(request: Request, error: Exception) -> Response:
    return PlainTextResponse(f"{error}\n", 500)
