"""Endpoints of the pages that look over the work: search over annotations, times, guidelines."""

from __future__ import annotations

from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from recipeflow.annotate.api import Api
from recipeflow.annotate.guidelines import read_guidelines
from recipeflow.annotate.requests import ApiError, Json
from recipeflow.annotate.reviewing import list_annotations, summarise_times
from recipeflow.annotate.times import PAUSE, measure_times
from recipeflow.errors import RequestError, UsageError, short

LONGEST_PAUSE = 86_400.0


class ReviewApi:
    """These endpoints, next to those of ``api``, which decides who may see which layer.

    Args:
        api: The other endpoints.
        guidelines: The file, if there is one.
    """

    def __init__(self, api: Api, guidelines: Path | None = None) -> None:
        self.api = api
        self.guidelines_file = guidelines

    def routes(self) -> list[Route]:
        """The addresses."""
        return [
            Route("/api/guidelines", self.guidelines),
            Route("/api/layers/{layer}/annotations", self.annotations),
            Route("/api/layers/{layer}/times", self.times),
        ]

    def guidelines(self, request: Request) -> Response:
        """The Markdown of the guidelines, or null."""
        if self.guidelines_file is None:
            return Json({"text": None})
        try:
            return Json({"text": read_guidelines(self.guidelines_file)})
        except UsageError as error:
            raise ApiError(404, "guidelines", str(error)) from None

    def annotations(self, request: Request) -> Response:
        layer = self.api.find_layer(request)
        return Json({"layer": layer.name, "recipes": list_annotations(self.api.workspace.store, layer)})

    def times(self, request: Request) -> Response:
        """Seconds and operations by recipe and step; a longer ``pause`` is no work."""
        layer, store = self.api.find_layer(request), self.api.workspace.store
        given = request.query_params.get("pause", str(PAUSE))
        try:
            pause = float(given)
        except ValueError:
            pause = -1.0
        if not 0 <= pause <= LONGEST_PAUSE:
            raise RequestError(f"expected a pause from 0 to {LONGEST_PAUSE:.0f} seconds, found {short(given)}")
        works = measure_times(store.timeline(layer), pause)
        titles = {recipe: store.known_recipe(recipe).title for recipe in works}
        return Json({"layer": layer.name, "pause": pause, **summarise_times(works, titles)})
