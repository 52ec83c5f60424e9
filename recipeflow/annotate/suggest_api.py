"""Endpoints around computed suggestions: those for a recipe while they are computed, and the training of a parser."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from recipeflow.annotate.api import Api
from recipeflow.annotate.requests import ApiError, Json, read_body
from recipeflow.annotate.suggest.retraining import ParserTraining


class SuggestApi:
    """These endpoints, next to those of ``api``, which decides who may see which layer."""

    def __init__(self, api: Api) -> None:
        self.api = api

    def routes(self) -> list[Route]:
        """The addresses."""
        return [
            Route("/api/layers/{layer}/recipes/{recipe}/suggestions", self.suggestions),
            Route("/api/layers/{layer}/parser", self.parser, methods=["GET"]),
            Route("/api/layers/{layer}/parser", self.train_parser, methods=["POST"]),
        ]

    def suggestions(self, request: Request) -> Response:
        """What is suggested at the moment, without the rest of the document."""
        recipe_id, layer = self.api.find(request)
        return Json(self.api.workspace.suggested(recipe_id, layer))

    def parser(self, request: Request) -> Response:
        """The state of the layer's own parser; null where no suggestions are computed."""
        layer, training = self.api.find_layer(request), self.api.workspace.training
        return Json({"training": training and training.status(layer)})

    async def train_parser(self, request: Request) -> Response:
        """Train a parser on the finished recipes of a layer, in the background."""
        await read_body(request)
        return await run_in_threadpool(self._train, request)

    def _train(self, request: Request) -> Response:
        layer, training = self.api.find_layer(request), self._training()
        training.start(layer)
        return Json({"training": training.status(layer)}, 202)

    def _training(self) -> ParserTraining:
        if (training := self.api.workspace.training) is None:
            raise ApiError(404, "no_suggestions", "expected a server that computes suggestions, found none")
        return training
