"""The application that ``vrf annotate`` serves: pages, their files, and the API behind them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from recipeflow.annotate.exchange_api import ExchangeApi
from recipeflow.annotate.film_api import FilmApi
from recipeflow.annotate.people import CURATOR, Person
from recipeflow.annotate.requests import HANDLERS, ApiError
from recipeflow.annotate.review_api import ReviewApi
from recipeflow.annotate.suggest_api import SuggestApi
from recipeflow.annotate.workspace import Workspace
from recipeflow.web.security import OWNER

PAGES = Path(__file__).parent / "static"
SHARED = Path(__file__).parents[1] / "web" / "static"
INDEX = PAGES / "index.html"


class _Files(StaticFiles):
    """Files that a browser may cache, but has to revalidate: a new version is seen at once."""

    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        answer = super().file_response(full_path, stat_result, scope, status_code)
        answer.headers["cache-control"] = "no-cache"
        return answer


def create_app(workspace: Workspace, annotator: str | None = None, guidelines: Path | None = None) -> Starlette:
    """The application around a workspace.

    Args:
        workspace: The workspace.
        annotator: The only annotator, if there is only one.
        guidelines: A Markdown file to show beside recipes.
    """
    shared = ("/agreement", "/differences", "/differences/{path:path}")
    pages = ("/", "/r/{path:path}", "/agreement", "/differences", "/differences/{path:path}", "/guide")
    pages += ("/find", "/times", "/new")
    api = ExchangeApi(workspace, annotator)
    routes = [
        *api.routes(),
        *ReviewApi(api, guidelines).routes(),
        *FilmApi(api).routes(),
        *SuggestApi(api).routes(),
        Mount("/static", _Files(directory=PAGES)),
        Mount("/shared", _Files(directory=SHARED)),
        *(Route(page, _refuse if workspace.fixed and page in shared else _index) for page in pages),
    ]
    return Starlette(routes=routes, exception_handlers=HANDLERS)


def create_personal_app(workspace: Workspace, people: Iterable[Person], guidelines: Path | None = None) -> ASGIApp:
    """The application for people with a token each: an application per person, which has only what they may see.

    Every request has to come through ``recipeflow.web.security.Guard``, which says whose it is.
    """
    apps = {
        person.key: create_app(
            workspace.seen_by(person.name, person.role == CURATOR),
            None if person.role == CURATOR else person.name,
            guidelines,
        )
        for person in people
    }

    async def dispatch(scope: Scope, receive: Receive, send: Send) -> None:
        # Only messages about the server's own start and stop have no owner.
        app = next(iter(apps.values())) if scope["type"] == "lifespan" else apps[scope[OWNER]]
        await app(scope, receive, send)

    return dispatch


def _refuse(request: Request) -> Response:
    raise ApiError(403, "blind", "expected a curator: annotators cannot see each other's layers")


def _index(request: Request) -> Response:
    return FileResponse(INDEX, media_type="text/html", headers={"cache-control": "no-cache"})
