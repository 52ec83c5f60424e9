"""The application that ``vrf annotate`` serves: pages, their files, and the API behind them."""

from __future__ import annotations

import os
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from recipeflow.annotate.exchange_api import ExchangeApi
from recipeflow.annotate.requests import HANDLERS
from recipeflow.annotate.review_api import ReviewApi
from recipeflow.annotate.suggest_api import SuggestApi
from recipeflow.annotate.workspace import Workspace

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
    pages = ("/", "/r/{path:path}", "/agreement", "/differences", "/differences/{path:path}", "/guide")
    pages += ("/find", "/times")
    api = ExchangeApi(workspace, annotator)
    routes = [
        *api.routes(),
        *ReviewApi(api, guidelines).routes(),
        *SuggestApi(api).routes(),
        Mount("/static", _Files(directory=PAGES)),
        Mount("/shared", _Files(directory=SHARED)),
        *(Route(page, _index) for page in pages),
    ]
    return Starlette(routes=routes, exception_handlers=HANDLERS)


def _index(request: Request) -> Response:
    return FileResponse(INDEX, media_type="text/html", headers={"cache-control": "no-cache"})
