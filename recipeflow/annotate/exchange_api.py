"""Import, export and comparison of layers through the pages."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from recipeflow.annotate.api import Api
from recipeflow.annotate.comparing import compare_layers, list_differences
from recipeflow.annotate.exporting import FORMATS, export_layer
from recipeflow.annotate.importing import Imported, import_release
from recipeflow.annotate.requests import LARGEST_IMPORT, ApiError, Json, read_body, take
from recipeflow.annotate.store import FROM_WORDS, GOLD, Layer
from recipeflow.errors import RefusedError, RequestError, short
from recipeflow.own.text import recipe_from_text
from recipeflow.release.parsing import id_problem


class ExchangeApi(Api):
    """The endpoints for import, export and comparison."""

    def routes(self) -> list[Route]:
        """The addresses."""
        return [
            *super().routes(),
            Route("/api/import/text", self.import_text, methods=["POST"]),
            Route("/api/import/release", self.import_release, methods=["POST"]),
            Route("/api/recipes/undo", self.undo_edit, methods=["POST"]),
            Route("/api/recipes/{recipe}/rename", self.rename, methods=["POST"]),
            Route("/api/recipes/{recipe}/replace", self.replace, methods=["POST"]),
            Route("/api/recipes/{recipe}/delete", self.delete, methods=["POST"]),
            Route("/api/layers/{layer}/export", self.export),
            Route("/api/agreement", self.agreement),
            Route("/api/differences/{recipe}", self.differences),
        ]

    async def import_text(self, request: Request) -> Response:
        body = await read_body(request)
        self.check_editing()
        fields = [take(body, name, str) for name in ("id", "title", "ingredients", "instructions")]
        scheme = self.workspace.scheme_for(take(body, "language", str, None))
        recipe = await run_in_threadpool(recipe_from_text, *fields, scheme.language)
        await run_in_threadpool(self.workspace.add_recipes, [recipe], scheme)
        return Json({"id": recipe.id, "recipes": [recipe.id], "skipped": []}, 201)

    async def rename(self, request: Request) -> Response:
        body = await read_body(request)
        fields = [take(body, name, str) for name in ("id", "title")]
        return await self._edit(self.workspace.rename_recipe, self.find_recipe(request), *fields)

    async def replace(self, request: Request) -> Response:
        body = await read_body(request)
        fields = [take(body, name, str) for name in ("title", "ingredients", "instructions")]
        return await self._edit(self.workspace.replace_recipe, self.find_recipe(request), *fields)

    async def delete(self, request: Request) -> Response:
        await read_body(request)
        return await self._edit(self.workspace.delete_recipe, self.find_recipe(request))

    async def _edit(self, change: Callable[..., int], *arguments: str) -> Response:
        """Change a recipe itself; the answer has the number that undoes it."""
        self.check_editing()
        return Json({"edit": await run_in_threadpool(change, *arguments)})

    async def undo_edit(self, request: Request) -> Response:
        edit = take(await read_body(request), "edit", int)
        self.check_editing()
        await run_in_threadpool(self.workspace.undo_edit, edit)
        return Json({"edit": edit})

    async def import_release(self, request: Request) -> Response:
        """Import the files of a release folder, as recipes or as suggestions."""
        body = await read_body(request, LARGEST_IMPORT)
        self.check_editing()
        files, purpose = take(body, "files", dict), take(body, "as", str)
        origin = take(body, "origin", str, None) or ""
        if purpose not in ("recipes", "suggestions"):
            raise RequestError(f"expected 'as' recipes or suggestions, found {short(purpose)}")
        imported = await run_in_threadpool(self._import_files, files, origin if purpose == "suggestions" else None)
        known = [(recipe_id, "already here, with the same words") for recipe_id in imported.known]
        skipped = [{"id": recipe_id, "reason": reason} for recipe_id, reason in (*imported.skipped, *known)]
        return Json({"recipes": imported.added, "skipped": skipped}, 201)

    def _import_files(self, files: dict[str, Any], origin: str | None) -> Imported:
        with tempfile.TemporaryDirectory(prefix="vrf-import-") as folder:
            write_files(Path(folder), files)
            if origin is not None:
                return self.workspace.suggest_release(origin, Path(folder))
            return import_release(self.workspace.store, Path(folder))

    def export(self, request: Request) -> Response:
        layer, query = self.find_layer(request), request.query_params
        form = query.get("format", "release")
        if form not in FORMATS:
            raise RequestError(f"expected a format of {', '.join(FORMATS)}, found {short(form)}")
        only = [query["recipe"]] if "recipe" in query else None
        scratch = Path(tempfile.mkdtemp(prefix="vrf-export-"))
        try:
            name = f"{layer.name}-{form}"
            release, done = self.workspace.release, query.get("done") == "true"
            export_layer(self.workspace.store, layer, scratch / name, form, release=release, only=only, done=done)
            archive = shutil.make_archive(str(scratch / "export"), "zip", scratch, name)
        except BaseException:
            shutil.rmtree(scratch, ignore_errors=True)
            raise
        disposition = f"attachment; filename*=UTF-8''{quote(name)}.zip"
        return FileResponse(
            archive,
            media_type="application/zip",
            headers={"content-disposition": disposition},
            background=BackgroundTask(shutil.rmtree, scratch, ignore_errors=True),
        )

    def agreement(self, request: Request) -> Response:
        first, second = self._pair(request)
        recipe, done = request.query_params.get("recipe"), request.query_params.get("done") == "true"
        measured = compare_layers(self.workspace.store, first, second, recipe, done)
        markdown = "\n".join([*(table.markdown() for table in measured.tables()), *measured.notes()])
        return Json({"first": first.name, "second": second.name, **measured.as_dict(), "markdown": markdown})

    def differences(self, request: Request) -> Response:
        """Every difference between two layers of a recipe, with the gold layer."""
        recipe_id, (first, second) = self.find_recipe(request), self._pair(request)
        # Viewing must not create a layer: use an empty gold one.
        gold = self.workspace.find_layer(GOLD) or Layer(GOLD, GOLD, FROM_WORDS)
        histories = [self.workspace.store.history(recipe_id, layer) for layer in (first, second, gold)]
        found = list_differences(*(history.document for history in histories))
        found["gold"]["revision"] = histories[2].revision
        return Json({"first": first.name, "second": second.name, **found})

    def _pair(self, request: Request) -> tuple[Layer, Layer]:
        if not self.workspace.curating:
            reason = "expected a server started with --curate: annotators cannot see each other's layers"
            raise ApiError(403, "blind", reason)
        names = [request.query_params.get(name) for name in ("first", "second")]
        if None in names:
            raise RequestError("expected ?first=…&second=…, the names of two layers")
        first, second = (self.find_layer(request, name) for name in names)
        return first, second


def write_files(folder: Path, files: dict[str, Any]) -> None:
    """Write the files of a release folder sent by a page; no name may point outside."""
    for name, content in files.items():
        parts = PurePosixPath(name).parts
        if not isinstance(content, str):
            raise RequestError(f"expected the text of {short(name)}, found {type(content).__name__}")
        if not parts or len(parts) > 3 or any(id_problem(part) for part in parts):
            reason = f"expected files of a release folder, found the name {short(name)}"
            raise RefusedError("recipe_id", reason, id=name)
        path = folder.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8", errors="surrogatepass", newline="")
